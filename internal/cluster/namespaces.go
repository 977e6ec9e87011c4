package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/h2surge/h2surge/internal/compile"
)

// document is an object of a manifest, or a List with several.
type document struct {
	metav1.PartialObjectMetadata `json:",inline"`
	Items                        []metav1.PartialObjectMetadata `json:"items"`
}

// Place sets the namespace of the objects of a manifest that have none. source is the text of the manifest. Like
// kubectl, it returns an error if a flag selects a namespace and an object has another one.
func (c *Cluster) Place(m *compile.Manifest, source []byte) error {
	rest := *m // the objects that are not placed yet
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(source), 4096)
	for {
		var d document
		if err := documents.Decode(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the manifest: %w", err)
		}
		objects := d.Items
		if d.Kind != "List" {
			objects = []metav1.PartialObjectMetadata{d.PartialObjectMetadata}
		}
		for i := range objects {
			if err := c.place(&rest, &objects[i]); err != nil {
				return err
			}
		}
	}
}

// place takes the first object of the kind of o from rest, and sets its namespace.
func (c *Cluster) place(rest *compile.Manifest, o *metav1.PartialObjectMetadata) error {
	var at *metav1.ObjectMeta
	switch {
	case o.Kind == "LoadTest":
		at = &rest.LoadTest.ObjectMeta
	case o.Kind == "ConfigMap" && len(rest.ConfigMaps) > 0:
		at, rest.ConfigMaps = &rest.ConfigMaps[0].ObjectMeta, rest.ConfigMaps[1:]
	case o.Kind == "Secret" && len(rest.Secrets) > 0:
		at, rest.Secrets = &rest.Secrets[0].ObjectMeta, rest.Secrets[1:]
	default:
		return nil // nothing but comments
	}
	if o.Namespace == "" {
		at.Namespace = c.Namespace
	}
	if c.strict && at.Namespace != c.Namespace {
		return fmt.Errorf("-n: %s %s has namespace %q in the manifest, not %q", o.Kind, at.Name, at.Namespace,
			c.Namespace)
	}
	return nil
}

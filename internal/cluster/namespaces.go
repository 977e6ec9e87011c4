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

// Place sets the namespace of the objects of a manifest that have none. source is the text of the manifest. Like
// kubectl, it returns an error if a flag selects a namespace and an object has another one.
func (c *Cluster) Place(m *compile.Manifest, source []byte) error {
	configMaps, secrets := m.ConfigMaps, m.Secrets
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(source), 4096)
	for {
		var o metav1.PartialObjectMetadata
		if err := documents.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the manifest: %w", err)
		}
		var at *metav1.ObjectMeta
		switch {
		case o.Kind == "LoadTest":
			at = &m.LoadTest.ObjectMeta
		case o.Kind == "ConfigMap" && len(configMaps) > 0:
			at, configMaps = &configMaps[0].ObjectMeta, configMaps[1:]
		case o.Kind == "Secret" && len(secrets) > 0:
			at, secrets = &secrets[0].ObjectMeta, secrets[1:]
		default:
			continue // nothing but comments
		}
		if o.Namespace == "" {
			at.Namespace = c.Namespace
		}
		if c.strict && at.Namespace != c.Namespace {
			return fmt.Errorf("-n: %s %s has namespace %q in the manifest, not %q", o.Kind, at.Name, at.Namespace,
				c.Namespace)
		}
	}
}

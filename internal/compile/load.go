package compile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// MaxManifest bounds the input of Load, in bytes: several ConfigMaps of 1 MiB, the most the API
// server takes, beside a LoadTest.
const MaxManifest = 16 << 20

// defaultNamespace is where an object without a namespace is, as kubectl has it.
const defaultNamespace = "default"

// Manifest is what a file for the command line holds.
type Manifest struct {
	LoadTest *v1alpha1.LoadTest
	// ConfigMaps and Secrets are those the LoadTest may refer to.
	ConfigMaps []corev1.ConfigMap
	Secrets    []corev1.Secret
}

// Name is "namespace/name" of the LoadTest.
func (m *Manifest) Name() string {
	return m.LoadTest.Namespace + "/" + m.LoadTest.Name
}

// ManifestError is everything that is wrong with a manifest.
type ManifestError struct{ Errors field.ErrorList }

func (e *ManifestError) Error() string { return strings.Join(ErrorLines(e.Errors), "\n") }

// Load reads a manifest of one or more YAML or JSON documents: exactly one LoadTest and any
// number of ConfigMaps and Secrets. Decoding is strict: an unknown field, a field given twice or a value of
// the wrong type is an error. A *ManifestError holds all that is wrong, in the order of the
// documents; any other error is one of reading.
func Load(r io.Reader) (*Manifest, error) {
	input, err := io.ReadAll(io.LimitReader(r, MaxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	l := &loader{manifest: &Manifest{}}
	if len(input) > MaxManifest {
		l.failf("", "the manifest has more than %d bytes", MaxManifest)
		return nil, &ManifestError{l.errs}
	}
	l.documents(input)
	if l.manifest.LoadTest == nil && len(l.errs) == 0 {
		l.failf("", "the manifest has no LoadTest")
	}
	if len(l.errs) > 0 {
		return nil, &ManifestError{l.errs}
	}
	return l.manifest, nil
}

type loader struct {
	manifest *Manifest
	errs     field.ErrorList
	document int // counts from 1
}

func (l *loader) failf(path, format string, args ...any) {
	l.errs = append(l.errs, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)})
}

func (l *loader) here() string { return fmt.Sprintf("document %d", l.document) }

// documents splits the input: a stream of JSON values when it begins like one, else YAML.
func (l *loader) documents(input []byte) {
	if bytes.HasPrefix(bytes.TrimSpace(input), []byte("{")) && l.jsonDocuments(input) {
		return
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(input)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		l.document++
		if err != nil {
			l.failf(l.here(), "%s", err.Error())
			return
		}
		asJSON, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			l.failf(l.here(), "%s", strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
			continue
		}
		l.object(asJSON)
	}
}

// jsonDocuments reports false when the input is not JSON after all: YAML may begin with a brace.
func (l *loader) jsonDocuments(input []byte) bool {
	var docs []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(input))
	for {
		var doc json.RawMessage
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return false
		}
		docs = append(docs, doc)
	}
	for _, doc := range docs {
		l.document++
		l.object(doc)
	}
	return true
}

func (l *loader) object(doc []byte) {
	generic, err := decodeGeneric(doc)
	if err != nil {
		l.failf(l.here(), "is not JSON")
		return
	}
	if generic == nil {
		return // nothing but comments
	}
	var meta metav1.TypeMeta
	m, ok := generic.(map[string]any)
	if !ok {
		l.failf(l.here(), "must be an object with apiVersion and kind")
		return
	}
	meta.APIVersion, _ = m["apiVersion"].(string)
	meta.Kind, _ = m["kind"].(string)
	switch {
	case meta.APIVersion == v1alpha1.GroupVersion.String() && meta.Kind == "LoadTest":
		l.loadTest(doc, generic)
	case meta.APIVersion == "v1" && meta.Kind == "ConfigMap":
		l.manifest.ConfigMaps = append(l.manifest.ConfigMaps, *decodeObject[corev1.ConfigMap](l, doc, generic))
	case meta.APIVersion == "v1" && meta.Kind == "Secret":
		l.manifest.Secrets = append(l.manifest.Secrets, *decodeObject[corev1.Secret](l, doc, generic))
	case meta.APIVersion == "" || meta.Kind == "":
		l.failf(l.here(), "apiVersion and kind are needed")
	default:
		l.failf(l.here(), "%s of %s is not possible here; LoadTest of %s, ConfigMap and Secret of v1 are", meta.Kind, meta.APIVersion, v1alpha1.GroupVersion)
	}
}

func (l *loader) loadTest(doc []byte, generic any) {
	if l.manifest.LoadTest != nil {
		l.failf(l.here(), "is a second LoadTest; one run takes exactly one")
		return
	}
	lt := &v1alpha1.LoadTest{}
	l.manifest.LoadTest = lt
	w := &walker{strict: strictLoadTest}
	w.value(place{}, generic, reflect.TypeFor[v1alpha1.LoadTest]())
	l.errs = append(l.errs, w.errs...)
	decoded := l.decode(doc, lt, len(w.errs) == 0)
	orElse(&lt.Namespace, defaultNamespace)
	if decoded && len(w.errs) > 0 { // it will not be compiled: tell the rest of it here
		_, _, errs := Compile(l.manifest.Name(), &lt.Spec)
		l.errs = append(l.errs, errs...)
	}
}

// decodeObject reads a ConfigMap or a Secret.
func decodeObject[T any, P interface {
	*T
	metav1.Object
}](l *loader, doc []byte, generic any) *T {
	object := new(T)
	w := &walker{}
	w.value(place{}, generic, reflect.TypeFor[T]())
	for _, err := range w.errs {
		err.Field = l.here() + ": " + err.Field
	}
	l.errs = append(l.errs, w.errs...)
	l.decode(doc, object, len(w.errs) == 0)
	o := P(object)
	if o.GetName() == "" && len(w.errs) == 0 {
		l.failf(l.here()+": metadata.name", "is needed")
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(defaultNamespace)
	}
	return object
}

// decode fills the object. What the walker did not complain about cannot fail but for fields
// that JSON has twice.
func (l *loader) decode(doc []byte, into any, sound bool) bool {
	twice, err := kjson.UnmarshalStrict(doc, into, kjson.DisallowDuplicateFields)
	for _, d := range twice {
		l.failf(l.here(), "%s", d.Error())
	}
	if err != nil && sound {
		l.failf(l.here(), "cannot be decoded: %s", err.Error())
	}
	return err == nil
}

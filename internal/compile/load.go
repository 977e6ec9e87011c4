package compile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// MaxManifest is the maximum size of the input of Load, in bytes: a LoadTest and several ConfigMaps of 1 MiB, which is
// the maximum of the API server.
const MaxManifest = 16 << 20

// defaultNamespace is where an object without a namespace is, as kubectl has it.
const defaultNamespace = "default"

const loadTestKind = "LoadTest"

// Manifest is the content of a file for the command line.
type Manifest struct {
	LoadTest *v1alpha1.LoadTest
	// ConfigMaps and Secrets are those the LoadTest may refer to.
	ConfigMaps []corev1.ConfigMap
	Secrets    []corev1.Secret
	// Positions are those of all fields.
	Positions *Positions
}

// Name is "namespace/name" of the LoadTest. The name of a LoadTest with generateName is not known before it is
// created; here it ends in zeros, so that what depends on the name, such as the seed, is the same each time.
func (m *Manifest) Name() string {
	name := m.LoadTest.Name
	if name == "" && m.LoadTest.GenerateName != "" {
		name = m.LoadTest.GenerateName + strings.Repeat("0", GeneratedLength)
	}
	return m.LoadTest.Namespace + "/" + name
}

// GeneratedLength is how many random characters the API server appends to generateName.
const GeneratedLength = 5

// generateName checks the prefix of a name. A wrong one is reported once, so a right one takes its place.
func (l *loader) generateName(meta *metav1.ObjectMeta) {
	const path = "metadata.generateName"
	switch {
	case meta.Name != "" || meta.GenerateName == "":
		return
	case len(meta.GenerateName) > MaxName-GeneratedLength:
		l.failf(path, "must have at most %d characters, because the API server appends %d", MaxName-GeneratedLength,
			GeneratedLength)
	case !matches(dashName, meta.GenerateName+"0"):
		l.failf(path, "must be lower-case letters, digits and -, beginning with a letter or digit")
	default:
		return
	}
	meta.GenerateName = "wrong-"
}

// ManifestError has all mistakes of a manifest.
type ManifestError struct {
	Errors field.ErrorList
	// Warnings are the warnings of Compile, if a LoadTest could be compiled.
	Warnings []string
	// Positions are those of all fields.
	Positions *Positions
}

func (e *ManifestError) Error() string { return strings.Join(ErrorLines(e.Errors), "\n") }

// Load reads a manifest of one or more YAML or JSON documents: exactly one LoadTest and any
// number of ConfigMaps and Secrets. Decoding is strict: an unknown field, a field given twice or a value of
// the wrong type is an error. A *ManifestError holds all that is wrong, in the order of the
// documents, and what Compile says; any other error is one of reading.
func Load(r io.Reader) (*Manifest, error) {
	l := &loader{}
	if err := l.read(r); err != nil {
		return nil, err
	}
	if len(l.tests) == 0 && len(l.errs) == 0 {
		l.failf("", "the manifest has no LoadTest")
	}
	if len(l.errs) > 0 {
		wrong := &ManifestError{Errors: l.errs, Positions: l.positions}
		if len(l.tests) > 0 {
			more, warnings := l.tests[0].compile()
			wrong.Errors, wrong.Warnings = append(wrong.Errors, more...), warnings
		}
		return nil, wrong
	}
	return l.of(l.tests[0]), nil
}

type loader struct {
	positions  *Positions
	configMaps []corev1.ConfigMap
	secrets    []corev1.Secret
	tests      []*test
	errs       field.ErrorList
	document   int // counts from 1
	// item is the path of the present item of a List, such as items[0]; "": the document is not a List.
	item string
	// every allows any number of LoadTests, and documents of other kinds: others and targets.
	every   bool
	others  []Other
	targets []Target
}

// test is a LoadTest that was read, or the template of a LoadTestSchedule.
type test struct {
	loadTest *v1alpha1.LoadTest
	// under is templateOfSchedule if the test is a template.
	under    string
	document int
	item     string
	// errs are the errors of the document. Load has them in loader.errs.
	errs field.ErrorList
	// compiles is false if the spec cannot be compiled. structure is what is wrong with its structure.
	compiles  bool
	structure *structure
}

// compile compiles what could be decoded of a LoadTest that has errors. It returns the errors that do not follow from
// those of the structure.
func (t *test) compile() (errs field.ErrorList, warnings []string) {
	if !t.compiles {
		return nil, nil
	}
	m := Manifest{LoadTest: t.loadTest}
	_, warnings, errs = compileChecked(m.Name(), &t.loadTest.Spec, t.structure, nil)
	return errs, warnings
}

// of returns the manifest of a LoadTest.
func (l *loader) of(t *test) *Manifest {
	at := *l.positions
	at.loadTest, at.item = t.document, t.item
	return &Manifest{LoadTest: t.loadTest, ConfigMaps: l.configMaps, Secrets: l.secrets, Positions: &at}
}

// read reads all documents.
func (l *loader) read(r io.Reader) error {
	input, err := io.ReadAll(io.LimitReader(r, MaxManifest+1))
	if err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	l.positions = &Positions{lines: map[*field.Error]int{}}
	if len(input) > MaxManifest {
		l.failf("", "the manifest has more than %d bytes", MaxManifest)
		return nil
	}
	l.documents(input)
	return nil
}

func (l *loader) failf(path, format string, args ...any) {
	l.errs = append(l.errs, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{},
		Detail: fmt.Sprintf(format, args...)})
}

// failAt is failf for a mistake whose line does not follow from its path.
func (l *loader) failAt(line int, path, format string, args ...any) {
	l.failf(path, format, args...)
	l.positions.lines[l.errs[len(l.errs)-1]] = line
}

func (l *loader) here() string {
	return strings.TrimSuffix(fmt.Sprintf("document %d: %s", l.document, l.item), ": ")
}

// documents splits the input: a stream of JSON values if it begins like one, else YAML.
func (l *loader) documents(input []byte) {
	if bytes.HasPrefix(bytes.TrimSpace(input), []byte("{")) && l.jsonDocuments(input) {
		return
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(input)))
	for line := 1; ; {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		l.document++
		l.positions.add(doc, line, false)
		if err != nil {
			l.failf(l.here(), "%s", err.Error())
			return
		}
		l.yamlDocument(doc)
		line += bytes.Count(doc, []byte("\n")) + 1 // with the separator behind it
	}
}

func (l *loader) yamlDocument(doc []byte) {
	asJSON, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		asJSON = l.despite(doc, err)
	}
	if asJSON != nil {
		l.object(asJSON)
	}
}

// despite reports what is wrong with a document. If only keys are given twice, it returns the document, so that the
// rest is checked.
func (l *loader) despite(doc []byte, wrong error) []byte {
	if asJSON, err := yaml.YAMLToJSON(doc); err == nil && l.repeated() {
		return asJSON
	}
	d := l.positions.documents[l.document-1]
	merged := mergedTwice().FindAllStringSubmatch(wrong.Error(), -1)
	for _, m := range merged {
		n, _ := strconv.Atoi(m[1])
		l.failAt(d.line-1+n, l.here(), `key %s is set here and by "<<"; write it without "<<"`, m[2])
	}
	if len(merged) == 0 {
		message, line := d.syntax(strings.TrimPrefix(wrong.Error(), "error converting YAML to JSON: "))
		path := "" // the line says where
		if line == 0 {
			path = l.here()
		}
		l.failAt(line, path, "%s", message)
	}
	return nil
}

// mergedTwice matches the message of the YAML decoder about a key that is set twice. repeated has already reported keys
// that are written twice, so this key also comes from "<<", and its value would depend on the order.
var mergedTwice = lazy.Regexp(`line (\d+): key (".*?") already set in map`)

// repeated reports the keys of the present document that are given twice, and whether there are any.
func (l *loader) repeated() bool {
	d, before := l.positions.documents[l.document-1], len(l.errs)
	root := d.node()
	if root == nil {
		return false
	}
	prefix := l.here() + ": "
	if kind, _ := d.lookUp(root, "kind", 0); kind.node != nil && kind.node.Value == loadTestKind {
		prefix = ""
	}
	twice(root, "", func(path string, line, first int) {
		l.failAt(d.line-1+line, prefix+path, "is given twice, first in line %d; remove one of them", d.line-1+first)
	})
	return len(l.errs) > before
}

// jsonDocuments returns false if the input is not JSON: YAML can begin with a brace, too.
func (l *loader) jsonDocuments(input []byte) bool {
	var docs []json.RawMessage
	var ends []int64
	dec := json.NewDecoder(bytes.NewReader(input))
	for {
		var doc json.RawMessage
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return false
		}
		docs, ends = append(docs, doc), append(ends, dec.InputOffset())
	}
	for i, doc := range docs {
		l.document++
		l.positions.add(doc, 1+bytes.Count(input[:int(ends[i])-len(doc)], []byte("\n")), true)
		l.object(doc)
	}
	return true
}

func (l *loader) loadTest(content map[string]any) {
	if len(l.tests) > 0 && !l.every {
		l.failf(l.here(), "is a second LoadTest; one run takes exactly one")
		return
	}
	t := &test{loadTest: &v1alpha1.LoadTest{}, document: l.document, item: l.item, structure: &structure{}}
	l.tests, l.positions.loadTest, l.positions.item = append(l.tests, t), l.document, l.item
	before := len(l.errs)
	t.structure.value(nil, &loadTestSchema, content)
	l.errs = append(l.errs, t.structure.errs...)
	t.compiles = l.decode(content, t.loadTest) && t.structure.hasNames()
	orElse(&t.loadTest.Namespace, defaultNamespace)
	l.generateName(&t.loadTest.ObjectMeta)
	l.own(t, before)
}

// hasNames returns false if a name does not fit, because all references to the name would be reported as errors.
func (s *structure) hasNames() bool {
	return !slices.ContainsFunc(s.removed, func(path string) bool { return strings.HasSuffix(path, ".name") })
}

// decodeObject reads a ConfigMap or a Secret.
func decodeObject[T any, P interface {
	*T
	metav1.Object
}](l *loader, content map[string]any) *T {
	object, s := new(T), &structure{}
	s.value(nil, contentSchema(content["kind"].(string)), content)
	for _, err := range s.errs {
		err.Field = l.here() + ": " + err.Field
	}
	l.errs = append(l.errs, s.errs...)
	l.decode(content, object)
	o := P(object)
	if o.GetName() == "" && len(s.errs) == 0 {
		l.failf(l.here()+": metadata.name", "is needed")
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(defaultNamespace)
	}
	return object
}

// decode fills the object. The error of the decoder can have the value, which can be secret.
func (l *loader) decode(content map[string]any, into any) bool {
	err := convert(content, into)
	if err != nil {
		l.failf(l.here(), "cannot be decoded")
	}
	return err == nil
}

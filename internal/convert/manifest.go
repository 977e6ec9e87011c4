package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/internal/compile"
)

// Manifest writes the YAML. The error has everything that is wrong, a line each: mistakes of the
// input, and what the LoadTest could not have, with the field of the input that it comes from.
func (d *Draft) Manifest() (out []byte, warnings []string, err error) {
	if d.Failed() {
		return nil, d.Warnings(), d.Err()
	}
	d.inline()
	d.warnOfSize()
	if out, err = d.encode(); err != nil {
		return nil, d.Warnings(), err
	}
	if err := d.check(out); err != nil {
		return nil, d.Warnings(), err
	}
	return out, d.Warnings(), nil
}

// check reads back what was written, as "h2surge run" would.
func (d *Draft) check(out []byte) error {
	m, err := compile.Load(bytes.NewReader(out))
	if wrong := new(compile.ManifestError); errors.As(err, &wrong) {
		return d.named(wrong.Errors)
	}
	if err != nil {
		return err
	}
	if _, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec); len(errs) > 0 {
		return d.named(errs)
	}
	if _, errs := compile.Files(m); len(errs) > 0 {
		return d.named(errs)
	}
	want, err := plain(d.LoadTest.Spec)
	if err != nil {
		return err
	}
	got, err := plain(m.LoadTest.Spec)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(want, got) {
		return errors.New("the manifest does not read as it was written; this is a fault of the conversion")
	}
	return nil
}

// plain returns a value as maps, lists and scalars of JSON.
func plain(v any) (out any, err error) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	return out, err
}

// named adds the fields of the input to the errors about fields of the LoadTest.
func (d *Draft) named(errs field.ErrorList) error {
	var out []error
	lines := compile.ErrorLines(errs)
	for i, line := range lines {
		if len(lines) == len(errs) {
			if from := d.from(errs[i].Field); from != "" {
				line = from + ": cannot be converted: " + line
			}
		}
		out = append(out, errors.New(line))
	}
	return errors.Join(out...)
}

// objects are those of the manifest, in their order.
func (d *Draft) objects() []runtime.Object {
	out := []runtime.Object{&d.LoadTest}
	if cm := d.configMap(); cm != nil {
		out = append(out, cm)
	}
	for i := range d.secrets {
		out = append(out, &d.secrets[i])
	}
	return out
}

func (d *Draft) encode() ([]byte, error) {
	var docs []*yaml.Node
	for _, o := range d.objects() {
		n, err := ordered(o)
		if err != nil {
			return nil, err
		}
		docs = append(docs, n)
	}
	d.comment(docs[0])
	b := bytes.NewBufferString(d.head())
	for i, doc := range docs {
		if i > 0 {
			b.WriteString("---\n")
		}
		enc := yaml.NewEncoder(b)
		enc.SetIndent(2)
		if err := enc.Encode(doc); err != nil {
			return nil, fmt.Errorf("writing YAML: %w", err)
		}
		if err := enc.Close(); err != nil {
			return nil, fmt.Errorf("writing YAML: %w", err)
		}
	}
	return b.Bytes(), nil
}

package convert

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Reader reads a file that the input names.
type Reader func(name string) ([]byte, error)

// Options are those of every conversion.
type Options struct {
	// Name of the LoadTest. Default converted.
	Name string
	// Read reads the files that the input names. Default: none can be read.
	Read Reader
	// Unsaved is set if the LoadTest runs now and on this machine, and no manifest is written: it can have secrets and
	// paths of files, and it has no ConfigMaps and Secrets.
	Unsaved bool
}

// Draft is a manifest in the making.
type Draft struct {
	LoadTest v1alpha1.LoadTest
	// Unsaved is that of Options.
	Unsaved bool

	title    string
	read     Reader
	notes    []note
	said     map[string]bool
	mistakes []error
	origins  map[string]string
	files    map[string][]byte
	size     int
	secrets  []corev1.Secret
	names    map[string]map[string]bool
}

// note is a warning and the place that it is about.
type note struct {
	// at is a path in the LoadTest, such as spec.rates[0].duration; empty: the whole.
	at, line string
}

// New begins a manifest. title is its first line, a comment.
func New(title string, o Options) *Draft {
	d := &Draft{
		title: title, read: o.Read, Unsaved: o.Unsaved,
		said: map[string]bool{}, origins: map[string]string{}, files: map[string][]byte{},
		names: map[string]map[string]bool{},
	}
	if d.read == nil {
		d.read = func(string) ([]byte, error) { return nil, errors.New("files cannot be read here") }
	}
	d.LoadTest.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTest"}
	d.LoadTest.Name = DashName(cmp.Or(o.Name, "converted"))
	return d
}

// Spec returns the spec of the LoadTest, for the converter to fill.
func (d *Draft) Spec() *v1alpha1.LoadTestSpec { return &d.LoadTest.Spec }

// Warn adds a warning about from, a field or flag of the input.
func (d *Draft) Warn(from, format string, args ...any) { d.WarnAt("", from, format, args...) }

// WarnAt is Warn with the path of a field of the LoadTest, such as spec.rates[0].duration. The manifest has the warning
// as a comment there, or at the next higher field that it has.
func (d *Draft) WarnAt(at, from, format string, args ...any) {
	line := oneLine(from + ": " + fmt.Sprintf(format, args...))
	if d.said[line] {
		return
	}
	d.said[line] = true
	d.notes = append(d.notes, note{at, line})
}

// Fail adds an error: the input cannot be converted.
func (d *Draft) Fail(from, format string, args ...any) {
	line := oneLine(from + ": " + fmt.Sprintf(format, args...))
	if d.said[line] {
		return
	}
	d.said[line] = true
	d.mistakes = append(d.mistakes, errors.New(line))
}

// Origin stores from which field of the input a field of the LoadTest was converted, for errors.
func (d *Draft) Origin(at, from string) { d.origins[at] = from }

// from returns the field of the input for a path of the LoadTest. If the path has no origin, it returns that of the
// next higher path that has one.
func (d *Draft) from(path string) string {
	for at := path; at != ""; {
		if origin := d.origins[at]; origin != "" {
			return origin
		}
		cut := strings.LastIndexAny(at, ".[")
		if cut < 0 {
			return ""
		}
		at = at[:cut]
	}
	return ""
}

// Read reads a file that a field of the input names; what cannot be read is a mistake.
func (d *Draft) Read(from, name string) ([]byte, bool) {
	content, err := d.read(name)
	if err != nil {
		d.Fail(from, "%v", err)
		return nil, false
	}
	return content, true
}

// TryRead reads a file that may not be one.
func (d *Draft) TryRead(name string) ([]byte, bool) {
	if name == "" || len(name) > 4096 || strings.ContainsAny(name, "\x00\n") {
		return nil, false
	}
	content, err := d.read(name)
	return content, err == nil
}

// WarnSaved is WarnAt about what a manifest must not have.
func (d *Draft) WarnSaved(at, from, format string, args ...any) {
	if !d.Unsaved {
		d.WarnAt(at, from, format, args...)
	}
}

// Err returns all errors, a line each; nil: there are none.
func (d *Draft) Err() error { return errors.Join(d.mistakes...) }

// Failed is true when the input cannot be converted.
func (d *Draft) Failed() bool { return len(d.mistakes) > 0 }

// Warnings are all that was said so far, in order.
func (d *Draft) Warnings() []string {
	var out []string
	for _, n := range d.notes {
		out = append(out, n.line)
	}
	return out
}

// oneLine leaves nothing in a text that a comment or a terminal would take for something else.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '?'
		case unicode.IsPrint(r):
			return r
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

package compile

import (
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Documents is the content of an input with any number of LoadTests and of objects of other kinds.
type Documents struct {
	Tests []Test
	// Errors are those that do not belong to a test.
	Errors field.ErrorList
	// Targets are the rules for h2surge target.
	Targets []Target
	// Others are the objects that are not checked.
	Others    []Other
	Positions *Positions
}

// Test is a LoadTest, or the template of a LoadTestSchedule.
type Test struct {
	*Manifest
	// Under is what stands before the path of a field of spec: "spec.template." in a LoadTestSchedule.
	Under string
	// Errors and Warnings are those of a test that cannot be loaded. Their paths are those of the document.
	Errors   field.ErrorList
	Warnings []string
	// Loaded reports whether the test can be compiled.
	Loaded bool
}

// IsSchedule reports whether the test is the template of a LoadTestSchedule.
func (t *Test) IsSchedule() bool { return t.Under != "" }

// Target is a document with rules for h2surge target.
type Target struct {
	Content []byte
	// Line is that of its first line.
	Line int
}

// Other is an object that is not checked.
type Other struct {
	Kind string
	Line int
}

// LoadEvery reads an input as Load does, and allows any number of LoadTests, and other objects. It returns an error
// only if the input cannot be read.
func LoadEvery(r io.Reader) (*Documents, error) {
	l := &loader{every: true}
	if err := l.read(r); err != nil {
		return nil, err
	}
	if len(l.tests)+len(l.errs)+len(l.targets)+len(l.others) == 0 {
		l.failf("", "the manifest has no LoadTest")
	}
	out := &Documents{Errors: l.errs, Targets: l.targets, Others: l.others, Positions: l.positions}
	for _, t := range l.tests {
		one := Test{Manifest: l.of(t), Under: t.under, Errors: t.errs, Loaded: len(l.errs)+len(t.errs) == 0}
		if !one.Loaded {
			errs, warnings := t.compile()
			one.Errors = append(one.Errors, Below(t.under, errs)...)
			for _, w := range warnings {
				one.Warnings = append(one.Warnings, below(t.under, w))
			}
		}
		out.Tests = append(out.Tests, one)
	}
	return out, nil
}

// Below returns errors with the paths that they have if spec is below another path.
func Below(under string, errs field.ErrorList) field.ErrorList {
	if under == "" {
		return errs
	}
	out := make(field.ErrorList, 0, len(errs))
	for _, err := range errs {
		moved := *err
		moved.Field = below(under, err.Field)
		out = append(out, &moved)
	}
	return out
}

func below(under, path string) string {
	if strings.HasPrefix(path, "spec") {
		return under + path
	}
	return path
}

// own moves the errors of a document to its test.
func (l *loader) own(t *test, before int) {
	if l.every {
		t.errs, l.errs = slices.Clone(l.errs[before:]), l.errs[:before]
	}
}

// other takes a document of a kind that Load refuses. It returns false if the document is a mistake.
func (l *loader) other(meta metav1.TypeMeta, content map[string]any) bool {
	at := l.positions.documents[l.document-1]
	group, _, hasGroup := strings.Cut(meta.APIVersion, "/")
	switch {
	case meta.APIVersion == v1alpha1.GroupVersion.String() && meta.Kind == scheduleKind:
		l.schedule(content)
		return true
	case meta.APIVersion == v1alpha1.GroupVersion.String() && meta.Kind == "Target" && l.item == "":
		l.targets = append(l.targets, Target{Content: at.source, Line: at.line})
		return true
	case meta.Kind == "" || meta.APIVersion == "" || meta.Kind == loadTestKind || meta.Kind == scheduleKind,
		group == v1alpha1.GroupVersion.Group && meta.Kind != "Target",
		!hasGroup && (meta.Kind == string(ConfigMap) || meta.Kind == string(Secret)):
		return false
	}
	l.others = append(l.others, Other{Kind: meta.Kind, Line: at.find(inItem(l.item, "kind"))})
	return true
}

package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestInline: a template that one step uses moves into the step with its comments and origins. Others stay.
func TestInline(t *testing.T) {
	d := filled()
	spec := d.Spec()
	spec.Templates = []v1alpha1.Template{
		{Name: "base"},
		{Name: "once", Request: v1alpha1.Request{Extends: "base", Path: "/once"}},
		{Name: "twice", Request: v1alpha1.Request{Path: "/twice"}},
		{Name: "grouped", Request: v1alpha1.Request{Path: "/grouped"}},
		{Name: "last", Request: v1alpha1.Request{Path: "bad"}},
	}
	spec.Chains[0].Steps = []v1alpha1.Step{
		{Template: "once"}, {Template: "twice"}, {Template: "twice", Name: "again"},
		{Parallel: []v1alpha1.ParallelStep{{Template: "grouped"}, {Template: "twice", Name: "beside"}}},
		{Template: "last", Name: "end"},
	}
	d.WarnAt("spec.templates[1].path", "flag", "is odd")
	d.WarnAt("spec.templates[2].path", "other", "is odd")
	d.Origin("spec.templates[4]", "the last")
	if _, _, err := d.Manifest(); err == nil || err.Error() != "the last: cannot be converted: spec.chains[0].steps[4].request.path: must begin with / or with a capture" {
		t.Fatalf("error: %v", err)
	}
	spec.Chains[0].Steps[4].Request.Path = "/last"
	out, _, err := d.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(out), "  templates:\n")
	got, _, _ = strings.Cut(got, "  rates:\n")
	want := `    - name: base
    - name: twice
      # other: is odd
      path: /twice
    - name: grouped
      path: /grouped
  chains:
    - name: c
      target: a
      steps:
        - name: once
          request:
            # flag: is odd
            path: /once
            extends: base
        - template: twice
        - name: again
          template: twice
        - parallel:
            - template: grouped
            - template: twice
              name: beside
        - name: end
          request:
            path: /last
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}

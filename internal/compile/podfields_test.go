package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// TestPodFields: each field of the pod has one variable of the environment, and the plan reads that variable.
func TestPodFields(t *testing.T) {
	from := func(path string) *v1alpha1.ValueFrom {
		return &v1alpha1.ValueFrom{FieldRef: &v1alpha1.FieldReference{FieldPath: path}}
	}
	lt := builder.Minimal("test").Edit(func(s *spec) {
		for name, path := range map[string]string{"a": "metadata.labels['x.y']", "b": "metadata.labels['x-y']", "c": "spec.nodeName"} {
			s.Variables = append(s.Variables, v1alpha1.Variable{Name: name, Constant: &v1alpha1.Constant{ValueFrom: from(path)}})
		}
		s.Templates[0].Headers = []v1alpha1.Header{{Name: "x-node", ValueFrom: from("spec.nodeName")}, {Name: "x", Value: new("${a}${b}${c}")}}
	}).Build()
	p, _, errs := compile.Compile("default/test", &lt.Spec)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	env := map[string]string{}
	var paths []string
	for _, f := range compile.PodFields(&lt.Spec) {
		env[f.Env] = f.Path
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"metadata.labels['x-y']", "metadata.labels['x.y']", "spec.nodeName"}, paths); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if len(env) != len(paths) {
		t.Errorf("%d variables of the environment for %d fields: %v", len(env), len(paths), env)
	}
	for i, v := range lt.Spec.Variables {
		if got, want := env[p.Variables[i].Constant.Env], v.Constant.ValueFrom.FieldRef.FieldPath; got != want {
			t.Errorf("variable %s reads %q, want %q", v.Name, got, want)
		}
	}
	if errs := compile.WithoutPod(&lt.Spec); len(errs) != 3 || errs[0].Detail != "there is no pod on the command line; use a variable with env instead" {
		t.Errorf("without a pod: %v", errs)
	}
}

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/internal/compile"
)

func TestAddPodFields(t *testing.T) {
	runner := &corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "a"}}}
	addPodFields(runner, []compile.PodField{{Env: "H2SURGE_FIELD_1", Path: "spec.nodeName"}})
	want := []corev1.EnvVar{
		{Name: "A", Value: "a"},
		{Name: "H2SURGE_FIELD_1", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"}}},
	}
	if diff := cmp.Diff(want, runner.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

package compile

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// PodTemplate decodes spec.runner.podTemplate strictly: the API server keeps whatever it says, so
// this is where a misspelt field is found. Nothing is defaulted and the template may lack
// anything; containers need a name, because they are merged by it. No template gives an empty one.
func PodTemplate(raw *runtime.RawExtension) (*corev1.PodTemplateSpec, field.ErrorList) {
	out := &corev1.PodTemplateSpec{}
	if raw == nil || len(raw.Raw) == 0 {
		return out, nil
	}
	at := place{path: runnerPath.Child("podTemplate")}
	w := &walker{}
	generic, err := decodeGeneric(raw.Raw)
	if err != nil {
		w.fail(at, "is not JSON")
		return nil, w.errs
	}
	w.value(at, generic, reflect.TypeFor[corev1.PodTemplateSpec](), nil)
	if len(w.errs) > 0 {
		return nil, w.errs
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw.Raw, out); err != nil {
		w.fail(at, "is malformed")
		return nil, w.errs
	}
	spec := at.path.Child("spec")
	w.containerNames(spec.Child("containers"), out.Spec.Containers)
	w.containerNames(spec.Child("initContainers"), out.Spec.InitContainers)
	if len(w.errs) > 0 {
		return nil, w.errs
	}
	return out, nil
}

func (w *walker) containerNames(path *field.Path, containers []corev1.Container) {
	seen := map[string]bool{}
	for i, c := range containers {
		at := place{path: path.Index(i).Child("name")}
		switch {
		case c.Name == "":
			w.fail(at, "is needed; the runner's own container is called runner")
		case seen[c.Name]:
			w.fail(at, "is the name of an earlier container too")
		}
		seen[c.Name] = true
	}
}

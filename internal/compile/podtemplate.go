package compile

import (
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/h2surge/h2surge/internal/lazy"
)

// otherType matches the message of the decoder about a value of another type.
var otherType = lazy.Regexp(`^json: cannot unmarshal (\w+).* into Go struct field \w+\.(\S+) of type (\S+)$`)

// PodTemplate decodes spec.runner.podTemplate strictly: the API server keeps whatever it says, so
// this is where a misspelt field is found. Nothing is defaulted and the template may lack
// anything; containers need a name, because they are merged by it. No template gives an empty one.
func PodTemplate(raw *runtime.RawExtension) (*corev1.PodTemplateSpec, field.ErrorList) {
	out := &corev1.PodTemplateSpec{}
	if raw == nil || len(raw.Raw) == 0 {
		return out, nil
	}
	at := runnerPath.Child("podTemplate")
	s := &structure{}
	if !json.Valid(raw.Raw) {
		s.fail(at, "is not JSON")
		return nil, s.errs
	}
	unknown, err := kjson.UnmarshalStrict(raw.Raw, out, kjson.DisallowUnknownFields)
	if err != nil {
		problem := "is not a pod template"
		if errors.Is(err, resource.ErrFormatWrong) {
			problem = "has a quantity that cannot be read; allowed: such as 500m or 1Gi"
		}
		if m := otherType().FindStringSubmatch(err.Error()); m != nil {
			at, problem = at.Child(m[2]), "must be "+m[3]+", not "+m[1]
			if m[3] == "string" && m[1] != "object" && m[1] != "array" {
				problem = "must be a string; put the value in quotes"
			}
		}
		s.fail(at, problem)
		return nil, s.errs
	}
	for _, err := range unknown {
		if f := kjson.FieldError(nil); errors.As(err, &f) {
			s.fail(at.Child(f.FieldPath()), "unknown field")
		}
	}
	spec := at.Child("spec")
	s.containerNames(spec.Child("containers"), out.Spec.Containers)
	s.containerNames(spec.Child("initContainers"), out.Spec.InitContainers)
	if len(s.errs) > 0 {
		return nil, s.errs
	}
	return out, nil
}

func (s *structure) containerNames(path *field.Path, containers []corev1.Container) {
	seen := map[string]bool{}
	for i, c := range containers {
		at := path.Index(i).Child("name")
		switch {
		case c.Name == "":
			s.fail(at, "is needed; the runner's own container is called runner")
		case seen[c.Name]:
			s.fail(at, "is the name of an earlier container too")
		}
		seen[c.Name] = true
	}
}

package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Supported says what a plan asks for that the runners of this version cannot do.
func Supported(plan *runnerv1alpha1.Plan) field.ErrorList {
	var errs field.ErrorList
	for i, t := range plan.Targets {
		at := field.NewPath("spec", "targets").Index(i)
		switch {
		case len(t.Endpoints) > 0 && t.Endpoints[0].Scheme == "https":
			errs = append(errs, field.Invalid(at.Child(urlField(&t)), field.OmitValueType{}, "https is not supported yet; this version speaks h2c over http"))
		case t.Protocol == runnerv1alpha1.ProtocolHTTP1:
			errs = append(errs, field.Invalid(at.Child("protocol"), field.OmitValueType{}, "http1 is not supported yet; this version speaks h2c"))
		}
	}
	return errs
}

// urlField is where the URLs of a target came from.
func urlField(t *runnerv1alpha1.Target) string {
	if len(t.Endpoints) > 1 {
		return "urls"
	}
	return "url"
}

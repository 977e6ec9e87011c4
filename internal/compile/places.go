package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Places are the fields of a spec that the places of its plan come from.
type Places map[rv.Place]*field.Path

// Of returns the field of a place, or of the smallest place around it that has one.
func (p Places) Of(at rv.Place) *field.Path {
	for {
		path := p[at]
		switch {
		case path != nil:
			return path
		case at.Item > 0:
			at.Item = 0
		case at.Field != "" && at.List == rv.PlaceVariables: // a variable of a spec has the fields of that of the plan
			return p.Of(at.In("", -1)).Child(at.Field)
		case at.Field != "":
			at.Field = ""
		case at.Step > 0:
			at.Step = 0
		default:
			return specPath
		}
	}
}

// Placed does what Compile does, and returns the places of the plan, too.
func Placed(name string, spec *v1alpha1.LoadTestSpec) (plan *rv.Plan, places Places, warnings []string,
	errs field.ErrorList) {
	places = Places{}
	plan, warnings, errs = compile(name, spec, places)
	return plan, places, warnings, errs
}

// place notes the field of a place.
func (c *compiler) place(at rv.Place, path *field.Path) {
	if c.places != nil {
		c.places[at] = path
	}
}

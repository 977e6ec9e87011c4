package cli

import (
	"errors"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
)

// tlsPlaces are the fields that the files of a plan's TLS come from.
var tlsPlaces = strings.NewReplacer("caFile", "caFrom", "certFile, keyFile", "certificate")

// certificateErrors looks into the certificates and keys that a plan's targets name. Files that are not
// there are reported elsewhere.
func certificateErrors(plan *rv.Plan) (errs field.ErrorList) {
	for i := range plan.Targets {
		t := plan.Targets[i].TLS
		if t == nil {
			continue
		}
		if _, err := dial.ClientConfig(t, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			place, detail, _ := strings.Cut(err.Error(), ": ")
			place, _, _ = strings.Cut(place, " /")
			path := field.NewPath("spec", "targets").Index(i).Child("tls", tlsPlaces.Replace(place))
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, detail))
		}
	}
	return errs
}

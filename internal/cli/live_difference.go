package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// onlyRates is the message about any other change.
const onlyRates = "differs from the running test; only requestsPerSecond, requestsPer, chainsPerSecond, rampFrom and concurrency of rates may differ"

// refusal returns why a manifest that was read again cannot replace the running one; nil: it can. It compares the
// compiled plans, so the manifest may be written in another way.
func refusal(file string, was, is *job) error {
	inPlan, err := firstDifference(planWithoutRates(was.plan), planWithoutRates(is.plan))
	if err != nil {
		return err
	}
	sameFiles := slices.EqualFunc(was.files, is.files, func(a, b compile.File) bool {
		return a.Path == b.Path && bytes.Equal(a.Content, b.Content)
	})
	switch {
	case inPlan == "" && sameFiles:
		return nil
	case inPlan == "":
		return errors.New(file + ": the content of a ConfigMap or Secret " + onlyRates)
	}
	inSpec, err := firstDifference(specWithoutRates(&was.manifest.LoadTest.Spec),
		specWithoutRates(&is.manifest.LoadTest.Spec))
	switch {
	case err != nil:
		return err
	case inSpec == "": // such as the name
		return fmt.Errorf("%s: %s of the plan %s", file, inPlan, onlyRates)
	}
	wrong := field.Invalid(field.NewPath("spec"), field.OmitValueType{}, onlyRates)
	wrong.Field += "." + inSpec
	return is.mistakes(field.ErrorList{wrong})
}

func planWithoutRates(p *rv.Plan) *rv.Plan {
	out := *p
	out.Rates = slices.Clone(p.Rates)
	for i := range out.Rates {
		if !out.Rates[i].EndsByCount() {
			out.Rates[i] = out.Rates[i].WithRateOf(&rv.Rate{})
		}
	}
	return &out
}

func specWithoutRates(s *v1alpha1.LoadTestSpec) *v1alpha1.LoadTestSpec {
	out := *s
	out.Rates = withoutRates(s.Rates)
	out.Chains = slices.Clone(s.Chains)
	for i := range out.Chains {
		out.Chains[i].Rates = withoutRates(out.Chains[i].Rates)
	}
	return &out
}

func withoutRates(rates []v1alpha1.Rate) []v1alpha1.Rate {
	out := slices.Clone(rates)
	for i := range out {
		if out[i].ClosedLoop != nil && !out[i].EndsByCount() {
			out[i].ClosedLoop = &v1alpha1.ClosedLoop{}
		}
		r := &out[i]
		r.RequestsPerSecond, r.RequestsPer, r.ChainsPerSecond, r.RampFrom = nil, nil, nil, nil
	}
	return out
}

// firstDifference is the path of the first field, in the order of the alphabet, in which two values
// differ as JSON; empty: none.
func firstDifference(a, b any) (string, error) {
	left, err := generic(a)
	if err != nil {
		return "", err
	}
	right, err := generic(b)
	if err != nil {
		return "", err
	}
	if at := difference(nil, left, right); at != nil {
		return at.String(), nil
	}
	return "", nil
}

func generic(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // a seed has 64 bits
	var out any
	err = dec.Decode(&out)
	return out, err
}

// difference is where two trees differ first; nil: nowhere.
func difference(at *field.Path, a, b any) *field.Path {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return ofObjects(at, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			return ofArrays(at, a, b)
		}
	default:
		if a == b {
			return nil
		}
	}
	return at
}

func ofObjects(at *field.Path, a, b map[string]any) *field.Path {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		child := field.NewPath(key)
		if at != nil {
			child = at.Child(key)
		}
		if found := difference(child, a[key], b[key]); found != nil {
			return found
		}
	}
	return nil
}

func ofArrays(at *field.Path, a, b []any) *field.Path {
	for i := range a {
		if found := difference(at.Index(i), a[i], b[i]); found != nil {
			return found
		}
	}
	return nil
}

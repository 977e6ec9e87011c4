package run

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/policy"
)

// Restrict adds what the operator's configuration allows to a plan.
func (f *Facts) Restrict(compiled *runnerv1alpha1.Plan) {
	compiled.Policy, compiled.RequestLimit = f.Addresses, f.Config.Limits.RequestsPerSecond
}

// Denied returns what the operator's configuration does not allow in a plan.
func (f *Facts) Denied(compiled *runnerv1alpha1.Plan) (field.ErrorList, error) {
	addresses, err := policy.Parse(compiled.Policy)
	if err != nil {
		return nil, fmt.Errorf("the address policy: %w", err)
	}
	limits := f.liveLimits()
	limits.Duration, limits.Addresses = f.Config.Limits.Duration.Duration, addresses
	limits.DeniedPodFields = f.Config.Runner.DeniedPodFields
	return limits.Check(&f.LoadTest.Spec, compiled), nil
}

// liveLimits are the limits of what can change while a test runs.
func (f *Facts) liveLimits() *compile.Limits {
	l := &f.Config.Limits
	return &compile.Limits{RequestsPerSecond: l.RequestsPerSecond, Shards: int(l.Shards), Connections: l.Connections}
}

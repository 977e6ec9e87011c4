package compile

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TargetOf is what the first target resolves to, whether or not runners can speak it yet.
func TargetOf(spec *v1alpha1.LoadTestSpec) runnerv1alpha1.Target {
	c := &compiler{spec: withDefaults(spec), plan: &runnerv1alpha1.Plan{}, seen: map[string]bool{}}
	c.targets()
	return c.plan.Targets[0]
}

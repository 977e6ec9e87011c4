package run

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// RateDifference, EditedAtStart and CompileLive are for tests that need package runtest, which imports this one.
var RateDifference = rateDifference

const EditedAtStart = editedAtStart

func (f *Facts) CompileLive(spec *v1alpha1.LoadTestSpec) (*runnerv1alpha1.Plan, string) {
	return f.compileLive(spec)
}

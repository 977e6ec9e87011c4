package decide

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// StartProblem returns why the runners are not ready; nil: there is no Job yet.
func StartProblem(f *run.Facts) *run.Blocker {
	switch {
	case len(f.Refused) > 0:
		return f.WriteRefused()
	case f.Problem != nil:
		return f.Problem
	case f.Job == nil:
		return nil
	case run.JobSuspended(f.Job):
		return run.NotReady(v1alpha1.ReasonQueued, fmt.Sprintf("Job %s is suspended by a queue", f.Job.Name))
	case f.Plan != nil && UnreachableTarget(f) != "":
		return run.NotReady(v1alpha1.ReasonTargetUnreachable, UnreachableTarget(f))
	case f.Plan != nil && run.RunnerIn(f.View, runnerv1alpha1.StateSettingUp) >= 0:
		return run.NotReady(v1alpha1.ReasonSettingUp, fmt.Sprintf("runner %d runs the setup chains",
			run.RunnerIn(f.View, runnerv1alpha1.StateSettingUp)))
	case f.Plan != nil && UnauthorizedTarget(f) != "":
		return run.NotReady(v1alpha1.ReasonNotAuthorized, UnauthorizedTarget(f))
	case f.Plan != nil && run.AllRunning(f):
		return run.NotReady(v1alpha1.ReasonConnecting, "the others open their connections")
	}
	return run.NotReady(v1alpha1.ReasonWaitingForPods, fmt.Sprintf("%d of %d pods are running", run.PodsRunning(f),
		f.Shards()))
}

package verdict

import runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"

// Exit codes of h2surge run.
const (
	// ExitPassed: the run completed, and all thresholds and the default limit on errors passed.
	ExitPassed = 0
	// ExitUsage: a bad manifest or wrong use of the command; no verdict leads to it.
	ExitUsage = 1
	// ExitFailed: a threshold or the default limit on errors is exceeded, or teardown failed.
	ExitFailed = 2
	// ExitInconclusive: the numbers say nothing about the target.
	ExitInconclusive = 3
	// ExitStopped: interrupted or stopped; a partial report has been written.
	ExitStopped = 4
	// ExitError: could not run: a dead target, a lost shard, not one response.
	ExitError = 5
)

// ExitCode returns the exit code of h2surge run for a judged report. GeneratorBound is a success without thresholds,
// because the user asked for no figures. A search asks for a figure, so it counts as a threshold.
func ExitCode(r *runnerv1alpha1.Report) int {
	switch v := &r.Verdict; v.Outcome {
	case runnerv1alpha1.OutcomePassed:
		return ExitPassed
	case runnerv1alpha1.OutcomeFailed:
		return ExitFailed
	case runnerv1alpha1.OutcomeStopped:
		return ExitStopped
	case runnerv1alpha1.OutcomeInconclusive:
		if v.Reason == ReasonGeneratorBound && len(v.Thresholds) == 0 && r.Search == nil {
			return ExitPassed
		}
		return ExitInconclusive
	}
	return ExitError
}

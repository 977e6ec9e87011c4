package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/internal/version"
)

// RefusedForTooLong ends a test whose runners the API server refuses for as long as pods may take to run: its turn with
// a lock, and the patience of who waits for it, are over then. nil: it does not.
func RefusedForTooLong(f *run.Facts) *run.Blocker {
	limit := f.Config.Runner.PodTimeout.Duration
	for _, w := range f.Refused {
		kind, _, _ := strings.Cut(w.What, " ")
		if slices.Contains([]string{"Job", "Secret", "Service"}, kind) && f.Now.Sub(w.Since) >= limit {
			return run.Never(f.RefusedReason(), fmt.Sprintf("Timed out after %s: %s", limit, f.RefusedMessage()))
		}
	}
	return nil
}

// StartFailure returns why the run cannot start any more; nil: it can, or has started.
func StartFailure(f *run.Facts) *run.Blocker {
	for i := range f.View.Shards {
		snap := f.View.Shards[i].Snapshot
		if snap == nil {
			continue
		}
		if why := snap.Mismatch(version.Get().String()); why != "" {
			return run.Never(v1alpha1.ReasonVersionMismatch, why)
		}
		switch snap.Problem {
		case runnerv1alpha1.ProblemPlan:
			return run.Never(string(runnerv1alpha1.ProblemPlan), cmp.Or(snap.Message, "A runner cannot execute the plan"))
		case runnerv1alpha1.ProblemSetup:
			return run.Never(v1alpha1.ReasonSetupFailed, cmp.Or(snap.Message, "A setup chain failed"))
		case runnerv1alpha1.ProblemPolicy:
			return run.Never(v1alpha1.ReasonDeniedByPolicy, cmp.Or(snap.Message, "A runner must not connect to a target"))
		}
	}
	if why := lostBeforeStart(f); why != "" && lastAttempt(f) && viable(f) < atLeast(f) {
		return run.Never(v1alpha1.ReasonRunnerLost, fmt.Sprintf("%s (attempt %d of %d)", why, f.Config.Runner.StartAttempts,
			f.Config.Runner.StartAttempts))
	}
	return tooLate(f)
}

// tooLate returns the failure of a test whose runners were not ready in time. If the test starts with some of the
// shards, these have readyTimeout more, because they connect again with their larger shares.
func tooLate(f *run.Facts) *run.Blocker {
	from, limit := ReadyLimit(f)
	if f.Starters() != nil {
		limit += f.Config.Runner.ReadyTimeout.Duration
	}
	if left := from.Add(limit).Sub(f.Now); left > 0 {
		f.Again(left)
		return nil
	}
	n := f.View.Count((*shards.Shard).Ready)
	late := fmt.Sprintf("Timed out after %s: %d of %d runners are ready", limit, n, f.Plan.Shards)
	if !run.AllRunning(f) {
		if f.Problem != nil {
			return run.Never(f.Problem.Reason, late+": "+f.Problem.Message)
		}
		return run.Never(v1alpha1.ReasonStartTimeout, fmt.Sprintf("%s: %d of %d pods are running", late, run.PodsRunning(f),
			f.Plan.Shards))
	}
	if why := UnreachableTarget(f); why != "" {
		return run.Never(v1alpha1.ReasonTargetUnreachable, late+": "+why)
	}
	if why := UnauthorizedTarget(f); why != "" {
		return run.Never(v1alpha1.ReasonNotAuthorized, late+": "+why)
	}
	return run.Never(v1alpha1.ReasonStartTimeout, late+firstTrouble(f.View))
}

// UnreachableTarget describes the first runner that cannot connect to a target; empty: there is none.
func UnreachableTarget(f *run.Facts) string {
	return problemOfRunner(f, runnerv1alpha1.ProblemConnect, "cannot connect")
}

// UnauthorizedTarget describes the first runner that gets no token; empty: there is none.
func UnauthorizedTarget(f *run.Facts) string {
	return problemOfRunner(f, runnerv1alpha1.ProblemAuthorization, "has no authorization")
}

// problemOfRunner describes the first runner that has a problem; "": no runner has it.
func problemOfRunner(f *run.Facts, p runnerv1alpha1.Problem, what string) string {
	for i := range f.View.Shards {
		if snap := f.View.Shards[i].Snapshot; snap != nil && snap.Problem == p {
			return fmt.Sprintf("runner %d %s: %s", i, what, cmp.Or(snap.Message, "no details"))
		}
	}
	return ""
}

func firstTrouble(v *shards.View) string {
	for i := range v.Shards {
		if t := v.Shards[i].Trouble; t != "" {
			return fmt.Sprintf(": runner %d: %s", i, shorten.To(t, 512))
		}
	}
	return ""
}

package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// conditions sets conditions of one status, all for the same generation and at the same instant.
type conditions struct {
	status     *v1alpha1.LoadTestStatus
	generation int64
	now        metav1.Time
}

func conditionsOf(st *v1alpha1.LoadTestStatus, generation int64, now time.Time) *conditions {
	return &conditions{status: st, generation: generation, now: *asStored(&metav1.Time{Time: now})}
}

func (c *conditions) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&c.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: shorten.To(message, run.MaxMessage),
		ObservedGeneration: c.generation, LastTransitionTime: c.now,
	})
}

// keep leaves a condition as it is; false: there is none.
func (c *conditions) keep(kind string) bool {
	old := meta.FindStatusCondition(c.status.Conditions, kind)
	if old != nil {
		c.set(kind, old.Status, old.Reason, old.Message)
	}
	return old != nil
}

func (c *conditions) reason(kind string) string {
	if old := meta.FindStatusCondition(c.status.Conditions, kind); old != nil {
		return old.Reason
	}
	return ""
}

func (c *conditions) remove(kind string) { meta.RemoveStatusCondition(&c.status.Conditions, kind) }

func planReady(f *run.Facts, c *conditions) {
	switch {
	case f.PlanError() != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionFalse, f.Blocked.Reason, f.Blocked.Message)
	case f.Record.End != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled, planMessage(f.Record.End.Warnings))
	default:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled, planMessage(f.Warnings))
	}
}

func planMessage(warnings string) string {
	if warnings == "" {
		return "The spec is compiled"
	}
	return "The spec is compiled; warnings:\n" + warnings
}

func runnersReady(f *run.Facts, c *conditions) {
	if f.TakenOver() && c.keep(v1alpha1.ConditionRunnersReady) {
		return
	}
	n := counts(f)
	ready := fmt.Sprintf("%d of %d runners are ready", n.Ready, n.Desired)
	status, reason, message := metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, ready+": no runner pod exists"
	switch {
	case f.Record.End != nil && !f.Record.End.Started:
		reason, message = f.Record.End.Reason, f.Record.End.Message
	case f.Record.End != nil && f.Record.End.Shards.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, lostMessage(f.Record.End.Runners)
	case f.Record.End != nil && f.Record.End.Shards.Ready < f.Record.End.Shards.Desired:
		reason = v1alpha1.ReasonJoining
		message = fmt.Sprintf("%d of %d runners were ready at the end", f.Record.End.Shards.Ready, f.Record.End.Shards.Desired)
	case f.Record.End != nil:
		status, reason = metav1.ConditionTrue, v1alpha1.ReasonAllReady
		message = fmt.Sprintf("%d of %d runners were ready", f.Record.End.Shards.Ready, f.Record.End.Shards.Desired)
	case f.Held():
		reason, message = v1alpha1.ReasonSuspended, run.HeldMessage
	case n.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, ready+": "+lostMessage(runners(f))
	case silentMessage(f) != "":
		reason, message = v1alpha1.ReasonRunnerSilent, silentMessage(f)
	case n.Ready >= n.Desired && len(f.View.Shards) > 0:
		status, reason, message = metav1.ConditionTrue, v1alpha1.ReasonAllReady, ready
	case f.StartDecided():
		reason, message = v1alpha1.ReasonJoining, joiningMessage(f, ready)
	default:
		if b := waitsFor(f); b != nil {
			reason, message = b.Reason, ready+": "+b.Message
		}
	}
	if note := protocolsDiffer(c.status); note != "" && status == metav1.ConditionTrue {
		message += "; " + note
	}
	c.set(v1alpha1.ConditionRunnersReady, status, reason, message)
}

// waitsFor returns what a test waits for that has not started; nil: it has no Job yet.
func waitsFor(f *run.Facts) *run.Blocker {
	if b := f.BlockedAt(v1alpha1.ConditionRunnersReady); b != nil {
		return b
	}
	return decide.StartProblem(f)
}

// joiningMessage describes the runners that the test runs without.
func joiningMessage(f *run.Facts, ready string) string {
	out := ready + "; the others join when they are ready"
	if with := f.Starters(); with != nil {
		out += fmt.Sprintf(" (started with %d)", len(with))
	}
	if f.Problem != nil {
		out += "; " + f.Problem.Message
	}
	if f.View.NotDistributed != "" {
		out += "; " + f.View.NotDistributed
	}
	return out
}

func lostMessage(runners []v1alpha1.RunnerStatus) string {
	var out []string
	for _, r := range runners {
		if r.State == stateLost {
			out = append(out, fmt.Sprintf("runner %d (pod %s) was lost: %s", r.Shard, r.Pod, r.Message))
		}
	}
	if len(out) == 0 {
		return "a runner was lost; its shard has a new runner"
	}
	return strings.Join(out, "; ")
}

const (
	invalidMessage = "The spec is invalid; see condition PlanReady"
	runsMessage    = "The test has not finished"
	pausedMessage  = "No request is sent while spec.suspend is true"
	editedMessage  = "The spec changed after the test finished, which has no effect; apply it under another name to run it"
)

// stateOf returns the state of a test that has not finished, as a reason and a message.
func stateOf(f *run.Facts) (reason, message string) {
	switch {
	case f.Held():
		return v1alpha1.ReasonSuspended, "The test does not start while spec.suspend is true"
	case !f.StartDecided():
		return v1alpha1.ReasonNotStarted, "The test has not started; see condition RunnersReady"
	case run.RunnerIn(f, runnerv1alpha1.StateTearingDown) >= 0 && !run.Loading(f):
		return v1alpha1.ReasonDraining, fmt.Sprintf("The load has ended; runner %d runs the teardown chains", run.RunnerIn(f, runnerv1alpha1.StateTearingDown))
	case len(f.Refused) > 0 && f.View.Over():
		return v1alpha1.ReasonWriteRefused, "The runners have finished, but " + f.RefusedMessage()
	case !run.Loading(f):
		return v1alpha1.ReasonDraining, "All requests are sent; the runners wait for responses"
	case run.Paused(f):
		return v1alpha1.ReasonSuspended, pausedMessage
	}
	if f.Plan != nil && f.Plan.Search != nil {
		return v1alpha1.ReasonRunning, searchMessage(f)
	}
	return v1alpha1.ReasonRunning, "The runners send load"
}

// finished is also True for an invalid spec, so that a client that waits for it does not wait for ever. An
// edit that fixes the spec makes it False again, because nothing has run.
func finished(f *run.Facts, c *conditions) {
	switch {
	case f.Record.End != nil:
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, f.Record.End.Reason, f.Record.End.Message)
		c.markFinished(f)
	case f.Invalid():
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, f.Blocked.Reason, invalidMessage)
		c.markFinished(f)
	case f.TakenOver() && c.reason(v1alpha1.ConditionFinished) == v1alpha1.ReasonSuspended && c.keep(v1alpha1.ConditionFinished):
	default:
		reason, message := stateOf(f)
		c.set(v1alpha1.ConditionFinished, metav1.ConditionFalse, reason, message)
	}
}

// markFinished adds to the message of Finished that the TTL has no effect and that the spec changed after the end, or
// removes that.
func (c *conditions) markFinished(f *run.Facts) {
	old := meta.FindStatusCondition(c.status.Conditions, v1alpha1.ConditionFinished)
	if old == nil {
		return
	}
	notes := ""
	lt := *f.LoadTest
	if lt.Status = *c.status; run.TTLIgnored(&lt) {
		notes = v1alpha1.TTLIgnored
	}
	if f.Edited {
		notes += v1alpha1.EditedAfterFinish
	}
	message := strings.TrimSuffix(strings.TrimSuffix(old.Message, v1alpha1.EditedAfterFinish), v1alpha1.TTLIgnored)
	if notes != "" {
		message = shorten.To(message, run.MaxMessage-len(notes)) + notes
	}
	c.set(v1alpha1.ConditionFinished, old.Status, old.Reason, message)
}

func succeeded(f *run.Facts, c *conditions) {
	switch {
	case f.Record.End != nil && f.Record.End.Reason == v1alpha1.ReasonCompleted && f.Record.End.Results != nil && f.Record.End.Results.Partial:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult,
			"The test completed, but the result lacks what a lost runner did after its last snapshot: "+lostMessage(f.Record.End.Runners))
	case f.Record.End != nil && f.Record.End.Reason == v1alpha1.ReasonCompleted:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted, "The test completed")
	case f.Record.End != nil:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, f.Record.End.Reason, f.Record.End.Message)
	case f.Invalid():
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, f.Blocked.Reason, invalidMessage)
	default:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, runsMessage)
	}
}

func passed(f *run.Facts, c *conditions) {
	const kind = v1alpha1.ConditionPassed
	switch {
	case f.Record.End == nil && f.Invalid():
		c.set(kind, metav1.ConditionFalse, v1alpha1.ReasonNotSucceeded, invalidMessage)
		return
	case f.Record.End == nil:
		c.set(kind, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, runsMessage)
		return
	}
	switch v := f.Record.End.Verdict; runnerv1alpha1.Outcome(v.Outcome) {
	case runnerv1alpha1.OutcomePassed:
		c.set(kind, metav1.ConditionTrue, v1alpha1.ReasonPassed, v.Message)
	case runnerv1alpha1.OutcomeFailed:
		c.set(kind, metav1.ConditionFalse, v.Reason, v.Message)
	case runnerv1alpha1.OutcomeInconclusive:
		c.set(kind, metav1.ConditionUnknown, v.Reason, v.Message)
	default:
		c.set(kind, metav1.ConditionFalse, v1alpha1.ReasonNotSucceeded, v.Message)
	}
}

// reconciling is absent unless it is True, as kstatus expects. A write that the API server refuses after the start,
// and a change of the spec that has no effect, are reported here.
func reconciling(f *run.Facts, c *conditions) {
	switch {
	case len(f.Refused) > 0 && (f.StartDecided() || f.Record.End != nil):
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWriteRefused,
			strings.ToUpper(f.RefusedMessage()[:1])+f.RefusedMessage()[1:]+"; the operator tries again")
	case f.Failing != "":
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetryingAfterError, f.Failing)
	case f.Record.End != nil || f.PlanError() != nil:
		c.remove(v1alpha1.ConditionReconciling)
	case f.NotApplied != "":
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChangeNotApplied, "The test continues without a change of the spec: "+f.NotApplied)
	default:
		is := meta.FindStatusCondition(c.status.Conditions, v1alpha1.ConditionFinished)
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, is.Reason, is.Message)
	}
}

// stalled is absent unless it is True, as kstatus expects.
func stalled(f *run.Facts, c *conditions) {
	switch {
	case f.PlanError() != nil && f.Record.End == nil:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, f.Blocked.Reason, f.Blocked.Message)
	case f.Record.End != nil && phaseOf(f) == v1alpha1.PhaseFailed:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, f.Record.End.Reason, f.Record.End.Message)
	default:
		c.remove(v1alpha1.ConditionStalled)
	}
}

// silentMessage names the runners that do not answer; empty: all do.
func silentMessage(f *run.Facts) string {
	silent := func(sh *shards.Shard) bool { return sh.Silent && sh.Lost == nil }
	n := f.View.Count(silent)
	if n == 0 {
		return ""
	}
	for i := range f.View.Shards {
		if sh := &f.View.Shards[i]; silent(sh) {
			return fmt.Sprintf("%d of %d runners do not answer, and may still send load: runner %d (pod %s): %s",
				n, f.Shards(), i, sh.Pod.Name, shorten.To(sh.Trouble, 512))
		}
	}
	return ""
}

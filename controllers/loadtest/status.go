package loadtest

import (
	"fmt"
	"slices"
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
	"github.com/h2surge/h2surge/controllers/ttl"
)

// statusOf computes the status from what a pass has found. It is a pure function of its
// arguments; of the old status it keeps the transition times of conditions that stay, and the
// start time, which is a record of what was.
func statusOf(s *scope, now time.Time) *v1alpha1.LoadTestStatus {
	st := s.LoadTest.Status.DeepCopy()
	st.ObservedGeneration = s.LoadTest.Generation
	c := &conditions{status: st, generation: s.LoadTest.Generation, now: *asStored(&metav1.Time{Time: now})}
	if s.Record.End == nil && st.CompletionTime != nil {
		c.markFinished(s)
		return st // the report was deleted: what status says is all that is left
	}
	if s.Record.End != nil {
		s.endedStatus(st)
	} else {
		s.liveStatus(st)
	}
	st.Changes = changesShown(s.Record.Edits)
	if st.Phase != v1alpha1.PhaseSuspended || !s.TakenOver() {
		st.Phase = phaseOf(s)
	}
	for _, set := range []func(*scope, *conditions){
		planReady, runnersReady, finished, succeeded, passed, reconciling, stalled,
	} {
		set(s, c)
	}
	c.keep(v1alpha1.ConditionReportStored) // of controllers/upload, as reportURL
	if st.Summary == nil {
		st.Summary = &v1alpha1.Summary{}
	}
	st.Summary.Reason, st.Summary.Message = summaryOf(st)
	return st
}

// asStored returns a time as the API server stores it, in seconds: any other differs from what is stored in each pass. Nil stays nil.
func asStored(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

func (s *scope) endedStatus(st *v1alpha1.LoadTestStatus) {
	e := s.Record.End
	st.CompletionTime, st.StartTime = asStored(&e.Time), asStored(e.StartTime)
	st.Shards, st.PlanHash, st.StartedGeneration = &e.Shards, e.PlanHash, e.StartedGeneration
	st.Results, st.Verdict, st.Runners, st.Protocols = e.Results, e.Verdict, e.Runners, e.Protocols
	st.Generator = generatorOf(st.Runners)
	st.StartSkewMicroseconds, st.ReportRef, st.Search, st.Thresholds = e.Skew, e.ReportRef, e.Search, nil
	st.Summary = e.Summary.DeepCopy()
	if st.Summary == nil {
		st.Summary = &v1alpha1.Summary{Shards: fmt.Sprintf("%d/%d", e.Shards.Ready, e.Shards.Desired)}
	}
}

func (s *scope) liveStatus(st *v1alpha1.LoadTestStatus) {
	st.PlanHash, st.StartedGeneration, st.Search = s.PlanHash, s.StartedGeneration(), s.searchStatus(false)
	if s.StartDecided() {
		st.StartTime = asStored(&metav1.Time{Time: s.Record.Start.Time.Time})
	}
	if s.TakenOver() {
		return // figures of a part of the runners would be a step back
	}
	counts := s.counts()
	st.Shards, st.Summary, st.Runners, st.Protocols = &counts, s.summary(), s.runners(), s.protocols()
	st.Results, st.StartSkewMicroseconds, st.Generator = nil, nil, generatorOf(st.Runners)
	if s.StartDecided() && s.Report != nil {
		st.Results, st.StartSkewMicroseconds, st.Thresholds = s.results(), s.skew(), s.thresholds()
	}
	if before := s.LoadTest.Status.Results; before != nil && st.Results != nil && st.Results.Requests.Sent < before.Requests.Sent {
		// A runner was lost with the former operator, and its stored counts are older than those shown: they do not go back.
		st.Results = before.DeepCopy()
	}
}

// phaseOf returns status.phase, which is for users. The operator decides nothing by it.
func phaseOf(s *scope) v1alpha1.Phase {
	switch {
	case s.Record.End != nil && s.Record.End.Reason == v1alpha1.ReasonCompleted:
		return v1alpha1.PhaseCompleted
	case s.Record.End != nil && s.Record.End.Verdict.Outcome == string(runnerv1alpha1.OutcomeStopped):
		return v1alpha1.PhaseStopped
	case s.Record.End != nil:
		return v1alpha1.PhaseFailed
	case s.StartDecided() && !run.Loading(s.Facts):
		return v1alpha1.PhaseFinishing
	case s.StartDecided() && run.Paused(s.Facts):
		return v1alpha1.PhaseSuspended
	case s.StartDecided():
		return v1alpha1.PhaseRunning
	case s.Invalid():
		return v1alpha1.PhaseInvalid
	case s.Held():
		return v1alpha1.PhaseSuspended
	case s.Job != nil:
		return v1alpha1.PhaseStarting
	}
	return v1alpha1.PhasePending
}

// runnerIn is the lowest shard whose runner is in a state; -1: none is.
func runnerIn(s *scope, state runnerv1alpha1.State) int {
	return slices.IndexFunc(s.View.Shards, func(sh shards.Shard) bool {
		return sh.Lost == nil && sh.Snapshot != nil && sh.Snapshot.State == state
	})
}

// conditions sets conditions of one status, all for the same generation and at the same instant.
type conditions struct {
	status     *v1alpha1.LoadTestStatus
	generation int64
	now        metav1.Time
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

func planReady(s *scope, c *conditions) {
	switch {
	case s.PlanError() != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionFalse, s.Blocked.Reason, s.Blocked.Message)
	case s.Record.End != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled, planMessage(s.Record.End.Warnings))
	default:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled, planMessage(s.warnings))
	}
}

func planMessage(warnings string) string {
	if warnings == "" {
		return "The spec is compiled"
	}
	return "The spec is compiled; warnings:\n" + warnings
}

func runnersReady(s *scope, c *conditions) {
	if s.TakenOver() && c.keep(v1alpha1.ConditionRunnersReady) {
		return
	}
	n := s.counts()
	ready := fmt.Sprintf("%d of %d runners are ready", n.Ready, n.Desired)
	status, reason, message := metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, ready+": no runner pod exists"
	switch {
	case s.Record.End != nil && !s.Record.End.Started:
		reason, message = s.Record.End.Reason, s.Record.End.Message
	case s.Record.End != nil && s.Record.End.Shards.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, lostMessage(s.Record.End.Runners)
	case s.Record.End != nil && s.Record.End.Shards.Ready < s.Record.End.Shards.Desired:
		reason = v1alpha1.ReasonJoining
		message = fmt.Sprintf("%d of %d runners were ready at the end", s.Record.End.Shards.Ready, s.Record.End.Shards.Desired)
	case s.Record.End != nil:
		status, reason = metav1.ConditionTrue, v1alpha1.ReasonAllReady
		message = fmt.Sprintf("%d of %d runners were ready", s.Record.End.Shards.Ready, s.Record.End.Shards.Desired)
	case s.Held():
		reason, message = v1alpha1.ReasonSuspended, heldMessage
	case n.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, ready+": "+lostMessage(s.runners())
	case s.silentMessage() != "":
		reason, message = v1alpha1.ReasonRunnerSilent, s.silentMessage()
	case n.Ready >= n.Desired && len(s.View.Shards) > 0:
		status, reason, message = metav1.ConditionTrue, v1alpha1.ReasonAllReady, ready
	case s.StartDecided():
		reason, message = v1alpha1.ReasonJoining, s.joiningMessage(ready)
	default:
		if b := s.waitsFor(); b != nil {
			reason, message = b.Reason, ready+": "+b.Message
		}
	}
	if note := protocolsDiffer(c.status); note != "" && status == metav1.ConditionTrue {
		message += "; " + note
	}
	c.set(v1alpha1.ConditionRunnersReady, status, reason, message)
}

// waitsFor returns what a test waits for that has not started; nil: it has no Job yet.
func (s *scope) waitsFor() *run.Blocker {
	if b := s.BlockedAt(v1alpha1.ConditionRunnersReady); b != nil {
		return b
	}
	return s.startProblem()
}

// startProblem returns why the runners are not ready; nil: there is no Job yet.
func (s *scope) startProblem() *run.Blocker {
	switch {
	case len(s.Refused) > 0:
		return run.NotReady(s.RefusedReason(), s.RefusedMessage())
	case s.Problem != nil:
		return s.Problem
	case s.Job == nil:
		return nil
	case run.JobSuspended(s.Job):
		return run.NotReady(v1alpha1.ReasonQueued, fmt.Sprintf("Job %s is suspended by a queue", s.Job.Name))
	case s.Plan != nil && decide.UnreachableTarget(s.Facts) != "":
		return run.NotReady(v1alpha1.ReasonTargetUnreachable, decide.UnreachableTarget(s.Facts))
	case s.Plan != nil && runnerIn(s, runnerv1alpha1.StateSettingUp) >= 0:
		return run.NotReady(v1alpha1.ReasonSettingUp, fmt.Sprintf("runner %d runs the setup chains", runnerIn(s, runnerv1alpha1.StateSettingUp)))
	case s.Plan != nil && decide.UnauthorizedTarget(s.Facts) != "":
		return run.NotReady(v1alpha1.ReasonNotAuthorized, decide.UnauthorizedTarget(s.Facts))
	case s.Plan != nil && run.AllRunning(s.Facts):
		return run.NotReady(v1alpha1.ReasonConnecting, "the others open their connections")
	}
	return run.NotReady(v1alpha1.ReasonWaitingForPods, fmt.Sprintf("%d of %d pods are running", run.PodsRunning(s.Facts), s.Shards()))
}

// joiningMessage describes the runners that the test runs without.
func (s *scope) joiningMessage(ready string) string {
	out := ready + "; the others join when they are ready"
	if with := s.Starters(); with != nil {
		out += fmt.Sprintf(" (started with %d)", len(with))
	}
	if s.Problem != nil {
		out += "; " + s.Problem.Message
	}
	if s.View.NotDistributed != "" {
		out += "; " + s.View.NotDistributed
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
	heldMessage    = "No runner is created while spec.suspend is true"
	pausedMessage  = "No request is sent while spec.suspend is true"
	editedMessage  = "The spec changed after the test finished, which has no effect; apply it under another name to run it"
)

// stateOf returns the state of a test that has not finished, as a reason and a message.
func stateOf(s *scope) (reason, message string) {
	switch {
	case s.Held():
		return v1alpha1.ReasonSuspended, "The test does not start while spec.suspend is true"
	case !s.StartDecided():
		return v1alpha1.ReasonNotStarted, "The test has not started; see condition RunnersReady"
	case runnerIn(s, runnerv1alpha1.StateTearingDown) >= 0 && !run.Loading(s.Facts):
		return v1alpha1.ReasonDraining, fmt.Sprintf("The load has ended; runner %d runs the teardown chains", runnerIn(s, runnerv1alpha1.StateTearingDown))
	case len(s.Refused) > 0 && s.View.Over():
		return v1alpha1.ReasonWriteRefused, "The runners have finished, but " + s.RefusedMessage()
	case !run.Loading(s.Facts):
		return v1alpha1.ReasonDraining, "All requests are sent; the runners wait for responses"
	case run.Paused(s.Facts):
		return v1alpha1.ReasonSuspended, pausedMessage
	}
	if s.Plan != nil && s.Plan.Search != nil {
		return v1alpha1.ReasonRunning, s.searchMessage()
	}
	return v1alpha1.ReasonRunning, "The runners send load"
}

// finished is also True for an invalid spec, so that a client that waits for it does not wait for ever. An
// edit that fixes the spec makes it False again, because nothing has run.
func finished(s *scope, c *conditions) {
	switch {
	case s.Record.End != nil:
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, s.Record.End.Reason, s.Record.End.Message)
		c.markFinished(s)
	case s.Invalid():
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, s.Blocked.Reason, invalidMessage)
		c.markFinished(s)
	case s.TakenOver() && c.reason(v1alpha1.ConditionFinished) == v1alpha1.ReasonSuspended && c.keep(v1alpha1.ConditionFinished):
	default:
		reason, message := stateOf(s)
		c.set(v1alpha1.ConditionFinished, metav1.ConditionFalse, reason, message)
	}
}

// markFinished adds to the message of Finished that the TTL has no effect and that the spec changed after the end, or
// removes that.
func (c *conditions) markFinished(s *scope) {
	f := meta.FindStatusCondition(c.status.Conditions, v1alpha1.ConditionFinished)
	if f == nil {
		return
	}
	notes := ""
	lt := *s.LoadTest
	if lt.Status = *c.status; ttl.Ignored(&lt) {
		notes = v1alpha1.TTLIgnored
	}
	if s.edited {
		notes += v1alpha1.EditedAfterFinish
	}
	message := strings.TrimSuffix(strings.TrimSuffix(f.Message, v1alpha1.EditedAfterFinish), v1alpha1.TTLIgnored)
	if notes != "" {
		message = shorten.To(message, run.MaxMessage-len(notes)) + notes
	}
	c.set(v1alpha1.ConditionFinished, f.Status, f.Reason, message)
}

func succeeded(s *scope, c *conditions) {
	switch {
	case s.Record.End != nil && s.Record.End.Reason == v1alpha1.ReasonCompleted && s.Record.End.Results != nil && s.Record.End.Results.Partial:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult,
			"The test completed, but the result lacks what a lost runner did after its last snapshot: "+lostMessage(s.Record.End.Runners))
	case s.Record.End != nil && s.Record.End.Reason == v1alpha1.ReasonCompleted:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted, "The test completed")
	case s.Record.End != nil:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, s.Record.End.Reason, s.Record.End.Message)
	case s.Invalid():
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, s.Blocked.Reason, invalidMessage)
	default:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, runsMessage)
	}
}

func passed(s *scope, c *conditions) {
	const kind = v1alpha1.ConditionPassed
	switch {
	case s.Record.End == nil && s.Invalid():
		c.set(kind, metav1.ConditionFalse, v1alpha1.ReasonNotSucceeded, invalidMessage)
		return
	case s.Record.End == nil:
		c.set(kind, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, runsMessage)
		return
	}
	switch v := s.Record.End.Verdict; runnerv1alpha1.Outcome(v.Outcome) {
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
func reconciling(s *scope, c *conditions) {
	switch {
	case len(s.Refused) > 0 && (s.StartDecided() || s.Record.End != nil):
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWriteRefused,
			strings.ToUpper(s.RefusedMessage()[:1])+s.RefusedMessage()[1:]+"; the operator tries again")
	case s.failing != "":
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetryingAfterError, s.failing)
	case s.Record.End != nil || s.PlanError() != nil:
		c.remove(v1alpha1.ConditionReconciling)
	case s.notApplied != "":
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChangeNotApplied, "The test continues without a change of the spec: "+s.notApplied)
	default:
		f := meta.FindStatusCondition(c.status.Conditions, v1alpha1.ConditionFinished)
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, f.Reason, f.Message)
	}
}

// stalled is absent unless it is True, as kstatus expects.
func stalled(s *scope, c *conditions) {
	switch {
	case s.PlanError() != nil && s.Record.End == nil:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.Blocked.Reason, s.Blocked.Message)
	case s.Record.End != nil && phaseOf(s) == v1alpha1.PhaseFailed:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.Record.End.Reason, s.Record.End.Message)
	default:
		c.remove(v1alpha1.ConditionStalled)
	}
}

// maxSummary bounds the message of a summary in octets.
const maxSummary = 1024

// summaryOf returns why a test is in its phase, for kubectl get: the first condition that explains it.
func summaryOf(st *v1alpha1.LoadTestStatus) (reason, message string) {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(st.Conditions, kind) }
	c := find(v1alpha1.ConditionFinished)
	switch {
	case st.Phase == v1alpha1.PhaseCompleted:
		c = find(v1alpha1.ConditionPassed)
	case st.CompletionTime != nil:
	case find(v1alpha1.ConditionPlanReady).Status != metav1.ConditionTrue:
		c = find(v1alpha1.ConditionPlanReady)
	case c.Reason == v1alpha1.ReasonWriteRefused:
	case find(v1alpha1.ConditionRunnersReady).Status != metav1.ConditionTrue:
		c = find(v1alpha1.ConditionRunnersReady)
	case find(v1alpha1.ConditionReconciling) != nil:
		c = find(v1alpha1.ConditionReconciling)
	}
	return c.Reason, shorten.To(c.Message, maxSummary)
}

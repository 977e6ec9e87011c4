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
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// statusOf computes the status from what a pass has found. It is a pure function of its
// arguments; of the old status it keeps the transition times of conditions that stay, and the
// start time, which is a record of what was.
func statusOf(s *scope, now time.Time) *v1alpha1.LoadTestStatus {
	st := s.lt.Status.DeepCopy()
	st.ObservedGeneration = s.lt.Generation
	c := &conditions{status: st, generation: s.lt.Generation, now: *asStored(&metav1.Time{Time: now})}
	if s.end == nil && st.CompletionTime != nil {
		c.markFinished(s)
		return st // the report was deleted: what status says is all that is left
	}
	if s.end != nil {
		s.endedStatus(st)
	} else {
		s.liveStatus(st)
	}
	st.Changes = changesShown(s.run.Edits)
	if st.Phase != v1alpha1.PhaseSuspended || !s.takenOver() {
		st.Phase = phaseOf(s)
	}
	for _, set := range []func(*scope, *conditions){
		planReady, runnersReady, finished, succeeded, passed, reconciling, stalled, reportStored,
	} {
		set(s, c)
	}
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
	e := s.end
	st.CompletionTime, st.StartTime = asStored(&e.Time), asStored(e.StartTime)
	st.Shards, st.PlanHash, st.StartedGeneration = &e.Shards, e.PlanHash, e.StartedGeneration
	st.Results, st.Verdict, st.Runners = e.Results, e.Verdict, e.Runners
	st.Generator = generatorOf(st.Runners)
	st.StartSkewMicroseconds, st.ReportRef, st.Search, st.Thresholds = e.Skew, e.ReportRef, e.Search, nil
	st.Summary = e.Summary.DeepCopy()
	if st.Summary == nil {
		st.Summary = &v1alpha1.Summary{Shards: fmt.Sprintf("%d/%d", e.Shards.Ready, e.Shards.Desired)}
	}
}

func (s *scope) liveStatus(st *v1alpha1.LoadTestStatus) {
	st.PlanHash, st.StartedGeneration, st.Search = s.planHash, s.startedGeneration(), s.searchStatus(false)
	if s.startDecided() {
		st.StartTime = asStored(&metav1.Time{Time: s.run.Start.Time.Time})
	}
	if s.takenOver() {
		return // figures of a part of the runners would be a step back
	}
	counts := s.counts()
	st.Shards, st.Summary, st.Runners = &counts, s.summary(), s.runners()
	st.Results, st.StartSkewMicroseconds, st.Generator = nil, nil, generatorOf(st.Runners)
	if s.startDecided() && s.report != nil {
		st.Results, st.StartSkewMicroseconds, st.Thresholds = s.results(), s.skew(), s.thresholds()
	}
	if before := s.lt.Status.Results; before != nil && st.Results != nil && st.Results.Requests.Sent < before.Requests.Sent {
		// A runner was lost with the former operator, and its stored counts are older than those shown: they do not go back.
		st.Results = before.DeepCopy()
	}
}

// takenOver returns whether this process did not hear from all runners of a run that another process started.
func (s *scope) takenOver() bool {
	if s.end != nil || !s.startDecided() {
		return false
	}
	return len(s.view.Members) == 0 || slices.ContainsFunc(s.view.Shards, func(sh collect.Shard) bool {
		return sh.Member && sh.Snapshot == nil && sh.Lost == nil
	})
}

// phaseOf returns status.phase, which is for users. The operator decides nothing by it.
func phaseOf(s *scope) v1alpha1.Phase {
	switch {
	case s.end != nil && s.end.Reason == v1alpha1.ReasonCompleted:
		return v1alpha1.PhaseCompleted
	case s.end != nil && s.end.Verdict.Outcome == string(runnerv1alpha1.OutcomeStopped):
		return v1alpha1.PhaseStopped
	case s.end != nil:
		return v1alpha1.PhaseFailed
	case s.startDecided() && !loading(s):
		return v1alpha1.PhaseFinishing
	case s.startDecided() && paused(s):
		return v1alpha1.PhaseSuspended
	case s.startDecided():
		return v1alpha1.PhaseRunning
	case s.invalid():
		return v1alpha1.PhaseInvalid
	case s.held():
		return v1alpha1.PhaseSuspended
	case s.job != nil:
		return v1alpha1.PhaseStarting
	}
	return v1alpha1.PhasePending
}

// loading returns whether the start is decided and a runner can have requests to send.
func loading(s *scope) bool {
	switch {
	case s.run.State == state.Finishing:
		return false
	case s.takenOver():
		return true // the operator did not ask all runners yet
	}
	return slices.ContainsFunc(s.view.Shards, sends)
}

// sends returns whether a runner can have requests of its share to send.
func sends(sh collect.Shard) bool {
	return sh.Member && !sh.Final() && (sh.Snapshot == nil || !sentAll(sh.Snapshot.State))
}

// paused returns whether every runner that has requests to send is suspended, and not because it waits for a probe.
func paused(s *scope) bool {
	if s.plan != nil && s.plan.Search != nil && !s.run.Live.Suspended {
		return false
	}
	found := false
	for _, sh := range s.view.Shards {
		if !sends(sh) {
			continue
		}
		if sh.Snapshot == nil || !sh.Snapshot.Suspended {
			return false
		}
		found = true
	}
	return found
}

// sentAll returns whether a runner in this state sent its last request.
func sentAll(state runnerv1alpha1.State) bool {
	switch state {
	case runnerv1alpha1.StateDraining, runnerv1alpha1.StateDrained, runnerv1alpha1.StateTearingDown, runnerv1alpha1.StateDone:
		return true
	}
	return false
}

// runnerIn is the lowest shard whose runner is in a state; -1: none is.
func runnerIn(s *scope, state runnerv1alpha1.State) int {
	return slices.IndexFunc(s.view.Shards, func(sh collect.Shard) bool {
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
		Type: kind, Status: status, Reason: reason, Message: clip(message, maxMessage),
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
	case s.planError() != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionFalse, s.blocked.Reason, s.blocked.Message)
	case s.end != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled, planMessage(s.end.Warnings))
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
	if s.takenOver() && c.keep(v1alpha1.ConditionRunnersReady) {
		return
	}
	n := s.counts()
	ready := fmt.Sprintf("%d of %d runners are ready", n.Ready, n.Desired)
	status, reason, message := metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, ready+": no runner pod exists"
	switch {
	case s.end != nil && !s.end.Started:
		reason, message = s.end.Reason, s.end.Message
	case s.end != nil && s.end.Shards.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, lostMessage(s.end.Runners)
	case s.end != nil && s.end.Shards.Ready < s.end.Shards.Desired:
		reason = v1alpha1.ReasonJoining
		message = fmt.Sprintf("%d of %d runners were ready at the end", s.end.Shards.Ready, s.end.Shards.Desired)
	case s.end != nil:
		status, reason = metav1.ConditionTrue, v1alpha1.ReasonAllReady
		message = fmt.Sprintf("%d of %d runners were ready", s.end.Shards.Ready, s.end.Shards.Desired)
	case s.held():
		reason, message = v1alpha1.ReasonSuspended, heldMessage
	case n.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, ready+": "+lostMessage(s.runners())
	case s.silentMessage() != "":
		reason, message = v1alpha1.ReasonRunnerSilent, s.silentMessage()
	case n.Ready >= n.Desired && len(s.view.Shards) > 0:
		status, reason, message = metav1.ConditionTrue, v1alpha1.ReasonAllReady, ready
	case s.startDecided():
		reason, message = v1alpha1.ReasonJoining, s.joiningMessage(ready)
	default:
		if b := s.waitsFor(); b != nil {
			reason, message = b.Reason, ready+": "+b.Message
		}
	}
	c.set(v1alpha1.ConditionRunnersReady, status, reason, message)
}

// waitsFor returns what a test waits for that has not started; nil: it has no Job yet.
func (s *scope) waitsFor() *blocker {
	if b := s.blockedAt(v1alpha1.ConditionRunnersReady); b != nil {
		return b
	}
	return s.startProblem()
}

// startProblem returns why the runners are not ready; nil: there is no Job yet.
func (s *scope) startProblem() *blocker {
	switch {
	case len(s.refused) > 0:
		return notReady(s.refusedReason(), s.refusedMessage())
	case s.problem != nil:
		return s.problem
	case s.job == nil:
		return nil
	case jobSuspended(s.job):
		return notReady(v1alpha1.ReasonQueued, fmt.Sprintf("Job %s is suspended by a queue", s.job.Name))
	case s.plan != nil && unreachableTarget(s) != "":
		return notReady(v1alpha1.ReasonTargetUnreachable, unreachableTarget(s))
	case s.plan != nil && runnerIn(s, runnerv1alpha1.StateSettingUp) >= 0:
		return notReady(v1alpha1.ReasonSettingUp, fmt.Sprintf("runner %d runs the setup chains", runnerIn(s, runnerv1alpha1.StateSettingUp)))
	case s.plan != nil && unauthorizedTarget(s) != "":
		return notReady(v1alpha1.ReasonNotAuthorized, unauthorizedTarget(s))
	case s.plan != nil && allRunning(s):
		return notReady(v1alpha1.ReasonConnecting, "the others open their connections")
	}
	return notReady(v1alpha1.ReasonWaitingForPods, fmt.Sprintf("%d of %d pods are running", podsRunning(s), s.shards()))
}

// joiningMessage describes the runners that the test runs without.
func (s *scope) joiningMessage(ready string) string {
	out := ready + "; the others join when they are ready"
	if with := s.starters(); with != nil {
		out += fmt.Sprintf(" (started with %d)", len(with))
	}
	if s.problem != nil {
		out += "; " + s.problem.Message
	}
	if s.view.NotDistributed != "" {
		out += "; " + s.view.NotDistributed
	}
	return out
}

func podsRunning(s *scope) int {
	n := 0
	for _, pod := range s.pods {
		if st := runnerStatus(pod); st != nil && st.State.Running != nil {
			n++
		}
	}
	return n
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
	case s.held():
		return v1alpha1.ReasonSuspended, "The test does not start while spec.suspend is true"
	case !s.startDecided():
		return v1alpha1.ReasonNotStarted, "The test has not started; see condition RunnersReady"
	case runnerIn(s, runnerv1alpha1.StateTearingDown) >= 0 && !loading(s):
		return v1alpha1.ReasonDraining, fmt.Sprintf("The load has ended; runner %d runs the teardown chains", runnerIn(s, runnerv1alpha1.StateTearingDown))
	case len(s.refused) > 0 && s.view.Over():
		return v1alpha1.ReasonWriteRefused, "The runners have finished, but " + s.refusedMessage()
	case !loading(s):
		return v1alpha1.ReasonDraining, "All requests are sent; the runners wait for responses"
	case paused(s):
		return v1alpha1.ReasonSuspended, pausedMessage
	}
	if s.plan != nil && s.plan.Search != nil {
		return v1alpha1.ReasonRunning, s.searchMessage()
	}
	return v1alpha1.ReasonRunning, "The runners send load"
}

// finished is also True for an invalid spec, so that a client that waits for it does not wait for ever. An
// edit that fixes the spec makes it False again, because nothing has run.
func finished(s *scope, c *conditions) {
	switch {
	case s.end != nil:
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, s.end.Reason, s.end.Message)
		c.markFinished(s)
	case s.invalid():
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, s.blocked.Reason, invalidMessage)
		c.markFinished(s)
	case s.takenOver() && c.reason(v1alpha1.ConditionFinished) == v1alpha1.ReasonSuspended && c.keep(v1alpha1.ConditionFinished):
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
	if s.ttlIgnored() {
		notes = v1alpha1.TTLIgnored
	}
	if s.edited {
		notes += v1alpha1.EditedAfterFinish
	}
	message := strings.TrimSuffix(strings.TrimSuffix(f.Message, v1alpha1.EditedAfterFinish), v1alpha1.TTLIgnored)
	if notes != "" {
		message = clip(message, maxMessage-len(notes)) + notes
	}
	c.set(v1alpha1.ConditionFinished, f.Status, f.Reason, message)
}

func succeeded(s *scope, c *conditions) {
	switch {
	case s.end != nil && s.end.Reason == v1alpha1.ReasonCompleted && s.end.Results != nil && s.end.Results.Partial:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult,
			"The test completed, but the result lacks what a lost runner did after its last snapshot: "+lostMessage(s.end.Runners))
	case s.end != nil && s.end.Reason == v1alpha1.ReasonCompleted:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted, "The test completed")
	case s.end != nil:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, s.end.Reason, s.end.Message)
	case s.invalid():
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, s.blocked.Reason, invalidMessage)
	default:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, runsMessage)
	}
}

func passed(s *scope, c *conditions) {
	const kind = v1alpha1.ConditionPassed
	switch {
	case s.end == nil && s.invalid():
		c.set(kind, metav1.ConditionFalse, v1alpha1.ReasonNotSucceeded, invalidMessage)
		return
	case s.end == nil:
		c.set(kind, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, runsMessage)
		return
	}
	switch v := s.end.Verdict; runnerv1alpha1.Outcome(v.Outcome) {
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
	case len(s.refused) > 0 && (s.startDecided() || s.end != nil):
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWriteRefused,
			strings.ToUpper(s.refusedMessage()[:1])+s.refusedMessage()[1:]+"; the operator tries again")
	case s.failing != "":
		c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetryingAfterError, s.failing)
	case s.end != nil || s.planError() != nil:
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
	case s.planError() != nil && s.end == nil:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.blocked.Reason, s.blocked.Message)
	case s.end != nil && phaseOf(s) == v1alpha1.PhaseFailed:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.end.Reason, s.end.Message)
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
	return c.Reason, clip(c.Message, maxSummary)
}

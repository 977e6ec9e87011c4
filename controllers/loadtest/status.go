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
)

// statusOf computes the status from what a pass has found. It is a pure function of its
// arguments; of the old status it keeps the transition times of conditions that stay, and the
// start time, which is a record of what was.
func statusOf(s *scope, now time.Time) *v1alpha1.LoadTestStatus {
	st := s.lt.Status.DeepCopy()
	st.ObservedGeneration = s.lt.Generation
	c := &conditions{status: st, generation: s.lt.Generation, now: metav1.NewTime(now)}
	specChanged(s, c)
	if s.end == nil && st.CompletionTime != nil {
		return st // the report was deleted: what status says is all that is left
	}
	if s.end != nil {
		s.endedStatus(st)
	} else {
		s.liveStatus(st)
	}
	if changes := s.history(); len(changes) > 0 {
		st.Changes = changes
	}
	if st.Phase != v1alpha1.PhaseSuspended || !s.takenOver() {
		st.Phase = phaseOf(s)
	}
	for _, set := range []func(*scope, *conditions){
		planReady, runnersReady, running, finished, succeeded, thresholdsMet, passed, reconciling, stalled,
	} {
		set(s, c)
	}
	return st
}

func (s *scope) endedStatus(st *v1alpha1.LoadTestStatus) {
	e := s.end
	st.CompletionTime, st.StartTime = &e.Time, e.StartTime
	st.Shards, st.PlanHash, st.StartedGeneration = &e.Shards, e.PlanHash, e.StartedGeneration
	st.Results, st.Verdict, st.Runners = e.Results, e.Verdict, e.Runners
	st.StartSkewMicroseconds, st.ReportRef = e.Skew, e.ReportRef
	st.Summary = e.Summary
	if st.Summary == nil {
		st.Summary = &v1alpha1.Summary{Shards: fmt.Sprintf("%d/%d", e.Shards.Ready, e.Shards.Desired)}
	}
}

func (s *scope) liveStatus(st *v1alpha1.LoadTestStatus) {
	st.PlanHash, st.StartedGeneration = s.planHash, s.startedGeneration()
	if start := s.startDecided(); !start.IsZero() {
		t := metav1.NewTime(start)
		st.StartTime = &t
	}
	if s.takenOver() {
		return // figures of a part of the runners would be a step back
	}
	counts := s.counts()
	st.Shards, st.Summary, st.Runners = &counts, s.summary(), s.runners()
	st.Results, st.StartSkewMicroseconds = nil, nil
	if s.mayStart() && s.report != nil {
		st.Results, st.StartSkewMicroseconds = s.results(), s.skew()
	}
}

// takenOver: another process has started the run, and this one does not know yet whom it has dealt the load
// to, or has not asked all of them.
func (s *scope) takenOver() bool {
	if s.end != nil || !s.mayStart() {
		return false
	}
	return len(s.view.Members) == 0 || slices.ContainsFunc(s.view.Shards, func(sh collect.Shard) bool {
		return sh.Member && sh.Snapshot == nil && sh.Lost == nil
	})
}

// phaseOf is for people; nothing is decided by it.
func phaseOf(s *scope) v1alpha1.Phase {
	switch {
	case s.end != nil && s.end.Reason == v1alpha1.ReasonCompleted:
		return v1alpha1.PhaseCompleted
	case s.end != nil && s.end.Verdict.Outcome == string(runnerv1alpha1.OutcomeStopped):
		return v1alpha1.PhaseStopped
	case s.end != nil:
		return v1alpha1.PhaseFailed
	case s.mayStart() && !loading(s):
		return v1alpha1.PhaseFinishing
	case s.mayStart() && paused(s):
		return v1alpha1.PhaseSuspended
	case s.mayStart():
		return v1alpha1.PhaseRunning
	case s.obstacle != nil && s.obstacle.invalid:
		return v1alpha1.PhaseInvalid
	case s.held():
		return v1alpha1.PhaseSuspended
	case s.job != nil:
		return v1alpha1.PhaseStarting
	}
	return v1alpha1.PhasePending
}

// loading: the start is decided and some runner still has requests to send.
func loading(s *scope) bool {
	if s.takenOver() {
		return true // just taken over: not everybody has been asked yet
	}
	return slices.ContainsFunc(s.view.Shards, sends)
}

// sends: the runner has a part of the load, and may have requests of it to send.
func sends(sh collect.Shard) bool {
	return sh.Member && !sh.Final() && (sh.Snapshot == nil || !sentAll(sh.Snapshot.State))
}

// paused: every runner that still has requests to send is suspended.
func paused(s *scope) bool {
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

// sentAll: the last request of the load has left the runner.
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
	case s.obstacle != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionFalse, s.obstacle.reason, s.obstacle.message)
	case s.end != nil:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled, planMessage(s.end.Warnings))
	default:
		c.set(v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled, planMessage(s.warnings))
	}
}

func planMessage(warnings string) string {
	if warnings == "" {
		return "the spec has been compiled"
	}
	return "the spec has been compiled; warnings:\n" + warnings
}

func runnersReady(s *scope, c *conditions) {
	if s.takenOver() && c.keep(v1alpha1.ConditionRunnersReady) {
		return
	}
	status, reason, message := metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, "no runner exists yet"
	n := s.counts()
	switch {
	case s.end != nil && !s.end.Started:
		reason, message = s.end.Reason, s.end.Message
	case s.end != nil && s.end.Shards.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, lostMessage(s.end.Runners)
	case s.end != nil && s.end.Shards.Ready < s.end.Shards.Desired:
		reason = v1alpha1.ReasonJoining
		message = fmt.Sprintf("%d of %d runners had a part of the load at the end", s.end.Shards.Ready, s.end.Shards.Desired)
	case s.end != nil:
		status, reason, message = metav1.ConditionTrue, v1alpha1.ReasonAllReady, "every runner was ready"
	case s.held():
		reason, message = v1alpha1.ReasonSuspended, "spec.suspend is true: no runner is made"
	case n.Lost > 0:
		reason, message = v1alpha1.ReasonRunnerLost, lostMessage(s.runners())
	case n.Ready >= n.Desired && len(s.view.Shards) > 0:
		status, reason, message = metav1.ConditionTrue, v1alpha1.ReasonAllReady, "every runner is ready"
	case s.mayStart():
		reason, message = v1alpha1.ReasonJoining, s.joiningMessage(n)
	case s.waiting != "":
		message = s.waiting
	case s.refused != "":
		reason, message = v1alpha1.ReasonPodTrouble, "the API server refuses the runners' Job: "+s.refused
	case s.trouble != "":
		reason, message = v1alpha1.ReasonPodTrouble, s.trouble
	case s.job != nil && s.plan != nil && unreachableTarget(s) != "":
		reason, message = v1alpha1.ReasonTargetUnreachable, unreachableTarget(s)
	case s.job != nil && s.plan != nil && runnerIn(s, runnerv1alpha1.StateSettingUp) >= 0:
		reason, message = v1alpha1.ReasonSettingUp, fmt.Sprintf("runner %d runs the setup chains", runnerIn(s, runnerv1alpha1.StateSettingUp))
	case s.job != nil && s.plan != nil && !allRunning(s).IsZero():
		reason, message = v1alpha1.ReasonConnecting, fmt.Sprintf("%d of %d runners are ready", n.Ready, n.Desired)
	case s.job != nil:
		message = fmt.Sprintf("%d of %d runner pods run", podsRunning(s), n.Desired)
	}
	c.set(v1alpha1.ConditionRunnersReady, status, reason, message)
}

// joiningMessage tells of runners that the test goes on without.
func (s *scope) joiningMessage(n v1alpha1.ShardCounts) string {
	out := fmt.Sprintf("%d of %d runners are ready; the others join when they are", n.Ready, n.Desired)
	if with := startWithOf(s.job); with != nil {
		out += fmt.Sprintf(" (started with %d)", len(with))
	}
	if s.view.Undealt != "" {
		out += "; " + s.view.Undealt
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
		return "a runner was lost whose shard has another one since"
	}
	return strings.Join(out, "; ")
}

func running(s *scope, c *conditions) {
	if s.takenOver() && c.reason(v1alpha1.ConditionRunning) == v1alpha1.ReasonSuspended && c.keep(v1alpha1.ConditionRunning) {
		return
	}
	switch {
	case s.end != nil:
		c.set(v1alpha1.ConditionRunning, metav1.ConditionFalse, s.end.Reason, "the run has ended")
	case s.held():
		c.set(v1alpha1.ConditionRunning, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true: the test does not start")
	case !s.mayStart():
		c.set(v1alpha1.ConditionRunning, metav1.ConditionFalse, v1alpha1.ReasonNotStarted, "no load has been sent yet")
	case runnerIn(s, runnerv1alpha1.StateTearingDown) >= 0 && !loading(s):
		c.set(v1alpha1.ConditionRunning, metav1.ConditionFalse, v1alpha1.ReasonDraining,
			fmt.Sprintf("the load has ended; runner %d runs the teardown chains", runnerIn(s, runnerv1alpha1.StateTearingDown)))
	case !loading(s):
		c.set(v1alpha1.ConditionRunning, metav1.ConditionFalse, v1alpha1.ReasonDraining, "the last request was sent; responses and results are awaited")
	case paused(s):
		c.set(v1alpha1.ConditionRunning, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true: nothing comes due")
	default:
		c.set(v1alpha1.ConditionRunning, metav1.ConditionTrue, v1alpha1.ReasonLoadRunning, "load is being sent")
	}
}

// finished also holds for a spec that cannot be run: whoever waits must not wait for ever. An
// edit that mends it takes it back, for nothing has run.
func finished(s *scope, c *conditions) {
	switch {
	case s.end != nil:
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, s.end.Reason, s.end.Message)
	case s.obstacle != nil && s.obstacle.invalid:
		c.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, s.obstacle.reason, "the spec cannot be run; see PlanReady")
	default:
		c.set(v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonInProgress, "the run has not ended yet")
	}
}

func succeeded(s *scope, c *conditions) {
	switch {
	case s.end != nil && s.end.Reason == v1alpha1.ReasonCompleted && s.end.Shards.Lost > 0:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult,
			"the test went on to its end; what a lost runner did after its last snapshot is missing: "+lostMessage(s.end.Runners))
	case s.end != nil && s.end.Reason == v1alpha1.ReasonCompleted:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted, "the plan was executed whole")
	case s.end != nil:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, s.end.Reason, s.end.Message)
	case s.obstacle != nil && s.obstacle.invalid:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, s.obstacle.reason, "the spec cannot be run; see PlanReady")
	default:
		c.set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, "the run has not ended yet")
	}
}

func thresholdsMet(s *scope, c *conditions) {
	const kind = v1alpha1.ConditionThresholdsMet
	if s.end == nil {
		c.set(kind, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, "thresholds are compared at the end")
		return
	}
	v := s.end.Verdict
	var failed []string
	for _, t := range v.Thresholds {
		if !t.Passed {
			failed = append(failed, (&runnerv1alpha1.ThresholdResult{Name: t.Name, Limit: t.Limit, Observed: t.Observed}).String())
		}
	}
	switch {
	case s.end.Reason != v1alpha1.ReasonCompleted:
		c.set(kind, metav1.ConditionUnknown, v1alpha1.ReasonNotSucceeded, "the run did not complete")
	case len(v.Thresholds) == 0:
		c.set(kind, metav1.ConditionTrue, v1alpha1.ReasonNoThresholds, "the spec has none")
	case len(failed) == 0:
		c.set(kind, metav1.ConditionTrue, v1alpha1.ReasonAllMet, fmt.Sprintf("all %d thresholds passed", len(v.Thresholds)))
	case v.Outcome == string(runnerv1alpha1.OutcomeInconclusive):
		c.set(kind, metav1.ConditionUnknown, v.Reason, strings.Join(failed, "; "))
	default:
		c.set(kind, metav1.ConditionFalse, v1alpha1.ReasonThresholdsFailed, strings.Join(failed, "; "))
	}
}

func passed(s *scope, c *conditions) {
	const kind = v1alpha1.ConditionPassed
	switch {
	case s.end == nil && s.obstacle != nil && s.obstacle.invalid:
		c.set(kind, metav1.ConditionFalse, v1alpha1.ReasonNotSucceeded, "the spec cannot be run; see PlanReady")
		return
	case s.end == nil:
		c.set(kind, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, "the run is judged at its end")
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

// reconciling and stalled are absent when they do not hold, as kstatus wants them.
func reconciling(s *scope, c *conditions) {
	if s.end != nil || s.obstacle != nil {
		c.remove(v1alpha1.ConditionReconciling)
		return
	}
	c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonInProgress, "the run has not ended yet")
}

func stalled(s *scope, c *conditions) {
	switch {
	case s.obstacle != nil && s.end == nil:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.obstacle.reason, s.obstacle.message)
	case s.end != nil && phaseOf(s) == v1alpha1.PhaseFailed:
		c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.end.Reason, s.end.Message)
	default:
		c.remove(v1alpha1.ConditionStalled)
	}
}

// specChanged tells of an edit after the end, and of one that the run does not follow.
func specChanged(s *scope, c *conditions) {
	switch {
	case s.edited:
		c.set(v1alpha1.ConditionSpecChanged, metav1.ConditionTrue, v1alpha1.ReasonEditedAfterFinish,
			"the spec was edited after the end; this reruns nothing: apply it under another name")
	case s.notInForce != "":
		c.set(v1alpha1.ConditionSpecChanged, metav1.ConditionTrue, v1alpha1.ReasonNotInForce,
			"the run goes on as it was: "+s.notInForce)
	default:
		c.remove(v1alpha1.ConditionSpecChanged)
	}
}

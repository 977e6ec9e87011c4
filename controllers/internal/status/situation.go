package status

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// situation is a row of the truth table in docs/reference/loadtest/status.md, with a field for each column.
type situation struct {
	phase                                                                      v1alpha1.Phase
	planReady, runnersReady, finished, succeeded, passed, reconciling, stalled cell
}

// cell is what a condition says. Without a status, the condition is absent.
type cell struct {
	status          metav1.ConditionStatus
	reason, message string
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

const (
	pausedMessage = "No request is sent while spec.suspend is true"
	editedMessage = "The spec changed after the test finished, which has no effect; apply it under another name to run it"
)

// situationOf returns the row of a test whose figures st has.
func situationOf(f *run.Facts, st *v1alpha1.LoadTestStatus) situation {
	runners, b := runnersReady(f, st), f.PlanError()
	switch {
	case f.Record.End != nil:
		return ended(f.Record.End, runners, reconciling(f, cell{}))
	// Finished is True, so that a client that waits for it does not wait for ever. An edit that fixes the spec makes it
	// False again.
	case b != nil && b.Reason != v1alpha1.ReasonNameConflict:
		const message = "The spec is invalid; see condition PlanReady"
		is := cell{yes, b.Reason, message + "; to run the test, edit the spec, or apply it under another name"}
		not := cell{no, b.Reason, message}
		return situation{v1alpha1.PhaseInvalid, cell{no, b.Reason, b.Message}, runners, is, not,
			cell{no, v1alpha1.ReasonNotSucceeded, message}, reconciling(f, cell{}), cell{yes, b.Reason, b.Message}}
	}
	phase, reason, message := live(f, runners.message)
	not, open := cell{no, reason, message}, cell{unknown, v1alpha1.ReasonInProgress, "The test has not finished"}
	if b != nil { // a name is taken
		return situation{phase, cell{no, b.Reason, b.Message}, runners, not, open, open, reconciling(f, cell{}),
			cell{yes, b.Reason, b.Message}}
	}
	return situation{phase, compiled(f.Warnings), runners, not, open, open, reconciling(f, cell{yes, reason, message}),
		cell{}}
}

// ended returns the row of a test that has ended.
func ended(e *record.End, runners, reconciling cell) situation {
	plan, is, not, verdict := compiled(e.Warnings), cell{yes, e.Reason, e.Message}, cell{no, e.Reason, e.Message},
		passed(e.Verdict)
	switch {
	case e.Reason == v1alpha1.ReasonCompleted && e.Results != nil && e.Results.Partial:
		partial := cell{yes, v1alpha1.ReasonPartialResult,
			"The test completed, but the result lacks what a lost runner did after its last snapshot: " + lostMessage(e.Runners)}
		return situation{v1alpha1.PhaseCompleted, plan, runners, is, partial, verdict, reconciling, cell{}}
	case e.Reason == v1alpha1.ReasonCompleted:
		return situation{v1alpha1.PhaseCompleted, plan, runners, is, cell{yes, v1alpha1.ReasonCompleted,
			"The test completed"}, verdict, reconciling, cell{}}
	case e.Verdict.Outcome == string(runnerv1alpha1.OutcomeStopped):
		return situation{v1alpha1.PhaseStopped, plan, runners, is, not, verdict, reconciling, cell{}}
	}
	return situation{v1alpha1.PhaseFailed, plan, runners, is, not, verdict, reconciling, is}
}

// live returns the phase of a test with a valid spec that has not ended, and its state as a reason and a message. A
// test that has not started waits for the runners.
func live(f *run.Facts, runners string) (phase v1alpha1.Phase, reason, message string) {
	tearingDown := run.RunnerIn(f.View, runnerv1alpha1.StateTearingDown)
	switch {
	case f.Held():
		return v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended, "The test does not start while spec.suspend is true"
	case !f.StartDecided() && f.Job == nil:
		return v1alpha1.PhasePending, v1alpha1.ReasonNotStarted, "The test has not started: " + runners
	case !f.StartDecided():
		return v1alpha1.PhaseStarting, v1alpha1.ReasonNotStarted, "The test has not started: " + runners
	case f.TakenOver() && f.LoadTest.Status.Phase == v1alpha1.PhaseSuspended, run.Loading(f) && run.Paused(f):
		return v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended, pausedMessage
	case run.Loading(f) && f.Plan != nil && f.Plan.Search != nil:
		return v1alpha1.PhaseRunning, v1alpha1.ReasonRunning, searchMessage(f.Plan.Search, &f.Record.Search)
	case run.Loading(f):
		return v1alpha1.PhaseRunning, v1alpha1.ReasonRunning, "The runners send load"
	case tearingDown >= 0:
		return v1alpha1.PhaseFinishing, v1alpha1.ReasonDraining,
			fmt.Sprintf("The load has ended; runner %d runs the teardown chains or sends its last figures", tearingDown)
	case len(f.Refused) > 0 && f.View.Over():
		return v1alpha1.PhaseFinishing, v1alpha1.ReasonWriteRefused, "The runners have finished, but " + f.RefusedMessage()
	}
	return v1alpha1.PhaseFinishing, v1alpha1.ReasonDraining, "All requests are sent; the runners wait for responses"
}

// compiled is PlanReady unless there is no plan.
func compiled(warnings string) cell {
	if warnings != "" {
		warnings = "; warnings:\n" + warnings
	}
	return cell{yes, v1alpha1.ReasonCompiled, "The spec is compiled" + warnings}
}

func runnersReady(f *run.Facts, st *v1alpha1.LoadTestStatus) cell {
	e, n, silent := f.Record.End, st.Shards, silentMessage(f.View, f.Shards())
	ready, note := fmt.Sprintf("%d of %d runners are ready", n.Ready, n.Desired), protocolsDiffer(st)
	if note != "" {
		note = "; " + note
	}
	switch {
	case f.TakenOver() && current(st, v1alpha1.ConditionRunnersReady) != cell{}:
		return current(st, v1alpha1.ConditionRunnersReady)
	case e != nil && !e.Started:
		return cell{no, e.Reason, e.Message}
	case e != nil && n.Lost > 0:
		return cell{no, v1alpha1.ReasonRunnerLost, lostMessage(e.Runners)}
	case e != nil && n.Ready < n.Desired:
		return cell{no, v1alpha1.ReasonJoining, fmt.Sprintf("%d of %d runners were ready at the end", n.Ready, n.Desired)}
	case e != nil:
		return cell{yes, v1alpha1.ReasonAllReady, fmt.Sprintf("%d of %d runners were ready", n.Ready, n.Desired) + note}
	case f.Held():
		return cell{no, v1alpha1.ReasonSuspended, run.HeldMessage}
	case n.Lost > 0:
		return cell{no, v1alpha1.ReasonRunnerLost, ready + ": " + lostMessage(st.Runners)}
	case silent != "":
		return cell{no, v1alpha1.ReasonRunnerSilent, silent}
	case n.Ready >= n.Desired && len(f.View.Shards) > 0:
		return cell{yes, v1alpha1.ReasonAllReady, ready + note}
	case f.StartDecided():
		return cell{no, v1alpha1.ReasonJoining, joiningMessage(f, ready)}
	}
	b := cmp.Or(f.BlockedAt(v1alpha1.ConditionRunnersReady), decide.StartProblem(f),
		run.NotReady(v1alpha1.ReasonWaitingForPods, "no runner pod exists"))
	return cell{no, b.Reason, ready + ": " + b.Message}
}

func passed(v *v1alpha1.Verdict) cell {
	switch runnerv1alpha1.Outcome(v.Outcome) {
	case runnerv1alpha1.OutcomePassed:
		return cell{yes, v1alpha1.ReasonPassed, v.Message}
	case runnerv1alpha1.OutcomeFailed:
		return cell{no, v.Reason, v.Message}
	case runnerv1alpha1.OutcomeInconclusive:
		return cell{unknown, v.Reason, v.Message}
	}
	return cell{no, v1alpha1.ReasonNotSucceeded, v.Message}
}

// reconciling returns what Reconciling says, which is otherwise if the API server refuses no write, passes do not
// fail and all of the spec has an effect.
func reconciling(f *run.Facts, otherwise cell) cell {
	switch refused := f.RefusedMessage(); {
	case refused != "" && (f.StartDecided() || f.Record.End != nil):
		return cell{yes, v1alpha1.ReasonWriteRefused, strings.ToUpper(refused[:1]) + refused[1:] +
			"; the operator tries again"}
	case f.Failing != "":
		return cell{yes, v1alpha1.ReasonRetryingAfterError, f.Failing}
	case f.NotApplied != "" && otherwise != cell{}:
		return cell{yes, v1alpha1.ReasonChangeNotApplied, "The test continues without a change of the spec: " + f.NotApplied}
	}
	return otherwise
}

// explanation returns why the test has not finished: the message of the condition that explains the phase. kubectl get
// shows it.
func (s *situation) explanation() string {
	switch {
	case s.planReady.status == no:
		return s.planReady.message
	case s.finished.reason != v1alpha1.ReasonWriteRefused && s.runnersReady.status == no:
		return s.runnersReady.message
	case s.finished.reason != v1alpha1.ReasonWriteRefused && s.reconciling.status == yes:
		return s.reconciling.message
	}
	return s.finished.message
}

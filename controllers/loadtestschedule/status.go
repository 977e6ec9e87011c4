package loadtestschedule

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/event"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// Bounds of status, in the CRD.
const (
	maxActive           = 64
	maxVerdictMessage   = 1024
	maxConditionMessage = 32768
)

// statusOf computes the status from what a pass has found. It is a pure function of the scope. From the old status it
// keeps what no object shows any more: the last times, the last verdict and the number of missed runs.
func statusOf(s *scope) *v1alpha1.LoadTestScheduleStatus {
	st := s.schedule.Status.DeepCopy()
	st.ObservedGeneration = s.schedule.Generation
	st.HandledTime, st.HandledSchedule = ptr.To(stored(s.handled)), s.handledSchedule()
	if s.schedule.Spec.Suspend && s.schedule.Status.HandledTime != nil && s.schedule.Status.HandledSchedule == "" {
		st.HandledTime = s.schedule.Status.HandledTime // the time does not matter, and each pass would write another one
	}
	st.NextScheduleTime = nil
	if s.times != nil {
		st.NextScheduleTime = ptr.To(stored(s.due.next))
	}
	if !s.created.IsZero() {
		st.LastScheduleTime = ptr.To(stored(s.created))
	}
	if s.due.missed > 0 {
		st.MissedRuns += s.due.missed
		st.LastMissedTime = ptr.To(stored(s.due.lastMissed))
	}
	st.Active = activeOf(s.active)
	finishedStatus(s, st)
	conditions(s, st)
	return st
}

// stored is a time as the API server stores it.
func stored(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }

func activeOf(tests []*v1alpha1.LoadTest) []v1alpha1.ScheduledLoadTest {
	var out []v1alpha1.ScheduledLoadTest
	for _, lt := range tests[:min(len(tests), maxActive)] {
		out = append(out, v1alpha1.ScheduledLoadTest{Name: lt.Name, ScheduledTime: stored(scheduledTime(lt))})
	}
	return out
}

// finishedStatus sets lastFinished and lastPassedTime, which never go back.
func finishedStatus(s *scope, st *v1alpha1.LoadTestScheduleStatus) {
	for _, lt := range s.finished {
		t := stored(scheduledTime(lt))
		if outcomeOf(lt) == string(runnerv1alpha1.OutcomePassed) && (st.LastPassedTime == nil ||
			st.LastPassedTime.Before(&t)) {
			st.LastPassedTime = &t
		}
		if st.LastFinished == nil || !t.Before(&st.LastFinished.ScheduledTime) {
			st.LastFinished = finishedOf(lt)
		}
	}
}

func finishedOf(lt *v1alpha1.LoadTest) *v1alpha1.FinishedLoadTest {
	out := &v1alpha1.FinishedLoadTest{Name: lt.Name, ScheduledTime: stored(scheduledTime(lt)), Outcome: outcomeOf(lt)}
	if v := lt.Status.Verdict; v != nil {
		out.Reason, out.Message = v.Reason, shorten.To(v.Message, maxVerdictMessage)
	} else if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished); c != nil {
		out.Reason, out.Message = c.Reason, shorten.To(c.Message, maxVerdictMessage)
	}
	return out
}

func conditions(s *scope, st *v1alpha1.LoadTestScheduleStatus) {
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: shorten.To(message, maxConditionMessage),
			ObservedGeneration: s.schedule.Generation, LastTransitionTime: stored(s.now),
		})
	}
	if s.problem == nil {
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonScheduled, "The next LoadTest starts at "+
			shown(s.due.next))
	} else {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, s.problem.reason, s.problem.message)
	}
	if s.problem != nil && s.problem.stalled {
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.problem.reason, s.problem.message)
	} else {
		meta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionStalled)
	}
}

// eventsOf returns the events of a pass.
func eventsOf(s *scope, before, after *v1alpha1.LoadTestScheduleStatus) []event.Event {
	var out []event.Event
	if s.due.missed > 0 {
		out = append(out, event.Warning("RunMissed", "Start", missedMessage(s, before)))
	}
	if !s.created.IsZero() {
		out = append(out, event.Normal("Created", "Start", "Created LoadTest "+s.loadTestName(s.created)))
	}
	if last := after.LastFinished; last != nil && (before.LastFinished == nil || before.LastFinished.Name != last.Name) {
		warn := last.Outcome != string(runnerv1alpha1.OutcomePassed) && last.Outcome != string(runnerv1alpha1.OutcomeStopped)
		out = append(out, event.Event{Warning: warn, Reason: "RunFinished", Action: "Finish",
			Note: fmt.Sprintf("LoadTest %s: %s: %s", last.Name, last.Outcome, last.Message)})
	}
	was, is := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady),
		meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	if slices.Contains(eventReasons, is.Reason) && (was == nil || was.Reason != is.Reason || was.Message != is.Message) {
		out = append(out, event.Warning(is.Reason, "Schedule", is.Message))
	}
	return out
}

// eventReasons are the reasons of Ready that an event reports.
var eventReasons = []string{v1alpha1.ReasonInvalidSchedule, v1alpha1.ReasonInvalidTemplate,
	v1alpha1.ReasonCreationFailed, v1alpha1.ReasonNameConflict}

// missedMessage names the missed runs and the cause, as far as the status before shows it.
func missedMessage(s *scope, before *v1alpha1.LoadTestScheduleStatus) string {
	which := "Missed the run of " + shown(s.due.firstMissed)
	switch {
	case s.due.missed >= maxMissed:
		which = fmt.Sprintf("Missed at least %d runs, from %s to %s", s.due.missed, shown(s.due.firstMissed),
			shown(s.due.lastMissed))
	case s.due.missed > 1:
		which = fmt.Sprintf("Missed %d runs, from %s to %s", s.due.missed, shown(s.due.firstMissed), shown(s.due.lastMissed))
	}
	c := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonSuspended {
		return which + ": the operator did not run at that time"
	}
	return which + ": " + c.Message
}

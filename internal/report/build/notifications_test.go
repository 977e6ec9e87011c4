package build

import (
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// notifiedPlan is a plan with a listener, whose notifications have thresholds.
func notifiedPlan(window time.Duration) *runnerv1alpha1.Plan {
	plan := testPlan()
	plan.Listeners = []runnerv1alpha1.Listener{{Name: "events"}}
	plan.Chains[0].Steps[1].Await, plan.Chains[0].Steps[1].Timeout = &runnerv1alpha1.Await{}, 2*time.Second
	of := runnerv1alpha1.Selector{Listener: "events"}
	plan.Thresholds = []runnerv1alpha1.Threshold{
		{Name: "fast", Metric: runnerv1alpha1.MetricNotificationTime, Percentile: "p99", Max: "1s", Of: of, Window: window},
		{Name: "complete", Metric: runnerv1alpha1.MetricNotificationErrorRate, Max: "1%", Of: of},
	}
	return plan
}

// notifiedSnapshot is a runner that awaited so many notifications until a second. In one second it received 100 of them, or none.
func notifiedSnapshot(until int64, received, missing int) *runnerv1alpha1.Snapshot {
	const start = 1000 * second
	plan := notifiedPlan(0)
	r := newRecorder(plan, 0)
	for range received {
		r.notified(1000)
	}
	for range missing {
		r.missed()
	}
	r.snapshot.State, r.snapshot.Sequence = runnerv1alpha1.StateRunning, uint64(until)
	r.snapshot.StartAt, r.snapshot.StartedAt, r.snapshot.EndedAt, r.snapshot.Clock = start, start, 0, start+until*second
	s := r.done()
	c := &s.Listeners[0].Measured
	s.Selections = []runnerv1alpha1.SelectionCounters{{
		SelectionCounts: runnerv1alpha1.SelectionCounts{Sent: c.Awaited, Done: c.InTime, Succeeded: c.InTime, TimedOut: c.Missing, Received: s.Listeners[0].Received}, Time: s.Listeners[0].Time,
	}}
	s.Histograms = nil
	return &s
}

// TestNotificationsWithoutAnEnd: a missing notification takes longer than every measured one, in the report and for thresholds.
func TestNotificationsWithoutAnEnd(t *testing.T) {
	plan := notifiedPlan(0)
	s := notifiedSnapshot(10, 90, 10)
	s.State, s.EndedAt = runnerv1alpha1.StateDone, s.Clock
	s.Histograms = &runnerv1alpha1.Histograms{}
	r := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{*s}})
	if err := Check(r); err != nil {
		t.Error(err)
	}
	above := runnerv1alpha1.Above(2_000_000)
	if l := &r.Listeners[0]; l.ErrorRate() != 0.1 || l.Time.Count != 100 || l.Time.Unanswered != 10 || l.Time.P90 == above || l.Time.P99 != above {
		t.Errorf("listener %+v", *l)
	}
	f, err := FiguresOf(r, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := f.Time(runnerv1alpha1.MetricNotificationTime)
	if err != nil || h.Quantile(0.99) != above || f.ErrorRate() != 0.1 {
		t.Errorf("p99 %v, errors %v, %v", h.Quantile(0.99), f.ErrorRate(), err)
	}
}

// TestCountsOfNotifications: the share of a count is of the steps that awaited one, or of all notifications.
func TestCountsOfNotifications(t *testing.T) {
	f := Figures{
		Requests:      runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 100, Done: 90, Succeeded: 80, TimedOut: 10}},
		Notifications: runnerv1alpha1.ListenerCounts{Received: 99, Late: 4, Duplicate: 3, Unexpected: 2},
	}
	for metric, want := range map[runnerv1alpha1.Metric][2]int64{
		runnerv1alpha1.MetricNotificationsInTime:     {90, 100},
		runnerv1alpha1.MetricNotificationsMissing:    {10, 100},
		runnerv1alpha1.MetricNotificationsLate:       {4, 99},
		runnerv1alpha1.MetricNotificationsDuplicate:  {3, 99},
		runnerv1alpha1.MetricNotificationsUnexpected: {2, 99},
	} {
		if n, all, ok := f.Count(metric); n != want[0] || all != want[1] || !ok {
			t.Errorf("%s: %d of %d, %t; want %v", metric, n, all, ok, want)
		}
	}
}

// TestWindowsOfNotifications: a window has the notifications of its time only.
func TestWindowsOfNotifications(t *testing.T) {
	w := NewWatch(notifiedPlan(2*time.Second), 1)
	missing := 0
	var slow []int64
	for at := int64(1); at <= 8; at++ {
		if at == 4 {
			missing = 5
		}
		if _, err := w.Add(notifiedSnapshot(at, 100*int(at), missing)); err != nil {
			t.Fatal(err)
		}
		if f, whole := w.Window(0); whole {
			if f.ErrorRate() > 0 {
				slow = append(slow, at)
			}
			if h, _ := f.Time(""); h.Unanswered() != f.Requests.TimedOut {
				t.Errorf("after %d s: %d unanswered, %d missing", at, h.Unanswered(), f.Requests.TimedOut)
			}
		}
	}
	if len(slow) != 2 || slow[0] != 4 || slow[1] != 5 {
		t.Errorf("windows with errors end after %v s, want 4 and 5", slow)
	}
	if f := w.SoFar(1); f.Requests.TimedOut != 5 {
		t.Errorf("%d missing so far", f.Requests.TimedOut)
	}
}

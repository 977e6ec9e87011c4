package build

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// unanswered are requests without a response: they timed out, were reset, lost their connection or were dropped, or
// were in flight at the end. They count as longer than every measured time.
type unanswered struct {
	n int64
	// limit is the longest timeout of them, in microseconds.
	limit int64
}

func (u *unanswered) add(n int64, timeout time.Duration) {
	if n > 0 {
		u.n += n
		u.limit = max(u.limit, timeout.Microseconds())
	}
}

func (u *unanswered) addTo(h *histogram.H) { h.AddUnanswered(u.n, u.limit) }

// since returns the requests that an earlier state of the same runner does not have.
func (u unanswered) since(earlier unanswered) unanswered { return unanswered{u.n - earlier.n, u.limit} }

// unansweredOf returns the unanswered requests of a runner. A dropped slot has no step, so its timeout is the longest
// of the load. Requests in flight are unanswered if the runner is over, so that no response is awaited any more. The
// snapshot must have the shape of the plan.
func unansweredOf(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot, over bool) (all unanswered) {
	var longest time.Duration
	plan.EachStep(func(i int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if i < len(s.Steps) {
			all.add(unansweredIn(&s.Steps[i], over), step.Timeout)
		}
		if chain.Phase == runnerv1alpha1.PhaseLoad {
			longest = max(longest, step.Timeout)
		}
	})
	all.add(s.Counters.Dropped, longest)
	return all
}

func unansweredIn(c *runnerv1alpha1.StepCounters, over bool) int64 {
	n := c.TimedOut + c.Reset + c.ConnectionLost
	if over {
		n += c.InFlightAtEnd
	}
	return n
}

// unansweredBy returns the unanswered requests of a selection. Only response times have them, and requests without a
// response have no status class. Of notifications, these are the missing ones.
func unansweredBy(plan *runnerv1alpha1.Plan, sel *runnerv1alpha1.Selection, c *runnerv1alpha1.SelectionCounts,
	over bool) (all unanswered) {
	timeout := longestTimeout
	switch {
	case sel.Time == runnerv1alpha1.MetricNotificationTime:
		timeout = longestWait
	case sel.Time != runnerv1alpha1.MetricResponseTime || sel.StatusClass != 0:
		return all
	}
	n := c.TimedOut + c.Reset + c.ConnectionLost + c.Dropped
	if over {
		n += c.Sent - c.Done - c.TimedOut - c.Reset - c.ConnectionLost
	}
	all.add(n, timeout(plan, &sel.Selector))
	return all
}

// longestWait returns the longest timeout of the load's steps that await a notification of a listener, or of any.
func longestWait(plan *runnerv1alpha1.Plan, of *runnerv1alpha1.Selector) (longest time.Duration) {
	plan.EachStep(func(_ int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if l := awaitedBy(plan, step); l != "" && chain.Phase == runnerv1alpha1.PhaseLoad &&
			(of.Listener == "" || of.Listener == l) {
			longest = max(longest, step.Timeout)
		}
	})
	return longest
}

// missing returns the steps that did not receive their notification.
func missing(plan *runnerv1alpha1.Plan, listener int, c *runnerv1alpha1.AwaitCounts, over bool) (all unanswered) {
	n := c.Missing
	if over {
		n += c.Waiting()
	}
	all.add(n, longestWait(plan, &runnerv1alpha1.Selector{Listener: plan.Listeners[listener].Name}))
	return all
}

// longestTimeout returns the longest timeout of the load's steps in a part.
func longestTimeout(plan *runnerv1alpha1.Plan, of *runnerv1alpha1.Selector) (longest time.Duration) {
	plan.EachStep(func(_ int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if chain.Phase == runnerv1alpha1.PhaseLoad && step.Await == nil &&
			of.Has(plan.Targets[step.Target].Name, chain.Name, step.Name) {
			longest = max(longest, step.Timeout)
		}
	})
	return longest
}

// drained returns true if the runner does not wait for responses any more.
func drained(s *runnerv1alpha1.Snapshot) bool {
	return order(s.State) >= order(runnerv1alpha1.StateDrained)
}

// addUnanswered adds the unanswered requests of the snapshots to the response times.
func (s *sum) addUnanswered(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot, isLost func(Runner) bool) {
	for i := range snapshots {
		from := &snapshots[i]
		over := drained(from) || isLost(runnerOf(from))
		all := unansweredOf(plan, from, over)
		all.addTo(&s.times.responseTime)
		for k, c := range selectionsIn(from, s.forThresholds) {
			u := unansweredBy(plan, &s.selections[k], &c.SelectionCounts, over)
			u.addTo(&s.times.selections[k])
		}
		for k := range from.Listeners {
			u := missing(plan, k, &from.Listeners[k].Measured, over)
			u.addTo(&s.times.listeners[k])
		}
		if len(from.Steps) == 0 {
			continue
		}
		plan.EachStep(func(k int, _ *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
			s.times.steps[k][0].AddUnanswered(unansweredIn(&from.Steps[k], over), step.Timeout.Microseconds())
		})
	}
}

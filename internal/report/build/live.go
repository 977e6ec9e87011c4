package build

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Live has the figures that progress shows while a test runs. Rates are of the last interval, that is
// between two sets of snapshots, and count warm-up too; times are given for the last interval
// and since the start, in microseconds, without warm-up.
type Live struct {
	// State is that of the shard that is furthest behind; those that are on their way to join a test
	// that has begun do not count.
	State runnerv1alpha1.State
	// Ready shards have all their connections and are past setup, also when they have begun or ended since.
	Ready int
	// Stage is the name of the current rate stage, "" before the first and after the last one.
	Stage  string
	WarmUp bool
	// Suspended is true if no slot is due at present, because the test is suspended.
	Suspended bool
	// Elapsed since the start instant, by the shard that is furthest.
	Elapsed time.Duration
	// Progress through the plan, from 0 to 1.
	Progress float64
	// Asked is the rate of the current stage, zero in a closed loop, with chainsPerSecond and while Suspended.
	Asked    float64
	Achieved float64
	// AskedChains and AchievedChains are in chain instances started a second, in a stage of chainsPerSecond; else zero.
	AskedChains, AchievedChains float64
	// Pause is true if the rate of the current stage is 0.
	Pause bool

	InFlight int64
	// Sent since the start, without warm-up; WarmUpSent is apart.
	Sent, WarmUpSent int64
	// ErrorRate of all measured requests that have an outcome or were dropped; of those of the
	// warm-up as long as none is measured.
	ErrorRate float64
	// Interval and ResponseTime sum up the response time of the last interval and since the
	// start. Minimum and maximum of Interval are those of buckets.
	Interval, ResponseTime runnerv1alpha1.Times
}

// NewLive compares the latest snapshots with those of about a second ago; previous may lack shards or be empty, then
// the interval reaches back to the start. Plan.Rates are the current rates: after a change of the rates, the caller
// passes a plan with the new ones. NewLive reads the total response time only, so it takes 0.2 ms a shard at most.
func NewLive(plan *runnerv1alpha1.Plan, previous, current []runnerv1alpha1.Snapshot) (Live, error) {
	current, before := latest(current), byRunner(previous)
	var counters runnerv1alpha1.Counters
	var total, interval histogram.H
	out := Live{State: leastState(current), Suspended: suspended(current)}
	for i := range current {
		s := &current[i]
		counters.Add(&s.Counters, 1)
		if s.StartedAt > 0 {
			out.Elapsed = max(out.Elapsed, offset(s))
		}
		if order(s.State) >= order(runnerv1alpha1.StateReady) {
			out.Ready++
		}
		p := before[runnerOf(s)]
		out.Achieved += achieved(p, s)
		out.AchievedChains += achievedChains(p, s)
		if err := addResponseTime(&total, &interval, p, s); err != nil {
			return Live{}, err
		}
		addUnanswered(plan, &total, &interval, p, s)
	}
	out.InFlight = counters.InFlightAtEnd + counters.WarmUpInFlight
	out.Sent, out.WarmUpSent = counters.Sent, counters.WarmUpSent
	out.ErrorRate = liveErrors(&counters)
	out.ResponseTime, out.Interval = total.Times(), interval.Times()
	out.setStage(plan, current)
	return out, nil
}

func byRunner(snapshots []runnerv1alpha1.Snapshot) map[Runner]*runnerv1alpha1.Snapshot {
	out := map[Runner]*runnerv1alpha1.Snapshot{}
	sorted := latest(snapshots)
	for i := range sorted {
		out[runnerOf(&sorted[i])] = &sorted[i]
	}
	return out
}

func leastState(snapshots []runnerv1alpha1.Snapshot) (least runnerv1alpha1.State) {
	begun := slices.ContainsFunc(snapshots, func(s runnerv1alpha1.Snapshot) bool { return s.StartedAt > 0 })
	found := false
	for i := range snapshots {
		s := &snapshots[i]
		if begun && s.StartedAt == 0 {
			continue
		}
		if !found || order(s.State) < order(least) {
			least, found = s.State, true
		}
	}
	return least
}

// suspended: all runners that have load to send are.
func suspended(snapshots []runnerv1alpha1.Snapshot) bool {
	found := false
	for i := range snapshots {
		if s := &snapshots[i]; s.StartedAt > 0 && s.EndedAt == 0 {
			if !s.Suspended {
				return false
			}
			found = true
		}
	}
	return found
}

// order of a state on a runner's way.
func order(s runnerv1alpha1.State) int {
	switch s {
	case runnerv1alpha1.StateConnecting:
		return 1
	case runnerv1alpha1.StateSettingUp:
		return 2
	case runnerv1alpha1.StateReady:
		return 3
	case runnerv1alpha1.StateRunning:
		return 4
	case runnerv1alpha1.StateDraining:
		return 5
	case runnerv1alpha1.StateDrained:
		return 6
	case runnerv1alpha1.StateTearingDown:
		return 7
	case runnerv1alpha1.StateDone:
		return 8
	}
	return 0
}

// achieved is one shard's rate of sending since p, or since its start when p is nil.
func achieved(p, s *runnerv1alpha1.Snapshot) float64 {
	sent, since := s.Counters.Sent+s.Counters.WarmUpSent, s.StartedAt
	if p != nil && p.StartedAt != 0 {
		sent -= p.Counters.Sent + p.Counters.WarmUpSent
		since = p.Clock
	}
	if since == 0 {
		return 0
	}
	return perSecond(sent, time.Duration(s.Clock-since))
}

// achievedChains is one shard's rate of starting chain instances since p, as achieved.
func achievedChains(p, s *runnerv1alpha1.Snapshot) float64 {
	n, since := startedOf(s), s.StartedAt
	if p != nil && p.StartedAt != 0 {
		n -= startedOf(p)
		since = p.Clock
	}
	if since == 0 {
		return 0
	}
	return perSecond(n, time.Duration(s.Clock-since))
}

func startedOf(s *runnerv1alpha1.Snapshot) (n int64) {
	for i := range s.Stages {
		n += s.Stages[i].Started
	}
	return n
}

func addResponseTime(total, interval *histogram.H, p, s *runnerv1alpha1.Snapshot) error {
	h, err := histogram.Decode(s.ResponseTime)
	if err != nil {
		return err
	}
	total.Merge(h)
	if p == nil {
		interval.Merge(h)
		return nil
	}
	earlier, err := histogram.Decode(p.ResponseTime)
	if err != nil {
		return err
	}
	interval.Merge(h.Since(earlier))
	return nil
}

// addUnanswered adds the requests without a response, as addResponseTime adds those with one.
func addUnanswered(plan *runnerv1alpha1.Plan, total, interval *histogram.H, p, s *runnerv1alpha1.Snapshot) {
	now := unansweredOf(plan, s, drained(s))
	now.addTo(total)
	if p != nil {
		now = now.since(unansweredOf(plan, p, drained(p)))
	}
	now.addTo(interval)
}

// liveErrors leaves out what is in flight: that is not an error yet.
func liveErrors(c *runnerv1alpha1.Counters) float64 {
	if c.Sent+c.Dropped == 0 {
		outcomes := c.WarmUpSent - c.WarmUpInFlight
		return ratio(outcomes-c.WarmUpSucceeded, outcomes)
	}
	outcomes := c.Sent + c.Dropped - c.InFlightAtEnd
	return ratio(outcomes-c.Succeeded, outcomes)
}

// setStage finds the current stage, the last of the mix that any shard has begun and not all have ended, and how far
// the plan is through. Without a stage of the mix, it is that of the first chain that has one. The rates of all
// current stages add up. The progress is that of the mix, or of the chain, that has the longest way to go.
func (l *Live) setStage(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) {
	l.Progress = 1
	open, chains := false, false
	var asked float64
	for first := 0; first < len(plan.Rates); {
		current, progress, end := progressOf(plan, snapshots, first)
		l.Progress = min(l.Progress, progress)
		first = end
		if current < 0 {
			continue
		}
		r := &plan.Rates[current]
		if l.Stage == "" {
			l.Stage, l.WarmUp = r.Name, r.WarmUp
		}
		now := RateAt(r, addStage(plan, snapshots, current).window)
		if r.ChainsPerSecond {
			l.AskedChains += now
		} else {
			asked += now
		}
		open, chains = open || r.ClosedLoop, chains || r.ChainsPerSecond
	}
	l.Pause = l.Stage != "" && asked == 0 && !open && !chains
	if !open && !chains {
		l.Asked = asked
	}
	if l.Suspended {
		l.Asked, l.AskedChains = 0, 0
	}
}

// progressOf returns the current stage of the mix, or of the chain, whose stages begin with first, or -1. It also
// returns how far these stages are through, and where they end.
func progressOf(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot, first int) (current int,
	progress float64, end int) {
	for end = first; end < len(plan.Rates) && plan.Rates[end].Chain == plan.Rates[first].Chain; {
		end++
	}
	var passed, whole float64
	current = -1
	for i := first; i < end; i++ {
		weight := weigh(plan.Rates[first:end], i-first)
		whole += weight
		begun, lasts := false, false
		for k := range snapshots {
			if s := &snapshots[k]; hasBegun(plan, s, i) {
				begun = true
				lasts = lasts || s.Stages[i].Ended == 0 && s.EndedAt == 0
			}
		}
		switch {
		case begun && lasts:
			current = i
			passed += weight * fraction(&plan.Rates[i], addStage(plan, snapshots, i))
		case begun:
			passed += weight
		}
	}
	if whole > 0 {
		progress = min(passed/whole, 1)
	}
	return current, progress, end
}

// weigh is a stage's part of the progress: its Nominal length in seconds when each stage has
// one, else all stages count the same.
func weigh(rates []runnerv1alpha1.Rate, i int) float64 {
	for k := range rates {
		if Nominal(&rates[k]) == 0 {
			return 1
		}
	}
	return Nominal(&rates[i])
}

// fraction of a stage that has passed, by whichever bound is nearer.
func fraction(r *runnerv1alpha1.Rate, s stage) float64 {
	var f float64
	if r.Duration > 0 {
		f = s.window.Seconds() / r.Duration.Seconds()
	}
	if r.Requests > 0 {
		f = max(f, float64(s.sent+s.dropped)/float64(r.Requests))
	}
	return min(f, 1)
}

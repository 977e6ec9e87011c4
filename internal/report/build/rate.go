package build

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// stage is one rate stage over all shards.
type stage struct {
	sent, dropped int64
	// started are slots of a stage of chainsPerSecond whose chain instance was started, without those of the drain.
	started int64
	// inTime is sent without what left only in the drain.
	inTime int64
	// window is how long it lasted, without paused; see the package comment.
	window, paused time.Duration
	// from and to are its begin and end as offsets from the start. chain is that of the plan's stage.
	from, to time.Duration
	chain    int
	// asked is in requests a second, and askedChains in chain instances a second. A stage has one of them, and a closed
	// loop has none.
	asked, askedChains float64
}

// Asked is the average rate of a stage in requests a second; zero in a closed loop and with chainsPerSecond.
func Asked(r *runnerv1alpha1.Rate) float64 {
	if r.ChainsPerSecond {
		return 0
	}
	return slotsPerSecond(r)
}

// AskedChains is the average rate of a stage in chain instances a second; zero without chainsPerSecond.
func AskedChains(r *runnerv1alpha1.Rate) float64 {
	if !r.ChainsPerSecond {
		return 0
	}
	return slotsPerSecond(r)
}

// AskedRequests is the rate that a stage asked for, in requests a second. With chainsPerSecond, it is estimated from
// the requests of the instances that were started. It is zero in a closed loop.
func AskedRequests(s *runnerv1alpha1.StageResult) float64 {
	if s.AskedChains > 0 && s.AchievedChains > 0 {
		return s.Achieved / s.AchievedChains * s.AskedChains
	}
	return s.Asked
}

// RateText is "5000/s", "50 chains/s", "100 to 5000/s" for a ramp, "64 in flight" or, for a closed loop without a
// limit, "max".
func RateText(r *runnerv1alpha1.Rate) string {
	switch {
	case r.ClosedLoop && r.RampFrom != nil:
		return fmt.Sprintf("%d to %d in flight", *r.RampFrom, r.Count)
	case r.ClosedLoop && r.Count > 0:
		return fmt.Sprintf("%d in flight", r.Count)
	case r.ClosedLoop:
		return "max"
	}
	from, to := rateEnds(r)
	text := FormatRate(to)
	if r.RampFrom != nil {
		text = FormatRate(from) + " to " + text
	}
	if r.ChainsPerSecond {
		return text + " chains/s"
	}
	return text + "/s"
}

func slotsPerSecond(r *runnerv1alpha1.Rate) float64 {
	from, to := rateEnds(r)
	return (from + to) / 2
}

// addStage is stage i over all shards.
func addStage(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot, i int) stage {
	var out stage
	var first, last, slots int64
	begun := false
	for k := range snapshots {
		s := &snapshots[k]
		if !hasBegun(plan, s, i) {
			continue
		}
		c := &s.Stages[i]
		out.sent += c.Sent
		out.inTime += c.Sent - c.SentInDrain
		out.started += c.Started - c.StartedInDrain
		out.dropped += c.Dropped
		if !begun || c.Begun < first {
			first = c.Begun
		}
		begun = true
		last = max(last, end(&plan.Rates[i], s, i))
		out.paused = max(out.paused, time.Duration(c.Paused))
		slots += c.Slots
	}
	out.window = max(0, time.Duration(last-first)-out.paused)
	out.from, out.to, out.chain = time.Duration(first), time.Duration(last), plan.Rates[i].Chain
	rate := &plan.Rates[i]
	out.asked, out.askedChains = Asked(rate), AskedChains(rate)
	if rate.RampFrom != nil && out.window > 0 {
		average := slotsAt(rate, out.window) / out.window.Seconds()
		if rate.ChainsPerSecond {
			out.askedChains = average
		} else {
			out.asked = average
		}
	}
	if changed(snapshots) {
		// The number of slots that were due is the number of requests, or instances, that were asked for.
		switch {
		case out.window <= 0 || rate.ClosedLoop:
		case rate.ChainsPerSecond:
			out.askedChains = perSecond(slots, out.window)
		default:
			out.asked = perSecond(slots, out.window)
		}
		return out
	}
	if slots := out.sent + out.dropped; rate.Requests > 0 && slots == rate.Requests &&
		rate.Arrivals == runnerv1alpha1.ArrivalsEven && Asked(rate) > 0 {
		if planned := time.Duration(Nominal(rate) * float64(time.Second)); out.window <= planned+
			time.Duration(lateEnd) {
			out.window = planned
		}
	}
	return out
}

// changed reports whether rates or pauses changed during the run, so that they differ from the plan.
func changed(snapshots []runnerv1alpha1.Snapshot) bool {
	return slices.ContainsFunc(snapshots, func(s runnerv1alpha1.Snapshot) bool { return s.Changed })
}

// hasBegun reports whether a stage has begun. Begun is 0 for stages that begin with the test, too.
func hasBegun(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot, i int) bool {
	if i >= len(s.Stages) || s.StartedAt == 0 {
		return false
	}
	c := &s.Stages[i]
	return beginsWithTest(plan, i) || c.Begun > 0 || c.Ended > 0 || c.Sent > 0 || c.Dropped > 0 || c.Slots > 0
}

// beginsWithTest reports whether a stage is the first of the mix, or of a chain without startAfter.
func beginsWithTest(plan *runnerv1alpha1.Plan, i int) bool {
	n := plan.Rates[i].Chain
	first := i == 0 || plan.Rates[i-1].Chain != n
	return first && (n < 1 || n > len(plan.Chains) || plan.Chains[n-1].StartAfter == 0)
}

// lateEnd is how late the end of a stage may be noticed and still count as on time, in nanoseconds:
// turns of the worker's loop, not load. Without it a test that sent every request it was asked for
// would fall short of its rate by a few in a million, and fail a minimum of it.
const lateEnd = int64(10 * time.Millisecond)

// end is the offset at which stage i ended on a shard or, when it lasts or the shard was lost in
// it, how far the snapshot knows, within the stage's bound.
func end(rate *runnerv1alpha1.Rate, s *runnerv1alpha1.Snapshot, i int) int64 {
	c := &s.Stages[i]
	planned := c.Begun + int64(rate.Duration) + c.Paused
	if rate.Duration > 0 && c.Ended > planned && c.Ended <= planned+lateEnd {
		return planned
	}
	if c.Ended > 0 {
		return c.Ended
	}
	until := s.Clock
	if s.EndedAt > 0 {
		until = min(until, s.EndedAt)
	}
	now := max(c.Begun, until-origin(s))
	if rate.Duration > 0 {
		now = min(now, planned)
	}
	return now
}

// chainOf returns the name of the chain whose own stage it is, or "".
func chainOf(plan *runnerv1alpha1.Plan, stage int) string {
	n := plan.Rates[stage].Chain
	if n < 1 || n > len(plan.Chains) {
		return ""
	}
	return plan.Chains[n-1].Name
}

func stages(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) []runnerv1alpha1.StageResult {
	out := make([]runnerv1alpha1.StageResult, 0, len(plan.Rates))
	for i := range plan.Rates {
		s := addStage(plan, snapshots, i)
		if plan.Search != nil && i >= plan.Search.FirstStage && s.sent+s.dropped == 0 {
			continue // a probe that the search did not need
		}
		out = append(out, runnerv1alpha1.StageResult{
			Pause:    !plan.Rates[i].ClosedLoop && plan.Rates[i].Count == 0 && plan.Rates[i].RampFrom == nil,
			Name:     plan.Rates[i].Name,
			Chain:    chainOf(plan, i),
			Probe:    plan.Search.Probe(i),
			WarmUp:   plan.Rates[i].WarmUp,
			Asked:    s.asked,
			Achieved: perSecond(s.inTime, s.window),

			AskedChains:    s.askedChains,
			AchievedChains: perSecond(s.started, s.window),

			Sent:    s.sent,
			Dropped: s.dropped,
			Paused:  s.paused.Seconds(),
		})
	}
	return out
}

// rate is over all measured stages. What was asked is the average weighted by time. It is zero, unless all of them
// have rates of the same unit. Stages of chains may run at the same time: their rates add up. If no measured stage
// began, it is the plan's.
func rate(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) runnerv1alpha1.RateResult {
	var sent, started int64
	var slots, chains float64
	var measured []stage
	asked, askedChains := true, true
	for i := range plan.Rates {
		r := &plan.Rates[i]
		s := addStage(plan, snapshots, i)
		if r.WarmUp || s.window == 0 {
			continue
		}
		measured = append(measured, s)
		sent += s.inTime
		started += s.started
		slots += s.asked * s.window.Seconds()
		chains += s.askedChains * s.window.Seconds()
		asked = asked && !r.ClosedLoop && !r.ChainsPerSecond
		askedChains = askedChains && r.ChainsPerSecond
	}
	window := windowOf(measured)
	out := runnerv1alpha1.RateResult{WindowSeconds: window.Seconds(), Achieved: perSecond(sent, window)}
	if asked && window > 0 {
		out.Asked = slots / window.Seconds()
	}
	if askedChains && window > 0 {
		out.AskedChains, out.AchievedChains = chains/window.Seconds(), perSecond(started, window)
	}
	if window == 0 {
		out.Asked = planned(plan)
	}
	return out
}

// windowOf returns for how long at least one of the stages ran, without pauses. For stages one after another, this is
// the sum of their windows. Stages of several chains may overlap. The longest pause of the mix or of a chain then
// counts once.
func windowOf(stages []stage) (window time.Duration) {
	alone := true
	for i := range stages {
		window += stages[i].window
		alone = alone && stages[i].chain == stages[0].chain
	}
	if alone {
		return window
	}
	slices.SortStableFunc(stages, func(a, b stage) int { return cmp.Compare(a.from, b.from) })
	paused := map[int]time.Duration{}
	var end, longest time.Duration
	window = 0
	for i := range stages {
		s := &stages[i]
		window += max(0, s.to-max(s.from, end))
		end = max(end, s.to)
		paused[s.chain] += s.paused
		longest = max(longest, paused[s.chain])
	}
	return window - longest
}

// planned returns the average rate of the measured stages as the plan has it, for a run in which none of them began.
// It is zero if one of them is a closed loop or has no end.
func planned(plan *runnerv1alpha1.Plan) float64 {
	var slots, seconds float64
	of := map[int]float64{}
	for i := range plan.Rates {
		r := &plan.Rates[i]
		if r.WarmUp {
			continue
		}
		lasts := Nominal(r)
		if r.ClosedLoop || r.ChainsPerSecond || lasts == 0 {
			return 0
		}
		slots += slotsAt(r, time.Duration(lasts*float64(time.Second)))
		of[r.Chain] += lasts
		seconds = max(seconds, of[r.Chain])
	}
	if seconds == 0 {
		return 0
	}
	return slots / seconds
}

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

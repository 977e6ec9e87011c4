package shards

import (
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/search"
	"github.com/h2surge/h2surge/internal/verdict"
)

// Probes is what the run record has of a search.
type Probes struct {
	// Ended are the probes that ended, in their order.
	Ended []runnerv1alpha1.ProbeResult
	// Begun is the revision of the change that began the current probe; zero: no probe runs.
	Begun int64
}

// Probe is what a probe showed. The reconciler must store it before the next probe begins.
type Probe struct {
	// Number is the number of probes that ended before.
	Number int
	runnerv1alpha1.ProbeResult
}

// probing is what the collector keeps of a search. An operator that takes over does not have it, so it repeats the probe that it found.
type probing struct {
	// before are the snapshots of the members while they waited for a probe; nil: this process did not see them wait.
	before []runnerv1alpha1.Snapshot
	// number is the number of that probe, from 0.
	number int
	// ended is what the current probe showed, until it is stored; nil: it has not ended.
	ended *Probe
}

// probe finds the end of a probe, or prepares the next one.
func (g *Group) probe() {
	if g.d.Plan.Search == nil || !g.begun() || g.d.Stop != "" || g.d.Stored {
		return
	}
	p, number := &g.probing, len(g.d.Probes.Ended)
	if p.ended != nil && p.ended.Number == number {
		return // the reconciler stores it
	}
	p.ended = nil
	now := g.membersNow()
	switch {
	case g.probeRuns() && search.Waits(g.d.Plan, number+1, now):
		p.ended, g.news = &Probe{Number: number, ProbeResult: g.judge(now)}, true
	case !g.probeRuns() && (p.before == nil || p.number != number) && search.Waits(g.d.Plan, number, now):
		p.before, p.number = now, number
	}
}

// probeRuns returns whether a probe began and its end is not stored. A runner with slots of it shows that it began, too.
func (g *Group) probeRuns() bool {
	if g.d.Probes.Begun != 0 {
		return true
	}
	first, _ := g.d.Plan.Search.Stages(len(g.d.Probes.Ended))
	return slices.ContainsFunc(g.runners, func(s *runner) bool {
		return s.snapshot != nil && first < len(s.snapshot.Stages) && s.snapshot.Stages[first].Slots > 0
	})
}

// membersNow returns the snapshots of the runners that have a share of the load and are not lost.
func (g *Group) membersNow() (out []runnerv1alpha1.Snapshot) {
	for _, i := range g.changes.newest().Members {
		if s := g.at(i); s.member && s.state != Lost && s.snapshot != nil {
			out = append(out, *s.snapshot)
		}
	}
	return out
}

// judge returns what the current probe showed. The snapshots are of all members, which wait.
func (g *Group) judge(now []runnerv1alpha1.Snapshot) runnerv1alpha1.ProbeResult {
	number := len(g.d.Probes.Ended)
	load, _ := g.replay().Next()
	if why := g.invalid(now); why != "" {
		return runnerv1alpha1.ProbeResult{Load: load, Outcome: runnerv1alpha1.ProbeInvalid, Message: why}
	}
	out, err := search.Figures(g.d.Plan, number, load, g.probing.before, now, verdict.Facts{})
	if err != nil {
		g.note(err, "Cannot compute the figures of a probe", "probe", number+1)
		out = runnerv1alpha1.ProbeResult{Load: load, Outcome: runnerv1alpha1.ProbeInvalid, Message: err.Error()}
	}
	return out
}

// invalid returns why the figures of the current probe cannot be used; empty: they can.
func (g *Group) invalid(now []runnerv1alpha1.Snapshot) string {
	if g.d.Probes.Begun == 0 || g.probing.before == nil || g.probing.number != len(g.d.Probes.Ended) {
		return "another operator began the probe"
	}
	for i := range g.probing.before {
		was := &g.probing.before[i]
		if !slices.ContainsFunc(now, func(s runnerv1alpha1.Snapshot) bool { return s.Shard == was.Shard && s.Boot == was.Boot }) {
			return fmt.Sprintf("runner %d was lost during the probe", was.Shard)
		}
	}
	end, _ := g.probeEnd()
	for i := range g.changes.list {
		if c := &g.changes.list[i]; c.Revision > g.d.Probes.Begun && time.Duration(c.At) < end {
			return "the load changed during the probe"
		}
	}
	return ""
}

// replay returns the search after the probes that ended.
func (g *Group) replay() *search.Search { return search.Replay(*g.d.Plan.Search, g.d.Probes.Ended) }

// nextProbe returns the change that begins the next probe; nil: none must begin now.
func (g *Group) nextProbe() *runnerv1alpha1.Update {
	if g.d.Plan.Search == nil || g.probing.before == nil || g.probeRuns() || g.probing.number != len(g.d.Probes.Ended) || g.d.Live.Suspended {
		return nil
	}
	next := *g.changes.newest()
	next.Suspended, next.Rates = false, g.withLoad(next.Rates)
	return &next
}

// withLoad returns the rates of all stages, with the load of the current or the next probe.
func (g *Group) withLoad(rates []runnerv1alpha1.Rate) []runnerv1alpha1.Rate {
	if len(rates) == 0 {
		rates = g.d.Plan.Rates
	}
	load, more := g.replay().Next()
	if !more {
		return rates
	}
	return search.Rates(g.d.Plan, rates, len(g.d.Probes.Ended), load)
}

// whileProbing makes a change of something else fit into a search: the load of the probe stays, and a change while the runners wait
// does not begin the next probe.
func (g *Group) whileProbing(c *runnerv1alpha1.Update) {
	if g.d.Plan.Search == nil {
		return
	}
	c.Rates = g.withLoad(c.Rates)
	if end, known := g.probeEnd(); known && time.Duration(c.At) >= end {
		c.Suspended = true
	}
}

// probeEnd returns the time from the start at which the runners will wait for the next probe, or did so. It is not known if the run
// is suspended before that. The stages before the first probe end by their durations.
func (g *Group) probeEnd() (time.Duration, bool) {
	s := g.d.Plan.Search
	first, left := 0, s.Settle+s.Duration
	if g.d.Probes.Begun == 0 {
		if left = 0; len(g.d.Probes.Ended) > 0 {
			return 0, true // they wait
		}
		for i := range g.d.Plan.Rates[:s.FirstStage] {
			left += g.d.Plan.Rates[i].Duration
		}
	} else {
		first = max(0, slices.IndexFunc(g.changes.list, func(c runnerv1alpha1.Update) bool { return c.Revision == g.d.Probes.Begun }))
	}
	for i := first; i < len(g.changes.list); i++ {
		c := &g.changes.list[i]
		if c.Suspended {
			continue
		}
		if i+1 == len(g.changes.list) || c.At+int64(left) <= g.changes.list[i+1].At {
			return time.Duration(c.At) + left, true
		}
		left -= time.Duration(g.changes.list[i+1].At - c.At)
	}
	return 0, false
}

// probeIsOver returns whether the current probe should be over, except for its last responses.
func (g *Group) probeIsOver() bool {
	if g.d.Plan.Search == nil || !g.begun() {
		return false
	}
	end, known := g.probeEnd()
	return known && g.clock()-g.startAt >= int64(end)
}

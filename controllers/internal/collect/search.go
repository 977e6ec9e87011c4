package collect

import (
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
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
func (r *run) probe() {
	if r.d.Plan.Search == nil || !r.begun() || r.d.Stop != "" || r.d.Stored {
		return
	}
	p, number := &r.probing, len(r.d.Probes.Ended)
	if p.ended != nil && p.ended.Number == number {
		return // the reconciler stores it
	}
	p.ended = nil
	now := r.membersNow()
	switch {
	case r.probeRuns() && search.Waits(r.d.Plan, number+1, now):
		p.ended, r.news = &Probe{Number: number, ProbeResult: r.judge(now)}, true
	case !r.probeRuns() && (p.before == nil || p.number != number) && search.Waits(r.d.Plan, number, now):
		p.before, p.number = now, number
	}
}

// probeRuns returns whether a probe began and its end is not stored. A runner with slots of it shows that it began, too.
func (r *run) probeRuns() bool {
	if r.d.Probes.Begun != 0 {
		return true
	}
	first, _ := r.d.Plan.Search.Stages(len(r.d.Probes.Ended))
	return slices.ContainsFunc(r.shards, func(s *runner) bool {
		return s.snapshot != nil && first < len(s.snapshot.Stages) && s.snapshot.Stages[first].Slots > 0
	})
}

// membersNow returns the snapshots of the runners that have a share of the load and are not lost.
func (r *run) membersNow() (out []runnerv1alpha1.Snapshot) {
	for _, i := range r.newest().Members {
		if s := r.at(i); s.member && s.state != shards.Lost && s.snapshot != nil {
			out = append(out, *s.snapshot)
		}
	}
	return out
}

// judge returns what the current probe showed. The snapshots are of all members, which wait.
func (r *run) judge(now []runnerv1alpha1.Snapshot) runnerv1alpha1.ProbeResult {
	number := len(r.d.Probes.Ended)
	load, _ := r.replay().Next()
	if why := r.invalid(now); why != "" {
		return runnerv1alpha1.ProbeResult{Load: load, Outcome: runnerv1alpha1.ProbeInvalid, Message: why}
	}
	out, err := search.Figures(r.d.Plan, number, load, r.probing.before, now, verdict.Facts{})
	if err != nil {
		r.log.Error(err, "Cannot compute the figures of a probe", "probe", number+1)
		out = runnerv1alpha1.ProbeResult{Load: load, Outcome: runnerv1alpha1.ProbeInvalid, Message: err.Error()}
	}
	return out
}

// invalid returns why the figures of the current probe cannot be used; empty: they can.
func (r *run) invalid(now []runnerv1alpha1.Snapshot) string {
	if r.d.Probes.Begun == 0 || r.probing.before == nil || r.probing.number != len(r.d.Probes.Ended) {
		return "another operator began the probe"
	}
	for i := range r.probing.before {
		was := &r.probing.before[i]
		if !slices.ContainsFunc(now, func(s runnerv1alpha1.Snapshot) bool { return s.Shard == was.Shard && s.Boot == was.Boot }) {
			return fmt.Sprintf("runner %d was lost during the probe", was.Shard)
		}
	}
	end, _ := r.probeEnd()
	for i := range r.changes {
		if c := &r.changes[i]; c.Revision > r.d.Probes.Begun && time.Duration(c.At) < end {
			return "the load changed during the probe"
		}
	}
	return ""
}

// replay returns the search after the probes that ended.
func (r *run) replay() *search.Search { return search.Replay(*r.d.Plan.Search, r.d.Probes.Ended) }

// nextProbe returns the change that begins the next probe; nil: none must begin now.
func (r *run) nextProbe() *runnerv1alpha1.Update {
	if r.d.Plan.Search == nil || r.probing.before == nil || r.probeRuns() || r.probing.number != len(r.d.Probes.Ended) || r.d.Live.Suspended {
		return nil
	}
	next := *r.newest()
	next.Suspended, next.Rates = false, r.withLoad(next.Rates)
	return &next
}

// withLoad returns the rates of all stages, with the load of the current or the next probe.
func (r *run) withLoad(rates []runnerv1alpha1.Rate) []runnerv1alpha1.Rate {
	if len(rates) == 0 {
		rates = r.d.Plan.Rates
	}
	load, more := r.replay().Next()
	if !more {
		return rates
	}
	return search.Rates(r.d.Plan, rates, len(r.d.Probes.Ended), load)
}

// whileProbing makes a change of something else fit into a search: the load of the probe stays, and a change while the runners wait
// does not begin the next probe.
func (r *run) whileProbing(c *runnerv1alpha1.Update) {
	if r.d.Plan.Search == nil {
		return
	}
	c.Rates = r.withLoad(c.Rates)
	if end, known := r.probeEnd(); known && time.Duration(c.At) >= end {
		c.Suspended = true
	}
}

// probeEnd returns the time from the start at which the runners will wait for the next probe, or did so. It is not known if the run
// is suspended before that. The stages before the first probe end by their durations.
func (r *run) probeEnd() (time.Duration, bool) {
	s := r.d.Plan.Search
	first, left := 0, s.Settle+s.Duration
	if r.d.Probes.Begun == 0 {
		if left = 0; len(r.d.Probes.Ended) > 0 {
			return 0, true // they wait
		}
		for i := range r.d.Plan.Rates[:s.FirstStage] {
			left += r.d.Plan.Rates[i].Duration
		}
	} else {
		first = max(0, slices.IndexFunc(r.changes, func(c runnerv1alpha1.Update) bool { return c.Revision == r.d.Probes.Begun }))
	}
	for i := first; i < len(r.changes); i++ {
		c := &r.changes[i]
		if c.Suspended {
			continue
		}
		if i+1 == len(r.changes) || c.At+int64(left) <= r.changes[i+1].At {
			return time.Duration(c.At) + left, true
		}
		left -= time.Duration(r.changes[i+1].At - c.At)
	}
	return 0, false
}

// probeIsOver returns whether the current probe should be over, except for its last responses.
func (r *run) probeIsOver() bool {
	if r.d.Plan.Search == nil || !r.begun() {
		return false
	}
	end, known := r.probeEnd()
	return known && r.clock()-r.startAt >= int64(end)
}

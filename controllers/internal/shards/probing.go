package shards

import (
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/load/search"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// probing is a search: what the record has of it, and what this process saw. An operator that takes over saw nothing,
// so it repeats the probe that it found.
type probing struct {
	plan    *runnerv1alpha1.Plan
	changes *changes
	// stored are the probes of the record.
	stored record.Search
	// before are the snapshots of the members while they waited for a probe, with the change of this revision as the
	// newest one; zero: this process did not see them wait. Each change can have other members, and one begins the probe.
	before   []runnerv1alpha1.Snapshot
	revision int64
	// ended is what the current probe showed, until it is stored; nil: it has not ended.
	ended *Probe
}

// look finds the end of a probe, or prepares the next one. It returns whether the probe ended.
func (p *probing) look(all runners) (ended bool, err error) {
	number := len(p.stored.Probes)
	if p.ended != nil && p.ended.Number == number {
		return false, nil // the reconciler stores it
	}
	p.ended = nil
	now := all.snapshots(p.members())
	switch {
	case p.runs(all) && search.Waits(p.plan, number+1, now):
		p.ended = &Probe{Number: number}
		p.ended.ProbeResult, err = p.judge(now)
		return true, err
	case !p.runs(all) && !p.waited() && search.Waits(p.plan, number, now):
		p.before, p.revision = now, p.changes.newest().Revision
	}
	return false, nil
}

// members returns the present members and, while a probe runs, also those that it began with. The change that takes the
// share of a shard can come after the end of the probe, whose figures include that shard.
func (p *probing) members() []int {
	out := p.changes.newest().Members
	if p.stored.Begun == 0 {
		return out
	}
	out = slices.Clone(out)
	for i := range p.before {
		out = append(out, p.before[i].Shard)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// waited returns whether before has the snapshots of the present members.
func (p *probing) waited() bool { return p.revision == p.changes.newest().Revision }

// runs returns whether a probe began and its end is not stored. A runner with slots of it shows that it began, too.
func (p *probing) runs(all runners) bool {
	if p.stored.Begun != 0 {
		return true
	}
	first, _ := p.plan.Search.Stages(len(p.stored.Probes))
	return all.sent(first)
}

// next returns the change that begins the next probe; nil: none must begin now.
func (p *probing) next(all runners) *runnerv1alpha1.Update {
	if p.plan.Search == nil || p.runs(all) || !p.waited() {
		return nil
	}
	next := *p.changes.newest()
	next.Suspended, next.Rates = false, p.withLoad(next.Rates)
	return &next
}

// isOver returns whether the current probe should be over, except for its last responses, at a time from the start.
func (p *probing) isOver(since time.Duration) bool {
	if p.plan.Search == nil {
		return false
	}
	end, known := p.end()
	return known && since >= end
}

// judge returns what the current probe showed. The snapshots are of all members, which wait or have left.
func (p *probing) judge(now []runnerv1alpha1.Snapshot) (runnerv1alpha1.ProbeResult, error) {
	load, _ := p.replay().Next()
	if why := p.invalid(now); why != "" {
		return runnerv1alpha1.ProbeResult{Load: load, Outcome: runnerv1alpha1.ProbeInvalid, Message: why}, nil
	}
	out, err := search.Figures(p.plan, len(p.stored.Probes), load, p.before, now, verdict.Facts{})
	if err != nil {
		out = runnerv1alpha1.ProbeResult{Load: load, Outcome: runnerv1alpha1.ProbeInvalid, Message: err.Error()}
	}
	return out, err
}

// invalid returns why the figures of the current probe cannot be used; empty: they can.
func (p *probing) invalid(now []runnerv1alpha1.Snapshot) string {
	if p.stored.Begun == 0 || p.revision != p.stored.Begun-1 {
		return "another operator began the probe"
	}
	for i := range p.before {
		was := &p.before[i]
		if !slices.ContainsFunc(now, func(
			s runnerv1alpha1.Snapshot) bool {
			return s.Shard == was.Shard && s.Boot == was.Boot
		}) {
			return fmt.Sprintf("runner %d was lost during the probe", was.Shard)
		}
	}
	end, _ := p.end()
	for i := range p.changes.list {
		if c := &p.changes.list[i]; c.Revision > p.stored.Begun && time.Duration(c.At) < end {
			return "the load changed during the probe"
		}
	}
	return ""
}

// replay returns the search after the probes that ended.
func (p *probing) replay() *search.Search { return search.Replay(*p.plan.Search, p.stored.Probes) }

// withLoad returns the rates of all stages, with the load of the current or the next probe.
func (p *probing) withLoad(rates []runnerv1alpha1.Rate) []runnerv1alpha1.Rate {
	if len(rates) == 0 {
		rates = p.plan.Rates
	}
	load, more := p.replay().Next()
	if !more {
		return rates
	}
	return search.Rates(p.plan, rates, len(p.stored.Probes), load)
}

// fit makes a change of something else fit into a search: the load of the probe stays, and a change while the runners
// wait does not begin the next probe.
func (p *probing) fit(c *runnerv1alpha1.Update) {
	if p.plan.Search == nil {
		return
	}
	c.Rates = p.withLoad(c.Rates)
	if end, known := p.end(); known && time.Duration(c.At) >= end {
		c.Suspended = true
	}
}

// end returns the time from the start at which the runners will wait for the next probe, or did so. It is not known if
// the run is suspended before that. The stages before the first probe end by their durations.
func (p *probing) end() (time.Duration, bool) {
	s := p.plan.Search
	first, left := 0, s.Settle+s.Duration
	if p.stored.Begun == 0 {
		if left = 0; len(p.stored.Probes) > 0 {
			return 0, true // they wait
		}
		for i := range p.plan.Rates[:s.FirstStage] {
			left += p.plan.Rates[i].Duration
		}
	} else {
		first = max(0, slices.IndexFunc(p.changes.list,
			func(c runnerv1alpha1.Update) bool { return c.Revision == p.stored.Begun }))
	}
	for i := first; i < len(p.changes.list); i++ {
		c := &p.changes.list[i]
		if c.Suspended {
			continue
		}
		if i+1 == len(p.changes.list) || c.At+int64(left) <= p.changes.list[i+1].At {
			return time.Duration(c.At) + left, true
		}
		left -= time.Duration(p.changes.list[i+1].At - c.At)
	}
	return 0, false
}

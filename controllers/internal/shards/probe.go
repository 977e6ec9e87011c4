package shards

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/search"
)

// Probe is what a probe showed. The reconciler must store it before the next probe begins.
type Probe struct {
	// Number is the number of probes that ended before.
	Number int
	runnerv1alpha1.ProbeResult
}

// probe finds the end of a probe, or prepares the next one.
func (g *Group) probe() {
	if g.d.Plan.Search == nil || !g.begun() || g.d.Record.Stop != nil || g.d.Record.End != nil {
		return
	}
	p, number := &g.probing, len(g.d.Record.Search.Probes)
	if p.ended != nil && p.ended.Number == number {
		return // the reconciler stores it
	}
	p.ended = nil
	now := g.membersNow()
	switch {
	case g.probeRuns() && search.Waits(g.d.Plan, number+1, now):
		shown, err := p.judge(now)
		if err != nil {
			g.note(err, "Cannot compute the figures of a probe", "probe", number+1)
		}
		p.ended, g.news = &Probe{Number: number, ProbeResult: shown}, true
	case !g.probeRuns() && (p.before == nil || p.number != number) && search.Waits(g.d.Plan, number, now):
		p.before, p.number = now, number
	}
}

// probeRuns returns whether a probe began and its end is not stored. A runner with slots of it shows that it began, too.
func (g *Group) probeRuns() bool {
	if g.d.Record.Search.Begun != 0 {
		return true
	}
	first, _ := g.d.Plan.Search.Stages(len(g.d.Record.Search.Probes))
	return g.runners.sent(first)
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

// nextProbe returns the change that begins the next probe; nil: none must begin now.
func (g *Group) nextProbe() *runnerv1alpha1.Update {
	if g.d.Plan.Search == nil || g.probing.before == nil || g.probeRuns() || g.probing.number != len(g.d.Record.Search.Probes) || g.d.Record.Live.Suspended {
		return nil
	}
	next := *g.changes.newest()
	next.Suspended, next.Rates = false, g.probing.withLoad(next.Rates)
	return &next
}

// probeIsOver returns whether the current probe should be over, except for its last responses.
func (g *Group) probeIsOver() bool {
	if g.d.Plan.Search == nil || !g.begun() {
		return false
	}
	end, known := g.probing.end()
	return known && g.clock()-g.startAt >= int64(end)
}

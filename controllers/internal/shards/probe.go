package shards

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
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
	ended, err := g.probing.look(g.runners)
	g.news = g.news || ended
	if err != nil {
		g.note(err, "Cannot compute the figures of a probe", "probe", g.probing.ended.Number+1)
	}
}

package shards

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

const (
	// changeLead is the time between the proposal of a change and the change, so that the reconciler can store it and
	// every runner gets it before. A proposal that is not stored within proposalLife is made again. A runner that gets a
	// change late catches up.
	changeLead   = 750 * time.Millisecond
	proposalLife = 250 * time.Millisecond
	// changeGap keeps the times of two changes in their order.
	changeGap = 10 * time.Millisecond
	// maxApplied bounds View.Applied; status keeps no more.
	maxApplied = 32
)

// Applied is a change that every runner accepted, with the time when it takes effect, that time since the start that
// the runners know, and the shards that have a share from then on.
type Applied struct {
	Generation int64
	Members    []int
	At         time.Time
	Since      time.Duration
}

// acceptChanges takes over the changes that the run record has got. The record can leave out old ones that no runner
// needs.
func (g *Group) acceptChanges() {
	newest := g.d.Record.Newest()
	if newest == nil || newest.Revision <= g.changes.accepted {
		return
	}
	known := g.changes.accepted
	g.changes.list, g.changes.accepted = g.d.Record.Updates(g.d.Plan.Rates), newest.Revision
	for i := range g.changes.list {
		c := &g.changes.list[i]
		switch {
		case c.Revision <= known:
		case c.At == 0: // before the start; no runner has had a share yet
			for _, s := range g.runners {
				s.member = false
			}
		default:
			g.merge.Windows().Change(time.Duration(c.At), asked(g.d.Plan, c))
			g.note(nil, "Changing the load", "revision", c.Revision, "generation", c.Generation, "suspended", c.Suspended,
				"shards", c.Members)
		}
	}
	for _, i := range g.changes.newest().Members {
		if s := g.at(i); !s.state.Over() && g.changes.joinedWith(i) > known {
			s.member = true
		}
	}
	for i, s := range g.runners {
		if s.member && !slices.Contains(g.changes.newest().Members, i) {
			g.happen(s, Removed)
		}
	}
	g.proposal, g.begins, g.news = nil, false, true
	g.runners.pollNow()
}

// asked are the rates that are asked for from a change on.
func asked(plan *runnerv1alpha1.Plan, c *runnerv1alpha1.Update) []runnerv1alpha1.Rate {
	switch {
	case c.Suspended:
		return nil
	case len(c.Rates) == 0:
		return plan.Rates
	}
	return c.Rates
}

// propose finds the change that comes next. The reconciler stores it in the run record, and then it is among the
// changes.
func (g *Group) propose() {
	next, begins := g.nextChange()
	since := g.clock() - g.startAt
	switch {
	case next == nil:
		g.news = g.news || g.proposal != nil
		g.proposal = nil
		return
	case g.proposal != nil && g.begins == begins && g.proposal.Generation == next.Generation &&
		slices.Equal(g.proposal.Members, next.Members) &&
		g.proposal.At-since > int64(changeLead-proposalLife):
		return
	}
	next.Revision, next.At = g.changes.newest().Revision+1, max(since+int64(changeLead), g.changes.newest().At+
		int64(changeGap))
	if !begins {
		g.probing.fit(next)
	}
	g.proposal, g.begins, g.news = next, begins, true
}

// nextChange is what must change now, without the time, and whether it begins a probe; nil: nothing. The changes of the
// spec come first, then those of members. The spec that started can be newer than the last change before the start:
// both have the same plan.
func (g *Group) nextChange() (change *runnerv1alpha1.Update, begins bool) {
	if !g.begun() || g.d.Record.Stop != nil || g.d.Record.End != nil {
		return nil, false
	}
	next := *g.changes.newest()
	if live := &g.d.Record.Live; live.Generation > max(next.Generation, g.d.Record.Start.Live.Generation) {
		next.Generation, next.Rates, next.Suspended = live.Generation, record.Apply(live.Rates, g.d.Plan.Rates),
			live.Suspended
		return &next, false
	}
	members, err := g.members.next(g.runners, &g.d, g.now)
	if err != nil {
		g.news = true
		g.note(nil, "Cannot distribute the load over these shards", "shards", g.members.failed, "reason", err.Error())
	}
	if next.Members = members; members != nil {
		return &next, false
	}
	if g.d.Record.Live.Suspended {
		return nil, false
	}
	probe := g.probing.next(g.runners)
	return probe, probe != nil
}

// begun: the time of the start is known, and some runner knows it.
func (g *Group) begun() bool {
	return g.d.Record.Start != nil && g.startAt != 0 && g.runners.know()
}

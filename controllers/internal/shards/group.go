package shards

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// Options are the times of a run.
type Options struct {
	// Timeout of one call.
	Timeout time.Duration
	// Unreachable is how long a runner may be silent while its pod seems to run.
	Unreachable time.Duration
	// Lead is the time between telling the runners to start and the start.
	Lead time.Duration
}

// Group is what is known of the runners of a run, and what follows from it. It learns what is desired (Accept), what
// runners answer (Heard) and the time (Next), and it returns the calls to make.
type Group struct {
	opts Options
	// now is the time of what is handled, zero that of the begin: the operator's clock shows the time since then.
	now, zero time.Time
	m         Moment // of the present round
	d         Desired
	// runners are the present ones by shard, former those whose shard has another one since.
	runners runners
	former  runners
	// merge and limits are empty after the report of the run was stored.
	merge   *build.Merge
	limits  *verdict.Live
	startAt int64 // in our clock, of the test; zero: not chosen yet
	steps   int   // of all chains
	// news: something happened that the next round must look at, and that the next view shows at once.
	news bool
	// nextRound and nextView are when the next round and the next view are due without news.
	nextRound, nextView time.Time
	changes             changes
	// proposal is the change that the reconciler must store next; nil: none. begins is true if it begins a probe.
	proposal *runnerv1alpha1.Update
	begins   bool
	probing  probing
	// silence are the changes between silent and answering that are not in a note yet.
	silence silence
	notes   []Note
	members members
}

// New returns the group of a run whose clock begins now.
func New(d Desired, opts Options, now time.Time) *Group {
	g := &Group{
		d: d, opts: opts, now: now, zero: now,
		// until there is a record
		changes: changes{list: []runnerv1alpha1.Update{{Revision: 1, Members: split.All(d.Plan.Shards)}}},
	}
	g.clear()
	g.members = members{shares: shares{plan: d.Plan}, changes: &g.changes}
	g.probing = probing{plan: d.Plan, changes: &g.changes}
	for name, o := range d.Record.Failed() {
		g.limits.Restore(name, o)
	}
	for i := range d.Plan.Chains {
		g.steps += len(d.Plan.Chains[i].Steps)
	}
	return g
}

// clear makes the sums of the run empty.
func (g *Group) clear() {
	g.merge, g.limits = build.NewMerge(g.d.Plan, g.d.Plan.Shards), verdict.NewLive(g.d.Plan, g.d.Plan.Shards)
}

// Moment is what a round depends on beside the runners.
type Moment struct {
	Now  time.Time
	Pace Pace
	// Leading: no other operator can be the leader. Term is a number that grows with each change of the leader.
	Leading bool
	Term    int64
}

// Round is what follows from what is known.
type Round struct {
	// Calls must be made, and their answers be Heard.
	Calls []Call
	// View is what is known; nil: the last one is recent enough.
	View *View
	// Polled is the number of runners that are polled.
	Polled int
	Notes  []Note
	// Wait is the time until the next round if nothing happens.
	Wait time.Duration
}

// Note is a line for the log.
type Note struct {
	Err     error // nil: it is no error
	Message string
	Values  []any
}

func (g *Group) note(err error, message string, values ...any) {
	g.notes = append(g.notes, Note{err, message, values})
}

// clock returns the time by the operator's clock.
func (g *Group) clock() int64 { return int64(g.now.Sub(g.zero)) }

// Due returns whether a round is due.
func (g *Group) Due(now time.Time) bool { return g.news || !now.Before(g.nextRound) }

// Next decides about losses and shares, and returns the calls that are due.
func (g *Group) Next(m Moment) Round {
	published := g.news
	g.now, g.m, g.news = m.Now, m, false
	r := &round{Moment: m, d: &g.d, clock: g.clock(), unreachable: g.opts.Unreachable, runners: len(g.runners),
		members: g.changes.newest().Members}
	r.watch = g.findSilent()
	g.findEnds(r)
	g.findLeft()
	r.observer = g.runners.observer()
	r.start, r.drained = g.startNow(), g.runners.drained()
	r.probeOver = g.begun() && g.probing.isOver(time.Duration(r.clock-g.startAt))
	g.probe()
	g.propose()
	g.news = g.changes.settle(g.runners, g.zero, g.startAt) || g.news
	var out Round
	out.Calls, out.Polled, out.Wait = g.calls(r)
	if published || g.news || !g.nextView.After(g.now) {
		out.View = g.view()
		g.nextView = g.now.Add(m.Pace.Least)
	}
	out.Notes, g.notes = g.notes, nil
	if g.news {
		out.Wait = 0
	} else {
		out.Wait = max(min(out.Wait, g.nextView.Sub(g.now)), roundEvery)
	}
	g.nextRound = g.now.Add(out.Wait)
	return out
}

// find returns the runner with an ID; nil: there is none.
func (g *Group) find(id ID) *runner {
	if id.Shard < len(g.runners) && g.runners[id.Shard].id() == id {
		return g.runners[id.Shard]
	}
	for _, s := range g.former {
		if s.id() == id {
			return s
		}
	}
	return nil
}

// all are the present runners, and the lost ones whose shard has another runner.
func (g *Group) all() runners {
	if len(g.former) == 0 {
		return g.runners
	}
	return slices.Concat(g.runners, g.former)
}

// Addresses are those of the runners that have not ended, as far as it is known.
func (g *Group) Addresses() (out []string) {
	for _, s := range g.runners {
		if s.pod.Address != "" && !s.state.Over() && !s.final() {
			out = append(out, s.pod.Address)
		}
	}
	return out
}

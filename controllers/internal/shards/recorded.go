package shards

import (
	"cmp"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// HadSlots returns whether a runner reports that it had a share of the load.
func HadSlots(s *runnerv1alpha1.Snapshot) bool {
	return slices.ContainsFunc(s.Stages, func(c runnerv1alpha1.StageCounters) bool { return c.Slots > 0 || c.Sent > 0 })
}

// takeStored marks the runners that are over and whose counts are stored. Another pod of the
// same shard is another runner.
func (g *Group) takeStored() {
	for i := range g.d.Ended {
		rec := &g.d.Ended[i]
		s := g.runnerOf(rec)
		g.news = g.news || !s.stored // the view says that its counts are in it
		s.stored = true
		if n := rec.Snapshot; n != nil && (s.snapshot == nil || s.snapshot.Sequence < n.Sequence) {
			g.restore(s, n)
		}
		if s.loss == nil {
			s.loss = rec.Loss
		}
		if s.pod.Address == "" && rec.Address != "" {
			s.pod.Address = rec.Address
		}
		for _, on := range rec.events() {
			g.happen(s, on)
		}
	}
	for i, s := range g.runners {
		if p := g.d.Pods[i]; s.stored && p.UID != "" && p.UID != s.pod.UID && !g.keepsShare(s) {
			g.former = append(g.former, s)
			g.runners[i] = g.newRunner(i)
			g.runners[i].member = slices.Contains(g.changes.newest().Members, i) && g.d.Record.Pods[i].UID == p.UID
			g.news = true
		}
	}
}

// keepsShare: a runner is lost, and no other one may send what is left of its share, because only Rebalance gives it
// away. Its shard gets another runner after a change removed it.
func (g *Group) keepsShare(s *runner) bool {
	return s.loss != nil && s.member && g.d.Policy != v1alpha1.ShardLostRebalance &&
		slices.Contains(g.changes.newest().Members, s.index)
}

// events are what the record says of a runner.
func (e *Recorded) events() []Event {
	switch {
	case e.Loss == nil:
		return []Event{Ended, Departed}
	case e.State == record.ShardDone && e.Snapshot != nil: // otherwise its counts are missing all the same
		return []Event{GaveUp, Ended}
	}
	return []Event{GaveUp}
}

// restore takes over the stored snapshot of a runner that is over. It can be newer than the last one that this process
// got: a former operator polls runners until it knows that it is replaced.
func (g *Group) restore(s *runner, n *runnerv1alpha1.Snapshot) {
	if err := g.add(n); err != nil {
		g.note(err, "Cannot use the stored counts of a runner", "shard", s.index)
		return
	}
	s.snapshot = n
}

// runnerOf is the runner whose counts are stored.
func (g *Group) runnerOf(rec *Recorded) *runner {
	for _, s := range g.former {
		if s.index == rec.Index && s.pod.UID == rec.Pod {
			return s
		}
	}
	s := g.at(rec.Index)
	if s.pod.UID != rec.Pod && s.pod.UID != "" { // another runner has its place
		s = g.newRunner(rec.Index)
		g.former = append(g.former, s)
	}
	s.pod.UID, s.pod.Name, s.pod.Node = rec.Pod, cmp.Or(rec.Name, s.pod.Name), cmp.Or(rec.Node, s.pod.Node)
	s.member = rec.Member
	return s
}

package shards

import (
	"slices"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// view returns what is known.
func (g *Group) view() *View {
	v := &View{
		ShardsRevision: g.d.ShardsRevision, Offsets: map[int]int64{}, NotDistributed: g.members.notDistributed,
		AllReady: g.runners.allReady(&g.changes),
		Members:  g.changes.newest().Members, Proposal: g.proposal, Begins: g.begins, Probe: g.probing.ended,
		Generation: g.runners.generation(), Applied: slices.Clone(g.changes.applied),
		Shards: make([]Shard, 0, len(g.runners)),
	}
	for _, s := range g.former {
		v.Former = append(v.Former, s.seen())
	}
	for i, s := range g.runners {
		v.Shards = append(v.Shards, s.seen())
		if s.clock.RTT > 0 {
			v.Offsets[i] = s.clock.Offset
		}
		if !s.state.Over() && !s.silent {
			v.Rate += s.meter.rate
		}
		if s.snapshot != nil && s.snapshot.StartedAt != 0 && s.clock.RTT > 0 {
			at := g.zero.Add(time.Duration(s.snapshot.StartedAt + s.clock.Offset))
			if v.StartedAt.IsZero() || at.Before(v.StartedAt) {
				v.StartedAt = at
			}
		}
	}
	if g.d.Record.Start != nil && g.d.Record.End == nil {
		if err := v.summarize(g.merge, g.d.Policy != v1alpha1.ShardLostFail); err != nil {
			g.note(err, "Cannot merge the snapshots of the runners")
		}
		v.compare(g.limits)
	}
	return v
}

// seen is what the view says of a runner.
func (s *runner) seen() Shard {
	return Shard{
		Index: s.index, Pod: s.pod, State: s.state, Snapshot: s.snapshot, Received: s.received, Lost: s.loss,
		Member: s.member, Left: s.state == Left, Stored: s.stored,
		Trouble: s.trouble, Silent: s.silent, Back: s.back(),
	}
}

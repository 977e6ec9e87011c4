package shards

import (
	"slices"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// joinTogether is how long shards that are ready to join wait for others, so that one change adds all of them.
const joinTogether = time.Second

// nextMembers are the shards that must share the load from now on; nil: those of the last change. It waits until all members have that
// change.
func (g *Group) nextMembers() []int {
	last := g.changes.newest()
	if !g.atWork() || !g.runners.have(last.Revision) {
		return nil
	}
	members := g.remaining()
	if slices.Equal(members, last.Members) {
		g.failed, g.notDistributed = nil, ""
	}
	if len(members) == 0 || slices.Equal(members, last.Members) || slices.Equal(members, g.failed) {
		return nil
	}
	if _, err := g.shares.of(members); err != nil {
		g.failed, g.notDistributed, g.news = members, err.Error(), true
		g.note(nil, "Cannot distribute the load over these shards", "shards", members, "reason", err.Error())
		return nil
	}
	g.failed, g.notDistributed = nil, ""
	return members
}

// atWork: every member knows the start, and some members still send.
func (g *Group) atWork() bool {
	sending := false
	for _, i := range g.changes.newest().Members {
		s := g.runners[i]
		if s.state.Over() {
			continue
		}
		if !s.knowsStart() {
			return false
		}
		sending = sending || s.sends()
	}
	return sending
}

// remaining are the members that need not leave, and the shards that join.
func (g *Group) remaining() []int {
	var out []int
	for _, i := range g.changes.newest().Members {
		s := g.runners[i]
		if i >= g.d.Shards || g.d.Policy == v1alpha1.ShardLostRebalance && s.stored || !s.member { // stored: then the record has the loss; no member: another pod
			continue
		}
		out = append(out, i)
	}
	out = append(out, g.joining()...)
	if !slices.ContainsFunc(out, func(i int) bool { return g.runners[i].sends() }) {
		return nil
	}
	slices.Sort(out)
	return out
}

// joining are the shards that wait for a share, unless others are about to be ready too.
func (g *Group) joining() []int {
	var out []int
	coming := false
	for i, s := range g.runners[:min(g.d.Shards, len(g.runners))] {
		switch {
		case s.state.Over() || s.member || s.pod.Address == "" || s.pod.Ended || slices.Contains(g.changes.newest().Members, i):
		case s.state == Active && s.snapshot.Revision == g.changes.newest().Revision:
			if !s.silent {
				out = append(out, i)
			}
		case s.trouble == "":
			coming = true
		}
	}
	if len(out) == 0 {
		g.joinSince = time.Time{}
		return nil
	}
	if g.joinSince.IsZero() {
		g.joinSince = g.now
	}
	if coming && g.now.Sub(g.joinSince) < joinTogether {
		return nil
	}
	return out
}

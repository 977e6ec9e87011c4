package collect

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/shard"
)

// joinTogether is how long shards that are ready to join wait for others, so that one change adds all of them.
const joinTogether = time.Second

// nextMembers are the shards that must share the load from now on; nil: those of the last change. It waits until all members have that
// change.
func (r *run) nextMembers(now time.Time) []int {
	last := r.newest()
	if !r.atWork() || !r.allHave(last.Revision) {
		return nil
	}
	members := r.remaining(now)
	if slices.Equal(members, last.Members) {
		r.failed, r.notDistributed = nil, ""
	}
	if len(members) == 0 || slices.Equal(members, last.Members) || slices.Equal(members, r.failed) {
		return nil
	}
	if _, err := r.sharesOf(members); err != nil {
		r.failed, r.notDistributed, r.news = members, err.Error(), true
		r.log.Info("Cannot distribute the load over these shards", "shards", members, "reason", err.Error())
		return nil
	}
	r.failed, r.notDistributed = nil, ""
	return members
}

// atWork: every member knows the start, and some members still send.
func (r *run) atWork() bool {
	sending := false
	for _, i := range r.newest().Members {
		s := r.shards[i]
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
func (r *run) remaining(now time.Time) []int {
	var out []int
	for _, i := range r.newest().Members {
		s := r.shards[i]
		if i >= r.d.Shards || r.d.Rebalance && s.stored || !s.member { // stored: then the record has the loss; no member: another pod
			continue
		}
		out = append(out, i)
	}
	out = append(out, r.joining(now)...)
	if !slices.ContainsFunc(out, func(i int) bool { return r.shards[i].state != shards.Lost && r.shards[i].sends() }) {
		return nil
	}
	slices.Sort(out)
	return out
}

// joining are the shards that wait for a share, unless others are about to be ready too.
func (r *run) joining(now time.Time) []int {
	var out []int
	coming := false
	for i, s := range r.shards[:min(r.d.Shards, len(r.shards))] {
		switch {
		case s.state.Over() || s.member || s.pod.Address == "" || s.pod.Ended || slices.Contains(r.newest().Members, i):
		case s.state == shards.Active && s.snapshot.Revision == r.newest().Revision:
			if !s.silent {
				out = append(out, i)
			}
		case s.trouble == "":
			coming = true
		}
	}
	if len(out) == 0 {
		r.joinSince = time.Time{}
		return nil
	}
	if r.joinSince.IsZero() {
		r.joinSince = now
	}
	if coming && now.Sub(r.joinSince) < joinTogether {
		return nil
	}
	return out
}

// shareOf is the share of a shard among members; false: it has none. The shares were computed before the change was
// proposed.
func (r *run) shareOf(members []int, i int) (runnerv1alpha1.Share, bool) {
	shares, err := r.sharesOf(members)
	if err != nil {
		r.notDistributed = err.Error()
		return runnerv1alpha1.Share{}, false
	}
	k, ok := slices.BinarySearch(members, i)
	if !ok {
		return runnerv1alpha1.Share{}, false
	}
	return shares[k], true
}

// sharesOf are the shares of members, in their order. The last result is kept: each member needs it, and most changes
// have the same members.
func (r *run) sharesOf(members []int) ([]runnerv1alpha1.Share, error) {
	if r.shares.shares != nil && slices.Equal(members, r.shares.members) {
		return r.shares.shares, nil
	}
	shares, err := shard.Distribute(r.d.Plan, members)
	if err != nil {
		return nil, err
	}
	r.shares.members, r.shares.shares = members, shares
	return shares, nil
}

// idleShare lets a shard connect before it is a member: it has the connections that it would have if it
// were the only one to join, and no slots.
func (r *run) idleShare(i int) runnerv1alpha1.Share {
	members := append(slices.Clone(r.newest().Members), i)
	slices.Sort(members)
	share, _ := r.shareOf(slices.Compact(members), i)
	share.Slots, share.Once = runnerv1alpha1.Slots{Of: 1}, false
	return share
}

// update is what to send to a runner: its first share, or the change that comes next.
func (r *run) update(s *runner) runnerv1alpha1.Update {
	c := r.pending(s)
	if c == nil {
		c = r.beforeStart()
	}
	out := *c
	share, member := r.shareOf(c.Members, s.index)
	switch {
	case member && s.member:
		out.Share = share
	case s.member:
		out.Leave = true
	default:
		if s.idle == nil {
			idle := r.idleShare(s.index)
			s.idle = &idle
		}
		out.Share = *s.idle
	}
	return out
}

// beforeStart is the last change before the start. A runner that connects later begins with it, too,
// and gets the others with its start.
func (r *run) beforeStart() *runnerv1alpha1.Update {
	c := &r.changes[0]
	for i := range r.changes {
		if r.changes[i].At == 0 {
			c = &r.changes[i]
		}
	}
	return c
}

// missed are the changes that a runner which starts does not have.
func (r *run) missed(s *runner) []runnerv1alpha1.Update {
	var out []runnerv1alpha1.Update
	for _, c := range r.changes {
		if c.At != 0 && c.Revision > s.snapshot.Revision {
			out = append(out, c)
		}
	}
	return out
}

// findLeft finds the runners that are done because a change removed their share.
func (r *run) findLeft() {
	for i, s := range r.shards {
		if s.state == shards.Done && s.member && s.snapshot.Stopped == "" && !slices.Contains(r.newest().Members, i) && s.snapshot.Revision >= r.leftWith(i) {
			r.happen(s, shards.Departed)
		}
	}
}

// leftWith is the revision of the change that took the share of a shard.
func (r *run) leftWith(i int) (revision int64) {
	for _, c := range slices.Backward(r.changes) {
		if slices.Contains(c.Members, i) {
			break
		}
		revision = c.Revision
	}
	return revision
}

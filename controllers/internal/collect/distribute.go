package collect

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/internal/shard"
)

// joinTogether is how long those that are ready to join wait for others that are on their way, so that
// the load is dealt once for all of them.
const joinTogether = time.Second

// deal finds out who is to have a part of the load and, when these are others than at present, deals it
// anew. One deal is accepted by all before the next one is made.
func (r *run) distribute(now time.Time) {
	if !r.mayTell() || r.d.Stop != "" || r.d.Stored {
		return
	}
	last := r.newest()
	members := r.first()
	if r.startAt != 0 {
		if !r.atWork() || !r.allHave(last.Revision) {
			return
		}
		members = r.remaining(now)
	}
	if slices.Equal(members, last.Members) {
		r.failed, r.notDistributed = nil, ""
	}
	if len(members) == 0 || slices.Equal(members, last.Members) || slices.Equal(members, r.failed) {
		return
	}
	if _, err := r.sharesOf(members); err != nil {
		r.failed, r.notDistributed = members, err.Error()
		r.log.Info("Cannot distribute the load over these shards", "shards", members, "reason", err.Error())
		return
	}
	r.failed, r.notDistributed = nil, ""
	next := last.Update
	next.At, next.Members, next.Generation = 0, members, max(last.Generation, r.d.Live.Generation)
	r.add(next)
}

// first are the shards that the test starts with. Fewer than all are chosen once, unless one of them ends:
// with their larger parts they connect anew, so for a moment none of them is ready.
func (r *run) first() []int {
	present := r.newest().Members
	chosen := len(present) < r.d.Plan.Shards
	ended := slices.ContainsFunc(present, func(i int) bool { s := r.at(i); return s.over() || s.pod.Ended || s.final() })
	if r.d.StartWith == nil || chosen && !ended {
		return present
	}
	return r.d.StartWith
}

// atWork: every shard that has a part was told the start, and some of them still send.
func (r *run) atWork() bool {
	sending := false
	for _, i := range r.newest().Members {
		s := r.shards[i]
		if s.over() {
			continue
		}
		if !s.knowsStart() {
			return false
		}
		sending = sending || s.sends()
	}
	return sending
}

// remaining are the shards that are to have a part from now on: those that have one and need not leave,
// and those that join.
func (r *run) remaining(now time.Time) []int {
	last := r.newest().Members
	var out []int
	for _, i := range last {
		if i >= r.d.Shards || r.shards[i].stored && r.d.Redeal { // not before it is recorded: then all of it is known
			continue
		}
		out = append(out, i)
	}
	out = append(out, r.joining(now)...)
	if !slices.ContainsFunc(out, func(i int) bool { return r.shards[i].sends() }) {
		return nil
	}
	slices.Sort(out)
	return out
}

// joining are the shards that wait for a part, unless others are about to be ready too.
func (r *run) joining(now time.Time) []int {
	var out []int
	coming := false
	for i, s := range r.shards[:min(r.d.Shards, len(r.shards))] {
		switch {
		case s.over() || s.member || s.pod.Address == "" || s.pod.Ended:
		case s.knowsStart() && s.sends() && s.snapshot.Revision == r.newest().Revision:
			out = append(out, i)
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

// shareOf is the part that a shard has among members; false: none. A deal was tried before it became a
// change, and one of a predecessor was made by the same arithmetic.
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

// sharesOf are the parts of members, in their order. The last deal is kept: one is told to each of its
// members, and most changes leave it as it is.
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

// idleShare lets a shard connect that has no part yet: it has the connections that it would have if it
// were the only one to join, and no slots.
func (r *run) idleShare(i int) runnerv1alpha1.Share {
	members := append(slices.Clone(r.newest().Members), i)
	slices.Sort(members)
	share, _ := r.shareOf(slices.Compact(members), i)
	share.Slots, share.Once = runnerv1alpha1.Slots{Of: 1}, false
	return share
}

// update is what to tell a shard: its first share, or the change that comes next.
func (r *run) update(i int) runnerv1alpha1.Update {
	s := r.shards[i]
	c := r.due(s)
	if c == nil {
		c = r.beforeStart()
	}
	out := c.Update
	share, member := r.shareOf(c.Members, i)
	switch {
	case member && s.member:
		out.Share = share
	case s.member:
		out.Leave = true
	default:
		if s.idle == nil {
			idle := r.idleShare(i)
			s.idle = &idle
		}
		out.Share = *s.idle
	}
	return out
}

// beforeStart is the last change that was made before the start. Who connects later begins with it too,
// and gets the others with its start.
func (r *run) beforeStart() *change {
	c := r.changes[0]
	for _, next := range r.changes {
		if next.early {
			c = next
		}
	}
	return c
}

// missed are the changes that a shard which is to start has not heard of.
func (r *run) missed(s *runner) []runnerv1alpha1.Update {
	var out []runnerv1alpha1.Update
	for _, c := range r.changes {
		if c.At != 0 && c.Revision > s.snapshot.Revision {
			out = append(out, c.Update)
		}
	}
	return out
}

// findLeft finds the runners that are done because a change removed their share.
func (r *run) findLeft() {
	for i, s := range r.shards {
		if s.state == state.Done && s.member && !s.left && s.snapshot.Stopped == "" && !slices.Contains(r.newest().Members, i) {
			s.left = s.snapshot.Revision >= r.leftWith(i)
			r.news = r.news || s.left
		}
	}
}

// leftWith is the revision of the change from which on a shard has had no part.
func (r *run) leftWith(i int) (revision int64) {
	for _, c := range slices.Backward(r.changes) {
		if slices.Contains(c.Members, i) {
			break
		}
		revision = c.Revision
	}
	return revision
}

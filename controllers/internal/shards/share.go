package shards

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// shares computes the shares of members. It keeps the last result: each member needs it, and most changes have the same
// members.
type shares struct {
	plan    *runnerv1alpha1.Plan
	members []int
	last    []runnerv1alpha1.Share
}

// of are the shares of members, in their order.
func (c *shares) of(members []int) ([]runnerv1alpha1.Share, error) {
	if c.last != nil && slices.Equal(members, c.members) {
		return c.last, nil
	}
	last, err := split.Distribute(c.plan, members)
	if err != nil {
		return nil, err
	}
	c.members, c.last = members, last
	return last, nil
}

// shareOf is the share of a shard among members; false: it has none. The shares were computed before the change was
// proposed.
func (m *members) shareOf(members []int, i int) (runnerv1alpha1.Share, bool) {
	shares, err := m.shares.of(members)
	if err != nil {
		m.notDistributed = err.Error()
		return runnerv1alpha1.Share{}, false
	}
	k, ok := slices.BinarySearch(members, i)
	if !ok {
		return runnerv1alpha1.Share{}, false
	}
	return shares[k], true
}

// idleShare lets a shard connect before it is a member: it has the connections that it would have if it
// were the only one to join, and no slots.
func (m *members) idleShare(i int) runnerv1alpha1.Share {
	members := append(slices.Clone(m.changes.newest().Members), i)
	slices.Sort(members)
	share, _ := m.shareOf(slices.Compact(members), i)
	share.Slots, share.Once = runnerv1alpha1.Slots{Of: 1}, false
	return share
}

// update is what to send to a runner: its first share, or the change that comes next.
func (m *members) update(s *runner) runnerv1alpha1.Update {
	c := s.pending(m.changes)
	if c == nil {
		c = m.changes.beforeStart()
	}
	out := *c
	share, member := m.shareOf(c.Members, s.index)
	switch {
	case member && s.member:
		out.Share = share
	case s.member:
		out.Leave = true
	default:
		if s.idle == nil {
			idle := m.idleShare(s.index)
			s.idle = &idle
		}
		out.Share = *s.idle
	}
	return out
}

package shards

import (
	"slices"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// joinTogether is how long shards that are ready to join wait for others, so that one change adds all of them.
const joinTogether = time.Second

// members decides which shards share the load, and computes their shares.
type members struct {
	shares  shares
	changes *changes
	// joinSince is since when a shard is ready to join. failed are members that cannot share the load, and
	// notDistributed says why.
	joinSince      time.Time
	failed         []int
	notDistributed string
}

// next are the shards that must share the load from now on; nil: those of the last change. It waits until all members
// have that change. The error says once that these shards cannot share the load.
func (m *members) next(all runners, d *Desired, now time.Time) ([]int, error) {
	last := m.changes.newest()
	if !all.atWork(last.Members) || !all.have(last.Revision) {
		return nil, nil
	}
	next := m.remaining(all, d, now)
	if slices.Equal(next, last.Members) {
		m.failed, m.notDistributed = nil, ""
	}
	if len(next) == 0 || slices.Equal(next, last.Members) || slices.Equal(next, m.failed) {
		return nil, nil
	}
	if _, err := m.shares.of(next); err != nil {
		m.failed, m.notDistributed = next, err.Error()
		return nil, err
	}
	m.failed, m.notDistributed = nil, ""
	return next, nil
}

// remaining are the members that need not leave, and the shards that join.
func (m *members) remaining(all runners, d *Desired, now time.Time) []int {
	var out []int
	for _, i := range m.changes.newest().Members {
		s := all[i]
		// stored: then the record has the loss; no member: another pod
		if i >= d.Shards || d.Policy == v1alpha1.ShardLostRebalance && s.stored || !s.member {
			continue
		}
		out = append(out, i)
	}
	out = append(out, m.joining(all[:min(d.Shards, len(all))], now)...)
	if !slices.ContainsFunc(out, func(i int) bool { return all[i].sends() }) {
		return nil
	}
	slices.Sort(out)
	return out
}

// joining are the shards that wait for a share, unless others are about to be ready too.
func (m *members) joining(all runners, now time.Time) []int {
	var out []int
	coming, last := false, m.changes.newest()
	for i, s := range all {
		switch {
		case s.state.Over() || s.member || s.pod.Address == "" || s.pod.Ended || slices.Contains(last.Members, i):
		case s.state == Active && s.snapshot.Revision == last.Revision:
			if !s.silent {
				out = append(out, i)
			}
		case s.trouble == "":
			coming = true
		}
	}
	if len(out) == 0 {
		m.joinSince = time.Time{}
		return nil
	}
	if m.joinSince.IsZero() {
		m.joinSince = now
	}
	if coming && now.Sub(m.joinSince) < joinTogether {
		return nil
	}
	return out
}

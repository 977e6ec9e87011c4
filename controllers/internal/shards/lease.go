package shards

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// leaseMargin is how long after the end of its lease a runner has stopped, for the difference of clocks.
const leaseMargin = time.Second

// leases: each runner sends requests only while it has a lease.
func (d *Desired) leases() bool { return d.Plan.LeaseDuration > 0 }

// lease is the lease to send to a runner; zero: none. The runner gets an instant of its own clock, so that a message
// which it reads late renews nothing after it. An operator that may have been replaced renews no lease: the next one
// assumes that the leases end at the latest LeaseDuration after it began to lead, and gives the share of a runner that
// it does not reach to others then.
func (s *runner) lease(m *round) runnerv1alpha1.Lease {
	if !m.d.leases() || !m.Leading || m.d.Record.Start == nil || s.clock.RTT == 0 || s.state.Over() || s.final() ||
		m.Now.Sub(s.lastSeen) > silentAfter {
		return runnerv1alpha1.Lease{}
	}
	end := m.clock + int64(m.d.Plan.LeaseDuration)
	s.leaseEnd = max(s.leaseEnd, end)
	return runnerv1alpha1.Lease{Until: end, Term: m.Term}
}

// leaseOver: the runner has stopped because its lease is over.
func (s *runner) leaseOver(clock int64) bool { return clock > s.leaseEnd+int64(leaseMargin) }

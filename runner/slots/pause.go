package slots

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// Pause begins a pause if the lease has expired, or had expired before it was renewed. It returns whether a pause has
// begun.
//
// A paused worker sends nothing, and does not look at the slots that become due. When the lease is renewed, or the
// load or the run ends, it drops all slots of the pause. Updates take effect during a pause; then the worker drops the
// slots before the update. So if the operator gives the share of this worker to others and
// later lets it leave at that instant, the worker drops only the slots before that instant.
func (s *Slots) Pause(l *Lease, now int64) (begins bool) {
	if l.End() == never || s.startAt == never {
		return false
	}
	at, begins := s.lease.check(l, now)
	if begins {
		s.lease.begin(!s.Over(), max(at, s.startAt))
	}
	return begins
}

// Paused returns whether the lease has expired: the worker sends nothing.
func (s *Slots) Paused() bool { return s.lease.paused }

// Gaps returns the pauses so far, including the current pause.
func (s *Slots) Gaps(now int64) rv.LeaseGaps { return s.lease.gapsAt(now) }

// Resume ends the pause if the lease was valid when Pause was called.
func (s *Slots) Resume(now int64, to Sink) {
	if s.lease.paused && !s.lease.expired {
		s.EndGap(now, to)
		s.lease.resume(now)
	}
}

// EndGap drops the slots of a pause that are due before now. The worker is still paused.
func (s *Slots) EndGap(now int64, to Sink) {
	if s.lease.paused {
		s.Take(now, now, to)
		s.lease.countGap(now)
	}
}

// Pass ends a paused load when the last stage is over, because the lease may never be renewed.
func (s *Slots) Pass(now int64, to Sink) {
	if s.Due(now) {
		s.Take(now+1, now, to)
	}
	if s.Over() {
		s.lease.countGap(s.loadEnd())
	}
}

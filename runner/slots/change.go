package slots

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// Change is a change of a run from an instant of the worker's clock on. All workers of all shards get it with the same
// offset from the start, so all compute the same scheduled times. A worker that learns of it late sends what is
// missing. A change from before the start takes effect at the start.
type Change struct {
	At int64
	// Rates are those of all stages. Only counts and periods differ from the rates before.
	Rates []rv.Rate
	// Suspended is true if no slot is due until a Change without it.
	Suspended bool
	// Share is the worker's own share from At on; nil: it stays the same. A worker that learns of it late has sent slots
	// that another worker has from At on. It sends the slots of its new share since At, except those that it has sent.
	Share *rv.Share
	// Leave ends the load at At. Before the start, it ends the worker.
	Leave bool
}

// Add adds a change.
func (s *Slots) Add(c Change) { s.changes = append(s.changes, c) }

// nextChange returns when the next change takes effect.
func (s *Slots) nextChange() int64 {
	if len(s.changes) == 0 {
		return never
	}
	return s.changes[0].At
}

// Apply applies the next change up to an instant, after it has taken the slots that were due before the change. It
// returns nil if there is none.
func (s *Slots) Apply(until, now int64, to Sink) *Change {
	if s.nextChange() > until {
		return nil
	}
	c := &s.changes[0]
	s.changes = s.changes[1:]
	s.Take(c.At, now, to)
	if c.Leave {
		s.leave(c.At)
		return c
	}
	s.change(c)
	if c.Share != nil {
		s.endExhausted(now) // the worker may have sent all requests of its new share
	}
	return c
}

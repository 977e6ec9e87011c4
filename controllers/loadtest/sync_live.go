package loadtest

import (
	"context"
	"fmt"

	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// syncLive compares what the spec says of the values that can change while the test runs with the record. The plan stays the one
// that was started with: the runners get the differences as changes.
func (r *reconciler) syncLive(_ context.Context, s *scope) (bool, error) {
	if s.LoadTest.Generation < s.Record.Live.Generation {
		return false, nil // the cache has an older spec: another pass follows when it has the newer one
	}
	now, err := r.present(s)
	if err != nil {
		return false, err
	}
	s.Present, s.NotApplied = now, now.Why
	if s.Edits = decide.EditsOf(s.Facts, now); len(s.Edits) > 0 && s.Record.Full() {
		s.NotApplied = fmt.Sprintf("the test already has %d changes and %d runners that ended, which is the maximum", len(s.Record.Changes), len(s.Record.Shards))
		s.Edits = nil
	}
	return true, nil
}

func (r *reconciler) present(s *scope) (*run.Present, error) {
	c := r.memory.of(s.LoadTest)
	if c.present == nil || c.present.Generation != s.LoadTest.Generation {
		now, err := s.PresentOf()
		if err != nil {
			return nil, err
		}
		c.present = now
	}
	return c.present, nil
}

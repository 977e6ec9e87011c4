package loadtest

import (
	"context"
	"slices"

	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
)

// syncEdited finds out whether the spec of a test that finished describes another test than the one that ran. An edit
// of the TTL does not, and neither does a change that took effect while the test ran.
func (r *reconciler) syncEdited(ctx context.Context, s *scope) (bool, error) {
	if s.Record.Plan.Generation == 0 || s.LoadTest.Generation == s.Record.Plan.Generation {
		return true, nil
	}
	c := r.memory.of(s.LoadTest)
	if c.editedGeneration != s.LoadTest.Generation {
		edited, err := s.describesAnother()
		if err != nil {
			return false, err
		}
		c.edited, c.editedGeneration = edited, s.LoadTest.Generation
	}
	s.edited = c.edited
	return true, nil
}

func (s *scope) describesAnother() (bool, error) {
	compiled, _, errs := compile.Compile(s.Key().String(), &s.LoadTest.Spec)
	if len(errs) > 0 {
		return true, nil
	}
	if s.Record.Start == nil {
		hash, err := plan.Hash(compiled)
		return hash != s.Record.Plan.Hash, err
	}
	if compiled.Shards != s.Record.Live.Shards || !slices.Equal(record.RatesOf(compiled.Rates), s.Record.Live.Rates) {
		return true, nil
	}
	if slices.ContainsFunc(s.Record.Edits, func(e record.Edit) bool { return e.Stage != nil && e.AppliedAt == nil }) {
		return true, nil // the test ended before the new rate took effect
	}
	same, err := s.sameBut(&s.LoadTest.Spec)
	return !same, err
}

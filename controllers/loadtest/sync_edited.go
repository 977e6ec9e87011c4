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
	if s.run.Plan.Generation == 0 || s.lt.Generation == s.run.Plan.Generation {
		return true, nil
	}
	c := r.memory.of(s.lt)
	if c.editedGeneration != s.lt.Generation {
		edited, err := s.describesAnother()
		if err != nil {
			return false, err
		}
		c.edited, c.editedGeneration = edited, s.lt.Generation
	}
	s.edited = c.edited
	return true, nil
}

func (s *scope) describesAnother() (bool, error) {
	compiled, _, errs := compile.Compile(s.key().String(), &s.lt.Spec)
	if len(errs) > 0 {
		return true, nil
	}
	if s.run.Start == nil {
		hash, err := plan.Hash(compiled)
		return hash != s.run.Plan.Hash, err
	}
	if compiled.Shards != s.run.Live.Shards || !slices.Equal(record.RatesOf(compiled.Rates), s.run.Live.Rates) {
		return true, nil
	}
	if slices.ContainsFunc(s.run.Edits, func(e record.Edit) bool { return e.Stage != nil && e.AppliedAt == nil }) {
		return true, nil // the test ended before the new rate took effect
	}
	same, err := s.sameBut(&s.lt.Spec)
	return !same, err
}

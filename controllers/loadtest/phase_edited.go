package loadtest

import (
	"context"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
)

// editedPhase finds out whether the spec of an ended run was edited so that it describes another
// test. An edit of the TTL, for instance, does not, and neither does what had changed while it ran.
func editedPhase(_ context.Context, s *scope) (bool, error) {
	ran, hash := s.lt.Status.StartedGeneration, s.lt.Status.PlanHash
	switch {
	case s.end != nil:
		ran, hash = s.end.Generation, s.end.PlanHash
	case s.lt.Status.CompletionTime == nil:
		return true, nil
	}
	if s.lt.Generation == ran {
		return true, nil
	}
	compiled, _, errs := compile.Compile(s.key().String(), &s.lt.Spec)
	if len(errs) > 0 {
		s.edited = true
		return true, nil
	}
	rates, same := undone(compiled.Rates, s.lt.Status.Changes)
	if !same {
		s.edited = true
		return true, nil
	}
	compiled.Rates = rates
	_, now, err := plan.Canonical(compiled)
	s.edited = now != hash
	return err == nil, err
}

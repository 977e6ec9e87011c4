package loadtest

import (
	"context"

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
	compiled := asStarted(s.key().String(), &s.lt.Spec, s.lt.Status.Changes)
	if compiled == nil {
		s.edited = true
		return true, nil
	}
	_, now, err := plan.Canonical(compiled)
	s.edited = now != hash
	return err == nil, err
}

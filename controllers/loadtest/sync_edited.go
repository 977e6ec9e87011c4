package loadtest

import (
	"context"
)

// syncEdited finds out whether the spec of a test that finished describes another test than the one that ran. An edit
// of the TTL does not, and neither does a change that took effect while the test ran.
func (r *reconciler) syncEdited(ctx context.Context, s *scope) (bool, error) {
	if s.Record.Plan.Generation == 0 || s.LoadTest.Generation == s.Record.Plan.Generation {
		return true, nil
	}
	c := r.memory.of(s.LoadTest)
	if c.editedGeneration != s.LoadTest.Generation {
		edited, err := s.DescribesAnother()
		if err != nil {
			return false, err
		}
		c.edited, c.editedGeneration = edited, s.LoadTest.Generation
	}
	s.Edited = c.edited
	return true, nil
}

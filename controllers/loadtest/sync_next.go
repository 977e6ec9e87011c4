package loadtest

import (
	"context"

	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// syncNext decides what comes next while the test runs. It stores the counts of the runners that ended, and then all decisions with one write.
func (r *reconciler) syncNext(ctx context.Context, s *scope) (bool, error) {
	ended, err := r.storeCounts(ctx, s)
	if err != nil {
		return false, err
	}
	if err := r.decide(ctx, s, func(run *record.Record) error { return decide.Next(s.Facts, run, ended) }); err != nil {
		return false, err
	}
	if len(ended) == 0 {
		return true, nil
	}
	return true, r.readEnded(ctx, s)
}

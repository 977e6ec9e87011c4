package loadtest

import (
	"context"

	"github.com/h2surge/h2surge/controllers/internal/run"
)

// locked waits until the test has its lock, which controllers/lock gives to it. A test that loses its lock loses its
// Jobs.
func (r *reconciler) locked(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	if f.Unlocked == nil {
		return nil, nil
	}
	return f.Unlocked, r.hold(ctx, f)
}

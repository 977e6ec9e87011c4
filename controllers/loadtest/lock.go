package loadtest

import (
	"context"

	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// locked waits until the test has its lock, which controllers/lock gives to it. A test that loses its lock loses its
// Jobs.
func (r *reconciler) locked(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	if f.Unlocked == nil {
		return nil, nil
	}
	return f.Unlocked, r.holdAll(ctx, f)
}

// holdAll deletes the Jobs of a test that waits for its lock or its user.
func (r *reconciler) holdAll(ctx context.Context, f *run.Facts) error {
	if err := r.perform.must(ctx, f, decide.DeleteFormer(f)...); err != nil {
		return err
	}
	return r.hold(ctx, f)
}

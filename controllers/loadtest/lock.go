package loadtest

import (
	"context"
	"fmt"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/lock"
)

// locked waits until the test has its lock, which controllers/lock gives to it. A test that loses its lock loses its
// Jobs.
func (r *reconciler) locked(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	if f.LoadTest.Spec.Lock == "" {
		return nil, nil
	}
	if f.Held() { // it waits for its user and not for its lock, so the deadline counts
		if f.Record.Admitted != nil {
			return nil, nil
		}
		return nil, r.perform.store(ctx, f, func(run *record.Record) error { return decide.Admit(f, run) })
	}
	of, err := r.observe.lock(ctx, r.observe.client, f)
	switch {
	case err != nil:
		return nil, err
	case !lock.Holds(f.LoadTest, of):
		why := run.NotReady(v1alpha1.ReasonWaitingForLock, fmt.Sprintf("lock %s is %s", f.LoadTest.Spec.Lock,
			lock.Why(f.LoadTest.Name, of)))
		return why, r.holdAll(ctx, f)
	case f.Record.Admitted == nil || f.Record.Admitted.Before(&of.Holder.Time):
		return nil, r.perform.store(ctx, f, func(run *record.Record) error {
			run.Admitted = of.Holder.Time.DeepCopy()
			return nil
		})
	}
	return nil, nil
}

// holdAll deletes the Jobs of a test that waits for its lock or its user.
func (r *reconciler) holdAll(ctx context.Context, f *run.Facts) error {
	if err := r.perform.must(ctx, f, decide.DeleteFormer(f)...); err != nil {
		return err
	}
	return r.hold(ctx, f)
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// errUnreachable is wrapped by the error of Run if the connections could not be opened.
var errUnreachable = errors.New("target unreachable")

// headStart is the time from Start to the start instant, so that each worker gets the instant in time.
const headStart = 20 * time.Millisecond

// Run executes a share in this process, from connecting to the final snapshot. It calls every, unless nil, with a
// snapshot about once a second. If the context ends, the runner stops sending and waits for outstanding responses, and
// Stopped has the reason. The snapshot is nil only if the plan is rejected.
func Run(ctx context.Context, plan *rv.Plan, share rv.Share, o Options, every func(*rv.Snapshot)) (*rv.Snapshot, error) {
	o.Alone = true
	r, err := New(plan, o)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // never fails
	if err := r.Update(rv.Update{Revision: 1, Share: share}); err != nil {
		return nil, err
	}
	if err := r.awaitReady(ctx); err != nil {
		return r.Snapshot(), err
	}
	start := rv.Start{At: rv.Clock() + int64(headStart)}
	if len(plan.Globals) > 0 {
		start.Globals = r.Snapshot().Globals
	}
	if err := r.Start(start); err != nil {
		return r.Snapshot(), err
	}
	return r.watch(ctx, every), nil
}

// awaitReady waits until all connections are open. It waits longer than the slowest connectTimeout, so that the error of
// an attempt that times out is known.
func (r *Runner) awaitReady(ctx context.Context) error {
	var limit time.Duration
	for i := range r.plan.Targets {
		limit = max(limit, r.plan.Targets[i].ConnectWithin())
	}
	limit += r.plan.SetupWithin()
	deadline := time.NewTimer(limit + limit/4)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		r.mu.Lock()
		ready := r.workers.allReady() && !r.checking
		r.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.Done():
			return fmt.Errorf("%s: %s", r.problem, r.message)
		case <-deadline.C:
			return fmt.Errorf("%w within %v: %s", errUnreachable, limit, r.Snapshot().Message)
		case <-tick.C:
		}
	}
}

// watch calls every once a second until the run is done.
func (r *Runner) watch(ctx context.Context, every func(*rv.Snapshot)) *rv.Snapshot {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case <-r.Done():
			return r.Snapshot()
		case <-cancelled:
			cancelled = nil
			_ = r.Stop(rv.Stop{Reason: context.Cause(ctx).Error(), Drain: true})
		case <-tick.C:
			if every != nil {
				every(r.Snapshot())
			}
		}
	}
}

package loadtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// gate lets a run continue to its start. It returns why it does not; nil: it does.
type gate func(context.Context, *run.Facts) (*run.Blocker, error)

// gates are in the order of a run. They close again if the cause comes back: a test that loses its lock loses its Job,
// too.
func (r *reconciler) gates() []gate {
	return []gate{r.compiled, r.decided, r.admitted, r.notStopped, r.planStored, r.locked, r.notHeld, r.runnersExist,
		r.connected, r.allReady, r.begin}
}

// starting is a pass of a run that has not started. The first gate that is shut says why the run waits, or that it
// ends.
func (r *reconciler) starting(ctx context.Context, f *run.Facts) error {
	for _, gate := range r.gates() {
		b, err := gate(ctx, f)
		switch {
		case err != nil:
			return err
		case b == nil:
			continue
		case b.Condition == v1alpha1.ConditionFinished:
			return r.endBeforeStart(ctx, f, b)
		}
		f.Block(b)
		return nil
	}
	f.Again(0) // it has started
	return nil
}

// admitted notes whether the test waits for its lock or in a queue: the deadline counts from the end of the wait. It
// makes the run record, but not that of a LoadTest that was deleted and that the cache still has.
func (r *reconciler) admitted(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	if !f.Stored {
		if ok, err := r.observe.specIsCurrent(ctx, f); err != nil || !ok {
			return &run.Blocker{Retry: staleInterval}, err
		}
	}
	if err := r.observe.unlocked(ctx, f); err != nil {
		return nil, err
	}
	return nil, r.perform.store(ctx, f, func(run *record.Record) error { return decide.Admitted(f, run) })
}

// notStopped ends a run that spec.stop or the deadline ends before its start.
func (r *reconciler) notStopped(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	reason := decide.StopReason(f)
	if reason == "" {
		return nil, nil
	}
	if err := r.perform.must(ctx, f, decide.DeleteFormer(f)...); err != nil {
		return nil, err
	}
	if reason == decide.StopBySpec {
		return run.Never(v1alpha1.ReasonStopped, "spec.stop ended the test before it started"), nil
	}
	why := fmt.Sprintf("activeDeadlineSeconds (%d) passed before the test started", *f.LoadTest.Spec.ActiveDeadlineSeconds)
	if r.observe.diagnose(ctx, f); f.Problem != nil {
		why += ": " + f.Problem.Message
	}
	return run.Never(v1alpha1.ReasonDeadlineExceeded, why), nil
}

// notHeld deletes the runners of a test that spec.suspend keeps from starting.
func (r *reconciler) notHeld(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	if !f.LoadTest.Spec.Suspend {
		return nil, nil
	}
	return run.NotReady(v1alpha1.ReasonSuspended, run.HeldMessage), r.hold(ctx, f)
}

// runnersExist sees to it that the Job for the plan exists, and that no other one does.
func (r *reconciler) runnersExist(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	r.memory.of(f.LoadTest).unhold(f.Now)
	if view := r.registry.View(f.LoadTest.UID); view != nil && f.Job != nil && !run.JobSuspended(f.Job) {
		f.See(view) // what follows from it goes to the collector at once
	}
	err := conflict(f, r.ensureJob(ctx, f))
	if err != nil && !errors.Is(err, errRefused) {
		return nil, err
	}
	if f.Job != nil && len(f.Refused) > 0 {
		return nil, err // the Job is that of an earlier plan or attempt, and must not start
	}
	// Also if the Job is refused: a quota can have no place for it as long as a former one exists.
	if err := r.perform.try(ctx, f, decide.DeleteFormer(f)...); err != nil {
		return nil, err
	}
	if b := decide.RefusedForTooLong(f); b != nil && f.Job == nil {
		return b, nil
	}
	if len(f.Refused) > 0 {
		return nil, errRefused
	}
	return f.Blocked, nil
}

// connected lets the collector connect to the runners, and decides which shards the test starts with.
func (r *reconciler) connected(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	f.Waits = r.observe.waitsOf(f)
	if run.JobSuspended(f.Job) {
		r.registry.Forget(f.LoadTest.UID) // a queue ended the runners that it had; they are not lost
		return decide.StartProblem(f), nil
	}
	if err := r.perform.store(ctx, f, func(run *record.Record) error {
		decide.Starters(f, run)
		return nil
	}); err != nil {
		return nil, err
	}
	view, err := r.order(f)
	if err != nil {
		return nil, err
	}
	f.See(view)
	r.observe.diagnose(ctx, f)
	return nil, nil
}

// allReady waits for the runners that the test starts with, and ends a run that cannot start any more.
func (r *reconciler) allReady(_ context.Context, f *run.Facts) (*run.Blocker, error) {
	if decide.CanStart(f) {
		return nil, nil
	}
	if b := decide.StartFailure(f); b != nil {
		return b, nil
	}
	return decide.StartProblem(f), nil
}

// begin decides the start. It stores the decision before the runners get it, so that another operator never starts the
// test again.
func (r *reconciler) begin(ctx context.Context, f *run.Facts) (*run.Blocker, error) {
	for _, fresh := range []func(context.Context, *run.Facts) (bool, error){r.observe.specIsCurrent, r.observe.hasLock} {
		if ok, err := fresh(ctx, f); err != nil || !ok {
			return &run.Blocker{Retry: staleInterval}, err
		}
	}
	err := r.perform.store(ctx, f, func(run *record.Record) error { return decide.Begin(f, run) })
	if err != nil {
		return nil, err
	}
	_, err = r.order(f)
	return nil, err
}

package loadtest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// gate lets a run continue to its start. It returns why it does not; nil: it does.
type gate func(context.Context, *scope) (*run.Blocker, error)

// gates are in the order of a run. They close again if the cause comes back: a test that loses its lock loses its Job, too.
func (r *reconciler) gates() []gate {
	return []gate{r.compiled, r.admitted, r.notStopped, r.planStored, r.locked, r.notHeld, r.runnersExist, r.connected, r.allReady, r.begin}
}

// starting is a pass of a run that has not started. The first gate that is shut says why the run waits, or that it ends.
func (r *reconciler) starting(ctx context.Context, s *scope) error {
	for _, gate := range r.gates() {
		b, err := gate(ctx, s)
		switch {
		case err != nil:
			return err
		case b == nil:
			continue
		case b.Condition == v1alpha1.ConditionFinished:
			return r.endBeforeStart(ctx, s, b)
		}
		s.Block(b)
		return nil
	}
	s.Again(0) // it has started
	return nil
}

// shut returns what an attempt of this pass noted; nil: nothing.
func (s *scope) shut() *run.Blocker {
	if s.Blocked == nil && len(s.Refused) > 0 {
		return run.NotReady(s.RefusedReason(), s.RefusedMessage())
	}
	return s.Blocked
}

// admitted notes that a queue admitted the Job: the deadline counts from then.
func (r *reconciler) admitted(ctx context.Context, s *scope) (*run.Blocker, error) {
	_, err := r.syncAdmitted(ctx, s)
	return nil, err
}

// notStopped ends a run that spec.stop or the deadline ends before its start.
func (r *reconciler) notStopped(ctx context.Context, s *scope) (*run.Blocker, error) {
	reason := decide.StopReason(s.Facts)
	if reason == "" {
		return nil, nil
	}
	if err := r.must(ctx, s, decide.DeleteFormer(s.Facts)...); err != nil {
		return nil, err
	}
	if reason == decide.StopBySpec {
		return run.Never(v1alpha1.ReasonStopped, "spec.stop ended the test before it started"), nil
	}
	why := fmt.Sprintf("activeDeadlineSeconds (%d) passed before the test started", *s.LoadTest.Spec.ActiveDeadlineSeconds)
	if r.diagnose(ctx, s); s.Problem != nil {
		why += ": " + s.Problem.Message
	}
	return run.Never(v1alpha1.ReasonDeadlineExceeded, why), nil
}

// notHeld deletes the runners of a test that spec.suspend keeps from starting.
func (r *reconciler) notHeld(ctx context.Context, s *scope) (*run.Blocker, error) {
	if !s.LoadTest.Spec.Suspend {
		return nil, nil
	}
	if err := r.hold(ctx, s); err != nil {
		return nil, err
	}
	return run.NotReady(v1alpha1.ReasonSuspended, run.HeldMessage), r.must(ctx, s, decide.DeleteFormer(s.Facts)...)
}

// runnersExist sees to it that the Job for the plan exists, and that no other one does.
func (r *reconciler) runnersExist(ctx context.Context, s *scope) (*run.Blocker, error) {
	if err := r.ensureJob(ctx, s); err != nil {
		_, err := s.conflict(err)
		return s.Blocked, err
	}
	if len(s.Refused) == 0 {
		return s.Blocked, r.must(ctx, s, decide.DeleteFormer(s.Facts)...)
	}
	if b := decide.RefusedForTooLong(s.Facts); b != nil && s.Job == nil {
		return b, nil
	}
	return s.shut(), nil // an existing Job is that of an earlier plan or attempt, and must not start
}

// connected lets the collector connect to the runners, and decides which shards the test starts with.
func (r *reconciler) connected(ctx context.Context, s *scope) (*run.Blocker, error) {
	s.Waits = r.waitsOf(s)
	if run.JobSuspended(s.Job) {
		r.registry.Forget(s.LoadTest.UID) // a queue ended the runners that it had; they are not lost
		return decide.StartProblem(s.Facts), nil
	}
	if view := r.registry.View(s.LoadTest.UID); view != nil {
		s.See(view) // what follows from it goes to the collector at once
	}
	if err := r.decide(ctx, s, func(run *record.Record) error {
		decide.Starters(s.Facts, run)
		return nil
	}); err != nil {
		return nil, err
	}
	view, err := r.order(s)
	if err != nil {
		return nil, err
	}
	s.See(view)
	r.diagnose(ctx, s)
	return nil, nil
}

// allReady waits for the runners that the test starts with, and ends a run that cannot start any more.
func (r *reconciler) allReady(_ context.Context, s *scope) (*run.Blocker, error) {
	if decide.CanStart(s.Facts) {
		return nil, nil
	}
	if b := decide.StartFailure(s.Facts); b != nil {
		return b, nil
	}
	return decide.StartProblem(s.Facts), nil
}

// begin decides the start. It stores the decision before the runners get it, so that another operator never starts the test again.
func (r *reconciler) begin(ctx context.Context, s *scope) (*run.Blocker, error) {
	for _, fresh := range []func(context.Context, *scope) (bool, error){r.specIsCurrent, r.hasLock} {
		if ok, err := fresh(ctx, s); err != nil || !ok {
			return &run.Blocker{Retry: staleInterval}, err
		}
	}
	err := r.decide(ctx, s, func(run *record.Record) error { return decide.Begin(s.Facts, run) })
	if err != nil {
		return nil, err
	}
	_, err = r.order(s)
	return nil, err
}

// specIsCurrent returns whether the API server has the spec of this pass. An edit that the cache does not show yet leads
// to another plan. The API server refuses an edit after startTime is in status; one between this read and that write has
// no effect and is reported.
func (r *reconciler) specIsCurrent(ctx context.Context, s *scope) (bool, error) {
	lt := &v1alpha1.LoadTest{}
	err := r.reader.Get(ctx, s.Key(), lt)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the LoadTest before the start: %w", err)
	}
	return lt.UID == s.LoadTest.UID && lt.Generation == s.LoadTest.Generation && lt.DeletionTimestamp == nil, nil
}

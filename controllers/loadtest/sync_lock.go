package loadtest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/lock"
)

// locked waits until the test has its lock, which controllers/lock gives to it. A test that loses its lock loses its Jobs.
func (r *reconciler) locked(ctx context.Context, s *scope) (*run.Blocker, error) {
	if s.LoadTest.Spec.Lock == "" {
		return nil, nil
	}
	if s.Held() { // it waits for its user and not for its lock, so the deadline counts
		if s.Record.Admitted != nil {
			return nil, nil
		}
		return nil, r.decide(ctx, s, s.admit)
	}
	of, err := r.lock(ctx, r.client, s)
	switch {
	case err != nil:
		return nil, err
	case !lock.Holds(s.LoadTest, of):
		why := run.NotReady(v1alpha1.ReasonWaitingForLock, fmt.Sprintf("lock %s is %s", s.LoadTest.Spec.Lock, lock.Why(s.LoadTest.Name, of)))
		return why, r.holdAll(ctx, s)
	case s.Record.Admitted == nil || s.Record.Admitted.Before(&of.Holder.Time):
		return nil, r.decide(ctx, s, func(run *record.Record) error {
			run.Admitted = of.Holder.Time.DeepCopy()
			return nil
		})
	}
	return nil, nil
}

// hasLock returns whether the test needs no lock, or the API server has it as the holder.
func (r *reconciler) hasLock(ctx context.Context, s *scope) (bool, error) {
	if s.LoadTest.Spec.Lock == "" {
		return true, nil
	}
	of, err := r.lock(ctx, r.reader, s)
	return err == nil && lock.Holds(s.LoadTest, of), err
}

// lock returns the lock of the test; nil: it does not exist.
func (r *reconciler) lock(ctx context.Context, from client.Reader, s *scope) (*v1alpha1.LoadTestLock, error) {
	out := &v1alpha1.LoadTestLock{}
	err := from.Get(ctx, client.ObjectKey{Namespace: s.LoadTest.Namespace, Name: s.LoadTest.Spec.Lock}, out)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadTestLock %s: %w", s.LoadTest.Spec.Lock, err)
	}
	return out, nil
}

// holdAll deletes the Jobs of a test that waits for its lock.
func (r *reconciler) holdAll(ctx context.Context, s *scope) error {
	if err := r.must(ctx, s, decide.DeleteFormer(s.Facts)...); err != nil {
		return err
	}
	return r.hold(ctx, s)
}

// admit records that the test left a queue, or that it does not wait for its lock.
func (s *scope) admit(run *record.Record) error {
	now := s.MicroTime()
	run.Admitted = &now
	return nil
}

// syncAdmitted records when a queue admitted the Job of the test: activeDeadlineSeconds counts from then.
func (r *reconciler) syncAdmitted(ctx context.Context, s *scope) (bool, error) {
	if s.Job == nil || s.StartDecided() || s.Record.End != nil {
		return true, nil
	}
	waits := run.JobSuspended(s.Job)
	missed := s.Record.Admitted == nil && run.WasSuspended(s.Job) // no pass saw the Job suspended
	if waits == s.Record.Queued && (waits || !missed) {
		return true, nil
	}
	err := r.decide(ctx, s, func(run *record.Record) error {
		if run.Queued = waits; waits {
			return nil
		}
		return s.admit(run)
	})
	return err == nil, err
}

package loadtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// loadtestlocks: get finds the holder of a lock, create and update make a LoadTest its holder.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtestlocks,verbs=get;create;update

// syncLock gets the lock of a test before it has runners. The API server has one object for a lock, and refuses a change that is
// based on an old version, so two tests cannot both become the holder. The operator looks at it in each pass before the start, and
// again just before the start: a test whose lock has another holder loses its runners and waits again.
func (r *reconciler) syncLock(ctx context.Context, s *scope) (bool, error) {
	if s.LoadTest.Spec.Lock == "" || s.StartDecided() || s.Record.End != nil || s.Plan == nil || decide.StopReason(s.Facts) != "" {
		return true, nil
	}
	if s.Held() { // it waits for its user and not for its lock, so the deadline counts
		if s.Record.Admitted != nil {
			return true, nil
		}
		err := r.decide(ctx, s, s.admit)
		return err == nil, err
	}
	if len(r.memory.of(s.LoadTest).refused) > 0 {
		s.Again(5 * r.lockInterval) // another test may take the lock before the next attempt
	}
	lock, err := r.lock(ctx, s)
	if err != nil {
		return false, err
	}
	if lock.Holder.UID != s.LoadTest.UID {
		return r.awaitLock(ctx, s, lock)
	}
	if s.Record.Admitted == nil {
		err = r.decide(ctx, s, s.admit)
	}
	return err == nil, err
}

// awaitLock makes a test the holder of a free lock. If the lock is not free, it deletes the Jobs of the test.
func (r *reconciler) awaitLock(ctx context.Context, s *scope, lock *v1alpha1.LoadTestLock) (bool, error) {
	why, err := r.lockedBy(ctx, s, lock)
	if err != nil {
		return false, err
	}
	if why != "" {
		s.awaitsLock(why)
		return true, r.holdAll(ctx, s)
	}
	lock.Holder = v1alpha1.LockHolder{Name: s.LoadTest.Name, UID: s.LoadTest.UID, Time: s.MicroTime()}
	made, err := r.attempt(ctx, s, "LoadTestLock "+lock.Name, func() error {
		if lock.ResourceVersion == "" {
			return r.client.Create(ctx, lock)
		}
		return r.client.Update(ctx, lock)
	})
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		s.awaitsLock("taken by another LoadTest")
		s.Again(staleInterval)
		return true, nil
	}
	if err != nil || !made {
		return err == nil, err
	}
	err = r.decide(ctx, s, s.admit)
	return err == nil, err
}

// awaitsLock notes why the test does not have its lock, as the end of "lock NAME is".
func (s *scope) awaitsLock(why string) {
	s.Block(run.NotReady(v1alpha1.ReasonWaitingForLock, "lock "+s.LoadTest.Spec.Lock+" is "+why))
}

// holdAll deletes the Jobs of a test that waits for its lock.
func (r *reconciler) holdAll(ctx context.Context, s *scope) error {
	if err := r.must(ctx, s, decide.DeleteFormer(s.Facts)...); err != nil {
		return err
	}
	return r.hold(ctx, s)
}

// admit records that the test left a queue.
func (s *scope) admit(run *record.Record) error {
	now := s.MicroTime()
	run.Admitted = &now
	return nil
}

// lock reads the lock of a test. Without an object it returns one without a holder.
func (r *reconciler) lock(ctx context.Context, s *scope) (*v1alpha1.LoadTestLock, error) {
	lock := &v1alpha1.LoadTestLock{}
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: s.LoadTest.Namespace, Name: s.LoadTest.Spec.Lock}, lock)
	if apierrors.IsNotFound(err) {
		return desired.Lock(s.LoadTest), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadTestLock %s: %w", s.LoadTest.Spec.Lock, err)
	}
	return lock, nil
}

// hasLock returns whether the test needs no lock, or the API server has it as the holder.
func (r *reconciler) hasLock(ctx context.Context, s *scope) (bool, error) {
	if s.LoadTest.Spec.Lock == "" {
		return true, nil
	}
	lock, err := r.lock(ctx, s)
	return err == nil && lock.Holder.UID == s.LoadTest.UID, err
}

// lockedBy returns why a test cannot have a lock yet, as the end of "lock NAME is": "held by LoadTest ns/a". Empty: it can.
func (r *reconciler) lockedBy(ctx context.Context, s *scope, lock *v1alpha1.LoadTestLock) (string, error) {
	why, err := r.keptBy(ctx, s, &lock.Holder)
	if err != nil {
		return "", err
	}
	before, err := r.waitingBefore(ctx, s, lock.Holder.UID)
	switch {
	case err != nil:
		return "", err
	case len(before) == 0 && why == "":
		return "", nil
	case len(before) == 0:
		s.Again(r.lockInterval)
		return why, nil
	}
	s.Again(5 * r.lockInterval)
	first := fmt.Sprintf("LoadTest %s/%s", s.LoadTest.Namespace, before[0].Name)
	if len(before) > 1 {
		first += fmt.Sprintf(" and %d more", len(before)-1)
	}
	if why == "" {
		return "free; next: " + first, nil
	}
	return why + "; before this test: " + first, nil
}

// keptBy returns why the holder keeps the lock: it has not finished, or runners of it may still run. Empty: the lock is free. All
// objects are read from the API server.
func (r *reconciler) keptBy(ctx context.Context, s *scope, holder *v1alpha1.LockHolder) (string, error) {
	if holder.UID == "" {
		return "", nil
	}
	who := fmt.Sprintf("held by LoadTest %s/%s", s.LoadTest.Namespace, holder.Name)
	lt := &v1alpha1.LoadTest{}
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: s.LoadTest.Namespace, Name: holder.Name}, lt)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading the holder of lock %s: %w", s.LoadTest.Spec.Lock, err)
	}
	if err == nil && lt.UID == holder.UID && lt.DeletionTimestamp == nil && wantsLock(lt, s.LoadTest.Spec.Lock) && !passedOver(lt, holder, s.Now) {
		return who, nil
	}
	left, err := r.leftOf(ctx, s.LoadTest.Namespace, holder)
	if left != "" {
		return fmt.Sprintf("%s, whose %s has not ended", who, left), err
	}
	return "", err
}

// passedOver returns whether the holder has had the lock for long enough to try its Job again, and the API server still refuses it. Then it waits
// for its next turn.
func passedOver(lt *v1alpha1.LoadTest, holder *v1alpha1.LockHolder, now time.Time) bool {
	c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionRunnersReady)
	return lt.Status.StartTime == nil && c != nil && c.ObservedGeneration == lt.Generation &&
		(c.Reason == v1alpha1.ReasonJobCreationFailed || c.Reason == v1alpha1.ReasonWriteRefused) && now.Sub(holder.Time.Time) >= maxRetryInterval
}

// wantsLock returns whether a LoadTest needs a lock: it has not finished, no user suspended it before its start, and nothing that only a user can
// change keeps it from starting. Conditions of an earlier generation do not count.
func wantsLock(lt *v1alpha1.LoadTest, name string) bool {
	if lt.Spec.Lock != name || lt.Status.CompletionTime != nil {
		return false
	}
	is := func(kind string) bool {
		c := meta.FindStatusCondition(lt.Status.Conditions, kind)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == lt.Generation
	}
	return lt.Status.StartTime != nil || !lt.Spec.Suspend && !is(v1alpha1.ConditionFinished) && !is(v1alpha1.ConditionStalled)
}

// leftOf returns a Job or a pod of a LoadTest that has not ended; empty: all have.
func (r *reconciler) leftOf(ctx context.Context, namespace string, holder *v1alpha1.LockHolder) (string, error) {
	of := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{desired.LabelManagedBy: desired.Application, desired.LabelLoadTest: holder.Name}}
	var jobs batchv1.JobList
	if err := r.reader.List(ctx, &jobs, of...); err != nil {
		return "", fmt.Errorf("listing the Jobs of LoadTest %s: %w", holder.Name, err)
	}
	others := map[types.UID]bool{} // Jobs of other LoadTests of the same name
	for i := range jobs.Items {
		owner := metav1.GetControllerOf(&jobs.Items[i])
		switch {
		case owner == nil || owner.UID != holder.UID:
			others[jobs.Items[i].UID] = true
		case !run.JobEnded(&jobs.Items[i]):
			return "Job " + jobs.Items[i].Name, nil
		}
	}
	var pods corev1.PodList
	if err := r.reader.List(ctx, &pods, of...); err != nil {
		return "", fmt.Errorf("listing the pods of LoadTest %s: %w", holder.Name, err)
	}
	for i := range pods.Items {
		pod, owner := &pods.Items[i], metav1.GetControllerOf(&pods.Items[i])
		if owner != nil && owner.Kind == "Job" && !others[owner.UID] && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return "pod " + pod.Name, nil
		}
	}
	return "", nil
}

// waitingBefore returns the LoadTests that wait for the lock of this test and were created before it, oldest first. Those of the same second are
// in the order of their names.
func (r *reconciler) waitingBefore(ctx context.Context, s *scope, holder types.UID) ([]v1alpha1.LoadTest, error) {
	var list v1alpha1.LoadTestList
	if err := r.client.List(ctx, &list, client.InNamespace(s.LoadTest.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the LoadTests with lock %s: %w", s.LoadTest.Spec.Lock, err)
	}
	older := func(a, b *v1alpha1.LoadTest) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}
	out := slices.DeleteFunc(list.Items, func(lt v1alpha1.LoadTest) bool {
		return lt.UID == s.LoadTest.UID || lt.UID == holder || lt.DeletionTimestamp != nil || !wantsLock(&lt, s.LoadTest.Spec.Lock) || older(&lt, s.LoadTest) > 0
	})
	slices.SortFunc(out, func(a, b v1alpha1.LoadTest) int { return older(&a, &b) })
	return out, nil
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

package loadtest

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// loadtests delete: spec.ttlSecondsAfterFinished.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=delete

// syncTTL deletes a LoadTest when ttlSecondsAfterFinished have passed since it finished. Status shows the end
// before that, so that clients that wait for it see it.
func (r *reconciler) syncTTL(ctx context.Context, s *scope) (bool, error) {
	ttl := s.lt.Spec.TTLSecondsAfterFinished
	if ttl == nil || s.end == nil && s.lt.Status.CompletionTime == nil && !s.invalid() {
		return true, nil
	}
	finished := s.finishedAt()
	if finished == nil {
		s.again(0)
		return true, nil
	}
	if left := finished.Add(time.Duration(*ttl) * time.Second).Sub(s.now); left > 0 {
		s.again(left)
		return true, nil
	}
	err := r.client.Delete(ctx, s.lt, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &s.lt.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("deleting the LoadTest after its TTL: %w", err)
	}
	s.gone = true
	return false, nil
}

// invalid returns whether the spec itself prevents the run.
func (s *scope) invalid() bool { return s.planError != nil && s.planError.invalid }

// finishedAt returns when status first showed that the test has finished; nil: it does not show it yet. A test
// with an invalid spec has no completion time, because it did not run.
func (s *scope) finishedAt() *metav1.Time {
	if t := s.lt.Status.CompletionTime; t != nil {
		return t
	}
	c := meta.FindStatusCondition(s.lt.Status.Conditions, v1alpha1.ConditionFinished)
	if c == nil || c.Status != metav1.ConditionTrue || !s.invalid() {
		return nil
	}
	return &c.LastTransitionTime
}

package loadtest

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// loadtests delete: spec.ttlSecondsAfterFinished.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=delete

// ttlPhase deletes a LoadTest whose time after its end has passed. It waits until the end has
// been told in status, so that nobody misses it.
func (r *reconciler) ttlPhase(ctx context.Context, s *scope) (bool, error) {
	ttl, end := s.lt.Spec.TTLSecondsAfterFinished, s.lt.Status.CompletionTime
	if ttl == nil {
		return true, nil
	}
	if end == nil {
		if s.end != nil {
			s.again(0)
		}
		return true, nil
	}
	if left := end.Add(time.Duration(*ttl) * time.Second).Sub(s.now); left > 0 {
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

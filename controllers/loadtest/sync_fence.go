package loadtest

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/decide"
)

// Rights to end a lost runner.
//   - pods delete: with onShardLost Fail, a runner that does not answer may still send load when the test ends. Only the kubelet can end it.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete

// fenceGrace is how long a lost runner has to end, in seconds.
const fenceGrace = 2

// syncFence deletes the pods of lost runners that may still send load. It proves nothing if the kubelet cannot be reached either.
func (r *reconciler) syncFence(ctx context.Context, s *scope) (bool, error) {
	for _, pod := range decide.Fence(s.Facts) {
		err := r.delete(ctx, pod, fmt.Sprintf("pod %s of a lost runner", pod.Name), client.GracePeriodSeconds(fenceGrace), client.Preconditions{UID: &pod.UID})
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

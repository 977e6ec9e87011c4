package loadtest

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
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

// silentMessage names the runners that do not answer; empty: all do.
func (s *scope) silentMessage() string {
	silent := func(sh *shards.Shard) bool { return sh.Silent && sh.Lost == nil }
	n := s.View.Count(silent)
	if n == 0 {
		return ""
	}
	for i := range s.View.Shards {
		if sh := &s.View.Shards[i]; silent(sh) {
			return fmt.Sprintf("%d of %d runners do not answer, and may still send load: runner %d (pod %s): %s",
				n, s.Shards(), i, sh.Pod.Name, shorten.To(sh.Trouble, 512))
		}
	}
	return ""
}

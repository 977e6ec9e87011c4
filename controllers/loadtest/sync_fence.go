package loadtest

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// Rights to end a lost runner.
//   - pods delete: with onShardLost Fail, a runner that does not answer may still send load when the test ends. Only the kubelet can end it.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete

// fenceGrace is how long a lost runner has to end, in seconds.
const fenceGrace = 2

// syncFence deletes the pods of lost runners that do not answer and may still send load, if the test ends
// early or all others ended. It proves nothing if the kubelet cannot be reached either.
func (r *reconciler) syncFence(ctx context.Context, s *scope) (bool, error) {
	if s.Policy() != v1alpha1.ShardLostFail && s.Record.Stop == nil && !s.View.Over() {
		return true, nil
	}
	for _, pod := range s.AllPods {
		over, _ := run.PodEnded(pod)
		if over || pod.DeletionTimestamp != nil || !slices.ContainsFunc(s.View.Shards, func(sh collect.Shard) bool {
			return sh.Lost != nil && !sh.Back && !sh.Ended() && sh.Pod.UID == pod.UID
		}) {
			continue
		}
		err := r.client.Delete(ctx, pod, client.GracePeriodSeconds(fenceGrace), client.Preconditions{UID: &pod.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return false, fmt.Errorf("deleting pod %s of a lost runner: %w", pod.Name, err)
		}
	}
	return true, nil
}

// silentMessage names the runners that do not answer; empty: all do.
func (s *scope) silentMessage() string {
	silent := func(sh *collect.Shard) bool { return sh.Silent && sh.Lost == nil }
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

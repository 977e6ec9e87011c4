package decide

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// Fence returns the pods of lost runners that do not answer and may still send load, if the test ends early or all others ended.
func Fence(f *run.Facts) (out []*corev1.Pod) {
	if f.Policy() != v1alpha1.ShardLostFail && f.Record.Stop == nil && !f.View.Over() {
		return nil
	}
	for _, pod := range f.AllPods {
		over, _ := run.PodEnded(pod)
		unanswered := slices.ContainsFunc(f.View.Shards, func(sh shards.Shard) bool {
			return sh.Lost != nil && !sh.Back && !sh.Ended() && sh.Pod.UID == pod.UID
		})
		if !over && pod.DeletionTimestamp == nil && unanswered {
			out = append(out, pod)
		}
	}
	return out
}

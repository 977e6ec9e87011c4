package decide

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// fenceGrace is how long a lost runner has to end, in seconds.
const fenceGrace = 2

// fence deletes the pods of lost runners that do not answer and may still send load, if the test ends early or all
// others ended. It proves nothing if the kubelet cannot be reached either.
func fence(f *run.Facts) (out []Operation) {
	if f.ToleratesLoss() && f.Record.Stop == nil && !f.View.Over() {
		return nil
	}
	for _, pod := range f.AllPods {
		over, _ := run.PodEnded(pod)
		unanswered := slices.ContainsFunc(f.View.Shards, func(sh shards.Shard) bool {
			return sh.Lost != nil && !sh.Back && !sh.Ended() && sh.Pod.UID == pod.UID
		})
		if !over && pod.DeletionTimestamp == nil && unanswered {
			out = append(out, Operation{What: "the deletion of pod " + pod.Name + " of a lost runner", Delete: pod,
				Grace: ptr.To[int64](fenceGrace)})
		}
	}
	return out
}

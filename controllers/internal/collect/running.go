package collect

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Running identifies a runner that started and is not lost.
type Running struct {
	Name  types.NamespacedName
	UID   types.UID
	Shard int
	Pod   types.UID
}

// Running returns the runners that started and are not lost, of all runs whose results are not stored.
func (r *Registry) Running() []Running {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Running
	for uid, e := range r.runs {
		if e.isStored() {
			continue
		}
		for i, s := range e.view.Load().Shards {
			if s.Started() && s.Lost == nil {
				out = append(out, Running{e.name, uid, i, s.Pod.UID})
			}
		}
	}
	return out
}

// isStored returns whether the results of the run are stored.
func (r *run) isStored() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted.Stored
}

// Latest returns the last snapshot of a runner, which is shared and must not be changed, and when it was received; nil: the
// run is not collected any more, or the shard has another pod.
func (r *Registry) Latest(of Running) (*runnerv1alpha1.Snapshot, time.Time) {
	v := r.View(of.UID)
	if v == nil || of.Shard >= len(v.Shards) || v.Shards[of.Shard].Pod.UID != of.Pod {
		return nil, time.Time{}
	}
	s := &v.Shards[of.Shard]
	return s.Snapshot, s.Received
}

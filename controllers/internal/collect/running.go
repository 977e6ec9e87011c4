package collect

import (
	"context"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
)

// Live implements checkpoint.Source: the runners that started and are not lost, of all runs whose results are not stored.
func (r *Registry) Live() []checkpoint.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []checkpoint.Key
	for uid, e := range r.runs {
		if e.isStored() {
			continue
		}
		for i, s := range e.view.Load().Shards {
			if s.Started() && s.Lost == nil {
				out = append(out, checkpoint.Key{LoadTest: e.name, Run: uid, Shard: i, Pod: s.Pod.UID})
			}
		}
	}
	return out
}

// isStored returns whether the results of the run are stored.
func (r *run) isStored() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted.Record.End != nil
}

// Latest implements checkpoint.Source: the last snapshot of a runner, which is shared and must not be changed, and when it was received; nil: the run
// is not collected any more, or the shard has another pod.
func (r *Registry) Latest(_ context.Context, of checkpoint.Key) (*runnerv1alpha1.Snapshot, time.Time) {
	v := r.View(of.Run)
	if v == nil || of.Shard >= len(v.Shards) || v.Shards[of.Shard].Pod.UID != of.Pod {
		return nil, time.Time{}
	}
	s := &v.Shards[of.Shard]
	return s.Snapshot, s.Received
}

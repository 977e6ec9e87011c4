package loadtest

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// readEnded fills the scope with the runners of the record. A run that has ended needs no counts any more.
func (r *reconciler) readEnded(ctx context.Context, s *scope) error {
	s.Ended = nil
	for i := range s.Record.Shards {
		if err := r.addEnded(ctx, s, &s.Record.Shards[i]); err != nil {
			return err
		}
	}
	return nil
}

// addEnded adds a runner of the record to the scope, with its counts. Its pod is not the pod of the shard any more.
func (r *reconciler) addEnded(ctx context.Context, s *scope, rec *record.Shard) error {
	counts, err := r.countsOf(ctx, s, rec)
	if err != nil {
		return err
	}
	out := run.Ended{Shard: rec, Snapshot: counts}
	if rec.Loss != nil {
		// A lost runner can be reached again as long as its container runs.
		if i := slices.IndexFunc(s.AllPods, func(pod *corev1.Pod) bool { return pod.UID == rec.Pod }); i >= 0 {
			out.Address = s.Observe(s.AllPods[i]).Address
		}
	}
	s.Ended = append(s.Ended, out)
	if pod := s.Pods[rec.Index]; pod != nil && pod.UID == rec.Pod {
		delete(s.Pods, rec.Index)
	}
	return nil
}

// countsOf returns the stored snapshot of a runner that ended; nil: there is none.
func (r *reconciler) countsOf(ctx context.Context, s *scope, rec *record.Shard) (*runnerv1alpha1.Snapshot, error) {
	if rec.Counts.Name == "" || s.Record.End != nil {
		return nil, nil
	}
	c, key := r.memory.of(s.LoadTest), s.checkpointKey(rec.Index, rec.Pod)
	if _, known := c.counts[key]; !known {
		stored, err := r.checkpoints.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		var snapshot *runnerv1alpha1.Snapshot // nil: a user deleted or damaged the checkpoint
		if stored != nil {
			snapshot = stored.Snapshot
		}
		c.keepCounts(key, snapshot)
	}
	return c.counts[key], nil
}

// recordedRunners is what the collector must know of the runners that ended.
func (s *scope) recordedRunners() []shards.Recorded {
	out := make([]shards.Recorded, len(s.Ended))
	for i, e := range s.Ended {
		out[i] = shards.Recorded{Shard: e.Index, Pod: e.Pod, Member: e.Member, Loss: run.LossOf(e.Shard), Final: e.State == record.ShardDone, Snapshot: e.Snapshot, Address: e.Address}
	}
	return out
}

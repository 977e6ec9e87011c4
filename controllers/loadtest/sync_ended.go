package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// storeCounts stores the counts of the runners that ended before the test, lost or scaled away, and returns their entries of the record.
// Pods go only after the record has them. Nil: there are none, or the API server refuses counts, and the run does not end before it stored them.
func (r *reconciler) storeCounts(ctx context.Context, s *scope) (ended []record.Shard, err error) {
	for shard := range s.view.Shards {
		seen := &s.view.Shards[shard]
		if !s.hasNews(shard, seen) {
			continue
		}
		rec, err := r.endedRecord(ctx, s, shard, seen)
		if errors.Is(err, errRefused) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		ended = append(ended, rec)
	}
	return ended, nil
}

// decideEnded takes over runners that ended.
func decideEnded(run *record.Record, ended []record.Shard) {
	for _, rec := range ended {
		if have := run.Find(rec.Index, rec.Pod); have != nil {
			have.State, have.Counts = rec.State, rec.Counts
		} else {
			run.Shards = append(run.Shards, rec)
		}
	}
}

// hasNews returns whether a runner ended that the record does not have, or whether one that was lost was reached again
// and has final counts.
func (s *scope) hasNews(shard int, seen *collect.Shard) bool {
	if seen.Lost == nil && !seen.Left {
		return false
	}
	rec := s.run.Find(shard, s.podOf(shard, seen))
	return rec == nil || rec.State == state.Lost && seen.State == state.Done && seen.Snapshot != nil && seen.Snapshot.Sequence > rec.Counts.Sequence
}

// podOf returns the UID of a runner's pod. The collector does not know it if the pod was deleted before this operator
// started.
func (s *scope) podOf(shard int, seen *collect.Shard) types.UID {
	if seen.Pod.UID != "" {
		return seen.Pod.UID
	}
	return s.run.Pods[shard].UID
}

// maxLoss bounds the message of a loss in octets: there can be one for each runner, and it may quote the runner.
const maxLoss = 256

// endedRecord stores the counts of a runner and returns its entry of the record.
func (r *reconciler) endedRecord(ctx context.Context, s *scope, shard int, seen *collect.Shard) (record.Shard, error) {
	rec := record.Shard{
		Index: shard, Pod: s.podOf(shard, seen), Name: seen.Pod.Name, Node: seen.Pod.Node, State: state.Done, Member: seen.Member, Time: s.now,
	}
	if last := s.run.Pods[shard]; rec.Name == "" && last.UID == rec.Pod {
		rec.Name, rec.Node = last.Name, last.Node
	}
	if l := seen.Lost; l != nil {
		if seen.State != state.Done {
			rec.State = state.Lost
		}
		rec.Time = l.Time
		rec.Name, rec.Node = orText(l.Pod, rec.Name), orText(l.Node, rec.Node)
		rec.Loss = &record.Loss{Message: clip(l.Message, maxLoss), Time: l.Time}
	}
	if seen.Snapshot == nil {
		return rec, r.lastCheckpoint(ctx, s, &rec)
	}
	encoded, err := checkpoint.Encode(seen.Snapshot, r.cfg.Report.MaxBytes)
	if err != nil { // the others must not wait for it, because they send load
		s.withoutCounts(&rec, err.Error())
		return rec, nil
	}
	key := s.checkpointKey(shard, rec.Pod)
	made, err := r.attempt(ctx, s, "LoadTestCheckpoint "+key.Name(), func() error {
		return r.checkpoints.Put(ctx, key, encoded, rec.State == state.Done, seen.Received)
	})
	if err != nil {
		return rec, err
	}
	if !made {
		return rec, errRefused
	}
	rec.Counts = record.Counts{Name: key.Name(), Sequence: encoded.Sequence, Dropped: encoded.Dropped}
	r.memory.of(s.lt).keepCounts(key, seen.Snapshot)
	return rec, nil
}

// lastCheckpoint makes the last checkpoint the counts of a runner that this operator never reached, for example because
// it ended together with the former operator.
func (r *reconciler) lastCheckpoint(ctx context.Context, s *scope, rec *record.Shard) error {
	key := s.checkpointKey(rec.Index, rec.Pod)
	stored, err := r.checkpoints.Get(ctx, key)
	if err != nil || stored == nil {
		return err
	}
	if stored.Snapshot == nil {
		s.withoutCounts(rec, stored.Damage)
		return nil
	}
	since := metav1.NewMicroTime(stored.Time)
	rec.Counts = record.Counts{Name: key.Name(), Sequence: stored.Snapshot.Sequence, Dropped: stored.Dropped}
	rec.Member = rec.Member || collect.HadSlots(stored.Snapshot)
	if !stored.Final && rec.Loss != nil {
		rec.Counts.Since = &since
		rec.Loss.Message += fmt.Sprintf("; its counts after %s are missing", stored.Time.UTC().Format(time.RFC3339))
	}
	r.memory.of(s.lt).keepCounts(key, stored.Snapshot)
	return nil
}

// withoutCounts notes why a runner has no counts in the results.
func (s *scope) withoutCounts(rec *record.Shard, why string) {
	if rec.Loss == nil {
		rec.Loss = &record.Loss{Message: "left", Time: s.now}
	}
	rec.Loss.Message += "; its counts are missing: " + clip(why, maxLoss)
}

func (s *scope) checkpointKey(shard int, pod types.UID) checkpoint.Key {
	return checkpoint.Key{LoadTest: s.key(), Run: s.lt.UID, Shard: shard, Pod: pod}
}

package loadtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// running is a pass of a test that runs. It stores the counts of the runners that ended, and then all decisions with one write. The collector gets the
// record as it is stored, and what follows from it comes last. What the collector learned meanwhile brings another pass.
func (r *reconciler) running(ctx context.Context, f *run.Facts) error {
	if err := r.storedPlan(ctx, f); err != nil {
		return err
	}
	if f.LoadTest.Generation < f.Record.Live.Generation {
		return nil // the cache has an older spec: another pass follows when it has the newer one
	}
	if err := r.live(f); err != nil {
		return err
	}
	if err := r.view(ctx, f); err != nil {
		return err
	}
	ended, err := r.storeCounts(ctx, f)
	if err != nil {
		return err
	}
	if err := r.decide(ctx, f, func(run *record.Record) error { return decide.Next(f, run, ended) }); err != nil {
		return err
	}
	if len(ended) > 0 {
		if err := r.readEnded(ctx, f); err != nil {
			return err
		}
	}
	if _, err := r.order(f); err != nil {
		return err
	}
	if _, err := r.perform(ctx, f, decide.Running(f)...); err != nil {
		return err
	}
	return r.finish(ctx, f)
}

// live compares what the spec says of the values that can change while the test runs with the record. The plan stays the one
// that was started with: the runners get the differences as changes.
func (r *reconciler) live(f *run.Facts) error {
	now, err := r.present(f)
	if err != nil {
		return err
	}
	f.Present, f.NotApplied = now, now.Why
	if f.Edits = decide.EditsOf(f, now); len(f.Edits) > 0 && f.Record.Full() {
		f.NotApplied = fmt.Sprintf("the test already has %d changes and %d runners that ended, which is the maximum", len(f.Record.Changes), len(f.Record.Shards))
		f.Edits = nil
	}
	return nil
}

// view takes over what the collector knows of a test that runs. A collector that does not know the run gets its record first.
func (r *reconciler) view(ctx context.Context, f *run.Facts) (err error) {
	view := r.registry.View(f.LoadTest.UID)
	if view == nil {
		if view, err = r.order(f); err != nil {
			return err
		}
	}
	f.See(view)
	noteCheckpoints(f, r.keeper.Problem(f.LoadTest.UID))
	r.diagnose(ctx, f)
	return nil
}

// storeCounts stores the counts of the runners that ended before the test, lost or scaled away, and returns their entries of the record.
// Pods go only after the record has them. Nil: there are none, or the API server refuses counts, and the run does not end before it stored them.
func (r *reconciler) storeCounts(ctx context.Context, f *run.Facts) (ended []record.Shard, err error) {
	for shard := range f.View.Shards {
		seen := &f.View.Shards[shard]
		if !decide.HasNews(f, shard, seen) {
			continue
		}
		rec, err := r.endedRecord(ctx, f, shard, seen)
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

// maxLoss bounds the message of a loss in octets: there can be one for each runner, and it may quote the runner.
const maxLoss = 256

// endedRecord stores the counts of a runner and returns its entry of the record.
func (r *reconciler) endedRecord(ctx context.Context, f *run.Facts, shard int, seen *shards.Shard) (record.Shard, error) {
	rec := record.Shard{
		Index: shard, Pod: f.PodOf(shard, seen), Name: seen.Pod.Name, Node: seen.Pod.Node, State: record.ShardDone, Member: seen.Member, Time: f.Now,
	}
	if last := f.Record.Pods[shard]; rec.Name == "" && last.UID == rec.Pod {
		rec.Name, rec.Node = last.Name, last.Node
	}
	if l := seen.Lost; l != nil {
		if seen.State != shards.Recovered {
			rec.State = record.ShardLost
		}
		rec.Time = l.Time
		rec.Name, rec.Node = cmp.Or(l.Pod, rec.Name), cmp.Or(l.Node, rec.Node)
		rec.Loss = &record.Loss{Message: shorten.To(l.Message, maxLoss), Time: l.Time}
	}
	if seen.Snapshot == nil {
		return rec, r.lastCheckpoint(ctx, f, &rec)
	}
	encoded, err := checkpoint.Encode(seen.Snapshot, r.cfg.Report.MaxBytes)
	if err != nil { // the others must not wait for it, because they send load
		withoutCounts(f, &rec, err.Error())
		return rec, nil
	}
	key := checkpointKey(f, shard, rec.Pod)
	made, err := r.attempt(ctx, f, "LoadTestCheckpoint "+key.Name(), func() error {
		return r.checkpoints.Put(ctx, key, encoded, rec.State == record.ShardDone, seen.Received)
	})
	if err != nil {
		return rec, err
	}
	if !made {
		return rec, errRefused
	}
	rec.Counts = record.Counts{Name: key.Name(), Sequence: encoded.Sequence, Dropped: encoded.Dropped}
	r.memory.of(f.LoadTest).keepCounts(key, seen.Snapshot)
	return rec, nil
}

// lastCheckpoint makes the last checkpoint the counts of a runner that this operator never reached, for example because
// it ended together with the former operator.
func (r *reconciler) lastCheckpoint(ctx context.Context, f *run.Facts, rec *record.Shard) error {
	key := checkpointKey(f, rec.Index, rec.Pod)
	stored, err := r.checkpoints.Get(ctx, key)
	if err != nil || stored == nil {
		return err
	}
	if stored.Snapshot == nil {
		withoutCounts(f, rec, stored.Damage)
		return nil
	}
	since := metav1.NewMicroTime(stored.Time)
	rec.Counts = record.Counts{Name: key.Name(), Sequence: stored.Snapshot.Sequence, Dropped: stored.Dropped}
	rec.Member = rec.Member || shards.HadSlots(stored.Snapshot)
	if !stored.Final && rec.Loss != nil {
		rec.Counts.Since = &since
		rec.Loss.Message += fmt.Sprintf("; its counts after %s are missing", stored.Time.UTC().Format(time.RFC3339))
	}
	r.memory.of(f.LoadTest).keepCounts(key, stored.Snapshot)
	return nil
}

// withoutCounts notes why a runner has no counts in the results.
func withoutCounts(f *run.Facts, rec *record.Shard, why string) {
	if rec.Loss == nil {
		rec.Loss = &record.Loss{Message: "left", Time: f.Now}
	}
	rec.Loss.Message += "; its counts are missing: " + shorten.To(why, maxLoss)
}

func checkpointKey(f *run.Facts, shard int, pod types.UID) checkpoint.Key {
	return checkpoint.Key{LoadTest: f.Key(), Run: f.LoadTest.UID, Shard: shard, Pod: pod}
}

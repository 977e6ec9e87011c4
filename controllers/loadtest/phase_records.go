package loadtest

import (
	"context"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// recordsPhase stores the runners that ended before the test, lost or scaled away: first their counts, then the
// decision. Pods go only after that. The collector hears of it at once, because a loss can end the test.
func (r *reconciler) recordsPhase(ctx context.Context, s *scope) (bool, error) {
	if !s.mayStart() || s.end != nil || s.plan == nil {
		return true, nil
	}
	var ended []record.Shard
	for shard := range s.view.Shards {
		seen := &s.view.Shards[shard]
		if seen.Lost == nil && !seen.Left || s.isRecorded(shard, seen.Pod.UID) {
			continue
		}
		rec, err := r.endedRecord(ctx, s, shard, seen)
		if err != nil {
			stop, err := s.blocked(err)
			return !stop, err
		}
		ended = append(ended, rec)
	}
	if len(ended) == 0 {
		return true, nil
	}
	err := r.decide(ctx, s, func(run *record.Record) error {
		run.Shards = append(run.Shards, ended...)
		return nil
	})
	if err != nil {
		return false, err
	}
	for i := range ended {
		if err := r.addEnded(ctx, s, &ended[i]); err != nil {
			return false, err
		}
	}
	if !s.behind {
		return true, r.look(ctx, s)
	}
	return true, nil
}

// endedRecord stores the counts of a runner and returns its entry of the record.
func (r *reconciler) endedRecord(ctx context.Context, s *scope, shard int, seen *collect.Shard) (record.Shard, error) {
	rec := record.Shard{
		Index: shard, Pod: seen.Pod.UID, Name: seen.Pod.Name, Node: seen.Pod.Node, State: state.Done, Member: seen.Member, Time: s.now,
	}
	if l := seen.Lost; l != nil {
		rec.State, rec.Time = state.Lost, l.Time
		rec.Name, rec.Node = orText(l.Pod, rec.Name), orText(l.Node, rec.Node)
		rec.Loss = &record.Loss{Message: l.Message, Time: l.Time}
	}
	if seen.Snapshot == nil {
		return rec, nil
	}
	var err error
	rec.Counts, err = r.storeCounts(ctx, s.lt, shard, seen)
	if err == nil {
		r.memory.of(s.lt).keepCounts(endedKey{shard, seen.Pod.UID}, seen.Snapshot)
	}
	return rec, err
}

// storeCounts stores the last snapshot of a runner.
func (r *reconciler) storeCounts(ctx context.Context, lt *v1alpha1.LoadTest, shard int, seen *collect.Shard) (record.Counts, error) {
	last := *seen.Snapshot
	last.Globals = nil // they can be secret; the collector removes them, too
	gz, dropped, err := fit(last, r.cfg.Report.MaxBytes, snapshotDetails)
	if err != nil {
		return record.Counts{}, fmt.Errorf("storing the last snapshot of runner %d: %w", shard, err)
	}
	cm := desired.Record(lt, shard, seen.Pod.UID, gz)
	if err := r.create(ctx, lt, cm); err != nil {
		return record.Counts{}, err
	}
	return record.Counts{Name: cm.Name, Sequence: last.Sequence, Dropped: dropped}, nil
}

// readCounts reads what storeCounts stored.
func (r *reconciler) readCounts(ctx context.Context, lt *v1alpha1.LoadTest, name string) (*runnerv1alpha1.Snapshot, error) {
	cm := desired.Record(lt, 0, "", nil)
	cm.Name = name
	found, err := r.existing(ctx, lt, cm)
	if err != nil || !found {
		return nil, err
	}
	out := &runnerv1alpha1.Snapshot{}
	if err := decodeGzip(cm.BinaryData[desired.KeySnapshot], out); err != nil {
		return nil, fmt.Errorf("decoding the snapshot in ConfigMap %s: %w", cm.Name, err)
	}
	return out, nil
}

var snapshotDetails = []detail[runnerv1alpha1.Snapshot]{
	{"histograms", func(s runnerv1alpha1.Snapshot) runnerv1alpha1.Snapshot {
		s.Histograms = nil
		return s
	}},
	{"steps.responseTime", func(s runnerv1alpha1.Snapshot) runnerv1alpha1.Snapshot {
		steps := make([]runnerv1alpha1.StepCounters, len(s.Steps))
		for i := range s.Steps {
			steps[i] = s.Steps[i]
			steps[i].ResponseTime = runnerv1alpha1.Histogram{}
		}
		s.Steps = steps
		return s
	}},
}

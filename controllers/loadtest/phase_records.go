package loadtest

import (
	"context"
	"encoding/json"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// recordsPhase stores what a runner has counted that is over before the test is, lost or scaled away, as
// soon as that is known: its pod is gone or about to go, and a restart of the operator must not lose the
// counts. Runners that have left go when they are stored; a loss may end the test. So the collector hears of
// it at once.
func (r *reconciler) recordsPhase(ctx context.Context, s *scope) (bool, error) {
	if !s.mayStart() || s.end != nil || s.plan == nil {
		return true, nil
	}
	before := len(s.records)
	for shard := range s.view.Shards {
		seen := &s.view.Shards[shard]
		if seen.Lost == nil && !seen.Left || s.isRecorded(shard, seen.Pod.UID) {
			continue
		}
		if err := r.storeRecord(ctx, s, shard, seen); err != nil {
			stop, err := s.blocked(err)
			return !stop, err
		}
	}
	if len(s.records) > before && !s.behind {
		return true, r.look(s)
	}
	return true, nil
}

func (r *reconciler) storeRecord(ctx context.Context, s *scope, shard int, seen *collect.Shard) error {
	rec := storedRecord{
		Shard: shard, Pod: seen.Pod.UID, Node: seen.Pod.Node, Member: seen.Member, Time: s.now, Loss: seen.Lost,
	}
	if seen.Lost != nil {
		rec.Time = seen.Lost.Time
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encoding the record of runner %d: %w", shard, err)
	}
	var gz []byte
	if seen.Snapshot != nil {
		last := *seen.Snapshot
		last.Globals = nil // they may be secret; the collector does not show them either
		if gz, _, err = fit(last, r.cfg.Report.MaxBytes, snapshotDetails); err != nil {
			return fmt.Errorf("storing the last snapshot of runner %d: %w", shard, err)
		}
	}
	cm := desired.Record(s.lt, shard, seen.Pod.UID, string(raw), gz)
	if err := r.create(ctx, s.lt, cm); err != nil {
		return err
	}
	return s.addRecord(cm)
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

package loadtest

import (
	"context"
	"encoding/json"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// lossesPhase stores each loss with the runner's last snapshot as soon as it is known, since the
// pod that had the counts is gone and a restart of the operator must not lose them.
func (r *reconciler) lossesPhase(ctx context.Context, s *scope) (bool, error) {
	if !s.mayStart() || s.end != nil || s.plan == nil {
		return true, nil
	}
	for shard := range s.view.Shards {
		seen := &s.view.Shards[shard]
		if _, stored := s.lost[shard]; stored || seen.Lost == nil {
			continue
		}
		if err := r.storeLoss(ctx, s, shard, seen); err != nil {
			stop, err := s.blocked(err)
			return !stop, err
		}
	}
	return true, nil
}

func (r *reconciler) storeLoss(ctx context.Context, s *scope, shard int, seen *collect.Shard) error {
	loss, err := json.Marshal(storedLoss{Shard: shard, Loss: *seen.Lost})
	if err != nil {
		return fmt.Errorf("encoding the loss of runner %d: %w", shard, err)
	}
	var gz []byte
	if seen.Snapshot != nil {
		last := *seen.Snapshot
		last.Globals = nil // they may be secret; the collector does not show them either
		if gz, _, err = fit(last, r.cfg.Report.MaxBytes, snapshotDetails); err != nil {
			return fmt.Errorf("storing the last snapshot of runner %d: %w", shard, err)
		}
	}
	cm := desired.Lost(s.lt, shard, string(loss), gz)
	if err := r.create(ctx, s.lt, cm); err != nil {
		return err
	}
	return s.addLoss(cm)
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

package loadtest

import (
	"cmp"
	"context"

	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// syncNext decides what comes next while the test runs. It stores the counts of the runners that ended, and then all decisions with one write.
func (r *reconciler) syncNext(ctx context.Context, s *scope) (bool, error) {
	ended, err := r.storeCounts(ctx, s)
	if err != nil {
		return false, err
	}
	if err := r.decide(ctx, s, func(run *record.Record) error { return s.next(run, ended) }); err != nil {
		return false, err
	}
	if len(ended) == 0 {
		return true, nil
	}
	return true, r.readEnded(ctx, s)
}

// next makes all decisions of a pass in a copy of the record. The runners that ended come first, because a loss can end the test.
func (s *scope) next(run *record.Record, ended []record.Shard) error {
	decideEnded(run, ended)
	s.decideLive(run)
	s.decideThresholds(run)
	if err := s.decideStop(run); err != nil {
		return err
	}
	if err := s.decideProbe(run); err != nil {
		return err
	}
	s.decideChange(run)
	s.decideApplied(run)
	return s.decideLoadEnded(run)
}

// decideStop decides an early end.
func (s *scope) decideStop(run *record.Record) error {
	if run.Stop != nil {
		return nil
	}
	reason := cmp.Or(s.stop(), s.stopByLosses(run))
	if a := s.aborting(run); reason == "" && a != nil {
		reason = a.reason()
		run.Thresholds = append(withoutThreshold(run.Thresholds, a.Name), record.Threshold{Name: a.Name, Observed: a.Observed, After: a.After, Abort: true})
	}
	if reason == "" {
		return nil
	}
	run.Stop = &record.Stop{Reason: reason, Time: s.microTime()}
	return run.On(state.Stop)
}

// decideLoadEnded decides that all runners sent their last request.
func (s *scope) decideLoadEnded(run *record.Record) error {
	if run.State == state.Finishing || loading(s) {
		return nil
	}
	return run.On(state.LoadEnded)
}

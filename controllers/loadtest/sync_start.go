package loadtest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// begin decides the start. It stores the decision before the runners get it, so that another operator never starts the test again.
func (r *reconciler) begin(ctx context.Context, s *scope) (*run.Blocker, error) {
	for _, fresh := range []func(context.Context, *scope) (bool, error){r.specIsCurrent, r.hasLock} {
		if ok, err := fresh(ctx, s); err != nil || !ok {
			return &run.Blocker{Retry: staleInterval}, err
		}
	}
	err := r.decide(ctx, s, func(run *record.Record) error {
		live := record.Live{Generation: run.Plan.Generation, Rates: record.RatesOf(s.Plan.Rates), Shards: s.Plan.Shards}
		run.Start = &record.Start{Time: s.MicroTime(), Job: s.Job.UID, With: s.Starters(), Live: live}
		run.Live = live
		run.Pods = decide.PodsOf(s.Facts)
		maps.DeleteFunc(run.Pods, func(shard int, _ record.Pod) bool { return !slices.Contains(run.Newest().Members, shard) })
		return run.On(state.Begin)
	})
	if err != nil {
		return nil, err
	}
	_, err = r.order(s)
	return nil, err
}

// specIsCurrent returns whether the API server has the spec of this pass. An edit that the cache does not show yet leads
// to another plan. The API server refuses an edit after startTime is in status; one between this read and that write has
// no effect and is reported.
func (r *reconciler) specIsCurrent(ctx context.Context, s *scope) (bool, error) {
	lt := &v1alpha1.LoadTest{}
	err := r.reader.Get(ctx, s.Key(), lt)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the LoadTest before the start: %w", err)
	}
	return lt.UID == s.LoadTest.UID && lt.Generation == s.LoadTest.Generation && lt.DeletionTimestamp == nil, nil
}

// chooseStarters decides which shards the test starts with if it does not wait for all. The choice stays as long as the
// pods of these shards are healthy, because the runners connect again with their larger shares.
func (r *reconciler) chooseStarters(ctx context.Context, s *scope) error {
	gone := func(i int) bool { return !decide.Healthy(s.Facts, i) }
	if chosen := s.Starters(); chosen != nil && !slices.ContainsFunc(chosen, gone) {
		return nil
	}
	with := decide.Enough(s.Facts)
	newest := s.Record.Newest()
	if with == nil || newest == nil || slices.Equal(with, newest.Members) {
		return nil
	}
	return r.decide(ctx, s, func(run *record.Record) error {
		last := run.Newest()
		run.Append(record.Change{Revision: last.Revision + 1, Generation: last.Generation, Members: with, DecidedAt: s.MicroTime()})
		return nil
	})
}

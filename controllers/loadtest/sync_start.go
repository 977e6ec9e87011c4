package loadtest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// begin decides the start. It stores the decision before the runners get it, so that another operator never starts the test again.
func (r *reconciler) begin(ctx context.Context, s *scope) (*run.Blocker, error) {
	for _, fresh := range []func(context.Context, *scope) (bool, error){r.specIsCurrent, r.hasLock} {
		if ok, err := fresh(ctx, s); err != nil || !ok {
			return &run.Blocker{Retry: staleInterval}, err
		}
	}
	err := r.decide(ctx, s, func(run *record.Record) error { return decide.Begin(s.Facts, run) })
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

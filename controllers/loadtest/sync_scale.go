package loadtest

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// followInterval is how often a pass looks whether the collector follows a new number of shards.
const followInterval = 200 * time.Millisecond

// syncScale gives the Job its number of indices. It adds indices at once: their runners get a share when they are ready. It removes an index
// only when its runner has no share any more and its counts are stored.
func (r *reconciler) syncScale(ctx context.Context, s *scope) (bool, error) {
	if !decide.Scales(s.Facts) {
		return true, nil
	}
	n := decide.Indices(s.Facts, s.View.ShardsRevision == r.capacityRevision(s))
	if n == run.Completions(s.Job) {
		if n != decide.Capacity(s.Facts) {
			s.Again(followInterval)
		}
		return true, nil
	}
	what := fmt.Sprintf("Job %s with %d indices", s.Job.Name, n)
	_, err := r.attempt(ctx, s, what, func() error {
		return r.client.Apply(ctx, desired.ApplyScale(s.Job, int32(n)), fieldOwner+"-scale", client.ForceOwnership)
	})
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return false, nil // the Job is another one by now; its event brings the next pass
	case err != nil:
		return false, fmt.Errorf("scaling Job %s to %d indices: %w", s.Job.Name, n, err)
	}
	return true, nil
}

// capacityRevision returns the number of the last change of the capacity.
func (r *reconciler) capacityRevision(s *scope) int64 {
	c := r.memory.of(s.LoadTest)
	if capacity := decide.Capacity(s.Facts); c.capacityRevision == 0 || c.capacity != capacity {
		c.capacity, c.capacityRevision = capacity, c.capacityRevision+1
	}
	return c.capacityRevision
}

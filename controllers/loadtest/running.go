package loadtest

import (
	"context"
	"errors"

	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// running is a pass of a test that runs. It stores the counts of the runners that ended, and then all decisions with
// one write. The collector gets the record as it is stored, and what follows from it comes last. What the collector
// learned meanwhile brings another pass.
func (r *reconciler) running(ctx context.Context, f *run.Facts) error {
	if err := r.observe.storedPlan(ctx, f); err != nil {
		return err
	}
	if f.LoadTest.Generation < f.Record.Live.Generation {
		return nil // the cache has an older spec: another pass follows when it has the newer one
	}
	if err := r.observe.live(f); err != nil {
		return err
	}
	if err := r.view(ctx, f); err != nil {
		return err
	}
	ended, err := r.storeCounts(ctx, f)
	if err != nil {
		return err
	}
	if err := r.perform.store(ctx, f, func(run *record.Record) error { return decide.Next(f, run, ended) }); err != nil {
		return err
	}
	if len(ended) > 0 {
		if err := r.observe.readEnded(ctx, f); err != nil {
			return err
		}
	}
	if _, err := r.order(f); err != nil {
		return err
	}
	if err := r.perform.try(ctx, f, decide.Running(f)...); err != nil {
		return err
	}
	return r.finish(ctx, f)
}

// view takes over what the collector knows of a test that runs. A collector that does not know the run gets its record
// first.
func (r *reconciler) view(ctx context.Context, f *run.Facts) (err error) {
	view := r.registry.View(f.LoadTest.UID)
	if view == nil {
		if view, err = r.order(f); err != nil {
			return err
		}
	}
	f.See(view)
	noteCheckpoints(f, r.keeper.Problem(f.LoadTest.UID))
	r.observe.diagnose(ctx, f)
	return nil
}

// storeCounts stores the counts of the runners that ended before the test, lost or scaled away, and returns their
// entries of the record. Pods go only after the record has them. Nil: there are none, or the API server refuses counts,
// and the run does not end before it stored them.
func (r *reconciler) storeCounts(ctx context.Context, f *run.Facts) (ended []record.Shard, err error) {
	for shard := range f.View.Shards {
		seen := &f.View.Shards[shard]
		if !decide.HasNews(f, shard, seen) {
			continue
		}
		rec := decide.EndedShard(f, shard, seen)
		if seen.Snapshot == nil {
			err = r.observe.lastCheckpoint(ctx, f, &rec)
		} else {
			err = r.perform.storeSnapshot(ctx, f, &rec, seen)
		}
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

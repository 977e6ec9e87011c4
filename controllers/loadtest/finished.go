package loadtest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

const noRecordMessage = "The run record (LoadTestRun %s) was deleted. " +
	"The operator stopped the test; the results are lost"

// noRecord ends a test that has started and has no record. The passes after the end delete its Jobs.
func (r *reconciler) noRecord(ctx context.Context, f *run.Facts) error {
	message := fmt.Sprintf(noRecordMessage, desired.RunName(f.LoadTest))
	err := r.perform.store(ctx, f, func(run *record.Record) error {
		run.End = &record.End{
			Reason: v1alpha1.ReasonRunRecordMissing, Message: message, Time: metav1.NewTime(f.Now),
			StartTime: f.LoadTest.Status.StartTime,
			PlanHash:  f.LoadTest.Status.PlanHash, Shards: v1alpha1.ShardCounts{Desired: f.LoadTest.Spec.Runner.Shards},
			Verdict: &v1alpha1.Verdict{Outcome: string(runnerv1alpha1.OutcomeError), Reason: v1alpha1.ReasonRunRecordMissing,
				Message: message},
		}
		return run.On(record.EventEnd)
	})
	if err == nil {
		f.Again(0)
	}
	return err
}

// leftovers deletes what is left of a finished test whose record was deleted.
func (r *reconciler) leftovers(ctx context.Context, f *run.Facts) error {
	return r.perform.try(ctx, f, decide.Leftovers(f)...)
}

// finished is a pass of a run that has ended: its runners end, and what it does not need any more goes.
func (r *reconciler) finished(ctx context.Context, f *run.Facts) error {
	if err := r.perform.try(ctx, f, decide.Finished(f)...); err != nil {
		return err
	}
	if err := r.release(ctx, f); err != nil {
		return err
	}
	return r.observe.noteEdited(f)
}

// release ends the polls of a run that needs its runners no more, and forgets what only a running test needs: a plan
// can have megabytes.
func (r *reconciler) release(ctx context.Context, f *run.Facts) error {
	if decide.Released(f) {
		r.registry.Forget(f.LoadTest.UID)
		c := r.memory.of(f.LoadTest)
		c.plan, c.present, c.addresses = nil, nil, nil
		clear(c.counts)
		return nil
	}
	if f.Plan == nil {
		if err := r.observe.storedPlan(ctx, f); err != nil {
			return err
		}
	}
	_, err := r.order(f)
	return err
}

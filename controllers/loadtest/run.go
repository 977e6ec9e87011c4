package loadtest

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// take makes a record that of the scope; nil: none is stored.
func (s *scope) take(run *record.Record) {
	s.Stored = run != nil
	if run == nil {
		run = &record.Record{State: state.Pending}
	}
	s.Record = run
}

// decide stores a decision in the run record. The caller acts on it only if there is no error. The error is errRefused
// if the API server refuses the record.
func (r *reconciler) decide(ctx context.Context, s *scope, f func(*record.Record) error) error {
	var run *record.Record
	made, err := r.attempt(ctx, s, "LoadTestRun "+desired.RunName(s.LoadTest), func() (err error) {
		run, err = r.records.Save(ctx, s.LoadTest, func(run *record.Record) error {
			if !s.Stored {
				run.State, run.Created = state.Pending, s.MicroTime()
			}
			return f(run)
		})
		return err
	})
	if err != nil {
		return err
	}
	if !made {
		return errRefused
	}
	s.take(run)
	return nil
}

// startedBefore returns whether a test without a record has started: status or a Job of the previous build says so.
// Such a test must not start again.
func (s *scope) startedBefore() bool {
	return s.LoadTest.Status.StartTime != nil || slices.ContainsFunc(s.FormerJobs, func(job *batchv1.Job) bool {
		return job.Annotations[desired.AnnotationStart] != ""
	})
}

const noRecordMessage = "The run record (LoadTestRun %s) does not exist: it was deleted, or an earlier version of the operator started the test. " +
	"The operator stopped the test; the results are lost"

// syncNoRecord ends a test that has started and has no record. Release deletes its Jobs.
func (r *reconciler) syncNoRecord(ctx context.Context, s *scope) (bool, error) {
	message := fmt.Sprintf(noRecordMessage, desired.RunName(s.LoadTest))
	err := r.decide(ctx, s, func(run *record.Record) error {
		run.End = &record.End{
			Reason: v1alpha1.ReasonRunRecordMissing, Message: message, Time: metav1.NewTime(s.Now), StartTime: s.LoadTest.Status.StartTime,
			PlanHash: s.LoadTest.Status.PlanHash, Shards: v1alpha1.ShardCounts{Desired: s.LoadTest.Spec.Runner.Shards},
			Verdict: &v1alpha1.Verdict{Outcome: string(runnerv1alpha1.OutcomeError), Reason: v1alpha1.ReasonRunRecordMissing, Message: message},
		}
		return run.On(state.End)
	})
	if err != nil {
		return false, err
	}
	s.Again(0)
	_, err = r.perform(ctx, s, append(decide.DeleteFormer(s.Facts), decide.DeleteBudget(s.Facts))...)
	return false, err
}

// syncLeftovers deletes what is left of a finished test whose record was deleted.
func (r *reconciler) syncLeftovers(ctx context.Context, s *scope) (bool, error) {
	_, err := r.perform(ctx, s, decide.Leftovers(s.Facts)...)
	return err == nil, err
}

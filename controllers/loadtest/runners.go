package loadtest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// hold deletes all Jobs of a test that has not started and must not start now.
func (r *reconciler) hold(ctx context.Context, f *run.Facts) error {
	if c := r.memory.of(f.LoadTest); c.heldSince.IsZero() {
		c.heldSince = f.Now
	}
	if f.Record.State == record.Preparing {
		if err := r.perform.store(ctx, f, func(run *record.Record) error { return run.On(record.EventHold) }); err != nil {
			return err
		}
	}
	deletions := decide.DeleteFormer(f)
	if f.Job != nil {
		deletions = append(deletions, decide.DeleteJobs(f.Job)...)
	}
	if err := r.perform.must(ctx, f, deletions...); err != nil {
		return err
	}
	r.registry.Forget(f.LoadTest.UID)
	f.Job, f.Pods, f.AllPods = nil, map[int]*corev1.Pod{}, nil
	return nil
}

func (r *reconciler) ensureJob(ctx context.Context, f *run.Facts) error {
	in := desired.JobInput{LoadTest: f.LoadTest, Runner: &f.Config.Runner, PlanDigest: f.PlanDigest,
		Attempt: f.Record.Attempt}
	job, err := desired.Job(in)
	if err != nil {
		return err
	}
	template := job.Annotations[desired.AnnotationTemplate]
	attempt, losses, needed := decide.Attempt(f, template)
	if !needed {
		return nil
	}
	in.Attempt = attempt
	if f.Record.State != record.Preparing || in.Attempt != f.Record.Attempt {
		if err := r.perform.store(ctx, f,
			func(run *record.Record) error { return decide.Prepare(f, run, in.Attempt, losses, template) }); err != nil {
			return err
		}
	}
	return r.makeJob(ctx, f, in)
}

// makeJob creates the Secret and the Job, unless they exist. The Job is applied once. Later only the number of its
// indices can change.
func (r *reconciler) makeJob(ctx context.Context, f *run.Facts, in desired.JobInput) error {
	job, err := desired.Job(in)
	if err != nil {
		return err
	}
	present := job.DeepCopy()
	found, err := existing(ctx, r.observe.reader, f.LoadTest, present)
	if err != nil {
		return err
	}
	if found && present.Labels[desired.LabelManagedBy] != desired.Application { // the operator does not watch it
		return &conflictError{what: "Job " + job.Name}
	}
	if found && present.DeletionTimestamp != nil {
		f.Block(run.NotReady(v1alpha1.ReasonWaitingForPods, fmt.Sprintf("Job %s of an earlier attempt is still being deleted",
			job.Name)))
		f.Again(remainsInterval)
		return nil
	}
	if f.Job != nil { // also if the API server refuses the new one: the record has the new attempt
		f.FormerJobs = append(f.FormerJobs, f.Job)
	}
	f.Job, f.Pods, f.AllPods = nil, map[int]*corev1.Pod{}, nil
	if !found {
		if err := r.perform.reportIsFree(ctx, f.LoadTest); err != nil {
			return err
		}
		if present, err = r.perform.createRunners(ctx, f, job); err != nil {
			return err
		}
	}
	f.Job = present
	return nil
}

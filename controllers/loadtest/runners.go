package loadtest

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Rights to make runners.
//   - secrets create: the certificate of a run, in its namespace. It is never read back; the
//     kubelet mounts it.
//   - services create and get: the headless Service that gives runners names, if listeners have TLS. The operator reads a Service
//     of the same name only to see whose it is; the garbage collector deletes it.
//   - jobs create and patch: server-side apply.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=services,verbs=create;get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;patch

// hold deletes the Job of a test that has not started and must not start now.
func (r *reconciler) hold(ctx context.Context, f *run.Facts) error {
	if f.Record.State == record.Preparing {
		if err := r.decide(ctx, f, func(run *record.Record) error { return run.On(record.EventHold) }); err != nil {
			return err
		}
	}
	if f.Job == nil {
		return nil
	}
	if err := r.must(ctx, f, decide.DeleteJobs(f.Job)...); err != nil {
		return err
	}
	r.registry.Forget(f.LoadTest.UID)
	f.Job, f.Pods, f.AllPods = nil, map[int]*corev1.Pod{}, nil
	return nil
}

// createRunners creates the Secret, the Service if listeners need names, and the Job. It returns nil if the API server refuses one of them. A Job that the
// API server calls invalid is a mistake in the user's template; the cause of another refusal, such as a quota, can go
// away.
func (r *reconciler) createRunners(ctx context.Context, f *run.Facts, job *batchv1.Job) (applied *batchv1.Job, err error) {
	secret := "Secret " + desired.TLSName(f.LoadTest)
	if made, err := r.attempt(ctx, f, secret, func() error { return r.makeSecret(ctx, f) }); !made {
		return nil, err
	}
	if desired.HasNames(&f.LoadTest.Spec) {
		service := desired.Service(f.LoadTest)
		if made, err := r.attempt(ctx, f, "Service "+service.Name, func() error { return r.create(ctx, f.LoadTest, service) }); !made {
			return nil, err
		}
	}
	_, err = r.attempt(ctx, f, "Job "+job.Name, func() error {
		if err := r.beginWait(ctx, f); err != nil {
			return err
		}
		applied, err = r.applyJob(ctx, job)
		if apierrors.IsInvalid(err) {
			f.Block(run.Invalid(v1alpha1.ReasonInvalidSpec, "spec.runner: the API server refuses the Job of the runners: "+err.Error()))
			return nil
		}
		return err
	})
	return applied, err
}

func (r *reconciler) ensureJob(ctx context.Context, f *run.Facts) error {
	in := desired.JobInput{LoadTest: f.LoadTest, Runner: &r.cfg.Runner, PlanDigest: f.PlanDigest, Attempt: f.Record.Attempt}
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
		if err := r.decide(ctx, f, func(run *record.Record) error { return decide.Prepare(f, run, in.Attempt, losses, template) }); err != nil {
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
	existing := job.DeepCopy()
	found, err := r.existing(ctx, f.LoadTest, existing)
	if err != nil {
		return err
	}
	if found && existing.DeletionTimestamp != nil {
		f.Block(run.NotReady(v1alpha1.ReasonWaitingForPods, fmt.Sprintf("Job %s of an earlier attempt is still being deleted", job.Name)))
		f.Again(remainsInterval)
		return nil
	}
	if !found {
		if err := r.reportIsFree(ctx, f.LoadTest); err != nil {
			return err
		}
		if existing, err = r.createRunners(ctx, f, job); existing == nil {
			return err
		}
	}
	if f.Job != nil {
		f.FormerJobs = append(f.FormerJobs, f.Job)
	}
	f.Job, f.Pods, f.AllPods = existing, map[int]*corev1.Pod{}, nil
	return nil
}

// reportIsFree returns a conflictError if the name of the report is taken, which would cost the results after the load.
func (r *reconciler) reportIsFree(ctx context.Context, lt *v1alpha1.LoadTest) error {
	cm := desired.Report(lt, nil)
	found, err := r.existing(ctx, lt, cm)
	if found {
		err = &conflictError{what: "ConfigMap " + cm.Name}
	}
	return err
}

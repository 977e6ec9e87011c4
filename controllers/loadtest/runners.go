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
	"github.com/h2surge/h2surge/controllers/internal/state"
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
func (r *reconciler) hold(ctx context.Context, s *scope) error {
	if s.Record.State == state.Preparing {
		if err := r.decide(ctx, s, func(run *record.Record) error { return run.On(state.Hold) }); err != nil {
			return err
		}
	}
	if s.Job == nil {
		return nil
	}
	if err := r.must(ctx, s, decide.DeleteJob(s.Job)); err != nil {
		return err
	}
	r.registry.Forget(s.LoadTest.UID)
	s.Job, s.Pods, s.AllPods = nil, map[int]*corev1.Pod{}, nil
	return nil
}

// createRunners creates the Secret, the Service if listeners need names, and the Job. It returns nil if the API server refuses one of them. A Job that the
// API server calls invalid is a mistake in the user's template; the cause of another refusal, such as a quota, can go
// away.
func (r *reconciler) createRunners(ctx context.Context, s *scope, job *batchv1.Job) (applied *batchv1.Job, err error) {
	secret := "Secret " + desired.TLSName(s.LoadTest)
	if made, err := r.attempt(ctx, s, secret, func() error { return r.makeSecret(ctx, s) }); !made {
		return nil, err
	}
	if desired.HasNames(&s.LoadTest.Spec) {
		service := desired.Service(s.LoadTest)
		if made, err := r.attempt(ctx, s, "Service "+service.Name, func() error { return r.create(ctx, s.LoadTest, service) }); !made {
			return nil, err
		}
	}
	_, err = r.attempt(ctx, s, "Job "+job.Name, func() error {
		if err := r.beginWait(ctx, s); err != nil {
			return err
		}
		applied, err = r.applyJob(ctx, job)
		if apierrors.IsInvalid(err) {
			s.Block(run.Invalid(v1alpha1.ReasonInvalidSpec, "spec.runner: the API server refuses the Job of the runners: "+err.Error()))
			return nil
		}
		return err
	})
	return applied, err
}

func (r *reconciler) ensureJob(ctx context.Context, s *scope) error {
	in := desired.JobInput{LoadTest: s.LoadTest, Runner: &r.cfg.Runner, PlanDigest: s.PlanDigest, Attempt: s.Record.Attempt}
	job, err := desired.Job(in)
	if err != nil {
		return err
	}
	template := job.Annotations[desired.AnnotationTemplate]
	attempt, losses, needed := decide.Attempt(s.Facts, template)
	if !needed {
		return nil
	}
	in.Attempt = attempt
	if s.Record.State != state.Preparing || in.Attempt != s.Record.Attempt {
		if err := r.decide(ctx, s, func(run *record.Record) error { return decide.Prepare(s.Facts, run, in.Attempt, losses, template) }); err != nil {
			return err
		}
	}
	return r.makeJob(ctx, s, in)
}

// makeJob creates the Secret and the Job, unless they exist. The Job is applied once. Later only the number of its
// indices can change.
func (r *reconciler) makeJob(ctx context.Context, s *scope, in desired.JobInput) error {
	job, err := desired.Job(in)
	if err != nil {
		return err
	}
	existing := job.DeepCopy()
	found, err := r.existing(ctx, s.LoadTest, existing)
	if err != nil {
		return err
	}
	if found && existing.DeletionTimestamp != nil {
		s.Block(run.NotReady(v1alpha1.ReasonWaitingForPods, fmt.Sprintf("Job %s of an earlier attempt is still being deleted", job.Name)))
		s.Again(remainsInterval)
		return nil
	}
	if !found {
		if err := r.reportIsFree(ctx, s.LoadTest); err != nil {
			return err
		}
		if existing, err = r.createRunners(ctx, s, job); existing == nil {
			return err
		}
	}
	if s.Job != nil {
		s.FormerJobs = append(s.FormerJobs, s.Job)
	}
	s.Job, s.Pods, s.AllPods = existing, map[int]*corev1.Pod{}, nil
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

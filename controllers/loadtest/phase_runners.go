package loadtest

import (
	"context"
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

// Rights to make runners.
//   - secrets create: the certificate of a run, in its namespace. It is never read back; the
//     kubelet mounts it, the garbage collector deletes it.
//   - jobs create and patch: server-side apply, of the Job and of its start instant.
//   - jobs delete: those of earlier attempts, and the one whose pods do not end.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;patch;delete

// runnersPhase sees to it that the Job for the plan exists, and that no other one does.
func (r *reconciler) runnersPhase(ctx context.Context, s *scope) (bool, error) {
	if s.end != nil || s.plan == nil || s.obstacle != nil || s.waiting != "" {
		return true, nil
	}
	switch {
	case s.mayStart() || s.stop() != "":
	case s.held():
		if err := r.hold(ctx, s); err != nil {
			return false, err
		}
	default:
		if err := r.ensureJob(ctx, s); err != nil {
			return s.refuse(err)
		}
	}
	for _, job := range s.formerJobs {
		if err := r.deleteJob(ctx, job); err != nil {
			return false, err
		}
	}
	return true, nil
}

// hold takes the runners of a suspended test away that has not started. A Job that has changed since it
// was read stays for the moment: it may have been told to start.
func (r *reconciler) hold(ctx context.Context, s *scope) error {
	if s.job == nil {
		return nil
	}
	if s.job.DeletionTimestamp == nil {
		err := r.client.Delete(ctx, s.job, client.PropagationPolicy(metav1.DeletePropagationBackground),
			client.Preconditions{UID: &s.job.UID, ResourceVersion: &s.job.ResourceVersion})
		if apierrors.IsConflict(err) {
			s.again(remainsInterval)
			return nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting Job %s of a suspended test: %w", s.job.Name, err)
		}
	}
	r.registry.Forget(s.lt.UID)
	s.job, s.pods = nil, map[int]*corev1.Pod{}
	return nil
}

// refuse records what the API server has against the Job. A Job that it takes for invalid comes
// from the user's template; anything else, a quota for instance, may pass.
func (s *scope) refuse(err error) (bool, error) {
	if blocked, other := s.blocked(err); blocked && other == nil {
		return true, nil
	}
	switch {
	case apierrors.IsInvalid(err):
		s.obstacle = invalid(v1alpha1.ReasonInvalidSpec, "spec.runner.template: the API server refuses the runners' Job: "+err.Error())
		return true, nil
	case apierrors.IsForbidden(err):
		s.refused = clip(err.Error(), maxMessage)
		s.again(conflictInterval)
		return true, nil
	}
	return false, err
}

func (r *reconciler) ensureJob(ctx context.Context, s *scope) error {
	in := desired.JobInput{LoadTest: s.lt, Runner: &r.cfg.Runner, PlanHash: s.planHash, Attempt: 1}
	if s.job != nil {
		in.Attempt, in.Losses = attemptOf(s.job), number(s.job, desired.AnnotationLosses)
	}
	job, err := desired.Job(in)
	if err != nil {
		return err
	}
	switch {
	case s.job == nil:
	case differ(s.job, job, desired.AnnotationPlanHash) || differ(s.job, job, desired.AnnotationTemplate):
		in.Attempt, in.Losses = in.Attempt+1, 0
	case s.lostBeforeStart() != "" && in.Losses+1 < r.cfg.Runner.StartAttempts:
		in.Attempt, in.Losses = in.Attempt+1, in.Losses+1
	default:
		return nil
	}
	return r.makeJob(ctx, s, in)
}

// differ: the plan or the pod template is another one than the Job has.
func differ(have, want *batchv1.Job, annotation string) bool {
	return have.Annotations[annotation] != want.Annotations[annotation]
}

// makeJob makes the Secret and the Job, unless they exist. The Job is applied once: it holds
// nothing that may change later but the start instant.
func (r *reconciler) makeJob(ctx context.Context, s *scope, in desired.JobInput) error {
	job, err := desired.Job(in)
	if err != nil {
		return err
	}
	existing := job.DeepCopy()
	found, err := r.existing(ctx, s.lt, existing)
	if err != nil {
		return err
	}
	if found && existing.DeletionTimestamp != nil {
		s.waiting = fmt.Sprintf("Job %s, which was taken away, is still being deleted", job.Name)
		s.again(remainsInterval)
		return nil
	}
	if !found {
		if err := r.makeSecret(ctx, s.lt); err != nil {
			return err
		}
		if existing, err = r.applyJob(ctx, job); err != nil {
			return err
		}
	}
	if s.job != nil {
		s.formerJobs = append(s.formerJobs, s.job)
	}
	s.job, s.pods = existing, map[int]*corev1.Pod{}
	return nil
}

// makeSecret leaves one that exists alone: its name holds the UID of the LoadTest.
func (r *reconciler) makeSecret(ctx context.Context, lt *v1alpha1.LoadTest) error {
	authority, err := r.pki.Get(ctx)
	if err != nil {
		return err
	}
	files, err := authority.RunnerFiles(lt.UID)
	if err != nil {
		return err
	}
	if err := r.client.Create(ctx, desired.TLS(lt, files)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the runners' certificate: %w", err)
	}
	return nil
}

// applyJob does not force: fields of somebody else's are a conflict, should a foreign Job appear
// after we have looked.
func (r *reconciler) applyJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	ac, err := desired.Apply(job)
	if err != nil {
		return nil, err
	}
	if err := r.client.Apply(ctx, ac, fieldOwner); err != nil {
		if apierrors.IsConflict(err) {
			return nil, &conflictError{what: "Job " + job.Name}
		}
		return nil, fmt.Errorf("applying Job %s: %w", job.Name, err)
	}
	applied := job.DeepCopy()
	applied.UID, applied.CreationTimestamp = *ac.UID, *ac.CreationTimestamp
	return applied, nil
}

func (r *reconciler) deleteJob(ctx context.Context, job *batchv1.Job) error {
	if job.DeletionTimestamp != nil {
		return nil
	}
	err := r.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &job.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting Job %s: %w", job.Name, err)
	}
	return nil
}

// lostBeforeStart says which runner was lost before the start, and why; empty: none.
func (s *scope) lostBeforeStart() string {
	for shard := range s.shards() {
		if pod := s.pods[shard]; pod != nil {
			if over, why := ended(pod); over {
				return fmt.Sprintf("runner %d ended before the start: %s", shard, why)
			}
			if pod.DeletionTimestamp != nil {
				return fmt.Sprintf("runner %d was deleted before the start", shard)
			}
		}
	}
	// A pod that was deleted by force leaves nothing but the Job's count.
	if s.job.Status.Failed > 0 {
		return "a runner was lost before the start"
	}
	return ""
}

func (s *scope) shards() int {
	if s.plan == nil {
		return int(s.lt.Spec.Runner.Shards)
	}
	return s.plan.Shards
}

// collectPhase tells the collector what is wanted and takes over what it knows.
func (r *reconciler) collectPhase(_ context.Context, s *scope) (bool, error) {
	if s.job == nil || s.plan == nil || s.obstacle != nil {
		return true, nil
	}
	return true, r.look(s)
}

func (r *reconciler) look(s *scope) error {
	d := r.wanted(s)
	if d.MayStart {
		d.Stop = s.stop()
	}
	view, err := r.registry.Ensure(d)
	if err != nil {
		return err
	}
	s.view = view
	if !s.mayStart() {
		s.trouble = diagnose(s)
	}
	return nil
}

// wanted is what the collector is to know of the run. It shares nothing that changes.
func (r *reconciler) wanted(s *scope) collect.Desired {
	d := collect.Desired{
		Name: s.key(), UID: s.lt.UID, Attempt: attemptOf(s.job), Job: s.job.UID, Plan: s.plan,
		Pods: map[int]collect.Pod{}, Recorded: maps.Clone(s.lost), MayStart: s.mayStart(), Stored: s.end != nil,
	}
	if d.Live = s.live; d.Live.Revision == 0 {
		d.Live = s.beforeStart()
	}
	for shard, pod := range s.pods {
		d.Pods[shard] = r.observe(pod)
	}
	return d
}

// startPhase decides the start once every runner is ready, and writes the decision down before
// anybody is told: should this process end in between, the next one knows that the test may have
// begun, and never begins it again.
func (r *reconciler) startPhase(ctx context.Context, s *scope) (bool, error) {
	if s.job == nil || s.plan == nil || s.end != nil || s.mayStart() || s.obstacle != nil || s.stop() != "" || s.held() {
		return true, nil
	}
	if !s.view.Every((*collect.Shard).Ready) || s.lostBeforeStart() != "" {
		return true, nil
	}
	start := s.now.UTC().Format(time.RFC3339Nano)
	err := r.client.Apply(ctx, desired.ApplyStart(s.job, start), fieldOwner+"-start")
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil // the Job is another one by now; its event brings the next pass
	}
	if err != nil {
		return false, fmt.Errorf("recording the start on Job %s: %w", s.job.Name, err)
	}
	c := r.memory.of(s.lt)
	c.startJob, c.start = s.job.UID, start
	s.job = r.remembered(s.job)
	return true, r.look(s)
}

// startFailure says why the run can never start; nil: it still can, or has.
func (r *reconciler) startFailure(s *scope) *failure {
	if s.plan == nil || s.job == nil {
		return nil
	}
	for i := range s.view.Shards {
		snap := s.view.Shards[i].Snapshot
		switch {
		case snap == nil:
		case snap.Problem == runnerv1alpha1.ProblemPlan:
			return &failure{string(runnerv1alpha1.ProblemPlan), orText(snap.Message, "a runner cannot execute the plan")}
		case snap.Problem == runnerv1alpha1.ProblemSetup:
			return &failure{v1alpha1.ReasonSetupFailed, orText(snap.Message, "a setup chain failed")}
		}
	}
	if why := s.lostBeforeStart(); why != "" && number(s.job, desired.AnnotationLosses)+1 >= r.cfg.Runner.StartAttempts {
		return &failure{v1alpha1.ReasonRunnerLost, fmt.Sprintf("%s (attempt %d of %d)", why, r.cfg.Runner.StartAttempts, r.cfg.Runner.StartAttempts)}
	}
	return r.tooLate(s)
}

// failure ends a run that has not started.
type failure struct{ reason, message string }

func (r *reconciler) tooLate(s *scope) *failure {
	runner := &r.cfg.Runner
	since := allRunning(s)
	if since.IsZero() {
		left := s.job.CreationTimestamp.Add(runner.PodTimeout.Duration).Sub(s.now)
		if left > 0 {
			s.again(left)
			return nil
		}
		return &failure{v1alpha1.ReasonPodTrouble, fmt.Sprintf("not every runner pod runs after %s: %s", runner.PodTimeout.Duration, orText(s.trouble, "they are still being made"))}
	}
	limit := readyWithin(s.plan, runner.ReadyTimeout.Duration)
	left := since.Add(limit).Sub(s.now)
	if left > 0 {
		s.again(left)
		return nil
	}
	if why := unreachableTarget(s); why != "" {
		return &failure{v1alpha1.ReasonTargetUnreachable, why}
	}
	n := s.view.Count((*collect.Shard).Ready)
	return &failure{v1alpha1.ReasonRunnerLost, fmt.Sprintf("%d of %d runners were ready after %s%s", n, s.plan.Shards, limit, firstTrouble(s.view))}
}

// readyWithin is the configured limit and, on top, the longest ramp of connections and the setup
// chains, which are no trouble.
func readyWithin(plan *runnerv1alpha1.Plan, configured time.Duration) time.Duration {
	var ramp time.Duration
	for i := range plan.Targets {
		t := &plan.Targets[i]
		ramp = max(ramp, t.ConnectWithin()-t.ConnectTimeout)
	}
	return configured + ramp + plan.SetupWithin()
}

func unreachableTarget(s *scope) string {
	for i := range s.view.Shards {
		if snap := s.view.Shards[i].Snapshot; snap != nil && snap.Problem == runnerv1alpha1.ProblemConnect {
			return orText(snap.Message, "a target cannot be reached")
		}
	}
	return ""
}

func firstTrouble(v *collect.View) string {
	for i := range v.Shards {
		if t := v.Shards[i].Trouble; t != "" {
			return fmt.Sprintf("; runner %d: %s", i, clip(t, 512))
		}
	}
	return ""
}

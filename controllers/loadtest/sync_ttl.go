package loadtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// loadtests delete: spec.ttlSecondsAfterFinished and spec.ttlSecondsByOutcome.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=delete

// syncTTL deletes a LoadTest when its TTL has passed since it finished. Status shows the end before that, so that clients
// that wait for it see it.
func (r *reconciler) syncTTL(ctx context.Context, s *scope) (bool, error) {
	if s.Record.End == nil && s.LoadTest.Status.CompletionTime == nil && !s.Invalid() {
		return true, nil
	}
	ttl := s.ttl()
	if ttl == nil || managedByGitOps(s.LoadTest) {
		return true, nil
	}
	finished := s.finishedAt()
	if finished == nil {
		s.Again(0)
		return true, nil
	}
	if left := finished.Add(time.Duration(*ttl) * time.Second).Sub(s.Now); left > 0 {
		s.Again(left)
		return true, nil
	}
	if s.uploads(r.cfg) {
		s.Again(time.Second) // the upload ends with success or at its deadline, and brings a pass
		return true, nil
	}
	err := r.client.Delete(ctx, s.LoadTest, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &s.LoadTest.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("deleting the LoadTest after its TTL: %w", err)
	}
	s.gone = true
	return false, nil
}

// finishedAt returns when status first showed that the test has finished; nil: it does not show it yet. A test
// with an invalid spec has no completion time, because it did not run.
func (s *scope) finishedAt() *metav1.Time {
	if t := s.LoadTest.Status.CompletionTime; t != nil {
		return t
	}
	c := meta.FindStatusCondition(s.LoadTest.Status.Conditions, v1alpha1.ConditionFinished)
	if c == nil || c.Status != metav1.ConditionTrue || !s.Invalid() {
		return nil
	}
	return &c.LastTransitionTime
}

// ttl returns the TTL in seconds of a test that has finished; nil: the LoadTest stays.
func (s *scope) ttl() *int32 {
	by := s.LoadTest.Spec.TTLSecondsByOutcome
	if by == nil {
		by = &v1alpha1.TTLByOutcome{}
	}
	ttl := map[runnerv1alpha1.Outcome]*int32{
		runnerv1alpha1.OutcomePassed: by.Passed, runnerv1alpha1.OutcomeFailed: by.Failed, runnerv1alpha1.OutcomeInconclusive: by.Inconclusive,
		runnerv1alpha1.OutcomeError: by.Error, runnerv1alpha1.OutcomeStopped: by.Stopped,
	}[s.outcome()]
	return cmp.Or(ttl, s.LoadTest.Spec.TTLSecondsAfterFinished)
}

// outcome returns the outcome of a test that has finished. That of an invalid spec is Error.
func (s *scope) outcome() runnerv1alpha1.Outcome {
	verdict := s.LoadTest.Status.Verdict
	if s.Record.End != nil {
		verdict = s.Record.End.Verdict
	}
	if verdict == nil || s.Invalid() {
		return runnerv1alpha1.OutcomeError
	}
	return runnerv1alpha1.Outcome(verdict.Outcome)
}

// ttlIgnored returns whether a test that has finished has a TTL without effect.
func (s *scope) ttlIgnored() bool { return s.ttl() != nil && managedByGitOps(s.LoadTest) }

// gitOpsMarks are annotations and labels of objects that a GitOps controller applies, and applies again if they are
// deleted. app.kubernetes.io/instance does not count, because objects that Helm installs have it, too.
var gitOpsMarks = []string{"argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"}

// hookMarks are annotations of objects that Argo CD and Helm create once for each sync or release.
var hookMarks = []string{"argocd.argoproj.io/hook", "helm.sh/hook"}

// managedByGitOps returns whether a GitOps controller would create the LoadTest again after its deletion, and so repeat the
// load. The LoadTests of a controller, such as a LoadTestSchedule, are not of this kind: labels may be copied to them.
func managedByGitOps(lt *v1alpha1.LoadTest) bool {
	has := func(key string) bool { return lt.Annotations[key] != "" || lt.Labels[key] != "" }
	return metav1.GetControllerOf(lt) == nil && slices.ContainsFunc(gitOpsMarks, has) && !slices.ContainsFunc(hookMarks, has)
}

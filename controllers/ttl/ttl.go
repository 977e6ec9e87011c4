// Package ttl deletes LoadTests that have finished, when their TTL has passed. It reads spec, metadata and status only.
package ttl

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/upload"
)

// expiry returns when the operator deletes a LoadTest; zero: it stays, at least until it changes. Status shows the end before that, so that
// clients that wait for it see it.
func expiry(lt *v1alpha1.LoadTest, storage *configv1alpha1.ResultStorage) time.Time {
	ttl, finished := seconds(lt), finishedAt(lt)
	if ttl == nil || finished == nil || lt.DeletionTimestamp != nil || managedByGitOps(lt) || upload.Pending(lt, storage) {
		return time.Time{}
	}
	return finished.Add(time.Duration(*ttl) * time.Second)
}

// finishedAt returns when status first showed that the test has finished; nil: it does not show it. A test with an invalid spec has no completion
// time, because it did not run. An edit can fix the spec, so its condition must be that of the present spec.
func finishedAt(lt *v1alpha1.LoadTest) *metav1.Time {
	if t := lt.Status.CompletionTime; t != nil {
		return t
	}
	c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished)
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != lt.Generation {
		return nil
	}
	return &c.LastTransitionTime
}

// seconds returns the TTL in seconds of a test that has finished; nil: the LoadTest stays. A test with an invalid spec has no verdict; its outcome
// is Error.
func seconds(lt *v1alpha1.LoadTest) *int32 {
	by, outcome := lt.Spec.TTLSecondsByOutcome, runnerv1alpha1.OutcomeError
	if by == nil {
		by = &v1alpha1.TTLByOutcome{}
	}
	if v := lt.Status.Verdict; v != nil {
		outcome = runnerv1alpha1.Outcome(v.Outcome)
	}
	ttl := map[runnerv1alpha1.Outcome]*int32{
		runnerv1alpha1.OutcomePassed: by.Passed, runnerv1alpha1.OutcomeFailed: by.Failed, runnerv1alpha1.OutcomeInconclusive: by.Inconclusive,
		runnerv1alpha1.OutcomeError: by.Error, runnerv1alpha1.OutcomeStopped: by.Stopped,
	}[outcome]
	return cmp.Or(ttl, lt.Spec.TTLSecondsAfterFinished)
}

// Ignored returns whether a test that has finished has a TTL without effect.
func Ignored(lt *v1alpha1.LoadTest) bool { return seconds(lt) != nil && managedByGitOps(lt) }

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

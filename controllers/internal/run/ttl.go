package run

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TTL returns the TTL in seconds of a test that has finished; nil: the LoadTest stays. A test with an invalid spec has
// no verdict; its outcome is Error.
func TTL(lt *v1alpha1.LoadTest) *int32 {
	by, outcome := lt.Spec.TTLSecondsByOutcome, runnerv1alpha1.OutcomeError
	if by == nil {
		by = &v1alpha1.TTLByOutcome{}
	}
	if v := lt.Status.Verdict; v != nil {
		outcome = runnerv1alpha1.Outcome(v.Outcome)
	}
	ttl := map[runnerv1alpha1.Outcome]*int32{
		runnerv1alpha1.OutcomePassed: by.Passed, runnerv1alpha1.OutcomeFailed: by.Failed,
		runnerv1alpha1.OutcomeInconclusive: by.Inconclusive,
		runnerv1alpha1.OutcomeError:        by.Error, runnerv1alpha1.OutcomeStopped: by.Stopped,
	}[outcome]
	return cmp.Or(ttl, lt.Spec.TTLSecondsAfterFinished)
}

// TTLIgnored returns whether a test that has finished has a TTL without effect.
func TTLIgnored(lt *v1alpha1.LoadTest) bool { return TTL(lt) != nil && managedByGitOps(lt) }

// gitOpsMarks are annotations and labels of objects that a GitOps controller applies, and applies again if they are
// deleted. app.kubernetes.io/instance does not count, because objects that Helm installs have it, too.
var gitOpsMarks = []string{"argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/name",
	"helm.toolkit.fluxcd.io/name"}

// hookMarks are annotations of objects that Argo CD and Helm create once for each sync or release.
var hookMarks = []string{"argocd.argoproj.io/hook", "helm.sh/hook"}

// managedByGitOps returns whether a GitOps controller would create the LoadTest again after its deletion, and so repeat
// the load. The LoadTests of a controller, such as a LoadTestSchedule, are not of this kind: labels may be copied to
// them.
func managedByGitOps(lt *v1alpha1.LoadTest) bool {
	has := func(key string) bool { return lt.Annotations[key] != "" || lt.Labels[key] != "" }
	return metav1.GetControllerOf(lt) == nil && slices.ContainsFunc(gitOpsMarks, has) && !slices.ContainsFunc(hookMarks,
		has)
}

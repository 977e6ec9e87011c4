package run

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

func TestTTLByOutcome(t *testing.T) {
	each := &v1alpha1.TTLByOutcome{
		Passed: ptr.To[int32](1), Failed: ptr.To[int32](2), Inconclusive: ptr.To[int32](3), Error: ptr.To[int32](4), Stopped: ptr.To[int32](5),
	}
	for _, tt := range []struct {
		name    string
		all     *int32
		by      *v1alpha1.TTLByOutcome
		outcome runnerv1alpha1.Outcome
		want    *int32
	}{
		{"none", nil, nil, runnerv1alpha1.OutcomePassed, nil},
		{"the same for all", ptr.To[int32](9), nil, runnerv1alpha1.OutcomeFailed, ptr.To[int32](9)},
		{"passed", ptr.To[int32](9), each, runnerv1alpha1.OutcomePassed, ptr.To[int32](1)},
		{"failed", nil, each, runnerv1alpha1.OutcomeFailed, ptr.To[int32](2)},
		{"inconclusive", nil, each, runnerv1alpha1.OutcomeInconclusive, ptr.To[int32](3)},
		{"error", nil, each, runnerv1alpha1.OutcomeError, ptr.To[int32](4)},
		{"stopped", nil, each, runnerv1alpha1.OutcomeStopped, ptr.To[int32](5)},
		{"zero counts", ptr.To[int32](9), &v1alpha1.TTLByOutcome{Passed: ptr.To[int32](0)}, runnerv1alpha1.OutcomePassed, ptr.To[int32](0)},
		{"another outcome", ptr.To[int32](9), &v1alpha1.TTLByOutcome{Passed: ptr.To[int32](0)}, runnerv1alpha1.OutcomeFailed, ptr.To[int32](9)},
		{"another outcome, no default", nil, &v1alpha1.TTLByOutcome{Passed: ptr.To[int32](0)}, runnerv1alpha1.OutcomeFailed, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := v1alpha1.LoadTestSpec{TTLSecondsAfterFinished: tt.all, TTLSecondsByOutcome: tt.by}
			lt := &v1alpha1.LoadTest{Spec: spec, Status: v1alpha1.LoadTestStatus{Verdict: &v1alpha1.Verdict{Outcome: string(tt.outcome)}}}
			if got := TTL(lt); !ptr.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", ptr.Deref(got, -1), ptr.Deref(tt.want, -1))
			}
		})
	}
	invalid := &v1alpha1.LoadTest{Spec: v1alpha1.LoadTestSpec{TTLSecondsByOutcome: each}}
	if got := TTL(invalid); *got != 4 {
		t.Errorf("an invalid spec: got %d, want 4", *got)
	}
}

func TestManagedByGitOps(t *testing.T) {
	type marks = map[string]string
	argo, flux := "argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/name"
	for _, tt := range []struct {
		name                string
		labels, annotations marks
		owned               bool
		want                bool
	}{
		{"kubectl apply", nil, marks{"kubectl.kubernetes.io/last-applied-configuration": "{}"}, false, false},
		{"helm install", marks{"app.kubernetes.io/instance": "app", "app.kubernetes.io/managed-by": "Helm"}, nil, false, false},
		{"Argo CD", nil, marks{argo: "app:h2surge.io/LoadTest:ns/name"}, false, true},
		{"hook of Argo CD", nil, marks{argo: "app:h2surge.io/LoadTest:ns/name", "argocd.argoproj.io/hook": "PostSync"}, false, false},
		{"Flux Kustomization", marks{flux: "app"}, nil, false, true},
		{"Flux HelmRelease", marks{"helm.toolkit.fluxcd.io/name": "app"}, nil, false, true},
		{"hook of a HelmRelease", marks{"helm.toolkit.fluxcd.io/name": "app"}, marks{"helm.sh/hook": "post-install"}, false, false},
		{"LoadTest of a schedule", marks{flux: "app"}, nil, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Labels: tt.labels, Annotations: tt.annotations}}
			if tt.owned {
				lt.OwnerReferences = []metav1.OwnerReference{{Kind: "LoadTestSchedule", Controller: ptr.To(true)}}
			}
			if got := managedByGitOps(lt); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

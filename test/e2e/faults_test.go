//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestFaults: a PCF that leaves some requests unanswered and refuses others. Status tells how many
// and why, by the name of the check, of what aborted the chains and of the cause in the response.
func TestFaults(t *testing.T) {
	t.Parallel()
	const name = "pcf-app-sessions"
	s := newStory(t, "faults").withRules(filepath.Join(samplesDir, "targets", "pcf.yaml"))
	s.applySample(name, lessLoad, patient, measuredOnly, creationsWithin(4*time.Second))
	lt := s.awaitFinished(name)

	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionFalse, v1alpha1.ReasonThresholdsFailed)
	sent, st, r := s.wantCounts(lt), s.stats(), lt.Status.Results
	refused, unanswered := int64(st.ByStatus["403"]), int64(st.Unanswered)
	if sent != st.Requests || refused == 0 || unanswered == 0 {
		t.Fatalf("sent %d, received %d, %d of them refused, %d unanswered; want some of both", sent, st.Requests, refused, unanswered)
	}
	if r.Requests.TimedOut != unanswered || r.Requests.FailedChecks != refused {
		t.Errorf("%d timed out, %d failed checks; want %d and %d", r.Requests.TimedOut, r.Requests.FailedChecks, unanswered, refused)
	}
	s.wantNamed("causes", r.Causes, v1alpha1.NamedCount{Name: "REQUESTED_SERVICE_NOT_AUTHORIZED", Count: refused})
	chain := r.Chains[0]
	s.wantNamed("abortedBy", chain.AbortedBy,
		v1alpha1.NamedCount{Name: "failedCheck", Count: refused}, v1alpha1.NamedCount{Name: "timedOut", Count: unanswered})
	s.wantNamed("failedBy of "+chain.Steps[0].Name, chain.Steps[0].FailedBy, v1alpha1.NamedCount{Name: "status", Count: refused})
	if chain.Aborted != refused+unanswered || chain.Steps[1].Failed+chain.Steps[2].Failed != 0 {
		t.Errorf("%d aborted, steps %+v; want the aborted creations and no other failures", chain.Aborted, chain.Steps)
	}
}

// wantNamed compares counts whatever their order.
func (s *story) wantNamed(what string, got []v1alpha1.NamedCount, want ...v1alpha1.NamedCount) {
	s.Helper()
	s.Logf("%s: %v", what, got)
	for _, w := range want {
		if !slices.Contains(got, w) {
			s.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	if len(got) != len(want) {
		s.Errorf("%s: %v, want %v", what, got, want)
	}
}

// measuredOnly takes the warm-up away, of which results have only the number.
func measuredOnly(spec *v1alpha1.LoadTestSpec) {
	spec.Rates = slices.DeleteFunc(spec.Rates, func(r v1alpha1.Rate) bool { return r.WarmUp })
}

// creationsWithin is how long creations are waited for. The drain is as long as the longest timeout,
// so those at the very end time out, too.
func creationsWithin(d time.Duration) func(*v1alpha1.LoadTestSpec) {
	return func(spec *v1alpha1.LoadTestSpec) {
		steps := spec.Chains[0].Steps
		for i := range steps {
			if steps[i].Name == "create" {
				steps[i].Request.Timeout = &v1alpha1.Duration{Duration: d}
			}
		}
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestQuickstart is story 1: the sample on two shards, from apply to delete, with numbers that
// agree with the target's own to the request.
func TestQuickstart(t *testing.T) {
	s := newStory(t, "quickstart").withTarget()
	before := s.inventory()
	const name = "quickstart"

	begun := time.Now()
	s.mustKubectl("", "apply", "-f", sample)
	applied := time.Since(begun)
	s.awaitLoad(1, short)
	t.Logf("FIGURE apply to first request: %v from the start of kubectl apply, %v from its end",
		time.Since(begun).Round(10*time.Millisecond), (time.Since(begun) - applied).Round(10*time.Millisecond))

	s.eventually(short, func() string { return s.liveRow(name) })
	t.Logf("while it runs:\n%s", s.mustKubectl("", "get", "loadtests"))
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/"+name, "--timeout=3m")
	got := s.loadTest(name)
	t.Logf("at the end:\n%s", s.mustKubectl("", "get", "lt", name))

	s.wantCondition(got, v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled)
	s.wantCondition(got, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantPassed(got, v1alpha1.ReasonPassed)
	if got.Status.Phase != v1alpha1.PhaseCompleted || got.Status.ObservedGeneration != got.Generation {
		t.Errorf("phase %s, observed generation %d of %d", got.Status.Phase, got.Status.ObservedGeneration, got.Generation)
	}
	s.wantSameAsTarget(got)
	s.wantEvents(got.Name)

	s.mustKubectl("", "delete", "loadtest", name)
	s.wantInventory(before)
}

// wantPassed expects a test to have passed. On a busy machine the generator can be the bottleneck. An empty reason means any.
func (s *story) wantPassed(lt *v1alpha1.LoadTest, reason string) {
	s.Helper()
	if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionPassed); c != nil && c.Reason == v1alpha1.ReasonGeneratorBound {
		s.Logf("this machine was busy: %s", c.Message)
		return
	}
	s.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, reason)
}

// liveRow is empty once "kubectl get" shows a running test with numbers in each column.
func (s *story) liveRow(name string) string {
	out := s.mustKubectl("", "get", "loadtest", name)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	want := []string{"NAME", "PHASE", "SHARDS", "RATE", "P50", "P99", "ERRORS", "PASSED", "AGE"}
	if got := strings.Fields(lines[0]); !slices.Equal(got, want) {
		s.Fatalf("columns %q, want %q", got, want)
	}
	row := strings.Fields(lines[len(lines)-1])
	if len(row) == len(want) && row[1] == "Running" && row[2] == "2/2" && row[7] == "Unknown" && strings.HasSuffix(row[6], "%") {
		return ""
	}
	return "no row of a running test with all its columns:\n" + out
}

// wantSameAsTarget compares what the shards say they sent with what the target received, and the
// values they used with each other.
func (s *story) wantSameAsTarget(lt *v1alpha1.LoadTest) {
	s.Helper()
	sent, st := s.wantCounts(lt), s.stats()
	if sent != st.Requests {
		s.Errorf("the shards sent %d requests, the target received %d", sent, st.Requests)
	}
	if st.BodyStats == nil || st.DistinctBodies == 0 || st.RepeatedBodies != 0 || st.UntrackedBodies != 0 {
		s.Errorf("bodies %+v, want distinct ones only: the shards' slices of a variable are disjoint", st.BodyStats)
	}
	s.Logf("sent %d, received %d, bodies %+v", sent, st.Requests, st.BodyStats)
	for method, n := range st.ByMethod {
		if n == 0 {
			s.Errorf("the target counts no %s", method)
		}
	}
	if got := lt.Status.Shards; got == nil || got.Desired != 2 || got.Lost != 0 {
		s.Errorf("shards %+v, want 2 and none lost", got)
	}
	if len(lt.Status.Runners) != 2 {
		s.Errorf("%d runners in status, want 2", len(lt.Status.Runners))
	}
}

// wantEvents: each transition has told itself once, and "kubectl describe" shows it.
func (s *story) wantEvents(name string) {
	s.Helper()
	want := []string{"PlanReady", "RunnersReady", "Started", "Completed"}
	s.eventually(short, func() string {
		if got := s.reasons(name); !contains(got, want) {
			return fmt.Sprintf("events %q, want %q among them in this order", got, want)
		}
		return ""
	})
	described := s.mustKubectl("", "describe", "loadtest", name)
	_, events, _ := strings.Cut(described, "\nEvents:")
	s.Logf("events:%s", events)
	for _, reason := range want {
		if !strings.Contains(events, reason) {
			s.Errorf("kubectl describe does not show the event %s", reason)
		}
	}
}

// contains is true when want is a subsequence of got.
func contains(got, want []string) bool {
	for _, g := range got {
		if len(want) > 0 && g == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

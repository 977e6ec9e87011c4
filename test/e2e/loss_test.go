//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestOperatorKilled is story 4: runners need no operator to go on, and the next one takes up
// where the last one ended.
func TestOperatorKilled(t *testing.T) {
	s := newStory(t, "operator").withTarget()
	s.apply(s.quickstart("survivor", 2, hold(1000, 30*time.Second), withoutThresholds))
	s.awaitLoad(2000, short)

	killed := s.operators()
	if len(killed) == 0 {
		t.Fatalf("no operator pod has the labels %s", operatorSelector)
	}
	for _, p := range killed {
		s.crash(p) // it cannot even give up its lease
		s.remove(p)
	}
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/survivor", "--timeout=2m")

	lt := s.loadTest("survivor")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	s.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, "")
	if n := lt.Status.Results.Requests.Sent; n != 30_000 || lt.Status.Results.Partial {
		t.Errorf("sent %d, partial %v; want 30000 and the whole result", n, lt.Status.Results.Partial)
	}
	s.wantSameAsTarget(lt)
	for _, p := range s.operators() {
		if slices.ContainsFunc(killed, func(old corev1.Pod) bool { return old.UID == p.UID }) {
			t.Errorf("the operator's pod %s was not killed, so nothing has been shown", p.Name)
		}
	}
}

func (s *story) operators() []corev1.Pod {
	s.Helper()
	pods, err := core.CoreV1().Pods(operatorNamespace).List(s.ctx, metav1.ListOptions{LabelSelector: operatorSelector})
	s.must(err)
	return pods.Items
}

// TestRunnerKilled is story 5: the loss of a shard is seen, told, and costs only that shard's
// last part.
func TestRunnerKilled(t *testing.T) {
	s := newStory(t, "runner").withTarget()
	const rps, length = 1000, 20
	s.apply(s.quickstart("half", 2, hold(rps, length*time.Second), withoutThresholds))
	s.awaitLoad(5*rps, short)
	runners := s.runners()
	if len(runners) != 2 {
		t.Fatalf("%d runners, want 2", len(runners))
	}

	begun := time.Now()
	s.crash(runners[1])
	s.eventually(5*time.Second, func() string {
		if lt := s.loadTest("half"); lt.Status.Shards == nil || lt.Status.Shards.Lost != 1 {
			return fmt.Sprintf("shards %+v, want one lost:\n%s", lt.Status.Shards, conditions(lt))
		}
		return ""
	})
	t.Logf("FIGURE runner killed to status: %v", time.Since(begun).Round(10*time.Millisecond))
	lt := s.loadTest("half")
	s.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	s.wantCondition(lt, v1alpha1.ConditionRunning, metav1.ConditionTrue, "")
	at := s.stats().Requests
	s.awaitLoad(at+2*rps/2, 10*time.Second) // the other half of the rate goes on

	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/half", "--timeout=2m")
	lt = s.loadTest("half")
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	s.wantPartial(lt, rps*length)
	s.eventually(10*time.Second, func() string {
		if got := s.reasons("half"); !contains(got, []string{v1alpha1.ReasonRunnerLost}) {
			return fmt.Sprintf("events %q, want %s", got, v1alpha1.ReasonRunnerLost)
		}
		return ""
	})
}

// wantPartial: of a run of two shards that was to send all, one was lost after a quarter of its
// time at least.
func (s *story) wantPartial(lt *v1alpha1.LoadTest, all int64) {
	s.Helper()
	if !lt.Status.Results.Partial {
		s.Error("status.results.partial is false")
	}
	if r := s.report(lt); !r.Partial || r.Generator.ShardsLost != 1 {
		s.Errorf("the report says partial %v, %d shards lost", r.Partial, r.Generator.ShardsLost)
	}
	sent, received := int64(s.wantCounts(lt)), int64(s.stats().Requests)
	s.Logf("sent %d as far as is known, received %d, planned %d", sent, received, all)
	// The last snapshot of the lost shard is about a second old at most, and it had 3 s or more.
	if low := all/2 + 2*all/2/20; sent < low {
		s.Errorf("sent %d, want more than %d: the survivor's half and the lost shard's last snapshot", sent, low)
	}
	if sent > received || received >= all {
		s.Errorf("sent %d, received %d of %d: the loss cannot add requests", sent, received, all)
	}
}

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
	s.wantPassed(lt, "")
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
// last part when the others are to go on.
func TestRunnerKilled(t *testing.T) {
	t.Parallel()
	s := newStory(t, "runner").withTarget()
	const rps, length = 1000, 25
	s.apply(s.quickstart("half", 2, hold(rps, length*time.Second), withoutThresholds, onShardLost(v1alpha1.ShardLostContinue)))
	s.awaitLoad(5*rps, short)

	s.killRunner("half", 1)
	lt := s.loadTest("half")
	s.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	s.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning)
	s.eventually(short, func() string { return s.targetSees(rps*0.4, rps*0.6) })

	lt = s.awaitCondition("half", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult)
	s.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionUnknown, v1alpha1.ReasonPartialResult)
	s.wantPartial(lt, rps*length)
	s.eventually(short, func() string {
		if got := s.reasons("half"); !contains(got, []string{v1alpha1.ReasonRunnerLost}) {
			return fmt.Sprintf("events %q, want %s", got, v1alpha1.ReasonRunnerLost)
		}
		return ""
	})
}

// TestRunnerKilledFails: without a word about it the loss of a shard ends the test.
func TestRunnerKilledFails(t *testing.T) {
	t.Parallel()
	s := newStory(t, "runner-fails").withTarget()
	s.apply(s.quickstart("short", 2, hold(1000, time.Minute), withoutThresholds))
	s.awaitLoad(2000, short)
	s.killRunner("short", 1)
	lt := s.awaitCondition("short", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	if !lt.Status.Results.Partial {
		t.Error("status.results.partial is false")
	}
	s.eventually(short, func() string { return s.targetSees(0, 0) })
}

// TestRunnerKilledRedeal: the other shard takes the lost one's part over, in the pod that it has. It continues to read
// what the lost one has observed.
func TestRunnerKilledRedeal(t *testing.T) {
	t.Parallel()
	s := newStory(t, "runner-redeal").withTarget()
	const rps, length = 1000, 25
	s.apply(s.quickstart("whole", 2, hold(rps, length*time.Second), withoutThresholds, onShardLost(v1alpha1.ShardLostRebalance), observeRequests))
	s.awaitLoad(3*rps, short)
	killed := time.Now()
	s.killRunner("whole", 0)
	s.eventually(short, func() string { return s.targetSees(rps*0.9, rps*1.1) })
	whole := time.Since(killed)
	t.Logf("FIGURE runner killed to the whole rate again: at most %v", whole.Round(10*time.Millisecond))

	lt := s.awaitCondition("whole", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult)
	sent, received := lt.Status.Results.Requests.Sent, int64(s.stats().Requests)
	t.Logf("sent %d as far as is known, received %d, planned %d", sent, received, rps*length)
	// Missing are the lost shard's slots, half of all, from its death to the rebalancing, and what it had in flight.
	if missing := rps*length - received; missing < 0 || float64(missing) > rps/2*(whole.Seconds()+1) || sent > received {
		t.Errorf("sent %d, received %d of %d", sent, received, rps*length)
	}
	// The lost runner had one sample at most: a sample is 5 s of the load.
	if o := s.report(lt).Observations[0]; len(o.Series) != 1 || o.Series[0].Figures.Samples < 3 {
		t.Errorf("observation of the target: %+v", o)
	}
}

// killRunner kills the runner of a shard and waits until status says so.
func (s *story) killRunner(name string, shard int) {
	s.Helper()
	runners := s.runners()
	if len(runners) != 2 {
		s.Fatalf("%d runners, want 2", len(runners))
	}
	begun := time.Now()
	s.crash(runners[shard])
	s.eventually(short, func() string {
		if lt := s.loadTest(name); lt.Status.Shards == nil || lt.Status.Shards.Lost != 1 {
			return fmt.Sprintf("shards %+v, want one lost:\n%s", lt.Status.Shards, conditions(lt))
		}
		return ""
	})
	s.Logf("FIGURE runner killed to status: %v", time.Since(begun).Round(10*time.Millisecond))
}

func onShardLost(action v1alpha1.ShardLostAction) func(*v1alpha1.LoadTestSpec) {
	return func(spec *v1alpha1.LoadTestSpec) { spec.Runner.OnShardLost = action }
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

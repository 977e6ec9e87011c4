//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestLeaseExpires: a runner gets no CPU for longer than its lease. Its share goes to the other one, and it sends nothing when
// it wakes up.
func TestLeaseExpires(t *testing.T) {
	t.Parallel()
	s := newStory(t, "lease").withTarget()
	s.onThisMachine()
	const rps, lease = 400, 20 * time.Second
	s.apply(s.quickstart("fenced", 2, hold(rps, 55*time.Second), withoutThresholds, smallRunner, onShardLost(v1alpha1.ShardLostRebalance), leaseOf(lease)))
	w := s.watch("fenced")
	s.awaitLoad(3*rps, short)
	w.wantFenced(rps, 32*time.Second, lease, short, s.freeze)
}

// leaseOf is the time for which a runner sends without the operator.
func leaseOf(d time.Duration) func(*v1alpha1.LoadTestSpec) {
	return func(spec *v1alpha1.LoadTestSpec) { spec.Runner.LeaseDuration = &v1alpha1.Duration{Duration: d} }
}

// wantFenced harms the second runner for a time that is longer than its lease.
func (w *sightings) wantFenced(rps float64, harmed, lease, rest time.Duration, harm func(corev1.Pod) (undo func())) {
	w.Helper()
	victim := w.runners()[1]
	begun := time.Now()
	undo := harm(victim)
	time.Sleep(harmed)
	healed := time.Now()
	undo()
	w.wantWithin("the silent runner in condition RunnersReady", begun, 10*time.Second, conditionIs(v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, "RunnerSilent", ""))
	after := w.runEnded(victim, short).Sub(healed)
	w.Logf("FIGURE healing to the end of the load of the runner: %v, mark 2 s", after.Round(10*time.Millisecond))
	if after > 4*time.Second { // a busy machine is late
		w.Errorf("the runner ended %v after healing, want 2 s", after)
	}
	w.awaitReason(w.name, "RunnerSilent", short)
	// Silence shows after 5 s, and a rate is that of the last second. On a busy machine the other runner sends late, and then more.
	if rates := w.rates(begun.Add(8*time.Second), begun.Add(lease)); len(rates) == 0 || mean(rates) > rps*0.6 {
		w.Errorf("status has the rates %v while the operator hears of one of two runners; want a mean of %.0f", rates, rps/2)
	}

	lt := w.awaitCondition(w.name, v1alpha1.ConditionFinished, metav1.ConditionTrue, rest)
	w.Logf("at the end:\n%s", conditions(lt))
	w.wantSame(lt)
	w.wantGrowing()
	w.wantQuiet()
	full, seen := w.fullAgain(rps, begun)
	if !seen {
		w.Error("the target did not get the whole rate again")
		full = begun
	}
	w.Logf("FIGURE fault to the whole rate again: %v", full.Sub(begun).Round(time.Second))
	w.wantAtMost(rps, full.Add(5*time.Second))
	if conditionIs(v1alpha1.ConditionPassed, metav1.ConditionTrue, "", "")(lt) {
		w.Error("the test passed, though a part of its load was not sent")
	}
}

// runEnded waits until a runner logs the end of its run, and returns when that was.
func (s *story) runEnded(p corev1.Pod, within time.Duration) (at time.Time) {
	s.Helper()
	s.eventually(within, func() string {
		for line := range strings.Lines(s.mustKubectl("", "logs", p.Name)) {
			var entry struct {
				Time time.Time
				Msg  string
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "Run ended" {
				at = entry.Time
				return ""
			}
		}
		return p.Name + " does not log the end of its run"
	})
	return at
}

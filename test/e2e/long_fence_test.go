//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// defaultLease is the default of spec.runner.leaseDuration.
const defaultLease = 60 * time.Second

// TestLongRunnerStopped: a runner gets no CPU for 75 s. Its share goes to the other one after its lease, and it sends
// nothing when it wakes up.
func TestLongRunnerStopped(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sigstop").withTarget()
	s.onThisMachine()
	const rps, length = 400, 240 * time.Second
	s.apply(s.quickstart("fenced", 2, hold(rps, length), withoutThresholds, smallRunner, onShardLost(v1alpha1.ShardLostRebalance)))
	w := s.watch("fenced")
	s.awaitLoad(10*rps, short)
	w.wantFenced(rps, 75*time.Second, defaultLease, 3*time.Minute, s.freeze)
}

// TestLongRunnerCutOff: a packet filter is between the operator and a runner for 130 s. The runner pauses when its
// lease runs out, and only then its share goes to the other one.
func TestLongRunnerCutOff(t *testing.T) {
	t.Parallel()
	s := newStory(t, "filter").withTarget()
	s.onThisMachine()
	const rps, length = 400, 240 * time.Second
	s.apply(s.quickstart("fenced", 2, hold(rps, length), withoutThresholds, smallRunner, onShardLost(v1alpha1.ShardLostRebalance)))
	w := s.watch("fenced")
	s.awaitLoad(10*rps, short)
	w.wantFenced(rps, 130*time.Second, defaultLease, 3*time.Minute, s.cutOne)
}

// TestLongRunnerCutOffFails: with Fail a runner that is silent for a minute while the other one answers is lost. The operator
// deletes its pod, so that the load ends with the test.
func TestLongRunnerCutOffFails(t *testing.T) {
	t.Parallel()
	s := newStory(t, "filter-fails").withTarget()
	s.onThisMachine()
	const rps, length = 200, 240 * time.Second
	s.apply(s.quickstart("fails", 2, hold(rps, length), withoutThresholds, smallRunner))
	w := s.watch("fails")
	s.awaitLoad(5*rps, short)
	begun := time.Now()
	heal := s.cut(s.runners()[1])
	lt := s.awaitCondition("fails", v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*time.Minute)
	t.Logf("FIGURE packet filter to the end of the test: %v; at the end:\n%s", time.Since(begun).Round(time.Second), conditions(lt))
	time.Sleep(6 * time.Second) // load after the end would be seen
	w.wantQuiet()
	heal()
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	sent, received := s.wantCounts(lt), s.stats().Requests
	t.Logf("sent %d as far as is known, received %d", sent, received)
	if !lt.Status.Results.Partial || sent > received {
		t.Errorf("partial %v, sent %d, received %d", lt.Status.Results.Partial, sent, received)
	}
	w.wantGrowing()
}

// TestLongOperatorCutOff: the operator reaches none of the runners for a while.
func TestLongOperatorCutOff(t *testing.T) {
	for _, cut := range []time.Duration{70 * time.Second, 5 * time.Minute} {
		t.Run(cut.String(), func(t *testing.T) {
			t.Parallel()
			const rps, length = 200, 120 * time.Second
			all := modes(t, fmt.Sprintf("cut%.0f", cut.Seconds()), rps, length)
			all[0].onThisMachine()
			var begun []time.Time
			var heal []func()
			for _, m := range all {
				begun = append(begun, time.Now()) // each cut takes a while on a busy machine
				heal = append(heal, m.cut(m.runners()...))
			}
			time.Sleep(cut)
			for _, h := range heal {
				h()
			}
			for i, m := range all {
				m.wantWithin(string(m.action)+": the silent runners in condition RunnersReady", begun[i], 10*time.Second,
					conditionIs(v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, "RunnerSilent", ""))
				if m.action == v1alpha1.ShardLostRebalance {
					m.wantPaused(2 * time.Minute)
				} else {
					m.wantWhole(rps*120, 2*time.Minute)
				}
				m.wantQuiet()
			}
		})
	}
}

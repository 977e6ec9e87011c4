//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestOperatorAndRunnerKilled: both end at the same instant. At most a checkpoint's interval of that runner is missing.
func TestOperatorAndRunnerKilled(t *testing.T) {
	s := newStory(t, "both").withTarget()
	s.onThisMachine()
	const rps, length, interval = 400, 30 * time.Second, 6 * time.Second
	s.apply(s.quickstart("both", 2, hold(rps, length), withoutThresholds, smallRunner, onShardLost(v1alpha1.ShardLostContinue)))
	w := s.watch("both")
	s.awaitLoad(rps*12, short)
	s.crash(s.runners()[1])
	for _, p := range s.operators() {
		s.crash(p)
	}
	lt := s.awaitCondition("both", v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult)
	sent, received := int64(s.wantCounts(lt)), int64(s.stats().Requests)
	t.Logf("FIGURE sent %d as far as is known, received %d: %.1f s of one shard are missing", sent, received, float64(received-sent)/(rps/2))
	if missing := received - sent; missing < 0 || float64(missing) > rps/2*interval.Seconds() {
		t.Errorf("%d requests are missing, want at most %.0f", missing, rps/2*interval.Seconds())
	}
	if !lt.Status.Results.Partial {
		t.Error("status.results.partial is false")
	}
	w.wantGrowing()
	w.wantQuiet()
}

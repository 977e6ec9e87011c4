//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestOperatorAndRunnerKilled: both end at the same instant. What that runner did after its last checkpoint is missing, and no more.
func TestOperatorAndRunnerKilled(t *testing.T) {
	s := newStory(t, "both").withTarget()
	s.onThisMachine()
	const rps, length, interval = 400, 30 * time.Second, 5 * time.Second
	s.apply(s.quickstart("both", 2, hold(rps, length), withoutThresholds, smallRunner, onShardLost(v1alpha1.ShardLostContinue)))
	w := s.watch("both")
	s.awaitLoad(rps*12, short)
	s.crash(s.runners()[1])
	for _, p := range s.operators() {
		s.crash(p)
	}
	lost := time.Since(s.storedAt("both", 1))
	t.Logf("FIGURE age of the last checkpoint of the runner: %v, interval %v", lost.Round(time.Millisecond), interval)
	if lost > 3*interval { // a busy machine is late
		t.Errorf("the last checkpoint of the runner is %v old, its interval is %v", lost, interval)
	}

	lt := s.awaitCondition("both", v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*short)
	t.Logf("at the end:\n%s", conditions(lt))
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult)
	sent, received := int64(s.wantCounts(lt)), int64(s.stats().Requests)
	t.Logf("FIGURE sent %d as far as is known, received %d: %.1f s of one shard are missing", sent, received, float64(received-sent)/(rps/2))
	// A rate that was behind on a busy machine catches up.
	if missing, most := received-sent, rps/2*(lost+time.Second).Seconds(); missing < 0 || float64(missing) > most {
		t.Errorf("%d requests are missing, want at most %.0f", missing, most)
	}
	if !lt.Status.Results.Partial {
		t.Error("status.results.partial is false")
	}
	w.wantGrowing()
	w.wantQuiet()
}

// storedAt is the time of the last checkpoint of a shard.
func (s *story) storedAt(name string, shard int32) time.Time {
	s.Helper()
	var list statev1alpha1.LoadTestCheckpointList
	s.must(objects.List(s.ctx, &list, client.InNamespace(s.ns), client.MatchingLabels{"h2surge.io/loadtest": name}))
	for _, c := range list.Items {
		if c.Checkpoint.Shard == shard {
			return c.Checkpoint.Time.Time
		}
	}
	s.Fatalf("shard %d of %s has no checkpoint", shard, name)
	return time.Time{}
}

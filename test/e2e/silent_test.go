//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestStoppedWithoutAnAnswer: the only runner gets no CPU. The test ends after spec.stop nevertheless, and the runner ends when it wakes up.
func TestStoppedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := newStory(t, "mute").withTarget()
	s.onThisMachine()
	s.apply(s.quickstart("mute", 1, hold(100, 5*time.Minute), withoutThresholds, smallRunner))
	s.awaitLoad(200, short)
	thaw := s.freeze(s.runners()[0])
	begun := time.Now()
	s.stop("mute")
	lt := s.awaitCondition("mute", v1alpha1.ConditionFinished, metav1.ConditionTrue, 2*time.Minute) // unreachableTimeout is a minute
	t.Logf("FIGURE spec.stop to the end without an answer: %v", time.Since(begun).Round(time.Second))
	s.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonRunnerLost)
	s.wantMessage(lt, v1alpha1.ConditionFinished, "mute-1-0", "it may send requests until")
	thaw() // it catches up until it gets SIGTERM
	time.Sleep(5 * time.Second)
	received := s.stats().Requests
	time.Sleep(3 * time.Second)
	if now := s.stats().Requests; now != received {
		t.Errorf("the target received %d requests 5 s after the runner woke up", now-received)
	}
}

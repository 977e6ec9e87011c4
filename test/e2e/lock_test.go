//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestLockOrder: of three tests with the same lock one runs at a time. The first one is stopped, the second one is deleted while it runs.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	s := newStory(t, "lock").withTarget()
	locked := func(spec *v1alpha1.LoadTestSpec) { spec.Lock = "target" }
	s.apply(s.quickstart("a", 1, hold(200, 5*time.Minute), withoutThresholds, locked))
	s.awaitSending("a")
	s.apply(s.quickstart("b", 1, hold(200, 5*time.Minute), withoutThresholds, locked))
	s.awaitLocked("b")
	s.apply(s.quickstart("c", 1, hold(200, 2*time.Second), withoutThresholds, locked))
	s.awaitLocked("c")
	s.stop("a")
	s.awaitSending("b")
	a, b := s.loadTest("a"), s.loadTest("b")
	if a.Status.CompletionTime == nil || b.Status.StartTime.Before(a.Status.CompletionTime) {
		t.Errorf("b started at %v, a ended at %v", b.Status.StartTime, a.Status.CompletionTime)
	}
	if c := s.loadTest("c"); c.Status.StartTime != nil {
		t.Errorf("c started at %v, while b runs", c.Status.StartTime)
	}
	s.mustKubectl("", "delete", "loadtest", "b")
	deleted := time.Now()
	s.awaitSending("c")
	t.Logf("FIGURE the lock of a deleted test takes %v to the load of the next one", since(deleted))
	s.awaitFinished("c")
}

// awaitLocked waits until a test waits for its lock.
func (s *story) awaitLocked(name string) {
	s.Helper()
	s.eventually(short, func() string {
		lt := s.loadTest(name)
		if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionRunnersReady); c != nil && c.Reason == v1alpha1.ReasonWaitingForLock {
			return ""
		}
		return fmt.Sprintf("%s does not wait for its lock:\n%s", name, conditions(lt))
	})
}

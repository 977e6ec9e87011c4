//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// stop ends the load of a test, as a user does.
func (s *story) stop(name string) {
	s.Helper()
	s.mustKubectl("", "patch", "loadtest", name, "--type=merge", "-p", `{"spec":{"stop":true}}`)
}

// TestStop is the first half of story 6: spec.stop ends the load and keeps the results.
func TestStop(t *testing.T) {
	t.Parallel()
	s := newStory(t, "stop").withTarget()
	before := s.inventory()
	s.apply(s.quickstart("stopped", 2, hold(1000, 5*time.Minute), withoutThresholds))
	s.awaitLoad(3000, short)

	s.stop("stopped")
	s.wantStopped("spec.stop", time.Now())

	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/stopped", "--timeout", short.String())
	lt := s.loadTest("stopped")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonStopped)
	if lt.Status.Phase != v1alpha1.PhaseStopped {
		t.Errorf("phase %s, want %s", lt.Status.Phase, v1alpha1.PhaseStopped)
	}
	s.wantSameAsTarget(lt)
	s.mustKubectl("", "delete", "loadtest", "stopped")
	s.wantInventory(before)
}

// TestDelete is the second half: a delete ends the load too, and nothing stays.
func TestDelete(t *testing.T) {
	t.Parallel()
	s := newStory(t, "delete").withTarget()
	before := s.inventory()
	s.apply(s.quickstart("deleted", 2, hold(1000, 5*time.Minute), withoutThresholds))
	s.awaitLoad(3000, short)

	begun := time.Now()
	s.mustKubectl("", "delete", "loadtest", "deleted", "--wait=false")
	s.wantStopped("delete", begun)
	s.wantInventory(before)
	t.Logf("FIGURE delete of a running test to nothing left: at most %v", time.Since(begun).Round(100*time.Millisecond))
}

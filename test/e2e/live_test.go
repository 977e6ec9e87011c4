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

// TestLiveRate: a patch of the rate reaches both shards, in the pods that run, and the target sees it.
func TestLiveRate(t *testing.T) {
	t.Parallel()
	s := newStory(t, "live-rate").withTarget()
	s.apply(s.quickstart("live", 2, hold(1000, 20*time.Second), withoutThresholds))
	s.awaitLoad(3000, short)
	before := podIDs(s.runners())

	patched := time.Now()
	s.rate("live", 3000)
	c := s.awaitChange("live", "rates[0].requestsPerSecond")
	t.Logf("FIGURE kubectl patch to the new rate: %v", c.AppliedAt.Sub(patched).Round(10*time.Millisecond))
	s.eventually(short, func() string { return s.targetSees(2500, 3500) })

	lt := s.awaitCondition("live", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, "")
	if after := podIDs(s.runners()); !slices.Equal(before, after) {
		t.Errorf("the runners were %v and are %v", before, after)
	}
	s.wantSameAsTarget(lt)
	// status.startTime has whole seconds and is the instant of the decision; the report has the instant of the first request.
	begun, err := time.Parse(time.RFC3339Nano, s.report(lt).StartTime)
	s.must(err)
	before3000 := min(max(0, c.AppliedAt.Sub(begun).Seconds()), 20)
	want := 1000*before3000 + 3000*(20-before3000)
	if sent := float64(lt.Status.Results.Requests.Sent); sent < want-500 || sent > want+500 {
		t.Errorf("sent %.0f requests in 20 s, %.1f of them at 1000/s and the others at 3000/s", sent, before3000)
	}
}

// TestSuspend: a suspended test sends nothing, keeps its pods, and does the whole of its load after it
// goes on.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s := newStory(t, "suspend").withTarget()
	const rps, length = 1000, 30
	s.apply(s.quickstart("paused", 2, hold(rps, length*time.Second), withoutThresholds))
	s.awaitLoad(2000, short)
	before := podIDs(s.runners())

	s.suspend("paused", true)
	s.awaitChange("paused", "suspend")
	s.eventually(short, func() string { return s.targetSees(0, 0) })
	s.eventually(short, func() string {
		if phase := s.loadTest("paused").Status.Phase; phase != v1alpha1.PhaseSuspended {
			return "phase " + string(phase)
		}
		return ""
	})
	if after := podIDs(s.runners()); !slices.Equal(before, after) {
		t.Errorf("the runners were %v and are %v", before, after)
	}

	s.suspend("paused", false)
	lt := s.awaitCondition("paused", v1alpha1.ConditionFinished, metav1.ConditionTrue, length*time.Second+short)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, "")
	s.wantSameAsTarget(lt)
	if sent := lt.Status.Results.Requests.Sent; sent != rps*length {
		t.Errorf("sent %d of %d requests", sent, rps*length)
	}
}

// TestSuspendedFromTheBeginning: no pods before it goes on.
func TestSuspendedFromTheBeginning(t *testing.T) {
	t.Parallel()
	s := newStory(t, "suspended").withTarget()
	s.apply(s.quickstart("later", 1, hold(500, 2*time.Second), withoutThresholds, func(spec *v1alpha1.LoadTestSpec) { spec.Suspend = true }))
	s.awaitCondition("later", v1alpha1.ConditionPlanReady, metav1.ConditionTrue, short)
	time.Sleep(2 * time.Second) // nothing is to happen, which takes a while to see
	if n := len(s.runners()); n != 0 {
		t.Errorf("%d runner pods of a suspended test", n)
	}
	s.suspend("later", false)
	lt := s.awaitCondition("later", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, "")
}

// TestOperatorKilledAfterAChange: two patches shortly after each other, the operator is killed at once, and
// the next one sees to it that both shards come to the same rates.
func TestOperatorKilledAfterAChange(t *testing.T) {
	s := newStory(t, "live-killed").withTarget()
	s.apply(s.quickstart("live", 2, hold(1000, 5*time.Minute), withoutThresholds))
	s.awaitLoad(2000, short)
	s.rate("live", 3000)
	s.rate("live", 2000)
	for _, p := range s.operators() {
		s.crash(p)
		s.remove(p)
	}
	s.eventually(takeover, func() string {
		changes := s.loadTest("live").Status.Changes
		if len(changes) == 0 || changes[len(changes)-1].To != "2000" || changes[len(changes)-1].AppliedAt == nil {
			return fmt.Sprintf("changes %+v", changes)
		}
		return ""
	})
	s.eventually(short, func() string { return s.targetSees(1800, 2200) })

	s.stop("live")
	lt := s.awaitCondition("live", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonStopped)
	s.wantSameAsTarget(lt)
}

// rate patches the rate of the only stage.
func (s *story) rate(name string, rps int) {
	s.Helper()
	s.mustKubectl("", "patch", "loadtest", name, "--type=json", "-p",
		fmt.Sprintf(`[{"op": "replace", "path": "/spec/rates/0/requestsPerSecond", "value": %d}]`, rps))
}

func (s *story) suspend(name string, yes bool) {
	s.Helper()
	patch := map[bool]string{true: `{"spec":{"suspend":true}}`, false: `{"spec":{"suspend":false}}`}[yes]
	s.mustKubectl("", "patch", "loadtest", name, "--type=merge", "-p", patch)
}

// awaitChange waits until a change of a field is in force.
func (s *story) awaitChange(name, field string) (c v1alpha1.Change) {
	s.Helper()
	s.eventually(short, func() string {
		for _, c = range s.loadTest(name).Status.Changes {
			if c.Field == field && c.AppliedAt != nil {
				return ""
			}
		}
		return "no change of " + field + " is in force"
	})
	return c
}

// targetSees says what is wrong when the target does not get from least to most requests a second.
func (s *story) targetSees(least, most float64) string {
	s.Helper()
	before, at := s.stats().Requests, time.Now()
	time.Sleep(500 * time.Millisecond)
	rate := float64(s.stats().Requests-before) / time.Since(at).Seconds()
	if rate < least || rate > most {
		return fmt.Sprintf("the target gets %.0f requests a second, not %.0f to %.0f", rate, least, most)
	}
	return ""
}

func podIDs(pods []corev1.Pod) (ids []string) {
	for _, p := range pods {
		ids = append(ids, string(p.UID))
	}
	return ids
}

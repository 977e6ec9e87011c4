package loadtest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// patch is kubectl patch --type=json.
func (w *world) patch(name, path, value string) {
	w.Helper()
	lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	doc := fmt.Sprintf(`[{"op":"add","path":%q,"value":%s}]`, path, value)
	w.must(w.client.Patch(w.ctx, lt, client.RawPatch(types.JSONPatchType, []byte(doc))))
}

func (w *world) setRate(name string, rate int64) {
	w.Helper()
	w.patch(name, "/spec/rates/0/requestsPerSecond", strconv.FormatInt(rate, 10))
}

func (w *world) suspend(name string, suspended bool) {
	w.Helper()
	w.patch(name, "/spec/suspend", strconv.FormatBool(suspended))
}

// awaitApplied waits until a number of changes is in force.
func (w *world) awaitApplied(name string, n int) *v1alpha1.LoadTest {
	w.Helper()
	return w.await(name, fmt.Sprint("changed ", n, " times"), func(lt *v1alpha1.LoadTest) bool {
		return len(lt.Status.Changes) == n && lt.Status.Changes[n-1].AppliedAt != nil
	})
}

// wantOneInstant: both runners applied a generation at the instant that status shows, as near as clocks can be compared on a busy machine.
func (w *world) wantOneInstant(name string, c v1alpha1.Change) {
	w.Helper()
	for i := range 2 {
		at := w.runner(fmt.Sprintf("%s-1-%d", name, i)).Instants()[c.Generation]
		if d := at.Sub(c.AppliedAt.Time).Abs(); at.IsZero() || d > time.Second {
			w.Errorf("generation %d is in force on runner %d at %v, history tells %v", c.Generation, i, at, c.AppliedAt)
		}
	}
}

func (w *world) jobs() []batchv1.Job {
	w.Helper()
	var jobs batchv1.JobList
	w.must(w.client.List(w.ctx, &jobs, client.InNamespace(w.ns)))
	return jobs.Items
}

func withoutTimes(changes []v1alpha1.Change) (out []v1alpha1.Change) {
	for _, c := range changes {
		c.Time, c.AppliedAt = metav1.MicroTime{}, nil
		out = append(out, c)
	}
	return out
}

func TestRateChangesWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("faster", load).Build())
	before := w.awaitLoad("faster", 500)
	w.setRate("faster", 3000)
	lt := w.awaitApplied("faster", 1)
	c := lt.Status.Changes[0]
	want := []v1alpha1.Change{{Generation: 2, Field: "rates[0].requestsPerSecond", From: "1000", To: "3000"}}
	if diff := cmp.Diff(want, withoutTimes(lt.Status.Changes)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	w.wantOneInstant("faster", c)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning)

	old := c.AppliedAt.Sub(w.runner("faster-1-0").Begun()).Seconds()
	w.endLoad("faster")
	lt = w.awaitPhase("faster", v1alpha1.PhaseCompleted)
	slots := 1000*old + 3000*(load.Seconds()-old)
	if n := float64(lt.Status.Results.Requests.Sent); n < slots-2000 || n > slots+2000 { // a second of the difference
		t.Errorf("sent %.0f, want about %.0f", n, slots)
	}
	rate := lt.Status.Results.Rate
	if asked := rate.Asked; asked < slots/load.Seconds()-30 || asked > slots/load.Seconds()+30 || rate.Asked != rate.Achieved {
		t.Errorf("asked %v, achieved %v; want about %.0f", rate.Asked, rate.Achieved, slots/load.Seconds())
	}
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	if lt.Status.StartedGeneration != 1 || lt.Status.PlanHash != before.Status.PlanHash || len(w.jobs()) != 1 {
		t.Errorf("generation %d, %d Jobs, plan %s; want one run of the first", lt.Status.StartedGeneration, len(w.jobs()), lt.Status.PlanHash)
	}
	if diff := cmp.Diff([]string{"update", "start", "update"}, w.runner("faster-1-1").Calls()[:3]); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	w.wantEvents("faster", "PlanReady", "RunnersReady", "Started", "RateChanged", "Completed")

	w.edit("faster", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) })
	lt = w.await("faster", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 3 })
	if strings.Contains(conditionsOf(lt), v1alpha1.EditedAfterFinish) || len(lt.Status.Changes) != 1 {
		t.Errorf("what changed while the test ran was taken for another test:\n%s", conditionsOf(lt))
	}
	w.setRate("faster", 1000) // as in the beginning, but not what was in force
	lt = w.await("faster", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 4 })
	w.wantEdited(lt)
}

func TestSuspendAndResume(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("paused", load).Build())
	w.awaitLoad("paused", 500)
	w.suspend("paused", true)
	lt := w.awaitPhase("paused", v1alpha1.PhaseSuspended)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonSuspended)
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)
	w.wantCondition(lt, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonSuspended)
	first := w.awaitApplied("paused", 1)
	w.wantOneInstant("paused", first.Status.Changes[0])
	sent := w.get("paused").Status.Results.Requests.Sent
	w.polled(w.runner("paused-1-0"), 5)
	if lt = w.get("paused"); lt.Status.Phase != v1alpha1.PhaseSuspended || lt.Status.Results.Requests.Sent > sent {
		t.Errorf("phase %s, %d sent after %d; want Suspended and no more", lt.Status.Phase, lt.Status.Results.Requests.Sent, sent)
	}

	w.suspend("paused", false)
	w.awaitApplied("paused", 2)
	w.endLoad("paused")
	lt = w.awaitPhase("paused", v1alpha1.PhaseCompleted)
	want := []v1alpha1.Change{
		{Generation: 2, Field: "suspend", From: "false", To: "true"}, {Generation: 3, Field: "suspend", From: "true", To: "false"},
	}
	if diff := cmp.Diff(want, withoutTimes(lt.Status.Changes)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	pause := lt.Status.Changes[1].AppliedAt.Sub(lt.Status.Changes[0].AppliedAt.Time)
	r := w.report(lt)
	if d := r.Stages[0].Paused - pause.Seconds(); d < -1 || d > 1 {
		t.Errorf("paused for %g s, want %v", r.Stages[0].Paused, pause)
	}
	if n := r.Requests.Sent; n < 299_998 || n > 300_004 {
		t.Errorf("sent %d, want 300000", n)
	}
	if r.Rate.WindowSeconds < 299 || r.Rate.WindowSeconds > 301 || r.Rate.Asked < 990 || r.Rate.Asked > 1010 || r.Rate.Achieved != r.Rate.Asked {
		t.Errorf("rate %+v, want 1000 a second over 300", r.Rate)
	}
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	w.wantEvents("paused", "PlanReady", "RunnersReady", "Started", "Suspended", "Resumed", "Completed")
}

func TestSuspendedBeforeStart(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("held", time.Second).Suspended().Build())
	lt := w.awaitPhase("held", v1alpha1.PhaseSuspended)
	w.wantCondition(lt, v1alpha1.ConditionPlanReady, metav1.ConditionTrue, v1alpha1.ReasonCompiled)
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonSuspended)
	w.wantCondition(lt, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonSuspended)
	w.setRate("held", 2000) // it does not run: anything may change
	w.await("held", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 2 })
	if n := len(w.jobs()); n != 0 {
		t.Errorf("%d Jobs of a suspended test", n)
	}
	w.suspend("held", false)
	lt = w.awaitPhase("held", v1alpha1.PhaseCompleted)
	if n := lt.Status.Results.Requests.Sent; n != 2000 || len(lt.Status.Changes) != 0 || lt.Status.StartedGeneration != 3 {
		t.Errorf("sent %d of generation %d, changes %v", n, lt.Status.StartedGeneration, lt.Status.Changes)
	}
	w.wantEvents("held", "PlanReady", "Suspended", "Resumed", "RunnersReady", "Started", "Completed")
}

func TestSuspendWhileStarting(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(twoShards("back", time.Second).Build())
	w.runner("back-1-0")
	w.suspend("back", true)
	w.awaitPhase("back", v1alpha1.PhaseSuspended)
	w.Eventually(func() int { return len(w.jobs()) }).Should(gomega.BeZero())
	w.collectGarbage()
	w.holding(nil)
	w.suspend("back", false)
	lt := w.awaitPhase("back", v1alpha1.PhaseCompleted)
	if n := lt.Status.Results.Requests.Sent; n != 1000 || len(lt.Status.Changes) != 0 {
		t.Errorf("sent %d, changes %v", n, lt.Status.Changes)
	}
}

func TestOperatorRestartsBetweenChanges(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("steered", load).Build())
	w.awaitLoad("steered", 200)
	w.setRate("steered", 3000)
	w.awaitApplied("steered", 1)
	calls := w.runner("steered-1-0").Calls()
	w.operator()
	seen := w.get("steered").Status.Results.Requests.Sent
	w.awaitLoad("steered", seen+1000)
	if diff := cmp.Diff(calls, w.runner("steered-1-0").Calls()); diff != "" {
		t.Errorf("the successor told a runner something anew (-before +after):\n%s", diff)
	}
	w.endOperator()
	w.setRate("steered", 500) // while nobody looks
	w.operator()
	lt := w.awaitApplied("steered", 2)
	w.wantOneInstant("steered", lt.Status.Changes[1])
	w.suspend("steered", true)
	w.awaitPhase("steered", v1alpha1.PhaseSuspended)
	w.operator()
	w.polled(w.runner("steered-1-0"), 10)
	lt = w.awaitApplied("steered", 3)
	want := []v1alpha1.Change{
		{Generation: 2, Field: "rates[0].requestsPerSecond", From: "1000", To: "3000"},
		{Generation: 3, Field: "rates[0].requestsPerSecond", From: "3000", To: "500"},
		{Generation: 4, Field: "suspend", From: "false", To: "true"},
	}
	if diff := cmp.Diff(want, withoutTimes(lt.Status.Changes)); diff != "" || lt.Status.Phase != v1alpha1.PhaseSuspended {
		t.Errorf("phase %s, history (-want +got):\n%s", lt.Status.Phase, diff)
	}
	// An operator that ends may not have sent its last events yet: status has the changes, events are best effort.
	w.wantEventsAmong("steered", "PlanReady", "RunnersReady", "Started", "RateChanged", "RateChanged", "Suspended")
}

func TestChangeThatARunnerHearsLate(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("late", load).Build())
	w.awaitLoad("late", 200)
	w.runner("late-1-1").Silence()
	w.setRate("late", 3000)
	w.await("late", "changed", func(lt *v1alpha1.LoadTest) bool { return len(lt.Status.Changes) == 1 })
	w.Eventually(func() bool {
		at := w.runner("late-1-0").Instants()[2]
		return !at.IsZero() && time.Now().After(at)
	}).Should(gomega.BeTrue(), "active on the other runner")
	w.polled(w.runner("late-1-0"), 5)
	if lt := w.get("late"); len(lt.Status.Changes) != 1 || lt.Status.Changes[0].AppliedAt != nil {
		t.Errorf("history %+v, want one change that is not in force everywhere", lt.Status.Changes)
	}
	w.runner("late-1-1").Wake()
	lt := w.awaitApplied("late", 1)
	w.wantOneInstant("late", lt.Status.Changes[0])
}

// TestAbortOnFail: a threshold that fails ends the test once, also if the operator restarts after its decision.
func TestAbortOnFail(t *testing.T) {
	w := newWorld(t)
	slow := builder.P99("500us") // each response takes 1 ms
	slow.AbortOnFail, slow.AbortAfter = true, &v1alpha1.Duration{}
	w.apply(twoShards("aborted", load).Threshold(slow).Build())
	for _, pod := range []string{"aborted-1-0", "aborted-1-1"} {
		w.Eventually(func() string {
			if r := w.runner(pod); r != nil && r.Stopped() != nil {
				return r.Stopped().Reason
			}
			return ""
		}).Should(gomega.HavePrefix("threshold p99 failed after "))
	}
	w.operator()
	lt := w.awaitPhase("aborted", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonThresholdsFailed)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonThresholdsFailed)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionFalse, v1alpha1.ReasonThresholdsFailed)
	v := lt.Status.Verdict
	if v.Outcome != "Failed" || len(v.Thresholds) != 1 || v.Thresholds[0].Passed || v.Thresholds[0].Observed != "1ms" {
		t.Errorf("verdict %+v", v)
	}
	if !strings.Contains(v.Message, "threshold p99 ended the test after ") {
		t.Errorf("message %q", v.Message)
	}
}

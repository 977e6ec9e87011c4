package loadtest_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// scalable sends 1000 requests a second for d, on 1 to 4 shards.
func scalable(name string, shards int32, d time.Duration) *builder.LoadTest {
	return builder.Minimal(name).Shards(shards).Connections(4).Rates(builder.PerSecond("hold", 1000, d))
}

func onLoss(policy v1alpha1.ShardLostAction, minShards int32) func(*v1alpha1.LoadTestSpec) {
	return func(s *v1alpha1.LoadTestSpec) {
		s.Runner.OnShardLost = policy
		if minShards > 0 {
			s.Runner.MinShards = &minShards
		}
	}
}

// scale is kubectl scale.
func (w *world) scale(name string, shards int) {
	w.Helper()
	lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, shards)
	w.must(w.client.SubResource("scale").Patch(w.ctx, lt, client.RawPatch(types.MergePatchType, patch)))
}

// isListed returns whether the status of a running test lists one shard, in a state.
func isListed(lt *v1alpha1.LoadTest, shard int32, state string, member bool) bool {
	r := lt.Status.Runners
	return len(r) == 1 && r[0].Shard == shard && r[0].State == state && r[0].Member == member
}

// awaitMembers waits until the load is distributed over some shards, all of them know it and have started, and each change is active.
func (w *world) awaitMembers(name string, want ...int32) *v1alpha1.LoadTest {
	w.Helper()
	return w.await(name, fmt.Sprint("distributed over ", want), func(lt *v1alpha1.LoadTest) bool {
		got, know := w.membersOf(name)
		waiting := slices.ContainsFunc(lt.Status.Changes, func(c v1alpha1.Change) bool { return c.AppliedAt == nil })
		return slices.Equal(got, want) && know == len(want) && !waiting
	})
}

// awaitShards waits until status has the counts of shards. Status can follow a change of the members in two writes.
func (w *world) awaitShards(name string, want v1alpha1.ShardCounts) *v1alpha1.LoadTest {
	w.Helper()
	return w.await(name, fmt.Sprintf("a test with the shards %+v", want), func(lt *v1alpha1.LoadTest) bool {
		return lt.Status.Shards != nil && *lt.Status.Shards == want
	})
}

// members returns the members of the newest change that a runner of the test has accepted.
func (w *world) members(name string) []int32 {
	out, _ := w.membersOf(name)
	return out
}

// membersOf is members, and how many of these have accepted that change and the start.
func (w *world) membersOf(name string) (out []int32, know int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	newest := int64(0)
	for pod, r := range w.runners {
		if !strings.HasPrefix(pod, name+"-") {
			continue
		}
		changes, err := r.Changes(w.ctx)
		if err != nil || len(changes) == 0 || changes[len(changes)-1].Revision < newest {
			continue // it was killed, or has heard of no change yet
		}
		last := changes[len(changes)-1]
		if last.Revision > newest {
			newest, out, know = last.Revision, nil, 0
		}
		if !last.Leave && !r.Begun().IsZero() {
			know++
		}
		if out == nil {
			for _, i := range last.Members {
				out = append(out, int32(i))
			}
		}
	}
	return out, know
}

// awaitIndices waits until the only Job has a number of indices, and the Job controller has followed.
func (w *world) awaitIndices(want int32) {
	w.Helper()
	w.Eventually(func() int32 {
		job := w.jobs()[0]
		w.mu.Lock()
		defer w.mu.Unlock()
		if *job.Spec.Completions != want {
			return *job.Spec.Completions
		}
		return w.played[job.Name]
	}).Should(gomega.Equal(want), "indices of the Job")
}

// wantSent: each slot was sent once, by the shard that owned it. On a busy machine, a runner can hear of a change after it takes effect.
// Until then it sends slots that another one sends, too: 1000 a second at most.
func (w *world) wantSent(lt *v1alpha1.LoadTest, want int64) {
	w.Helper()
	var late time.Duration
	w.mu.Lock()
	for pod, r := range w.runners {
		if strings.HasPrefix(pod, lt.Name+"-1-") {
			late += r.Late()
		}
	}
	w.mu.Unlock()
	if q := lt.Status.Results.Requests; q.Sent < want || q.Sent > want+late.Milliseconds() || q.Sent != q.Done {
		w.Errorf("sent %d, done %d, changes %s late; want %d", q.Sent, q.Done, late, want)
	}
}

func TestScaleUpAndDown(t *testing.T) {
	w := newWorld(t)
	w.apply(scalable("elastic", 1, load).Build())
	before := w.awaitLoad("elastic", 500)
	w.scale("elastic", 2)
	w.awaitMembers("elastic", 0, 1)
	lt := w.awaitShards("elastic", v1alpha1.ShardCounts{Desired: 2, Ready: 2})
	if got := lt.Status.Summary.Shards; got != "2/2" {
		t.Errorf("summary %s, want 2/2", got)
	}
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)
	leaver := w.runner("elastic-1-1")
	w.Eventually(func() int64 {
		s, err := leaver.Snapshot(w.ctx)
		w.must(err)
		return s.Counters.Sent
	}).Should(gomega.BeNumerically(">", 0), "requests of the second shard")
	w.scale("elastic", 1)
	w.awaitMembers("elastic", 0)
	w.awaitIndices(1) // it has left, and its counts are stored: its pod may go before `Ack` arrives
	lt = w.await("elastic", "one shard, the other left", func(lt *v1alpha1.LoadTest) bool {
		return lt.Status.Summary.Shards == "1/1" && lt.Status.Shards.Left == 1
	})
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)
	w.endLoad("elastic")
	lt = w.awaitPhase("elastic", v1alpha1.PhaseCompleted)
	w.wantSent(lt, 300_000)
	want := []v1alpha1.Change{
		{Generation: 2, Field: "runner.shards", From: "1", To: "2"}, {Generation: 3, Field: "runner.shards", From: "2", To: "1"},
	}
	if diff := cmp.Diff(want, withoutTimes(lt.Status.Changes)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	if r := w.report(lt); r.Partial || r.Generator.ShardsLeft != 1 || r.Requests.Sent != lt.Status.Results.Requests.Sent {
		t.Errorf("partial %v, %d left, %d sent", r.Partial, r.Generator.ShardsLeft, r.Requests.Sent)
	}
	if lt.Status.PlanHash != before.Status.PlanHash || len(w.jobs()) != 1 {
		t.Errorf("%d Jobs, plan %s; want one run of the first", len(w.jobs()), lt.Status.PlanHash)
	}
	w.wantEvents("elastic", "PlanReady", "RunnersReady", "Started", "RunnerJoined", "Scaled", "Scaled", "RunnerLeft", "Completed")

	w.edit("elastic", func(s *v1alpha1.LoadTestSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](3600) })
	lt = w.await("elastic", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 4 })
	if strings.Contains(conditionsOf(lt), v1alpha1.EditedAfterFinish) {
		t.Errorf("what changed while the test ran was taken for another test:\n%s", conditionsOf(lt))
	}
	w.scale("elastic", 2) // as it was for a while, but not at the end
	lt = w.await("elastic", "observed", func(lt *v1alpha1.LoadTest) bool { return lt.Status.ObservedGeneration == 5 })
	w.wantEdited(lt)
}

// A shard that is wanted again before it has left must be made anew, though the Job counts its index as over.
func TestShardIsWantedAgainAtOnce(t *testing.T) {
	w := newWorld(t)
	w.apply(scalable("torn", 3, load).Build())
	w.awaitLoad("torn", 200)
	w.scale("torn", 2)
	w.Eventually(func() []int32 { return w.members("torn") }).Should(gomega.Equal([]int32{0, 1}))
	w.scale("torn", 4)
	w.awaitMembers("torn", 0, 1, 2, 3)
	w.endLoad("torn")
	lt := w.awaitPhase("torn", v1alpha1.PhaseCompleted)
	w.wantSent(lt, 300_000)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
}

func TestOperatorRestartsWhileScaling(t *testing.T) {
	w := newWorld(t)
	w.apply(scalable("moved", 2, load).Build())
	w.awaitLoad("moved", 200)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 2 })
	w.scale("moved", 3)
	w.awaitIndices(3)
	w.operator() // the pod is not there yet
	w.holding(nil)
	w.awaitMembers("moved", 0, 1, 2)
	w.scale("moved", 1)
	w.endOperator() // killed right after the change
	w.operator()
	w.awaitMembers("moved", 0)
	w.awaitIndices(1)
	w.successor("moved") // what the leavers had counted must outlive this one
	w.endLoad("moved")
	lt := w.awaitPhase("moved", v1alpha1.PhaseCompleted)
	w.wantSent(lt, 300_000)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
}

func TestScaleThatCannotBe(t *testing.T) {
	w := newWorld(t)
	w.apply(scalable("narrow", 2, load).Edit(func(s *v1alpha1.LoadTestSpec) { s.Chains[0].MaxInFlight = ptr.To[int32](2) }).Build())
	w.awaitLoad("narrow", 200)
	w.scale("narrow", 3)
	w.setRate("narrow", 2000) // this can be
	lt := w.awaitApplied("narrow", 1)
	w.wantCondition(lt, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChangeNotApplied)
	if !strings.Contains(conditionsOf(lt), "spec.chains[0].maxInFlight") || lt.Status.Shards.Desired != 2 {
		t.Errorf("%d shards, conditions:\n%s", lt.Status.Shards.Desired, conditionsOf(lt))
	}
	w.awaitIndices(2)
	w.scale("narrow", 2)
	w.await("narrow", "mended", func(lt *v1alpha1.LoadTest) bool {
		return meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionReconciling).Reason == v1alpha1.ReasonRunning
	})
	w.endLoad("narrow")
	w.awaitPhase("narrow", v1alpha1.PhaseCompleted)
}

// Kueue ends the runners of a Job that gets another number of pods after it was admitted.
func TestScaleOfAJobThatAQueueAdmitted(t *testing.T) {
	w := newWorld(t)
	w.holding(func(*batchv1.Job, int) bool { return true })
	w.apply(scalable("queued", 2, load).Build())
	w.awaitPhase("queued", v1alpha1.PhaseStarting)
	w.suspendJob("queued-1", true, nil)
	w.holding(nil)
	w.suspendJob("queued-1", false, nil)
	w.awaitLoad("queued", 200)
	w.scale("queued", 3)
	w.setRate("queued", 2000)
	lt := w.awaitApplied("queued", 1)
	w.wantCondition(lt, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChangeNotApplied)
	if want := "spec.runner.shards: must stay 2, because a queue manages Job queued-1"; !strings.Contains(conditionsOf(lt), want) {
		t.Errorf("want %s; conditions:\n%s", want, conditionsOf(lt))
	}
	w.awaitLoad("queued", lt.Status.Results.Requests.Sent+200)
	w.awaitIndices(2)
}

func TestRunnerLostAndTheOthersGoOn(t *testing.T) {
	for _, policy := range []v1alpha1.ShardLostAction{v1alpha1.ShardLostContinue, v1alpha1.ShardLostRebalance} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.apply(scalable("half", 2, load).Edit(onLoss(policy, 0)).Threshold(builder.ErrorRate("1%")).Build())
			before := w.awaitLoad("half", 1000).Status.Results.Requests.Sent
			w.kill("half-1-1")
			lt := w.await("half", "one runner short", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Shards.Lost == 1 })
			w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
			w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning)
			w.Eventually(func() int { return len(w.records("half")) }).Should(gomega.Equal(1))
			events := []string{"PlanReady", "RunnersReady", "Started", "RunnerLost"}
			if policy == v1alpha1.ShardLostRebalance {
				w.await("half", "rebalanced", func(lt *v1alpha1.LoadTest) bool { return isListed(lt, 1, "Lost", false) })
				events = append(events, "LoadRebalanced")
			}
			w.wantEvents("half", events...) // written after the status
			w.successor("half")             // what the lost runner had counted must outlive this one
			w.endLoad("half")
			lt = w.awaitPhase("half", v1alpha1.PhaseCompleted)
			w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
			w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonPartialResult)
			w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionUnknown, v1alpha1.ReasonPartialResult)
			n := lt.Status.Results.Requests.Sent
			low, high := 150_000+before/4, int64(200_000) // half of the load, and what the lost runner had sent
			if policy == v1alpha1.ShardLostRebalance {
				low, high = 250_000, 299_999
			}
			if n < low || n > high {
				t.Errorf("sent %d, want %d to %d", n, low, high)
			}
			if r := w.report(lt); !lt.Status.Results.Partial || !r.Partial || r.Generator.ShardsLost != 1 || r.Verdict.Outcome != runnerv1alpha1.OutcomeInconclusive {
				t.Errorf("partial %v and %v, %d lost, %s", lt.Status.Results.Partial, r.Partial, r.Generator.ShardsLost, r.Verdict.Outcome)
			}
			w.wantEvents("half", append(events, "Completed")...)
		})
	}
}

func TestFewerThanMinShardsAreLeft(t *testing.T) {
	w := newWorld(t)
	w.apply(scalable("few", 3, load).Edit(onLoss(v1alpha1.ShardLostRebalance, 2)).Build())
	w.awaitLoad("few", 200)
	w.kill("few-1-2")
	w.await("few", "rebalanced", func(lt *v1alpha1.LoadTest) bool { return isListed(lt, 2, "Lost", false) })
	w.kill("few-1-0")
	lt := w.awaitPhase("few", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	if diff := cmp.Diff(&runnerv1alpha1.Stop{Reason: "spec.runner.minShards", Drain: true}, w.runner("few-1-1").Stopped()); diff != "" {
		t.Errorf("how the last was stopped (-want +got):\n%s", diff)
	}
}

func TestStartWithMinShards(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(scalable("early", 3, load).Edit(onLoss("", 2)).Edit(func(s *v1alpha1.LoadTestSpec) {
		s.Runner.StartTimeout = &v1alpha1.Duration{Duration: 9 * time.Minute}
	}).Build())
	w.await("early", "ready on two shards", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Shards != nil && lt.Status.Shards.Ready == 2 })
	w.later(9 * time.Minute)
	lt := w.awaitLoad("early", 200)
	w.wantCondition(lt, v1alpha1.ConditionRunnersReady, metav1.ConditionFalse, v1alpha1.ReasonJoining)
	if !strings.Contains(conditionsOf(lt), "2 of 3 runners are ready") || !isListed(lt, 1, "Joining", false) || lt.Status.Shards.Joining != 1 || lt.Status.Summary.Shards != "2/3" {
		t.Errorf("summary %s, runners %+v, conditions:\n%s", lt.Status.Summary.Shards, lt.Status.Runners, conditionsOf(lt))
	}
	w.operator()
	w.holding(nil)
	w.awaitMembers("early", 0, 1, 2)
	w.endLoad("early")
	lt = w.awaitPhase("early", v1alpha1.PhaseCompleted)
	w.wantSent(lt, 300_000)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	w.wantEventsAmong("early", "PlanReady", "PodCreationFailed", "RunnersReady", "Started", "RunnerJoined", "Completed")
}

// Of a test that starts without a runner which was lost nothing is missing.
func TestLostBeforeStartWithMinShards(t *testing.T) {
	w := newWorld(t)
	w.cfg.Runner.StartAttempts = 1
	w.operator()
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 2 })
	w.apply(scalable("most", 3, 2*time.Second).Edit(onLoss("", 2)).Build())
	w.runner("most-1-1")
	w.exit("most-1-1", 137, "OOMKilled", "")
	w.holding(nil)
	lt := w.awaitPhase("most", v1alpha1.PhaseCompleted)
	w.wantSent(lt, 2000)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	if lt.Status.Results.Partial || lt.Status.Shards.Lost != 0 || lt.Status.Runners[1].State != "Lost" {
		t.Errorf("partial %v, shards %+v, runners %+v", lt.Status.Results.Partial, lt.Status.Shards, lt.Status.Runners)
	}
}

func TestJoinerIsLostBeforeItHasAPart(t *testing.T) {
	w := newWorld(t)
	w.apply(scalable("brave", 1, load).Build())
	w.awaitLoad("brave", 200)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.scale("brave", 2)
	w.awaitIndices(2)
	w.endOperator() // so that it gets no part
	w.holding(nil)
	w.runner("brave-1-1").Silence()
	w.exit("brave-1-1", 1, "Error", "")
	w.operator()
	w.endLoad("brave")
	lt := w.awaitPhase("brave", v1alpha1.PhaseCompleted)
	w.wantSent(lt, 300_000)
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	if r := lt.Status.Runners[1]; r.State != "Lost" || lt.Status.Shards.Lost != 0 || lt.Status.Results.Partial {
		t.Errorf("runner %+v, shards %+v, partial %v", r, lt.Status.Shards, lt.Status.Results.Partial)
	}
}

func TestDeadlineAndStopWhileSuspended(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("late", load).Deadline(3600).Build())
	w.apply(twoShards("stopped", load).Build())
	for _, name := range []string{"late", "stopped"} {
		w.awaitLoad(name, 200)
		w.suspend(name, true)
		w.awaitPhase(name, v1alpha1.PhaseSuspended)
	}
	w.operator()
	w.later(time.Hour)
	w.patch("stopped", "/spec/stop", strconv.FormatBool(true))
	w.wantCondition(w.awaitPhase("stopped", v1alpha1.PhaseStopped), v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonStopped)
	w.wantCondition(w.awaitPhase("late", v1alpha1.PhaseFailed), v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonDeadlineExceeded)
}

package loadtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// TestEditAtTheStart edits specs as soon as the record has the start. Each edit is refused, takes effect, or is reported.
func TestEditAtTheStart(t *testing.T) {
	w := newWorld(t)
	const tries = 10
	left, edited := map[*v1alpha1.LoadTest]int{}, map[string]int64{}
	for i := range tries {
		name := fmt.Sprintf("race-%d", i)
		d := load
		if i%2 == 1 { // it ends before the edit can be reported as one of a running test
			d = 300 * time.Millisecond
		}
		left[w.apply(twoShards(name, d).Build())] = i
	}
	w.Eventually(func() int {
		for lt, try := range left {
			run, err := record.NewStore(w.client, w.client).Load(w.ctx, lt)
			w.must(err)
			if run != nil && (run.Start != nil || run.End != nil) {
				edited[lt.Name] = w.race(lt.Name, try)
				delete(left, lt)
			}
		}
		return len(left)
	}).WithPolling(20*time.Millisecond).Should(gomega.BeZero(), "tests that do not start") // more often, the reads take the CPU from the operator
	for name, generation := range edited {
		w.wantHandled(name, generation)
	}
}

// race edits a spec. It returns the generation of the edit; zero: the API server refused it.
func (w *world) race(name string, try int) int64 {
	w.Helper()
	lt := w.get(name)
	var err error
	for {
		if try%4 < 2 {
			lt.Spec.Templates[0].Path = "/other"
		} else {
			lt.Spec.Rates[0].RequestsPerSecond = ptr.To[int64](2000)
		}
		if err = w.client.Update(w.ctx, lt); !apierrors.IsConflict(err) {
			break
		}
		lt = w.get(name)
	}
	if apierrors.IsInvalid(err) {
		return 0
	}
	w.must(err)
	return lt.Generation
}

// wantHandled expects an edit to have been refused, to take effect, or to be reported.
func (w *world) wantHandled(name string, generation int64) {
	w.Helper()
	if generation == 0 {
		return
	}
	w.await(name, "told of the edit", func(now *v1alpha1.LoadTest) bool {
		return now.Status.StartedGeneration >= generation || strings.Contains(conditionsOf(now), v1alpha1.EditedAfterFinish) ||
			strings.Contains(conditionsOf(now), v1alpha1.ReasonChangeNotApplied) ||
			slices.ContainsFunc(now.Status.Changes, func(c v1alpha1.Change) bool { return c.Generation == generation && c.AppliedAt != nil })
	})
}

// TestNoRecord: a started test without a record ends, and does not start again.
func TestNoRecord(t *testing.T) {
	w := newWorld(t)
	w.checkpoints = checkpointsAtOnce
	w.operator()
	w.apply(twoShards("orphan", load).Build())
	w.awaitLoad("orphan", 500)
	w.Eventually(w.sequences).Should(gomega.HaveLen(2))
	lt := w.get("orphan")
	w.endOperator()
	w.must(w.client.Delete(w.ctx, &statev1alpha1.LoadTestRun{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: desired.RunName(lt)}}))
	w.operator()
	ended := w.awaitPhase("orphan", v1alpha1.PhaseFailed)
	w.wantCondition(ended, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonRunRecordMissing)
	w.wantCondition(ended, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunRecordMissing)
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.client.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "orphan-1"}, &batchv1.Job{}))
	}).Should(gomega.BeTrue(), "the Job is deleted")
	w.Eventually(w.sequences).Should(gomega.BeEmpty(), "checkpoints are deleted")
}

// TestJobDeletedAfterStart: the test does not start again without its Job.
func TestJobDeletedAfterStart(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("jobless", load).Build())
	w.awaitLoad("jobless", 500)
	w.must(w.client.Delete(w.ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "jobless-1"}}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	for i := range 2 {
		w.kill(fmt.Sprintf("jobless-1-%d", i))
	}
	lt := w.awaitPhase("jobless", v1alpha1.PhaseFailed)
	w.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonRunnerLost)
	if sent := lt.Status.Results.Requests.Sent; sent < 500 {
		t.Errorf("%d requests in the result", sent)
	}
}

// TestRunnerLostWithOperator: the last checkpoint counts for a runner that ended while there was no operator, and the
// number of requests in status does not go back.
func TestRunnerLostWithOperator(t *testing.T) {
	w := newWorld(t)
	w.apply(twoShards("both", load).Edit(func(s *v1alpha1.LoadTestSpec) { s.Runner.OnShardLost = v1alpha1.ShardLostContinue }).Build())
	before := w.awaitLoad("both", 500)
	snapshot, err := w.runner("both-1-1").Snapshot(w.ctx)
	w.must(err)
	w.endOperator()
	shown := w.get("both").Status.Results.Requests.Sent
	encoded, err := checkpoint.Encode(snapshot, checkpoint.MaxBytes)
	w.must(err)
	key := checkpoint.Key{LoadTest: client.ObjectKeyFromObject(before), Run: before.UID, Shard: 1, Pod: w.run("both").Pods[1].UID}
	w.must(checkpoint.NewStore(w.client, w.client).Put(w.ctx, key, encoded, false, time.Now()))
	w.kill("both-1-1")
	w.operator()
	lt := w.await("both", "aware of the loss", func(lt *v1alpha1.LoadTest) bool {
		if lt.Status.Results.Requests.Sent < shown {
			t.Fatalf("requests.sent went back from %d to %d", shown, lt.Status.Results.Requests.Sent)
		}
		shown = lt.Status.Results.Requests.Sent
		return lt.Status.Shards.Lost == 1
	})
	if !strings.Contains(conditionsOf(lt), "are missing") {
		t.Errorf("conditions do not say that counts are missing:\n%s", conditionsOf(lt))
	}
	w.endLoad("both")
	lt = w.awaitPhase("both", v1alpha1.PhaseCompleted)
	if got, want := w.report(lt).Requests.Sent, 150_000+snapshot.Counters.Sent; got != want || !lt.Status.Results.Partial {
		t.Errorf("%d requests, partial %t; want %d, of which %d are in the checkpoint", got, lt.Status.Results.Partial, want, snapshot.Counters.Sent)
	}
	w.Eventually(w.sequences).Should(gomega.BeEmpty(), "checkpoints are deleted")
}

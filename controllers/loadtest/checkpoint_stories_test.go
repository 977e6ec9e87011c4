package loadtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
)

const checkpointsAtOnce = 200 * time.Millisecond

// sequences returns the sequence numbers of the checkpoints in the namespace by shard.
func (w *world) sequences() map[int32]int64 {
	var list statev1alpha1.LoadTestCheckpointList
	w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns)))
	out := map[int32]int64{}
	for _, o := range list.Items {
		out[o.Checkpoint.Shard] = o.Checkpoint.Sequence
	}
	return out
}

// TestCheckpoints: the API server has the counts of each running shard, and the next operator continues to store them.
func TestCheckpoints(t *testing.T) {
	w := newWorld(t)
	w.checkpoints = checkpointsAtOnce
	w.operator()
	lt := twoShards("stored", load).Build()
	w.apply(lt)
	w.awaitLoad("stored", 500)
	w.Eventually(func() (sending int) {
		var list statev1alpha1.LoadTestCheckpointList
		w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns)))
		for _, o := range list.Items {
			s, err := checkpoint.Decode(o.Checkpoint.Snapshot)
			w.must(err)
			if s.Shard != int(o.Checkpoint.Shard) || !metav1.IsControlledBy(&o, w.get("stored")) {
				t.Errorf("%s: shard %d, owners %v", o.Name, s.Shard, o.OwnerReferences)
			}
			if s.Counters.Sent > 0 { // the first checkpoint can be from before the load
				sending++
			}
		}
		return sending
	}).Should(gomega.Equal(2), "checkpoints with counts")
	before := w.sequences()
	w.operator()
	w.Eventually(func() bool {
		now := w.sequences()
		return now[0] > before[0] && now[1] > before[1]
	}).Should(gomega.BeTrue(), "no newer checkpoint of both shards")
}

// TestCheckpointsRefused: the status has the error of the API server until the checkpoints are stored, and the test runs on.
func TestCheckpointsRefused(t *testing.T) {
	w := newWorld(t)
	w.checkpoints = checkpointsAtOnce
	w.operator()
	lift := w.refuseObjects("count/loadtestcheckpoints.internal.h2surge.io", &statev1alpha1.LoadTestCheckpoint{
		Checkpoint: statev1alpha1.Checkpoint{Boot: "b", Pod: "p", Time: metav1.Now(), Snapshot: []byte("s")},
	})
	w.apply(twoShards("unsafe", load).Build())
	w.awaitMessage("unsafe", v1alpha1.ConditionReconciling, v1alpha1.ReasonWriteRefused, "The API server refuses checkpoints: ")
	lift()
	w.awaitMessage("unsafe", v1alpha1.ConditionReconciling, v1alpha1.ReasonRunning, "")
	w.Eventually(w.sequences).Should(gomega.HaveLen(2))
	w.wantEvents("unsafe", "PlanReady", "RunnersReady", "Started", "WriteRefused")
}

// TestDamagedCheckpoint: what is stored of a lost runner cannot be read, or is of another one. The test ends without its
// counts, and says so.
func TestDamagedCheckpoint(t *testing.T) {
	unreadable := func(c *statev1alpha1.Checkpoint) { c.Snapshot = []byte("damaged") }
	foreign := func(c *statev1alpha1.Checkpoint) {
		if c.Shard == 1 { // the lost one
			c.Pod = "another"
		}
	}
	for name, tt := range map[string]struct {
		recorded bool
		damage   func(*statev1alpha1.Checkpoint)
	}{
		"before the loss":   {false, unreadable},
		"after the loss":    {true, unreadable},
		"of another runner": {false, foreign},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.checkpoints = checkpointsAtOnce
			w.operator()
			w.apply(twoShards("damaged", load).Edit(func(s *v1alpha1.LoadTestSpec) { s.Runner.OnShardLost = v1alpha1.ShardLostContinue }).Build())
			w.awaitLoad("damaged", 500)
			w.Eventually(w.sequences).Should(gomega.HaveLen(2))
			if tt.recorded {
				w.kill("damaged-1-1")
				w.await("damaged", "aware of the loss", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Shards.Lost == 1 })
			}
			w.endOperator()
			if !tt.recorded {
				w.kill("damaged-1-1")
			}
			w.damageCheckpoints(tt.damage)
			w.operator()
			lt := w.await("damaged", "aware of the loss", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Shards.Lost == 1 })
			if !tt.recorded && !strings.Contains(conditionsOf(lt), "its counts are missing: LoadTestCheckpoint ") {
				t.Errorf("conditions do not say that counts are missing:\n%s", conditionsOf(lt))
			}
			w.endLoad("damaged")
			lt = w.awaitPhase("damaged", v1alpha1.PhaseCompleted)
			if got := w.report(lt).Requests.Sent; got != 150_000 || !lt.Status.Results.Partial {
				t.Errorf("%d requests, partial %t; want those of the other runner", got, lt.Status.Results.Partial)
			}
		})
	}
}

func (w *world) damageCheckpoints(damage func(*statev1alpha1.Checkpoint)) {
	w.Helper()
	var list statev1alpha1.LoadTestCheckpointList
	w.must(w.client.List(w.ctx, &list, client.InNamespace(w.ns)))
	for i := range list.Items {
		damage(&list.Items[i].Checkpoint)
		w.must(w.client.Update(w.ctx, &list.Items[i]))
	}
}

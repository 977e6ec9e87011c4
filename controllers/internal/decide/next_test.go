package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// TestLossAndStopAreOneDecision: one write of the record has a loss, the stop that follows, and the end of the load.
func TestLossAndStopAreOneDecision(t *testing.T) {
	f := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(runnerv1alpha1.StateDone, runnerv1alpha1.StateRunning), runtest.ShardLost(1))
	f.View.Proposal = &runnerv1alpha1.Update{Revision: 2, Members: []int{0}} // the load is not rebalanced after the decision to stop
	next := &record.Record{State: f.Record.State, Start: f.Record.Start, Changes: f.Record.Changes}
	if err := Next(f, next, []record.Shard{{Index: 1, State: record.ShardLost, Member: true, Loss: &record.Loss{Message: "OOMKilled"}}}); err != nil {
		t.Fatal(err)
	}
	if len(next.Shards) != 1 || next.Stop == nil || next.Stop.Reason != stopByLoss || next.State != record.Finishing || len(next.Changes) != 1 {
		t.Errorf("record %+v, want a loss, a stop and the end of the load, and no change", next)
	}
	if diff := cmp.Diff(&record.Record{}, &record.Record{Shards: f.Record.Shards, Stop: f.Record.Stop}); diff != "" {
		t.Errorf("the facts changed (-want +got):\n%s", diff)
	}
}

// TestChangeReplacesPods: a copy of a record shares the map of the pods, so a decision must not change it. The runner
// that joins is the one that the collector asked, also if its pod was deleted by force and another one has its index.
func TestChangeReplacesPods(t *testing.T) {
	f := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(runnerv1alpha1.StateRunning, runnerv1alpha1.StateRunning))
	f.Pods[2] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pcf-1-2-again"}}
	f.View.Shards = append(f.View.Shards, shards.Shard{Index: 2, Pod: shards.Pod{Name: "pcf-1-2", Gone: true}})
	before := map[int]record.Pod{0: {Name: "pcf-1-0"}}
	f.Record.Pods, f.View.Proposal = before, &runnerv1alpha1.Update{Revision: 2, Members: []int{0, 1, 2}}
	next := *f.Record
	if err := Next(f, &next, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int]record.Pod{0: {Name: "pcf-1-0"}, 2: {Name: "pcf-1-2"}}, next.Pods); diff != "" || len(before) != 1 {
		t.Errorf("%d pods before; after (-want +got):\n%s", len(before), diff)
	}
}

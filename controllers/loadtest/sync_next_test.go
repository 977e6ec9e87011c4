package loadtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
)

// TestLossAndStopAreOneDecision: one write of the record has a loss, the stop that follows, and the end of the load.
func TestLossAndStopAreOneDecision(t *testing.T) {
	s := newScope(withJob, decided, runnersAre(done, runs), shardLost(1))
	s.View.Proposal = &runnerv1alpha1.Update{Revision: 2, Members: []int{0}} // the load is not rebalanced after the decision to stop
	run := &record.Record{State: s.Record.State, Start: s.Record.Start, Changes: s.Record.Changes}
	if err := decide.Next(s.Facts, run, []record.Shard{{Index: 1, State: state.Lost, Member: true, Loss: &record.Loss{Message: "OOMKilled"}}}); err != nil {
		t.Fatal(err)
	}
	if len(run.Shards) != 1 || run.Stop == nil || run.Stop.Reason != decide.StopByLoss || run.State != state.Finishing || len(run.Changes) != 1 {
		t.Errorf("record %+v, want a loss, a stop and the end of the load, and no change", run)
	}
	if diff := cmp.Diff(&record.Record{}, &record.Record{Shards: s.Record.Shards, Stop: s.Record.Stop}); diff != "" {
		t.Errorf("the scope changed (-want +got):\n%s", diff)
	}
}

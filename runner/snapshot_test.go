package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/pace"
)

// TestStagesOfWorkers: a stage begins with the first worker that comes to it and ends with the last. A worker that ended
// its load before the stage does not count.
func TestStagesOfWorkers(t *testing.T) {
	s := &rv.Snapshot{Stages: make([]rv.StageCounters, 2)}
	g := gauges{begun: make([]bool, 2), lasts: make([]bool, 2)}
	for _, w := range [][]pace.Span{
		{{Begun: true, Ended: true, To: 70}, {}},
		{{Begun: true, Ended: true, To: 100, Paused: 20}, {Begun: true, Ended: true, From: 100, To: 200}},
		{{Begun: true, Ended: true, To: 103}, {Begun: true, Ended: true, From: 103, To: 203}},
	} {
		g.add(s, &loop.Reading{Stages: w})
	}
	want := []rv.StageCounters{{Ended: 103, Paused: 20}, {Begun: 100, Ended: 203}}
	if diff := cmp.Diff(want, s.Stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{false, true}, g.lasts); diff != "" {
		t.Errorf("stages that have not ended on all workers (-want +got):\n%s", diff)
	}
}

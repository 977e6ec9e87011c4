package build

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func points(from, to int64, v float64) (out []runnerv1alpha1.Point) {
	for at := from; at <= to; at++ {
		out = append(out, runnerv1alpha1.Point{At: at * 1000, Mean: v, Max: v, Samples: 1})
		v++
	}
	return out
}

// TestObservations: a sample belongs to the stage in which it was read, or at whose end. Warm-up and pauses have figures
// of their own only. A sample that was read while the load was suspended belongs to no stage. After a loss another runner
// continues.
func TestObservations(t *testing.T) {
	second := int64(time.Second)
	plan := &runnerv1alpha1.Plan{
		Observe: []runnerv1alpha1.Observation{{Name: "cpu", Unit: "Cores"}, {Name: "heap", Unit: "Bytes"}},
		Rates:   []runnerv1alpha1.Rate{{Name: "warm", WarmUp: true, Count: 1}, {Name: "hold", Count: 1}, {Name: "pause"}, {Name: "more", Count: 1}},
	}
	stages := []runnerv1alpha1.StageCounters{{Ended: 2 * second}, {Begun: 2 * second, Ended: 5 * second}, {Begun: 5 * second, Ended: 6 * second},
		{Begun: 6 * second}}
	gap := runnerv1alpha1.ObservationGap{From: 1, To: 2, Cause: "no answer", Reads: 2}
	lost := runnerv1alpha1.Snapshot{StartedAt: 1, Stages: stages, Observations: []runnerv1alpha1.ObservationSamples{
		{Series: []runnerv1alpha1.SeriesSamples{{Label: "others", Points: points(0, 0, 9)}, {Label: "pod=a", Points: points(0, 4, 10)}}, Others: 3},
		{Gaps: []runnerv1alpha1.ObservationGap{gap}},
	}}
	suspended := runnerv1alpha1.Point{At: 2500, Mean: 99, Max: 99, Samples: 1, Suspended: true}
	lost.Observations[0].Series[1].Points = slices.Insert(lost.Observations[0].Series[1].Points, 3, suspended)
	next := runnerv1alpha1.Snapshot{Shard: 1, StartedAt: 1, Stages: stages, Observations: []runnerv1alpha1.ObservationSamples{
		{Series: []runnerv1alpha1.SeriesSamples{{Label: "pod=a", Points: points(4, 7, 20)}}}, {},
	}}
	other := runnerv1alpha1.Snapshot{Shard: 2, StartedAt: 1, Stages: stages}
	got := observations(plan, []runnerv1alpha1.Snapshot{lost, next, other})
	zero := runnerv1alpha1.SeriesFigures{}
	want := []runnerv1alpha1.ObservationResult{
		{Name: "cpu", Unit: "Cores", Others: 3, Series: []runnerv1alpha1.SeriesResult{
			{Label: "pod=a", Points: slices.Concat(points(0, 2, 10), []runnerv1alpha1.Point{suspended}, points(3, 4, 13), points(5, 7, 21)),
				Figures: runnerv1alpha1.SeriesFigures{Samples: 4, Mean: 17.75, P95: 23, Max: 23},
				Stages: []runnerv1alpha1.SeriesFigures{{Samples: 2, Mean: 11.5, P95: 12, Max: 12}, {Samples: 3, Mean: 16, P95: 21, Max: 21},
					{Samples: 1, Mean: 22, P95: 22, Max: 22}, {Samples: 1, Mean: 23, P95: 23, Max: 23}}},
			{Label: "others", Points: points(0, 0, 9), Stages: []runnerv1alpha1.SeriesFigures{zero, zero, zero, zero}},
		}},
		{Name: "heap", Unit: "Bytes", Gaps: []runnerv1alpha1.ObservationGap{gap}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
}

// TestSeriesFigures: points of several samples weigh more.
func TestSeriesFigures(t *testing.T) {
	got := SeriesFigures([]runnerv1alpha1.Point{{Mean: 1, Max: 5, Samples: 19}, {Mean: 3, Max: 3, Samples: 1}})
	if want := (runnerv1alpha1.SeriesFigures{Samples: 20, Mean: 1.1, P95: 1, Max: 5}); !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

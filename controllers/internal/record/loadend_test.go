package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestLoadEnd(t *testing.T) {
	const minute = int64(time.Minute)
	stage := func(chain int, d time.Duration) runnerv1alpha1.Rate {
		return runnerv1alpha1.Rate{Chain: chain, Duration: d}
	}
	begun := []Change{{}}
	tests := map[string]struct {
		plan    runnerv1alpha1.Plan
		changes []Change
		want    time.Duration // after the start; -1: not known
	}{
		"two stages":     {runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, time.Minute), stage(0, time.Minute)}}, begun, 2 * time.Minute},
		"drain":          {runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, time.Minute)}, Drain: 2, GracefulStop: 3}, begun, time.Minute + 5},
		"by requests":    {runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{{Requests: 5}}}, begun, -1},
		"deadline":       {runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{{Requests: 5}}, Deadline: time.Minute}, begun, time.Minute},
		"early deadline": {runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, time.Hour)}, Deadline: time.Minute}, begun, time.Minute},
		"late deadline":  {runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, time.Minute)}, Deadline: time.Hour}, begun, time.Minute},
		"search":         {runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, time.Minute)}, Search: &runnerv1alpha1.Search{}}, begun, -1},
		"own rates": {runnerv1alpha1.Plan{
			Rates: []runnerv1alpha1.Rate{stage(0, time.Minute), stage(1, time.Minute)}, Chains: []runnerv1alpha1.Chain{{StartAfter: time.Hour}},
		}, begun, 61 * time.Minute},
		"suspended": {
			runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, 3*time.Minute)}},
			[]Change{{}, {At: minute, Suspended: true}}, -1,
		},
		"suspended after its end": {
			runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, 3*time.Minute)}},
			[]Change{{}, {At: 4 * minute, Suspended: true}}, 3 * time.Minute,
		},
		"two pauses": {
			runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{stage(0, 3*time.Minute)}},
			[]Change{{}, {At: minute, Suspended: true}, {At: 3 * minute}, {At: 4 * minute, Suspended: true}, {At: 14 * minute}}, 15 * time.Minute,
		},
	}
	start := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := &Record{Start: &Start{Time: metav1.NewMicroTime(start)}, Changes: tt.changes}
			want := start.Add(tt.want)
			if tt.want < 0 {
				want = time.Time{}
			}
			if got := r.LoadEnd(&tt.plan); !got.Equal(want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	if got := (&Record{}).LoadEnd(&runnerv1alpha1.Plan{}); !got.IsZero() {
		t.Errorf("before the start: %v", got)
	}
}

// TestRatesChanged: the runners had other rates than those of the plan while they sent.
func TestRatesChanged(t *testing.T) {
	const minute = int64(time.Minute)
	planned, faster := []Rate{{Count: 100, Period: time.Second}}, []Rate{{Count: 200, Period: time.Second}}
	for name, tt := range map[string]struct {
		search  *runnerv1alpha1.Search
		changes []Change // after the first one, which has the rates of the plan
		want    bool
	}{
		"nothing":               {},
		"members":               {changes: []Change{{At: minute, Members: Set{0}}}},
		"a pause":               {changes: []Change{{At: minute, Suspended: true}, {At: 2 * minute}}},
		"faster":                {changes: []Change{{At: minute, Rates: faster}}, want: true},
		"and back":              {changes: []Change{{At: minute, Rates: faster}, {At: 2 * minute, Rates: planned}}, want: true},
		"in a pause":            {changes: []Change{{At: minute, Rates: faster, Suspended: true}, {At: 2 * minute}}, want: true},
		"in a pause, and back":  {changes: []Change{{At: minute, Rates: faster, Suspended: true}, {At: 2 * minute, Rates: planned}}},
		"after the load":        {changes: []Change{{At: 3 * minute, Rates: faster}}},
		"later, after a pause":  {changes: []Change{{At: minute, Suspended: true}, {At: 2 * minute}, {At: 3 * minute, Rates: faster}}, want: true},
		"the probe of a search": {search: &runnerv1alpha1.Search{}, changes: []Change{{At: minute, Rates: faster}}},
	} {
		plan := &runnerv1alpha1.Plan{Search: tt.search,
			Rates: []runnerv1alpha1.Rate{{Count: 100, Period: time.Second, Duration: 3 * time.Minute}}}
		r := &Record{Start: &Start{}, Changes: append([]Change{{Rates: planned}}, tt.changes...)}
		if got := r.RatesChanged(plan); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

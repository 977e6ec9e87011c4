package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestPausesBeforeTheDeadline: the time of a pause counts neither for the stages nor for the deadline of the plan.
func TestPausesBeforeTheDeadline(t *testing.T) {
	const minute = int64(time.Minute)
	stages := runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{{Duration: 3 * time.Minute}}, Deadline: 4 * time.Minute}
	requests := runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{{Requests: 5}}, Deadline: 4 * time.Minute}
	pause := []Change{{At: minute, Suspended: true}, {At: 10 * minute}}
	for name, tt := range map[string]struct {
		plan    runnerv1alpha1.Plan
		changes []Change      // after the first one
		want    time.Duration // after the start; -1: not known
	}{
		"suspended":                     {stages, []Change{{At: minute, Suspended: true}}, -1},
		"suspended, by requests":        {requests, []Change{{At: minute, Suspended: true}}, -1},
		"suspended after the end":       {stages, []Change{{At: 3 * minute, Suspended: true}}, 3 * time.Minute},
		"suspended after the deadline":  {requests, []Change{{At: 4 * minute, Suspended: true}}, 4 * time.Minute},
		"a long pause":                  {stages, pause, 12 * time.Minute},
		"a long pause, and by requests": {requests, pause, 13 * time.Minute},
	} {
		start := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		r := &Record{Start: &Start{Time: metav1.NewMicroTime(start)}, Changes: append([]Change{{}}, tt.changes...)}
		want := start.Add(tt.want)
		if tt.want < 0 {
			want = time.Time{}
		}
		if got := r.LoadEnd(&tt.plan); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestRatesChangedAfterALongPause(t *testing.T) {
	const minute = int64(time.Minute)
	planned := runnerv1alpha1.Rate{Count: 100, Period: time.Second, Duration: 3 * time.Minute}
	plan := &runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{planned}, Deadline: 4 * time.Minute}
	r := &Record{Start: &Start{}, Changes: []Change{
		{Rates: RatesOf(plan.Rates)}, {At: minute, Suspended: true}, {At: 10 * minute},
		{At: 11 * minute, Rates: []Rate{{Count: 200, Period: time.Second}}},
	}}
	if !r.RatesChanged(plan) {
		t.Error("the rates did not change, want that they did")
	}
}

package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

func TestEditsOf(t *testing.T) {
	const perSecondField, perField = "rates[0].requestsPerSecond", "rates[0].requestsPer"
	tests := map[string]struct {
		live      runnerv1alpha1.Rate
		paused    bool
		rate      runnerv1alpha1.Rate
		per       bool
		suspended bool
		shards    int // 0: the 2 of the plan
		want      []record.Edit
	}{
		"nothing":             {live: runtest.PerSecond(100), rate: runtest.PerSecond(100)},
		"a rate":              {live: runtest.PerSecond(100), rate: runtest.PerSecond(200), want: []record.Edit{runtest.RateEdited(2, perSecondField, 0, runtest.PerSecond(100), runtest.PerSecond(200))}},
		"a rate in a period":  {live: runtest.PerSecond(100), rate: runtest.PerMinute(30), per: true, want: []record.Edit{runtest.RateEdited(2, perField, 0, runtest.PerSecond(100), runtest.PerMinute(30))}},
		"a rate and a pause":  {live: runtest.PerSecond(100), rate: runtest.PerSecond(200), suspended: true, want: []record.Edit{runtest.RateEdited(2, perSecondField, 0, runtest.PerSecond(100), runtest.PerSecond(200)), runtest.SuspendEdited(2, true)}},
		"another period":      {live: runtest.PerMinute(7), rate: runtest.PerSecond(7), want: []record.Edit{runtest.RateEdited(2, perSecondField, 0, runtest.PerMinute(7), runtest.PerSecond(7))}},
		"resumed":             {live: runtest.PerSecond(100), paused: true, rate: runtest.PerSecond(100), want: []record.Edit{runtest.SuspendEdited(2, false)}},
		"shards":              {live: runtest.PerSecond(100), rate: runtest.PerSecond(100), shards: 5, want: []record.Edit{runtest.ShardsEdited(2, 2, 5)}},
		"suspended all along": {live: runtest.PerSecond(100), paused: true, rate: runtest.PerSecond(100), suspended: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := runtest.New(runtest.WithJob, runtest.Started)
			f.LoadTest.Generation, f.LoadTest.Spec.Suspend = 2, tt.suspended
			f.Record.Live.Rates, f.Record.Live.Suspended = record.RatesOf([]runnerv1alpha1.Rate{tt.live}), tt.paused
			f.LoadTest.Spec.Rates = []v1alpha1.Rate{{RequestsPerSecond: ptr.To[int64](1)}}
			if tt.per {
				f.LoadTest.Spec.Rates = []v1alpha1.Rate{{RequestsPer: &v1alpha1.RequestsPer{}}}
			}
			got := EditsOf(f, &run.Present{Rates: []runnerv1alpha1.Rate{tt.rate}, Shards: max(2, tt.shards)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("edits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppliedPhase(t *testing.T) {
	at, ended := runtest.Now.Add(-time.Second), runtest.Now.Add(-time.Millisecond)
	second := runtest.RateEdited(2, "rates[0].requestsPerSecond", 0, runtest.PerSecond(100), runtest.PerSecond(200))
	third := runtest.SuspendEdited(3, true)
	applied := func(e record.Edit, at time.Time) record.Edit {
		e.AppliedAt = ptr.To(metav1.NewMicroTime(at))
		return e
	}
	tests := map[string]struct {
		view shards.View
		want []record.Edit
	}{
		"no runner has it":          {shards.View{Generation: 1}, []record.Edit{second, third}},
		"the first is active":       {shards.View{Generation: 2, Applied: []shards.Applied{{Generation: 2, At: at}}}, []record.Edit{applied(second, at), third}},
		"accepted, but later":       {shards.View{Generation: 3, Applied: []shards.Applied{{Generation: 2, At: at}, {Generation: 3, At: runtest.Now.Add(time.Second)}}}, []record.Edit{applied(second, at), third}},
		"the second overtook":       {shards.View{Generation: 3, Applied: []shards.Applied{{Generation: 3, At: at}}}, []record.Edit{applied(second, at), applied(third, at)}},
		"a former operator sent it": {shards.View{Generation: 3}, []record.Edit{applied(second, runtest.Now), applied(third, runtest.Now)}},
		"no runner was asked":       {shards.View{}, []record.Edit{second, third}},
		"ended before it was sent":  {shards.View{Generation: 2}, []record.Edit{applied(second, runtest.Now), third}},
		"the load ended before":     {shards.View{Generation: 2, Applied: []shards.Applied{{Generation: 2, At: ended, Since: time.Minute}}}, []record.Edit{second, third}},
		"a successor chose a start": {shards.View{Generation: 2, Applied: []shards.Applied{{Generation: 2, At: ended, Since: 30 * time.Second}}}, []record.Edit{applied(second, ended), third}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := runtest.New(runtest.WithJob, runtest.Started)
			f.Record.Edits, f.View = []record.Edit{second, third}, &tt.view
			f.Record.Start.Time = metav1.NewMicroTime(ended.Add(-f.Plan.Rates[0].Duration))
			if err := Next(f, f.Record, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, f.Record.Edits); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditsAreBounded(t *testing.T) {
	edits := []record.Edit{runtest.SuspendEdited(1, true)}
	for i := range int64(50) {
		edits = bounded(append(edits, runtest.RateEdited(i+2, "rates[0].requestsPerSecond", 0, runtest.PerSecond(100+i), runtest.PerSecond(101+i))))
	}
	if len(edits) != maxChanges || edits[0].Field != "suspend" || edits[1].From.Rate.Count != 100 || edits[maxChanges-1].To.Rate.Count != 150 {
		t.Errorf("%d changes, the first %+v and %+v, the last %+v", len(edits), edits[0], edits[1], edits[len(edits)-1])
	}
}

func TestDistributedTo(t *testing.T) {
	f := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(runnerv1alpha1.StateRunning, runnerv1alpha1.StateRunning, runnerv1alpha1.StateRunning), runtest.ShardLost(1))
	to := func(numbers ...int) (out []record.Edit) {
		for i, n := range numbers {
			out = append(out, runtest.ShardsEdited(int64(i+2), 1, n))
		}
		return out
	}
	tests := map[string]struct {
		members []int
		edits   []record.Edit
		want    bool
	}{
		"all":                  {[]int{0, 1, 2}, to(3), true},
		"all but a lost one":   {[]int{0, 2}, to(3), true},
		"one is missing":       {[]int{0, 1}, to(3), false},
		"one is too many":      {[]int{0, 1, 2}, to(2), false},
		"overtaken by another": {[]int{0, 1}, to(3, 2), true},
		"another is no one's":  {[]int{0}, to(3, 2), true},
		"no edit of shards":    {[]int{0, 1, 2}, []record.Edit{{Field: run.FieldSuspend}}, false},
	}
	for name, tt := range tests {
		if got := distributedTo(f, tt.members, tt.edits); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

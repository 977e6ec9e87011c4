package loadtest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/builder"
)

func perSecond(n int64) runnerv1alpha1.Rate {
	return runnerv1alpha1.Rate{Name: "hold", Count: n, Period: time.Second, Duration: time.Minute}
}

func perMinute(n int64) runnerv1alpha1.Rate {
	return runnerv1alpha1.Rate{Name: "hold", Count: n, Period: time.Minute, Duration: time.Minute}
}

func value(r runnerv1alpha1.Rate) record.Value {
	return record.Value{Rate: &record.RatesOf([]runnerv1alpha1.Rate{r})[0]}
}

func rateEdited(generation int64, field string, stage int, from, to runnerv1alpha1.Rate) record.Edit {
	return record.Edit{Generation: generation, Time: metav1.NewMicroTime(now), Field: field, Stage: &stage, From: value(from), To: value(to)}
}

func shardsEdited(generation int64, from, to int) record.Edit {
	return record.Edit{
		Generation: generation, Time: metav1.NewMicroTime(now), Field: run.FieldShards,
		From: record.Value{Shards: from}, To: record.Value{Shards: to},
	}
}

func suspendEdited(generation int64, to bool) record.Edit {
	return record.Edit{
		Generation: generation, Time: metav1.NewMicroTime(now), Field: run.FieldSuspend,
		From: record.Value{Suspended: !to}, To: record.Value{Suspended: to},
	}
}

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
		"nothing":             {live: perSecond(100), rate: perSecond(100)},
		"a rate":              {live: perSecond(100), rate: perSecond(200), want: []record.Edit{rateEdited(2, perSecondField, 0, perSecond(100), perSecond(200))}},
		"a rate in a period":  {live: perSecond(100), rate: perMinute(30), per: true, want: []record.Edit{rateEdited(2, perField, 0, perSecond(100), perMinute(30))}},
		"a rate and a pause":  {live: perSecond(100), rate: perSecond(200), suspended: true, want: []record.Edit{rateEdited(2, perSecondField, 0, perSecond(100), perSecond(200)), suspendEdited(2, true)}},
		"another period":      {live: perMinute(7), rate: perSecond(7), want: []record.Edit{rateEdited(2, perSecondField, 0, perMinute(7), perSecond(7))}},
		"resumed":             {live: perSecond(100), paused: true, rate: perSecond(100), want: []record.Edit{suspendEdited(2, false)}},
		"shards":              {live: perSecond(100), rate: perSecond(100), shards: 5, want: []record.Edit{shardsEdited(2, 2, 5)}},
		"suspended all along": {live: perSecond(100), paused: true, rate: perSecond(100), suspended: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(withJob, decided)
			s.LoadTest.Generation, s.LoadTest.Spec.Suspend = 2, tt.suspended
			s.Record.Live.Rates, s.Record.Live.Suspended = record.RatesOf([]runnerv1alpha1.Rate{tt.live}), tt.paused
			s.LoadTest.Spec.Rates = []v1alpha1.Rate{{RequestsPerSecond: ptr.To[int64](1)}}
			if tt.per {
				s.LoadTest.Spec.Rates = []v1alpha1.Rate{{RequestsPer: &v1alpha1.RequestsPer{}}}
			}
			got := decide.EditsOf(s.Facts, &run.Present{Rates: []runnerv1alpha1.Rate{tt.rate}, Shards: max(2, tt.shards)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("edits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnlike(t *testing.T) {
	base := []runnerv1alpha1.Rate{perSecond(100)}
	with := func(f func(*runnerv1alpha1.Rate)) []runnerv1alpha1.Rate {
		r := perSecond(100)
		f(&r)
		return []runnerv1alpha1.Rate{r}
	}
	own := []runnerv1alpha1.Rate{perSecond(1), {Name: "own", Chain: 2}, {Name: "more", Chain: 2, Duration: 1}}
	if got, want := rateDifference(own, []runnerv1alpha1.Rate{own[0], own[1], {Name: "more", Chain: 2}}), "spec.chains[1].rates[1]: only "; !strings.HasPrefix(got, want) {
		t.Errorf("a stage of a chain: %q, want %q", got, want)
	}
	for name, tt := range map[string]struct {
		now  []runnerv1alpha1.Rate
		want string // a part; empty: alike
	}{
		"the same":         {base, ""},
		"another count":    {[]runnerv1alpha1.Rate{perMinute(7)}, ""},
		"another duration": {with(func(r *runnerv1alpha1.Rate) { r.Duration++ }), "spec.rates[0]"},
		"a bound":          {with(func(r *runnerv1alpha1.Rate) { r.Requests = 1 }), "spec.rates[0]"},
		"another mode":     {with(func(r *runnerv1alpha1.Rate) { r.ClosedLoop = true }), "spec.rates[0]"},
		"another name":     {with(func(r *runnerv1alpha1.Rate) { r.Name = "x" }), "spec.rates[0]"},
		"one more":         {append(base, perSecond(1)), "must have 1 stages"},
	} {
		if got := rateDifference(base, tt.now); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestPresent: an edit in the moment of the start is not held back by the API server.
func TestPresent(t *testing.T) {
	tests := map[string]struct {
		edit func(*v1alpha1.LoadTestSpec)
		want int64  // requests a second
		why  string // a part
	}{
		"another rate":     {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](7) }, 7, ""},
		"another template": {func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" }, 100, editedAtStart},
		"also a template": {func(s *v1alpha1.LoadTestSpec) {
			s.Templates[0].Path, s.Rates[0].RequestsPerSecond = "/other", ptr.To[int64](7)
		}, 7, editedAtStart},
		"another stage":    {func(s *v1alpha1.LoadTestSpec) { s.Rates = append(s.Rates, builder.PerSecond("more", 1, time.Second)) }, 100, "must have 1 stages"},
		"another duration": {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].Duration.Duration = time.Hour }, 100, "spec.rates[0]"},
		"no rate at all":   {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](0) }, 100, "at least one stage that is not a warm-up must have a rate above 0"},
		"a negative rate":  {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](-1) }, 100, "spec.rates[0].requestsPerSecond"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(withJob)
			s.LoadTest = builder.Minimal("pcf").Edit(tt.edit).Build()
			s.LoadTest.Namespace, s.LoadTest.Generation = "core", 2
			started, _, errs := compile.Compile("core/pcf", &builder.Minimal("pcf").Build().Spec)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			s.Plan = started
			var err error
			if s.Record.Plan.Hash, err = plan.Hash(started); err != nil {
				t.Fatal(err)
			}
			decided(s)
			got, err := unlimited.presentOf(s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Rates[0].Count != tt.want || (got.Why == "") != (tt.why == "") || !strings.Contains(got.Why, tt.why) {
				t.Errorf("%d a second, %q; want %d, %q", got.Rates[0].Count, got.Why, tt.want, tt.why)
			}
		})
	}
}

func TestAppliedPhase(t *testing.T) {
	at := now.Add(-time.Second)
	second := rateEdited(2, "rates[0].requestsPerSecond", 0, perSecond(100), perSecond(200))
	third := suspendEdited(3, true)
	applied := func(e record.Edit, at time.Time) record.Edit {
		e.AppliedAt = ptr.To(metav1.NewMicroTime(at))
		return e
	}
	tests := map[string]struct {
		view collect.View
		want []record.Edit
	}{
		"no runner has it":          {collect.View{Generation: 1}, []record.Edit{second, third}},
		"the first is active":       {collect.View{Generation: 2, Applied: []collect.Applied{{Generation: 2, At: at}}}, []record.Edit{applied(second, at), third}},
		"accepted, but later":       {collect.View{Generation: 3, Applied: []collect.Applied{{Generation: 2, At: at}, {Generation: 3, At: now.Add(time.Second)}}}, []record.Edit{applied(second, at), third}},
		"the second overtook":       {collect.View{Generation: 3, Applied: []collect.Applied{{Generation: 3, At: at}}}, []record.Edit{applied(second, at), applied(third, at)}},
		"a former operator sent it": {collect.View{Generation: 3}, []record.Edit{applied(second, now), applied(third, now)}},
		"no runner was asked":       {collect.View{}, []record.Edit{second, third}},
		"ended before it was sent":  {collect.View{Generation: 2}, []record.Edit{applied(second, now), third}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(withJob, decided)
			s.Record.Edits, s.View = []record.Edit{second, third}, &tt.view
			if err := decide.Next(s.Facts, s.Record, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(changesShown(tt.want), statusOf(s, now).Changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditsAreBounded(t *testing.T) {
	edits := []record.Edit{suspendEdited(1, true)}
	for i := range int64(50) {
		edits = decide.Bounded(append(edits, rateEdited(i+2, "rates[0].requestsPerSecond", 0, perSecond(100+i), perSecond(101+i))))
	}
	got := changesShown(edits)
	if len(got) != decide.MaxChanges || got[0].Field != "suspend" || got[1].From != "100" || got[decide.MaxChanges-1].To != "150" {
		t.Errorf("%d changes, the first %+v and %+v, the last %+v", len(got), got[0], got[1], got[len(got)-1])
	}
}

func TestChangesShown(t *testing.T) {
	got := changesShown([]record.Edit{
		rateEdited(2, "rates[1].requestsPer", 1, perSecond(7), perMinute(30)), shardsEdited(3, 2, 5), suspendEdited(4, true),
	})
	want := []v1alpha1.Change{
		{Generation: 2, Time: metav1.NewMicroTime(now), Field: "rates[1].requestsPer", From: "7", To: "30 per 1m0s"},
		{Generation: 3, Time: metav1.NewMicroTime(now), Field: "runner.shards", From: "2", To: "5"},
		{Generation: 4, Time: metav1.NewMicroTime(now), Field: "suspend", From: "false", To: "true"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestChangeEvents(t *testing.T) {
	at := ptr.To(metav1.NewMicroTime(now))
	changed := func(generation int64, field, from, to string) v1alpha1.Change {
		return v1alpha1.Change{Generation: generation, Time: metav1.NewMicroTime(now), Field: field, From: from, To: to}
	}
	rate, other, pause := changed(2, "rates[0].requestsPerSecond", "100", "200"), changed(2, "rates[1].requestsPer", "1", "1 per 1m0s"), changed(3, "suspend", "false", "true")
	before := &v1alpha1.LoadTestStatus{Changes: []v1alpha1.Change{rate, other}}
	after := before.DeepCopy()
	after.Changes = append(after.Changes, pause)
	if got := eventsOf(before, after); len(got) != 0 {
		t.Errorf("events %+v of what is not in force", got)
	}
	for i := range after.Changes {
		after.Changes[i].AppliedAt = at
	}
	want := []userEvent{
		{reason: "RateChanged", action: "Run", note: "Changed rates[0].requestsPerSecond from 100 to 200; rates[1].requestsPer from 1 to 1 per 1m0s"},
		{reason: "Suspended", action: "Run", note: "No request is sent while spec.suspend is true"},
	}
	if diff := cmp.Diff(want, eventsOf(before, after), cmpopts.EquateComparable(userEvent{})); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	later := after.DeepCopy()
	resumed := changed(4, "suspend", "true", "false")
	resumed.AppliedAt = at
	later.Changes = append(later.Changes, resumed)
	if got := eventsOf(after, later); len(got) != 1 || got[0].reason != "Resumed" {
		t.Errorf("events %+v, want one that it was resumed", got)
	}
}

// A suspended run that is taken over stays suspended to the eye until its runners were asked.
func TestTakeOverOfASuspendedRun(t *testing.T) {
	s := newScope(withJob, podsRun, decided, runnersAre(runs, runs), nothingIsDue)
	s.LoadTest.Status = *statusOf(s, now)
	fresh := newScope(withJob, podsRun, decided)
	fresh.LoadTest = s.LoadTest
	if diff := cmp.Diff(&s.LoadTest.Status, statusOf(fresh, now.Add(time.Minute))); diff != "" {
		t.Errorf("status before anybody was asked (-before +after):\n%s", diff)
	}
}

func TestRatesThatCannotBePutInForce(t *testing.T) {
	s := newScope(withJob, podsRun, decided, runnersAre(runs, runs))
	s.notApplied = "spec.rates: must have 1 stages, as when the test started"
	st := statusOf(s, now)
	c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReconciling)
	if c == nil || c.Reason != v1alpha1.ReasonChangeNotApplied || !strings.Contains(c.Message, s.notApplied) || st.Phase != v1alpha1.PhaseRunning {
		t.Errorf("phase %s, condition %+v", st.Phase, c)
	}
}

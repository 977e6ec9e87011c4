package loadtest

import (
	"fmt"
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
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

func perSecond(n int64) runnerv1alpha1.Rate {
	return runnerv1alpha1.Rate{Name: "hold", Count: n, Period: time.Second, Duration: time.Minute}
}

func perMinute(n int64) runnerv1alpha1.Rate {
	return runnerv1alpha1.Rate{Name: "hold", Count: n, Period: time.Minute, Duration: time.Minute}
}

func changed(generation int64, field, from, to string) v1alpha1.Change {
	return v1alpha1.Change{Generation: generation, Time: metav1.NewMicroTime(now), Field: field, From: from, To: to}
}

func TestChangesOf(t *testing.T) {
	const perSecondField, perField = "rates[0].requestsPerSecond", "rates[0].requestsPer"
	tests := map[string]struct {
		before    []v1alpha1.Change
		rate      runnerv1alpha1.Rate
		per       bool
		suspended bool
		shards    int // 0: the 2 of the plan
		want      []v1alpha1.Change
	}{
		"nothing":             {rate: perSecond(100)},
		"a rate":              {rate: perSecond(200), want: []v1alpha1.Change{changed(2, perSecondField, "100", "200")}},
		"a rate in a period":  {rate: perMinute(30), per: true, want: []v1alpha1.Change{changed(2, perField, "100", "30 per 1m0s")}},
		"a rate and a pause":  {rate: perSecond(200), suspended: true, want: []v1alpha1.Change{changed(2, perSecondField, "100", "200"), changed(2, "suspend", "false", "true")}},
		"recorded":            {before: []v1alpha1.Change{changed(2, perSecondField, "100", "200")}, rate: perSecond(200)},
		"again":               {before: []v1alpha1.Change{changed(1, perField, "100", "7 per 1m0s")}, rate: perSecond(200), want: []v1alpha1.Change{changed(2, perSecondField, "7 per 1m0s", "200")}},
		"back":                {before: []v1alpha1.Change{changed(1, perSecondField, "100", "200")}, rate: perSecond(100), want: []v1alpha1.Change{changed(2, perSecondField, "200", "100")}},
		"resumed":             {before: []v1alpha1.Change{changed(1, "suspend", "false", "true")}, rate: perSecond(100), want: []v1alpha1.Change{changed(2, "suspend", "true", "false")}},
		"another stage's":     {before: []v1alpha1.Change{changed(1, "rates[10].requestsPerSecond", "5", "6")}, rate: perSecond(100)},
		"shards":              {rate: perSecond(100), shards: 5, want: []v1alpha1.Change{changed(2, "runner.shards", "2", "5")}},
		"shards again":        {before: []v1alpha1.Change{changed(1, "runner.shards", "2", "5")}, rate: perSecond(100), shards: 3, want: []v1alpha1.Change{changed(2, "runner.shards", "5", "3")}},
		"shards back":         {before: []v1alpha1.Change{changed(1, "runner.shards", "2", "5")}, rate: perSecond(100), want: []v1alpha1.Change{changed(2, "runner.shards", "5", "2")}},
		"suspended all along": {before: []v1alpha1.Change{changed(1, "suspend", "false", "true")}, rate: perSecond(100), suspended: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope()
			s.lt.Generation, s.lt.Spec.Suspend, s.lt.Status.Changes = 2, tt.suspended, tt.before
			s.lt.Spec.Rates = []v1alpha1.Rate{{RequestsPerSecond: ptr.To[int64](1)}}
			if tt.per {
				s.lt.Spec.Rates = []v1alpha1.Rate{{RequestsPer: &v1alpha1.RequestsPer{}}}
			}
			if diff := cmp.Diff(tt.want, changesOf(s, &present{rates: []runnerv1alpha1.Rate{tt.rate}, shards: max(2, tt.shards)})); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
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
		if got := unlike(base, tt.now); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
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
		"another rate":      {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](7) }, 7, ""},
		"another template":  {func(s *v1alpha1.LoadTestSpec) { s.Templates[0].Path = "/other" }, 100, ""},
		"another stage":     {func(s *v1alpha1.LoadTestSpec) { s.Rates = append(s.Rates, builder.PerSecond("more", 1, time.Second)) }, 100, "must have 1 stages"},
		"another duration":  {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].Duration.Duration = time.Hour }, 100, "spec.rates[0]"},
		"a rate of nothing": {func(s *v1alpha1.LoadTestSpec) { s.Rates[0].RequestsPerSecond = ptr.To[int64](0) }, 100, "spec.rates[0].requestsPerSecond"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(withJob, decided)
			s.lt = builder.Minimal("pcf").Edit(tt.edit).Build()
			s.lt.Generation = 2
			started, _, errs := compile.Compile("core/pcf", &builder.Minimal("pcf").Build().Spec)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			s.plan = started
			got := presentOf(s)
			if got.rates[0].Count != tt.want || (got.why == "") != (tt.why == "") || !strings.Contains(got.why, tt.why) {
				t.Errorf("%d a second, %q; want %d, %q", got.rates[0].Count, got.why, tt.want, tt.why)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	at := now.Add(-time.Second)
	second := changed(2, "rates[0].requestsPerSecond", "100", "200")
	third := changed(3, "suspend", "false", "true")
	applied := func(c v1alpha1.Change, at time.Time) v1alpha1.Change {
		c.AppliedAt = ptr.To(metav1.NewMicroTime(at))
		return c
	}
	tests := map[string]struct {
		view collect.View
		want []v1alpha1.Change
	}{
		"told to nobody":           {collect.View{Generation: 1, Newest: 2}, []v1alpha1.Change{second, third}},
		"the first is in force":    {collect.View{Generation: 2, Applied: []collect.Applied{{Generation: 2, At: at}}}, []v1alpha1.Change{applied(second, at), third}},
		"accepted, but later":      {collect.View{Generation: 3, Applied: []collect.Applied{{Generation: 2, At: at}, {Generation: 3, At: now.Add(time.Second)}}}, []v1alpha1.Change{applied(second, at), third}},
		"the second overtook":      {collect.View{Generation: 3, Applied: []collect.Applied{{Generation: 3, At: at}}}, []v1alpha1.Change{applied(second, at), applied(third, at)}},
		"told by another process":  {collect.View{Generation: 3}, []v1alpha1.Change{applied(second, now), applied(third, now)}},
		"nobody has been asked":    {collect.View{}, []v1alpha1.Change{second, third}},
		"ended before it was told": {collect.View{Generation: 2}, []v1alpha1.Change{applied(second, now), third}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(withJob, decided)
			s.lt.Status.Changes, s.changes, s.view = []v1alpha1.Change{second}, []v1alpha1.Change{third}, &tt.view
			if diff := cmp.Diff(tt.want, statusOf(s, now).Changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	s := newScope()
	s.lt.Status.Changes = []v1alpha1.Change{changed(1, "suspend", "false", "true")}
	for i := range int64(50) {
		s.lt.Status.Changes = append(s.lt.Status.Changes, changed(i+2, "rates[0].requestsPerSecond", fmt.Sprint(100+i), fmt.Sprint(101+i)))
	}
	got := s.history()
	if len(got) != maxChanges || got[0].Field != "suspend" || got[1].From != "100" || got[maxChanges-1].To != "150" {
		t.Errorf("%d changes, the first %+v and %+v, the last %+v", len(got), got[0], got[1], got[len(got)-1])
	}
	rates, same := undone([]runnerv1alpha1.Rate{perSecond(150)}, got)
	if diff := cmp.Diff([]runnerv1alpha1.Rate{perSecond(100)}, rates); diff != "" || !same {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

func TestUndone(t *testing.T) {
	changes := []v1alpha1.Change{
		changed(2, "rates[1].requestsPer", "7", "30 per 1m0s"), changed(3, "suspend", "false", "true"),
		changed(4, "rates[1].requestsPerSecond", "30 per 1m0s", "9"),
	}
	got, same := undone([]runnerv1alpha1.Rate{perSecond(5), perSecond(9)}, changes)
	if diff := cmp.Diff([]runnerv1alpha1.Rate{perSecond(5), perSecond(7)}, got); diff != "" || !same {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	if _, same := undone([]runnerv1alpha1.Rate{perSecond(5), perSecond(8)}, changes); same {
		t.Error("8 a second was not in force at the end")
	}
	for _, from := range []string{"", "x", "1 per", "1 per x", " per 1m0s", "1e3"} {
		if _, same := undone([]runnerv1alpha1.Rate{perSecond(9)}, []v1alpha1.Change{changed(2, "rates[0].requestsPerSecond", from, "9")}); same {
			t.Errorf("%q was read as a rate", from)
		}
	}
}

func TestChangeEvents(t *testing.T) {
	at := ptr.To(metav1.NewMicroTime(now))
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
	s.lt.Status = *statusOf(s, now)
	fresh := newScope(withJob, podsRun, decided)
	fresh.lt = s.lt
	if diff := cmp.Diff(&s.lt.Status, statusOf(fresh, now.Add(time.Minute))); diff != "" {
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

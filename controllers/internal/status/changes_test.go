package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/event"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

func TestChangesShown(t *testing.T) {
	got := changesShown([]record.Edit{
		runtest.RateEdited(2, "rates[1].requestsPer", 1, runtest.PerSecond(7), runtest.PerMinute(30)), runtest.ShardsEdited(3, 2, 5), runtest.SuspendEdited(4, true),
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
	if got := Events(before, after); len(got) != 0 {
		t.Errorf("events %+v of what is not in force", got)
	}
	for i := range after.Changes {
		after.Changes[i].AppliedAt = at
	}
	want := []event.Event{
		{Reason: "RateChanged", Action: "Run", Note: "Changed rates[0].requestsPerSecond from 100 to 200; rates[1].requestsPer from 1 to 1 per 1m0s"},
		{Reason: "Suspended", Action: "Run", Note: "No request is sent while spec.suspend is true"},
	}
	if diff := cmp.Diff(want, Events(before, after), cmpopts.EquateComparable(event.Event{})); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	later := after.DeepCopy()
	resumed := changed(4, "suspend", "true", "false")
	resumed.AppliedAt = at
	later.Changes = append(later.Changes, resumed)
	if got := Events(after, later); len(got) != 1 || got[0].Reason != "Resumed" {
		t.Errorf("events %+v, want one that it was resumed", got)
	}
}

// A suspended run that is taken over stays suspended to the eye until its runners were asked.
func TestTakeOverOfASuspendedRun(t *testing.T) {
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs), nothingIsDue)
	s.LoadTest.Status = *Of(s)
	fresh := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started)
	fresh.LoadTest = s.LoadTest
	if diff := cmp.Diff(&s.LoadTest.Status, at(fresh, now.Add(time.Minute))); diff != "" {
		t.Errorf("status before anybody was asked (-before +after):\n%s", diff)
	}
}

func TestRatesThatCannotBePutInForce(t *testing.T) {
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs))
	s.NotApplied = "spec.rates: must have 1 stages, as when the test started"
	st := Of(s)
	c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReconciling)
	if c == nil || c.Reason != v1alpha1.ReasonChangeNotApplied || !strings.Contains(c.Message, s.NotApplied) || st.Phase != v1alpha1.PhaseRunning {
		t.Errorf("phase %s, condition %+v", st.Phase, c)
	}
}

package loadtestschedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// world is a schedule "0 * * * *", created at 00:30, with a fake API server and a fake clock.
type world struct {
	*testing.T
	client client.Client
	r      *reconciler
	now    time.Time
	events []string
	// refuse is what the API server answers to the creation of a LoadTest; nil: it accepts it.
	refuse error
	// requeue is the result of the last pass.
	requeue time.Duration
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	w.events = append(w.events, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

func newWorld(t *testing.T, changes ...func(*v1alpha1.LoadTestScheduleSpec)) *world {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, now: clock(t, "2026-01-01T00:30:00Z")}
	schedule := &v1alpha1.LoadTestSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: "hourly", Namespace: "ns", UID: "uid", Generation: 1, CreationTimestamp: metav1.NewTime(w.now)},
		Spec: v1alpha1.LoadTestScheduleSpec{
			Schedule: "0 * * * *", TimeZone: "Etc/UTC", ConcurrencyPolicy: v1alpha1.ConcurrencyForbid, StartingDeadlineSeconds: ptr.To[int64](300),
			Template: v1alpha1.LoadTestTemplate{
				Metadata: v1alpha1.TemplateMetadata{Labels: map[string]string{"team": "core"}, Annotations: map[string]string{"a": "b"}},
				Spec:     builder.Minimal("x").Build().Spec,
			},
		},
	}
	for _, change := range changes {
		change(&schedule.Spec)
	}
	w.client = fake.NewClientBuilder().WithScheme(s).WithObjects(schedule).WithStatusSubresource(&v1alpha1.LoadTestSchedule{}, &v1alpha1.LoadTest{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if w.refuse != nil {
				return w.refuse
			}
			o.SetUID("uid-of-" + "test")
			return c.Create(ctx, o, opts...)
		}}).Build()
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{})
	cfg.Limits.RequestsPerSecond, cfg.Runner.DeniedPodFields = 2000, []string{"spec.hostNetwork"}
	cfg.Targets.Denied = []configv1alpha1.AddressRule{{Name: "billing", Hosts: []string{"billing.*"}}}
	w.r = &reconciler{client: w.client, reader: w.client, events: w, cfg: cfg, clock: func() time.Time { return w.now }, pending: func(*v1alpha1.LoadTest) bool { return false }}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// at sets the clock and makes a pass.
func (w *world) at(text string) *v1alpha1.LoadTestScheduleStatus {
	w.Helper()
	w.now = clock(w.T, "2026-01-01T"+text+"Z")
	result, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "hourly"}})
	w.must(err)
	w.requeue = result.RequeueAfter
	return &w.get().Status
}

func (w *world) get() *v1alpha1.LoadTestSchedule {
	w.Helper()
	out := &v1alpha1.LoadTestSchedule{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: "ns", Name: "hourly"}, out))
	return out
}

func (w *world) edit(change func(*v1alpha1.LoadTestScheduleSpec)) {
	w.Helper()
	s := w.get()
	change(&s.Spec)
	s.Generation++
	w.must(w.client.Update(w.Context(), s))
}

// tests returns the LoadTests, as the hour of their scheduled time.
func (w *world) tests() []string {
	w.Helper()
	list := &v1alpha1.LoadTestList{}
	w.must(w.client.List(w.Context(), list))
	var out []string
	for i := range list.Items {
		out = append(out, scheduledTime(&list.Items[i]).Format("15:04"))
	}
	slices.Sort(out)
	return out
}

func (w *world) wantTests(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.tests()); diff != "" {
		w.Errorf("LoadTests (-want +got):\n%s", diff)
	}
}

// wantEvents compares the beginnings of the events since the last call.
func (w *world) wantEvents(want ...string) {
	w.Helper()
	for i, e := range w.events {
		if i < len(want) && strings.HasPrefix(e, want[i]) {
			w.events[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, w.events); diff != "" {
		w.Errorf("events (-want +got):\n%s", diff)
	}
	w.events = nil
}

func (w *world) wantReady(status metav1.ConditionStatus, reason, message string) {
	w.Helper()
	c := meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		w.Errorf("Ready is %+v, want %s %s with %q", c, status, reason, message)
	}
}

func name(w *world, hour string) string {
	return (&scope{schedule: w.get()}).loadTestName(clock(w.T, "2026-01-01T"+hour+":00Z"))
}

// finish ends the LoadTest of an hour.
func (w *world) finish(hour, outcome string) {
	w.Helper()
	lt := &v1alpha1.LoadTest{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: "ns", Name: name(w, hour)}, lt))
	lt.Status.Verdict = &v1alpha1.Verdict{Outcome: outcome, Reason: "Because", Message: "so it is"}
	meta.SetStatusCondition(&lt.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Completed"})
	w.must(w.client.Status().Update(w.Context(), lt))
}

func TestRunsEachHour(t *testing.T) {
	w := newWorld(t)
	w.at("00:30:00")
	w.wantTests()
	w.wantReady(metav1.ConditionTrue, v1alpha1.ReasonScheduled, "The next LoadTest starts at 2026-01-01T01:00:00Z")
	if w.requeue != 30*time.Minute {
		t.Errorf("the next pass comes after %v", w.requeue)
	}
	st := w.at("01:00:00")
	w.wantTests("01:00")
	w.wantEvents("Normal Created: Created LoadTest hourly-29453820")
	if len(st.Active) != 1 || st.Active[0].Name != "hourly-29453820" || st.LastScheduleTime.UTC().Hour() != 1 {
		t.Errorf("status %+v", st)
	}
	lt := &v1alpha1.LoadTest{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "hourly-29453820"}, lt))
	if diff := cmp.Diff(map[string]string{"team": "core", v1alpha1.LabelSchedule: "hourly"}, lt.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "b", v1alpha1.AnnotationScheduledTime: "2026-01-01T01:00:00Z"}, lt.Annotations); diff != "" {
		t.Error(diff)
	}
	if !metav1.IsControlledBy(lt, w.get()) || len(lt.Spec.Rates) != 1 {
		t.Errorf("LoadTest %+v", lt)
	}
	w.finish("01:00", "Failed")
	st = w.at("01:10:00")
	w.wantEvents("Warning RunFinished: LoadTest hourly-29453820: Failed: so it is")
	if len(st.Active) != 0 || st.LastFinished.Outcome != "Failed" || st.LastFinished.Reason != "Because" || st.LastPassedTime != nil {
		t.Errorf("status %+v", st)
	}
	w.at("02:00:00")
	w.finish("02:00", "Passed")
	st = w.at("02:10:00")
	w.wantEvents("Normal Created", "Normal RunFinished")
	if st.LastFinished.Outcome != "Passed" || st.LastPassedTime.UTC().Hour() != 2 || st.MissedRuns != 0 {
		t.Errorf("status %+v", st)
	}
	before := w.get().ResourceVersion
	if w.at("02:20:00"); w.get().ResourceVersion != before {
		t.Error("a pass without news wrote the status")
	}
}

// An operator that could not write the status after it created the LoadTest creates no second one, whatever its cache shows.
func TestNoSecondRunAfterARestart(t *testing.T) {
	for _, seen := range []bool{true, false} {
		w := newWorld(t)
		w.at("00:30:00")
		before := w.get()
		w.at("01:00:00")
		after := w.get()
		after.Status = before.Status
		w.must(w.client.Status().Update(t.Context(), after))
		if !seen {
			w.r.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
			})
		}
		st := w.at("01:00:01")
		w.wantTests("01:00")
		if st.LastScheduleTime == nil || st.LastScheduleTime.UTC().Hour() != 1 || st.MissedRuns != 0 {
			t.Errorf("seen %v: status %+v", seen, st)
		}
	}
}

func TestForbid(t *testing.T) {
	w := newWorld(t)
	w.at("01:00:00")
	w.at("02:00:00")
	w.wantTests("01:00")
	w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonWaiting, "The run of 2026-01-01T02:00:00Z waits for "+name(w, "01:00")+" to finish")
	if w.requeue != 301*time.Second {
		t.Errorf("the next pass comes after %v", w.requeue)
	}
	w.finish("01:00", "Passed")
	w.at("02:04:00") // within the deadline
	w.wantTests("01:00", "02:00")
	w.at("03:00:00")
	w.events = nil
	st := w.at("03:05:01")
	w.wantEvents("Warning RunMissed: Missed the run of 2026-01-01T03:00:00Z: The run of 2026-01-01T03:00:00Z waits for " + name(w, "02:00"))
	if st.MissedRuns != 1 || st.LastMissedTime.UTC().Hour() != 3 || st.LastScheduleTime.UTC().Hour() != 2 {
		t.Errorf("status %+v", st)
	}
	w.finish("02:00", "Passed")
	w.at("03:06:00") // too late
	w.wantTests("01:00", "02:00")
	w.wantReady(metav1.ConditionTrue, v1alpha1.ReasonScheduled, "04:00:00")
}

func TestAllow(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) { s.ConcurrencyPolicy = v1alpha1.ConcurrencyAllow })
	w.at("01:00:00")
	st := w.at("02:00:00")
	w.wantTests("01:00", "02:00")
	if len(st.Active) != 2 || st.Active[0].ScheduledTime.UTC().Hour() != 1 {
		t.Errorf("active %+v", st.Active)
	}
}

// The next run waits until the LoadTest that it replaces is gone.
func TestReplace(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) { s.ConcurrencyPolicy = v1alpha1.ConcurrencyReplace })
	w.at("01:00:00")
	lt := &v1alpha1.LoadTest{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name(w, "01:00")}, lt))
	lt.Finalizers = []string{"foregroundDeletion"}
	w.must(w.client.Update(t.Context(), lt))
	w.at("02:00:00")
	w.wantTests("01:00")
	w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonWaiting, "to be deleted")
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(lt), lt))
	if lt.DeletionTimestamp == nil {
		t.Error("the LoadTest is not being deleted")
	}
	lt.Finalizers = nil
	w.must(w.client.Update(t.Context(), lt))
	w.at("02:00:10")
	w.wantTests("02:00")
}

func TestMissedWhileTheOperatorWasAway(t *testing.T) {
	w := newWorld(t)
	w.at("00:30:00")
	st := w.at("04:02:00")
	w.wantTests("04:00")
	w.wantEvents("Warning RunMissed: Missed 3 runs, from 2026-01-01T01:00:00Z to 2026-01-01T03:00:00Z: the operator did not run at that time", "Normal Created")
	if st.MissedRuns != 3 || st.LastMissedTime.UTC().Hour() != 3 {
		t.Errorf("status %+v", st)
	}
	if st = w.at("04:02:01"); st.MissedRuns != 3 {
		t.Errorf("the same runs counted twice: %+v", st)
	}
}

// Runs during a suspension are skipped, also if their deadline has not passed at its end.
func TestSuspend(t *testing.T) {
	w := newWorld(t)
	w.at("00:30:00")
	w.edit(func(s *v1alpha1.LoadTestScheduleSpec) { s.Suspend = true })
	if st := w.at("00:40:00"); st.NextScheduleTime != nil || w.requeue != 0 {
		t.Errorf("status %+v, next pass after %v", st, w.requeue)
	}
	w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true")
	w.at("01:00:00")
	w.edit(func(s *v1alpha1.LoadTestScheduleSpec) { s.Suspend = false })
	st := w.at("02:00:01")
	w.wantTests()
	w.wantEvents()
	if st.MissedRuns != 0 || st.NextScheduleTime.UTC().Hour() != 3 {
		t.Errorf("status %+v", st)
	}
	w.at("03:00:00")
	w.wantTests("03:00")
}

// A change of the schedule applies from now on: times of the new schedule before the change neither start nor count as missed.
func TestScheduleChanges(t *testing.T) {
	w := newWorld(t)
	w.at("00:30:00")
	w.edit(func(s *v1alpha1.LoadTestScheduleSpec) { s.Schedule = "*/10 * * * *" })
	st := w.at("00:50:01")
	w.wantTests()
	if st.MissedRuns != 0 || st.NextScheduleTime.UTC().Minute() != 0 {
		t.Errorf("status %+v", st)
	}
	w.edit(func(s *v1alpha1.LoadTestScheduleSpec) { s.HistoryLimits.Passed = ptr.To[int32](9) })
	w.at("01:00:00") // an edit of another field loses no run
	w.wantTests("01:00")
}

func TestErrors(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) { s.Schedule = "61 * * * *" })
	w.at("00:30:00")
	w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonInvalidSchedule, "spec.schedule: end of range (61)")
	w.wantEvents("Warning InvalidSchedule")
	if !meta.IsStatusConditionTrue(w.get().Status.Conditions, v1alpha1.ConditionStalled) {
		t.Error("not stalled")
	}
	w.edit(func(s *v1alpha1.LoadTestScheduleSpec) {
		s.Schedule, s.Template.Spec.Chains[0].Steps[0].Template = "0 * * * *", "absent"
	})
	w.at("01:00:00")
	w.edit(func(*v1alpha1.LoadTestScheduleSpec) {})
	w.at("02:00:00")
	w.wantTests()
	w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonInvalidTemplate, "spec.template.spec.chains[0].steps[0].template")
	w.wantEvents("Warning InvalidTemplate")
	w.edit(func(s *v1alpha1.LoadTestScheduleSpec) {
		s.Template.Spec.Chains[0].Steps[0].Template = s.Template.Spec.Templates[0].Name
	})
	w.at("02:01:00") // fixed within the deadline
	w.wantTests("02:00")
	if meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Error("still stalled")
	}
}

// TestErrorsOfTheTemplate: Ready reports before the first scheduled time what the operator would deny at each of them.
func TestErrorsOfTheTemplate(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*v1alpha1.LoadTestTemplate)
		want string
	}{
		"above a limit": {func(lt *v1alpha1.LoadTestTemplate) { lt.Spec.Rates[0].RequestsPerSecond = ptr.To[int64](2001) },
			"spec.template.spec.rates: the highest rates of spec.rates and of all chains are together 2001 requests per second; allowed: at most 2000; denied by limits.requestsPerSecond"},
		"a denied target": {func(lt *v1alpha1.LoadTestTemplate) { lt.Spec.Targets[0].URL = "http://billing.example" },
			"spec.template.spec.targets[0].url: no LoadTest can send requests to this host; denied by rule billing in targets"},
		"a target that is denied by default": {func(lt *v1alpha1.LoadTestTemplate) { lt.Spec.Targets[0].URL = "http://169.254.169.254" },
			"spec.template.spec.targets[0].url: no LoadTest can send requests to this host; denied by rule Metadata in targets"},
		"a denied pod field": {func(lt *v1alpha1.LoadTestTemplate) {
			lt.Spec.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(`{"spec":{"hostNetwork":true}}`)}
		}, "spec.template.spec.runner.podTemplate.spec.hostNetwork: no LoadTest can set this field"},
		"a label": {func(lt *v1alpha1.LoadTestTemplate) { lt.Metadata.Labels = map[string]string{"team": "core team"} },
			"spec.template.metadata.labels: a valid label must be"},
		"an annotation": {func(lt *v1alpha1.LoadTestTemplate) { lt.Metadata.Annotations = map[string]string{"a b": ""} },
			"spec.template.metadata.annotations: name part must consist of"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) { tt.edit(&s.Template) })
			w.at("00:30:00")
			w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonInvalidTemplate, tt.want)
			w.edit(func(s *v1alpha1.LoadTestScheduleSpec) {
				s.Template.Spec, s.Template.Metadata = builder.Minimal("x").Build().Spec, v1alpha1.TemplateMetadata{}
			})
			w.at("00:31:00")
			w.wantReady(metav1.ConditionTrue, v1alpha1.ReasonScheduled, "")
		})
	}
}

func TestCreationRefused(t *testing.T) {
	w := newWorld(t)
	w.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "loadtests"}, "x", errors.New("exceeded quota"))
	w.at("01:00:00")
	w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonCreationFailed, "exceeded quota")
	if w.requeue != retryInterval {
		t.Errorf("the next pass comes after %v", w.requeue)
	}
	w.refuse = nil
	w.at("01:00:10")
	w.wantTests("01:00")
	w.wantEvents("Warning CreationFailed", "Normal Created")
	w.finish("01:00", "Passed")
	w.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "loadtests"}, "x", errors.New("exceeded quota"))
	w.at("02:00:00")
	st := w.at("02:05:01")
	if st.MissedRuns != 1 || !strings.HasPrefix(w.events[len(w.events)-1], "Warning RunMissed") || !strings.Contains(w.events[len(w.events)-1], "exceeded quota") {
		t.Errorf("status %+v, events %q", st, w.events)
	}
}

func TestNameIsTaken(t *testing.T) {
	w := newWorld(t)
	w.must(w.client.Create(t.Context(), &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name(w, "01:00"), Labels: map[string]string{v1alpha1.LabelSchedule: "hourly"},
	}}))
	st := w.at("01:00:00")
	w.wantReady(metav1.ConditionFalse, v1alpha1.ReasonNameConflict, "exists and is not of this schedule")
	if st.LastScheduleTime != nil || len(st.Active) != 0 {
		t.Errorf("status %+v", st)
	}
}

func TestHistoryLimits(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) {
		s.HistoryLimits = v1alpha1.HistoryLimits{Passed: ptr.To[int32](1), Failed: ptr.To[int32](2), Error: ptr.To[int32](0)}
	})
	for i, outcome := range []string{"Failed", "Passed", "Failed", "Passed", "Inconclusive", "Failed", "Error"} {
		w.at(fmt.Sprintf("%02d:00:00", i+1))
		w.finish(fmt.Sprintf("%02d:00", i+1), outcome)
	}
	st := w.at("07:30:00")
	w.wantTests("03:00", "04:00", "05:00", "06:00")
	if st.LastFinished.Outcome != "Error" || st.LastPassedTime.UTC().Hour() != 4 {
		t.Errorf("status %+v", st)
	}
	if st = w.at("07:31:00"); st.LastFinished.Outcome != "Error" {
		t.Errorf("the last verdict changed with the deletion of its LoadTest: %+v", st)
	}
}

// A LoadTest is deleted when the status has its verdict: the next pass knows it from the LoadTest only.
func TestHistoryWaitsForTheStatus(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) { s.HistoryLimits.Passed = ptr.To[int32](0) })
	w.at("01:00:00")
	w.finish("01:00", "Passed")
	w.events = nil
	w.r.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "loadtestschedules"}, "hourly", errors.New("edited"))
		},
	})
	w.at("01:10:00")
	w.wantTests("01:00")
	w.r.client = w.client
	st := w.at("01:10:01")
	w.wantTests()
	w.wantEvents("Normal RunFinished")
	if st.LastFinished == nil || st.LastFinished.Outcome != "Passed" || st.LastPassedTime == nil || st.LastPassedTime.UTC().Hour() != 1 {
		t.Errorf("status %+v", st)
	}
}

// A LoadTest whose report is not uploaded yet stays, and is deleted when it is.
func TestHistoryWaitsForUploads(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.LoadTestScheduleSpec) { s.HistoryLimits.Passed = ptr.To[int32](1) })
	w.r.pending = func(lt *v1alpha1.LoadTest) bool { return lt.Status.Report == nil }
	for _, hour := range []string{"01:00", "02:00"} {
		w.at(hour + ":00")
		w.finish(hour, "Passed")
	}
	w.at("02:30:00")
	w.wantTests("01:00", "02:00")
	lt := &v1alpha1.LoadTest{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name(w, "01:00")}, lt))
	before := lt.DeepCopy()
	lt.Status.Report = &v1alpha1.ReportStatus{URL: "https://storage.example/report.html"}
	w.must(w.client.Status().Update(t.Context(), lt))
	if !ends(w.r.pending).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: lt}) {
		t.Error("the upload brings no pass")
	}
	replaced := lt.DeepCopy()
	if replaced.UID = "another"; !ends(w.r.pending).Update(event.UpdateEvent{ObjectOld: lt, ObjectNew: replaced}) {
		t.Error("a LoadTest that replaces another one brings no pass")
	}
	w.at("02:31:00")
	w.wantTests("02:00")
}

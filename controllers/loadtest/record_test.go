package loadtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/test/builder"
)

// recording is a reconciler over a fake API server that has the record of a pass.
func recording(t *testing.T, s *run.Facts) *reconciler {
	t.Helper()
	s.LoadTest.UID = "0a1b2c3d-0000"
	c := fake.NewClientBuilder().WithScheme(scheme()).WithObjects(s.LoadTest.DeepCopy()).Build()
	s.Config = &configv1alpha1.OperatorConfig{}
	s.Config.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
	r := newReconciler(s.Config, c, c, newAddressRules(&s.Config.Targets, "", c))
	r.report.metrics = NewCollector(time.Minute, 10, time.Now)
	if s.Stored {
		stored, err := r.memory.of(s.LoadTest).record.Save(t.Context(), s.LoadTest, func(run *record.Record) error { *run = *s.Record; return nil })
		if err != nil {
			t.Fatal(err)
		}
		take(s, stored)
	}
	return r
}

// TestNoRecordOfADeletedTest: a new leader whose cache is late does not run a LoadTest that was deleted with its record.
func TestNoRecordOfADeletedTest(t *testing.T) {
	s := &run.Facts{LoadTest: builder.Minimal("a").Build(), Record: &record.Record{}}
	r := recording(t, s)
	if err := r.perform.client.Delete(t.Context(), s.LoadTest.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if b, err := r.admitted(t.Context(), s); err != nil || b == nil || b.Retry == 0 {
		t.Errorf("got %+v, %v; want another look at the cache", b, err)
	}
	all := &statev1alpha1.LoadTestRunList{}
	if err := r.perform.client.List(t.Context(), all); err != nil || len(all.Items) != 0 {
		t.Errorf("%d records of a LoadTest that was deleted, and error %v", len(all.Items), err)
	}
}

// TestCountsAfterALoss: the record says that a runner was lost without counts. Then an operator reached it, stored its counts and ended.
func TestCountsAfterALoss(t *testing.T) {
	s := runtest.New(runtest.WithJob)
	s.Record.Shards = []record.Shard{{Pod: "uid-0", State: record.ShardLost, Loss: &record.Loss{Message: "no answer"}}}
	former := recording(t, s)
	seen := &shards.Shard{Snapshot: &runnerv1alpha1.Snapshot{Sequence: 7}}
	seen.Snapshot.Counters.Sent, seen.Snapshot.Stages = 40, []runnerv1alpha1.StageCounters{{Slots: 40}}
	if err := former.perform.storeSnapshot(t.Context(), s, ptr.To(s.Record.Shards[0]), seen); err != nil {
		t.Fatal(err)
	}
	c := former.perform.client
	r := newReconciler(s.Config, c, c, newAddressRules(&s.Config.Targets, "", c))
	if err := r.observe.readEnded(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n := s.Ended[0].Snapshot; n == nil || n.Counters.Sent != 40 {
		t.Errorf("the next operator has the counts %+v, want 40 sent", n)
	}
	if !s.Ended[0].Member {
		t.Error("the runner had a share of the load, and is no member")
	}
}

// TestReleaseForgetsThePlan: memory follows the tests that run, not those that finished.
func TestReleaseForgetsThePlan(t *testing.T) {
	s := &run.Facts{LoadTest: builder.Minimal("a").Build(), Record: &record.Record{End: &record.End{}}}
	r := recording(t, s)
	r.registry = &collect.Registry{}
	c := r.memory.of(s.LoadTest)
	c.plan, c.present, c.addresses = &runnerv1alpha1.Plan{}, &run.Present{}, &runnerv1alpha1.AddressPolicy{}
	if err := r.finished(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if c.plan != nil || c.present != nil || c.addresses != nil {
		t.Errorf("the memory has plan %v, values of the spec %v and policy %v of a test that finished", c.plan, c.present, c.addresses)
	}
}

// TestNoRecordIsRepeated: the runners of a test without a record are asked nothing, so a pass that fails must not leave them to podGrace.
func TestNoRecordIsRepeated(t *testing.T) {
	s := runtest.New()
	started := metav1.NewTime(s.Now)
	s.LoadTest.Status.StartTime = &started
	r := recording(t, s)
	r.registry = &collect.Registry{}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.LoadTest.Namespace, Name: "pcf-1"}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: desired.BudgetMeta(s.LoadTest)}
	for _, o := range []client.Object{job, budget} {
		if err := r.perform.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.FormerJobs = []*batchv1.Job{job}
	failed, failing := false, errors.New("the connection is lost")
	r.perform.client = interceptor.NewClient(r.perform.client.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if !failed {
				failed = true
				return failing
			}
			return c.Delete(ctx, o, opts...)
		},
	})
	for pass := range 3 {
		if err := r.phase(t.Context(), s); err != nil && !errors.Is(err, failing) {
			t.Fatalf("pass %d: %v", pass, err)
		}
	}
	if !failed || s.Record.End == nil || s.Record.End.Reason != v1alpha1.ReasonRunRecordMissing {
		t.Fatalf("failed %t, end %+v", failed, s.Record.End)
	}
	want := "The run record (LoadTestRun " + desired.RunName(s.LoadTest) + ") was deleted. The operator stopped the test; the results are lost"
	if got := s.Record.End.Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	for _, o := range []client.Object{job, budget} {
		if err := r.perform.reader.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			t.Errorf("%T: error %v, want that it is gone", o, err)
		}
	}
}

// TestInvalidHasNoJobs: the API server refused the Job of an edited spec, and the Job of the spec before has not been deleted.
func TestInvalidHasNoJobs(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "core", Name: "pcf-1"}}
	s := runtest.New(runtest.WithJob)
	s.Job, s.FormerJobs = nil, []*batchv1.Job{job}
	s.LoadTest.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionPlanReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidSpec, ObservedGeneration: 1},
		{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInvalidSpec, ObservedGeneration: 1},
	}
	r := recording(t, s)
	r.registry = &collect.Registry{}
	if err := r.perform.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if err := r.phase(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	err := r.perform.reader.Get(t.Context(), client.ObjectKeyFromObject(job), job)
	if !apierrors.IsNotFound(err) || s.Record.State != record.Pending {
		t.Errorf("state %s, error %v, want Pending and no Job", s.Record.State, err)
	}
}

// TestReportOfAFormerOperator: an operator that does not know that its successor chose another report creates none. The successor would not accept it.
func TestReportOfAFormerOperator(t *testing.T) {
	lt := builder.Minimal("a").Build()
	lt.UID = "0a1b2c3d-0000"
	cm := desired.Report(lt, []byte("of the former operator"))
	s := &run.Facts{LoadTest: lt, Stored: true, Record: &record.Record{Version: record.Version, State: record.Finishing, Report: desired.ReportDigest(cm)}}
	r := recording(t, s)
	successor := record.NewStore(r.perform.reader, r.perform.client)
	if _, err := successor.Load(t.Context(), lt); err != nil {
		t.Fatal(err)
	}
	if _, err := successor.Save(t.Context(), lt, func(run *record.Record) error { run.Report = "another"; return nil }); err != nil {
		t.Fatal(err)
	}
	err := r.perform.storeReport(t.Context(), s, cm, &record.End{})
	if found, _ := existing(t.Context(), r.perform.reader, lt, cm.DeepCopy()); !apierrors.IsConflict(err) || found {
		t.Errorf("error %v, created %v; want a conflict and no ConfigMap", err, found)
	}
	if newest, err := r.memory.of(lt).record.Load(t.Context(), lt); err != nil || newest.Report != "another" {
		t.Errorf("the next pass has record %+v (%v), want that of the successor", newest, err)
	}
}

// TestEndOfAStoredReport: an operator that stored the report and ended has chosen the results, without what its successor lost since.
func TestEndOfAStoredReport(t *testing.T) {
	const done = runnerv1alpha1.StateDone
	s := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(done, done),
		func(f *run.Facts) { f.Record.State = record.Finishing })
	r := recording(t, s)
	want := &record.End{Reason: v1alpha1.ReasonCompleted, Verdict: &v1alpha1.Verdict{Outcome: "Passed"}}
	if err := r.perform.storeReport(t.Context(), s, desired.Report(s.LoadTest, []byte("report")), want); err != nil {
		t.Fatal(err)
	}
	runtest.ShardLost(1)(s)
	if err := r.finish(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.Record.End); diff != "" || s.Record.State != record.Finished || s.Record.Ending != nil {
		t.Errorf("state %s, ending %v, end (-want +got):\n%s", s.Record.State, s.Record.Ending, diff)
	}
}

// TestEndOfAnEarlierVersion: the record has the digest of the stored report, and not the end that belongs to it.
func TestEndOfAnEarlierVersion(t *testing.T) {
	s := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(runnerv1alpha1.StateDone, runnerv1alpha1.StateDone),
		func(f *run.Facts) { f.Record.State = record.Finishing })
	r := recording(t, s)
	if err := r.perform.storeReport(t.Context(), s, desired.Report(s.LoadTest, []byte("report")), nil); err != nil {
		t.Fatal(err)
	}
	if err := r.end(t.Context(), s, s.Report); err != nil || s.Record.End == nil || s.Record.State != record.Finished {
		t.Errorf("error %v, state %s, end %v", err, s.Record.State, s.Record.End)
	}
}

// TestEndBeforeTheStart: a run that is to end before its start does not start after all, although its runners are ready now.
func TestEndBeforeTheStart(t *testing.T) {
	const ready = runnerv1alpha1.StateReady
	end := &record.End{Reason: v1alpha1.ReasonStartTimeout, Message: "0 of 2 runners are ready"}
	for _, stored := range []bool{false, true} {
		s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.RunnersAre(ready, ready))
		s.LoadTest, s.Record.Ending = builder.Minimal("a").Build(), end
		r := recording(t, s)
		if stored {
			if err := r.perform.storeReport(t.Context(), s, desired.Report(s.LoadTest, []byte("report")), end); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.starting(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if e := s.Record.End; e == nil || e.Reason != end.Reason || s.StartDecided() {
			t.Errorf("stored %t: end %+v, start %v", stored, e, s.Record.Start)
		}
	}
}

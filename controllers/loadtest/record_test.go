package loadtest

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
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
	if s.Stored {
		stored, err := r.memory.of(s.LoadTest).record.Save(t.Context(), s.LoadTest, func(run *record.Record) error { *run = *s.Record; return nil })
		if err != nil {
			t.Fatal(err)
		}
		take(s, stored)
	}
	return r
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
	stored, err := r.perform.storeReport(t.Context(), s, cm)
	if found, _ := existing(t.Context(), r.perform.reader, lt, cm.DeepCopy()); stored != nil || !apierrors.IsConflict(err) || found {
		t.Errorf("stored %v, error %v, created %v; want a conflict and no ConfigMap", stored, err, found)
	}
	if newest, err := r.memory.of(lt).record.Load(t.Context(), lt); err != nil || newest.Report != "another" {
		t.Errorf("the next pass has record %+v (%v), want that of the successor", newest, err)
	}
}

// TestEndOfAStoredReport: an operator that stored the report and ended has chosen the results. What its successor lost since is not in them.
func TestEndOfAStoredReport(t *testing.T) {
	const done = runnerv1alpha1.StateDone
	finishing := func(f *run.Facts) { f.Record.State = record.Finishing }
	s := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(done, done), finishing)
	r := recording(t, s)
	stored := *s.Report
	stored.Verdict = runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomePassed, Reason: "Passed"}
	gz, _, err := fit(stored, s.Config.Report.MaxBytes, reportDetails)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.perform.storeReport(t.Context(), s, desired.Report(s.LoadTest, gz)); err != nil {
		t.Fatal(err)
	}
	s.View.Shards[1].Snapshot.Counters.Requests = runnerv1alpha1.Requests{}
	runtest.ShardLost(1)(s)
	lacks := *s.Report
	lacks.Verdict = runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeInconclusive, Reason: "PartialResult"}
	if err := r.end(t.Context(), s, &lacks); err != nil {
		t.Fatal(err)
	}
	end := s.Record.End
	if got := end.Results; got.Partial || got.Requests.Sent != stored.Requests.Sent || end.Verdict.Reason != "Passed" {
		t.Errorf("results %+v, verdict %+v; the report has %+v", got, end.Verdict, stored.Requests)
	}
}

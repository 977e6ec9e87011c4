package loadtest

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/test/builder"
)

// TestStatusWhoseAnswerWasLost: a status may be stored although its write failed. The next pass finds that out, also if the cache still shows the
// status before it, which is what this pass wants.
func TestStatusWhoseAnswerWasLost(t *testing.T) {
	lose := false
	lt := builder.Minimal("a").Build()
	lt.UID = "0a1b2c3d-0000"
	c := fake.NewClientBuilder().WithScheme(scheme()).WithObjects(lt).WithStatusSubresource(lt).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			err := c.SubResource(sub).Patch(ctx, o, p, opts...)
			if lose {
				return errors.New("connection reset by peer")
			}
			return err
		},
	}).Build()
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
	r := newReconciler(cfg, c, c, newAddressRules(&cfg.Targets, "", c))
	r.report.events, r.report.metrics = &events.FakeRecorder{}, NewCollector(time.Minute, 10, time.Now)
	cached := &v1alpha1.LoadTest{}
	pass := func(failing string) error {
		f := &run.Facts{LoadTest: cached.DeepCopy(), Record: &record.Record{}, View: &shards.View{}, Config: cfg, Failing: failing, Now: time.Unix(1e9, 0)}
		return r.report.status(t.Context(), f)
	}
	sync := func() {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(lt), cached); err != nil {
			t.Fatal(err)
		}
	}
	sync()
	if err := pass(""); err != nil {
		t.Fatal(err)
	}
	sync()
	lose = true
	if err := pass("The operator failed 3 times in a row"); err == nil {
		t.Fatal("the answer was not lost")
	}
	lose = false
	if err := pass(""); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict: another status is stored", err)
	}
	sync()
	if err := pass(""); err != nil {
		t.Error(err)
	}
	sync()
	for _, condition := range cached.Status.Conditions {
		if condition.Reason == v1alpha1.ReasonRetryingAfterError {
			t.Errorf("status shows %+v", condition)
		}
	}
}

// TestAnswerOfTheStatus: the answer of the API server is not decoded into the record, which is read without a lock.
func TestAnswerOfTheStatus(t *testing.T) {
	lt := builder.Minimal("a").Build()
	lt.UID = "0a1b2c3d-0000"
	c := fake.NewClientBuilder().WithScheme(scheme()).WithObjects(lt).WithStatusSubresource(lt).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			o.(*v1alpha1.LoadTest).Status.Results.Requests.Sent++
			return nil
		},
	}).Build()
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
	r := newReconciler(cfg, c, c, newAddressRules(&cfg.Targets, "", c))
	r.report.events, r.report.metrics = &events.FakeRecorder{}, NewCollector(time.Minute, 10, time.Now)
	end := &record.End{Results: &v1alpha1.Results{Requests: v1alpha1.RequestCounts{Sent: 7}}, Verdict: &v1alpha1.Verdict{}}
	f := &run.Facts{LoadTest: lt, Record: &record.Record{End: end}, Stored: true, View: &shards.View{}, Config: cfg, Now: time.Unix(1e9, 0)}
	if err := r.report.status(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if end.Results.Requests.Sent != 7 {
		t.Errorf("the record has %d requests, want 7", end.Results.Requests.Sent)
	}
}

// TestRefusedWritesAreCounted: no pass fails because of them, so an alert needs a count of its own, also if the status cannot be written.
func TestRefusedWritesAreCounted(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "loadtests"}, "a", errors.New("not today"))
	lt := builder.Minimal("a").Build()
	lt.UID = "0a1b2c3d-0000"
	c := fake.NewClientBuilder().WithScheme(scheme()).WithObjects(lt).WithStatusSubresource(lt).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return denied
		},
	}).Build()
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{Image: "h2surge:test"})
	r := newReconciler(cfg, c, c, newAddressRules(&cfg.Targets, "", c))
	collector, registry, _ := registered(time.Minute, 10)
	r.report.events, r.report.metrics = &events.FakeRecorder{}, collector
	pass := func(f *run.Facts) error {
		f.LoadTest, f.Record, f.View, f.Config, f.Now = lt, &record.Record{}, &shards.View{}, cfg, time.Unix(1e9, 0)
		return r.report.status(t.Context(), f)
	}
	want := 0.0
	for _, f := range []*run.Facts{{}, {Refused: []run.Refusal{{What: "the Job", Text: "not today"}}}} {
		want += 1 + float64(len(f.Refused)) // the status, and the others
		if _, err := r.report.statusRefused(t.Context(), lt, pass(f)); err != nil {
			t.Fatal(err)
		}
		if n := counted(t, registry, "h2surge_operator_writes_refused_total"); n != want {
			t.Errorf("%v refused writes, want %v", n, want)
		}
	}
}

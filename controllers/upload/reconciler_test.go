package upload

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/storage"
)

var (
	key = client.ObjectKey{Namespace: "ns", Name: "test"}
	end = time.Unix(1_000_000, 0)
)

// world is a LoadTest that has ended, an API server in memory, and a storage that answers with a status code.
type world struct {
	*testing.T
	client  client.Client
	r       *reconciler
	now     time.Time
	answers int
	// onUpload is called when the storage gets a file; nil: nothing is called.
	onUpload func()
}

func newWorld(t *testing.T) *world {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
	w := &world{T: t, now: end, answers: http.StatusOK}
	bucket := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if w.onUpload != nil {
			w.onUpload()
			w.onUpload = nil
		}
		rw.WriteHeader(w.answers)
	}))
	t.Cleanup(bucket.Close)
	cfg := &configv1alpha1.OperatorConfig{ResultStorage: &configv1alpha1.ResultStorage{Endpoint: bucket.URL, Bucket: "results", Region: "us-east-1"}}
	cfg.SetDefaults(configv1alpha1.Environment{})
	store, err := storage.New(cfg.ResultStorage)
	w.must(err)
	s := runtime.NewScheme()
	w.must(clientgoscheme.AddToScheme(s))
	w.must(v1alpha1.AddToScheme(s))
	w.must(statev1alpha1.AddToScheme(s))
	lt := &v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid-of-the-test", Generation: 3}}
	ended := metav1.NewTime(end)
	lt.Status = v1alpha1.LoadTestStatus{CompletionTime: &ended, Report: &v1alpha1.ReportStatus{ConfigMapRef: v1alpha1.ConfigMapReference{Name: desired.ReportName(lt)}}}
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	w.must(json.NewEncoder(z).Encode(runnerv1alpha1.Report{}))
	w.must(z.Close())
	report := desired.Report(lt, gz.Bytes())
	w.client = fake.NewClientBuilder().WithScheme(s).WithObjects(lt, report).WithStatusSubresource(lt).Build()
	_, err = record.NewStore(w.client, w.client).Save(t.Context(), lt, func(run *record.Record) error {
		run.State, run.Report = record.Finished, desired.ReportDigest(report)
		return nil
	})
	w.must(err)
	w.r = &reconciler{
		client: w.client, reader: w.client, cfg: cfg.ResultStorage, storage: store, clock: func() time.Time { return w.now },
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstWait, maxWait),
	}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pass makes a pass as the work queue does, and returns the time until the next one; zero: there is none.
func (w *world) pass() time.Duration {
	w.Helper()
	req := ctrl.Request{NamespacedName: key}
	if _, err := w.r.Reconcile(w.Context(), req); err != nil {
		return w.r.failures.When(req)
	}
	w.r.failures.Forget(req)
	return 0
}

func (w *world) get() *v1alpha1.LoadTest {
	w.Helper()
	lt := &v1alpha1.LoadTest{}
	w.must(w.client.Get(context.Background(), key, lt))
	return lt
}

func (w *world) want(status metav1.ConditionStatus, reason, message string) {
	w.Helper()
	c := meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionReportStored)
	if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) || c.ObservedGeneration != 3 {
		w.Errorf("want %s %s with %q, got %+v", status, reason, message, c)
	}
}

// TestFailures: each failure doubles the wait up to five minutes, until the deadline after the first failure. A test can have ended long
// before that, when the operator had no storage.
func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		begin     time.Time
		uploading bool // an operator ended before its upload
	}{
		"a test that ends":   {begin: end},
		"an old test":        {begin: end.Add(48 * time.Hour)},
		"a restart long ago": {begin: end.Add(48 * time.Hour), uploading: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, begin := newWorld(t), tt.begin
			if tt.uploading {
				w.must(w.r.show(t.Context(), w.get(), "", v1alpha1.ReasonUploading, "The operator uploads the report"))
			}
			w.now, w.answers = begin, http.StatusForbidden
			for i, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
				if got := w.pass(); got != time.Duration(want)*time.Second {
					t.Errorf("wait %v after failure %d, want %d s", got, i+1, want)
				}
				w.want(metav1.ConditionFalse, v1alpha1.ReasonUploadFailed, fmt.Sprintf("Upload %d failed, and the operator tries again: ", i+1))
				w.now = begin.Add(time.Hour - time.Second)
			}
			w.now = begin.Add(time.Hour)
			if got := w.pass(); got != 0 {
				t.Errorf("the operator tries again after %v", got)
			}
			w.want(metav1.ConditionFalse, v1alpha1.ReasonUploadAbandoned, "the operator stopped after 12 uploads: ")
			w.answers = http.StatusOK
			w.pass()
			w.want(metav1.ConditionFalse, v1alpha1.ReasonUploadAbandoned, "")
		})
	}
}

// TestSecondUpload: an upload can succeed after one that failed, also of a test that ended long before the first one.
func TestSecondUpload(t *testing.T) {
	w := newWorld(t)
	w.now, w.answers = end.Add(48*time.Hour), http.StatusForbidden
	w.pass()
	w.want(metav1.ConditionFalse, v1alpha1.ReasonUploadFailed, "Upload 1 failed")
	w.answers = http.StatusOK
	w.pass()
	w.want(metav1.ConditionTrue, v1alpha1.ReasonUploaded, "")
}

// TestTwoWriters: an upload keeps what another controller wrote to the status while it ran.
func TestTwoWriters(t *testing.T) {
	w := newWorld(t)
	w.onUpload = func() {
		w.want(metav1.ConditionUnknown, v1alpha1.ReasonUploading, "")
		lt := w.get()
		lt.Status.PlanHash = "written by the reconciler of LoadTests"
		w.must(w.client.Status().Update(context.Background(), lt))
	}
	w.pass()
	w.want(metav1.ConditionTrue, v1alpha1.ReasonUploaded, "")
	if st := w.get().Status; st.PlanHash == "" || !strings.HasSuffix(st.Report.URL, "/results/ns/test/uid-of-the-test/report.html") {
		t.Errorf("status %+v", st)
	}
}

// TestDeletedReport: a report or a run record that does not exist any more ends the upload, and so does one that the operator did not store.
func TestDeletedReport(t *testing.T) {
	for name, change := range map[string]func(w *world) error{
		"ConfigMap":   func(w *world) error { return w.client.Delete(w.Context(), desired.Report(w.get(), nil)) },
		"LoadTestRun": func(w *world) error { return w.client.Delete(w.Context(), desired.Run(w.get())) },
		"forged":      func(w *world) error { return w.client.Update(w.Context(), desired.Report(w.get(), []byte("forged"))) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(change(w))
			if w.pass() != 0 {
				t.Error("the operator tries again")
			}
			w.want(metav1.ConditionFalse, v1alpha1.ReasonUploadAbandoned, "was deleted")
		})
	}
}

// TestBegins: an upload begins with the end of the test or of the operator before this one. Its own writes do not repeat it.
func TestBegins(t *testing.T) {
	w := newWorld(t)
	runs, ended := w.get(), w.get()
	runs.Status = v1alpha1.LoadTestStatus{}
	w.answers = http.StatusForbidden
	w.pass()
	p, failed := w.r.begins(), w.get()
	for _, tt := range []struct {
		name string
		got  bool
		want bool
	}{
		{"new operator", p.Create(event.CreateEvent{Object: failed}), true},
		{"new operator, test runs", p.Create(event.CreateEvent{Object: runs}), false},
		{"end", p.Update(event.UpdateEvent{ObjectOld: runs, ObjectNew: ended}), true},
		{"failed upload", p.Update(event.UpdateEvent{ObjectOld: ended, ObjectNew: failed}), false},
		{"deletion", p.Delete(event.DeleteEvent{Object: failed}), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

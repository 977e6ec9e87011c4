package loadtest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// bucket is a storage that can refuse uploads. It does not check signatures; "make s3-test" has a real server.
type bucket struct {
	*httptest.Server
	mu      sync.Mutex
	refuses bool              // guarded by mu
	refused int               // guarded by mu
	files   map[string]string // by path; guarded by mu
}

func newBucket(t *testing.T) *bucket {
	b := &bucket{files: map[string]string{}}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses {
		b.refused++
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>The bucket is locked</Message></Error>`)
		return
	}
	b.files[r.URL.Path] = string(body)
}

func (b *bucket) refuse(refuses bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses = refuses
}

func (b *bucket) has(path string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.files[path]
}

// storage restarts the operator with the bucket as its storage.
func (w *world) storage(b *bucket) {
	w.cfg.ResultStorage = &configv1alpha1.ResultStorage{Endpoint: b.URL, Bucket: "results", Region: "us-east-1", Path: "x/${namespace}/${name}/${uid}"}
	w.operator()
}

// ended runs a test of two shards to its end.
func (w *world) ended(name string, ttl *int32) *v1alpha1.LoadTest {
	lt := twoShards(name, 300*time.Millisecond).Build()
	lt.Spec.TTLSecondsAfterFinished = ttl
	w.apply(lt)
	return w.awaitPhase(name, v1alpha1.PhaseCompleted)
}

// TestReportStored: the TTL does not delete a LoadTest whose report the storage refuses, and a new operator tries again.
func TestReportStored(t *testing.T) {
	w := newWorld(t)
	b := newBucket(t)
	b.refuse(true)
	w.storage(b)
	lt := w.ended("stored", ptr.To[int32](0))
	folder := "/results/x/" + w.ns + "/stored/" + string(lt.UID) + "/"
	lt = w.awaitMessage("stored", v1alpha1.ConditionReportStored, v1alpha1.ReasonUploadFailed, "The bucket is locked")
	w.wantCondition(lt, v1alpha1.ConditionReportStored, metav1.ConditionFalse, v1alpha1.ReasonUploadFailed)
	if url := lt.Status.Report.URL; url != "" {
		t.Errorf("report.url is %s before the upload", url)
	}
	w.operator()
	b.refuse(false)
	w.awaitGone(&v1alpha1.LoadTest{}, "stored")
	for file, part := range map[string]string{"report.html": "<html", "report.csv": ",", "report.json": `"verdict"`} {
		if got := b.has(folder + file); !strings.Contains(got, part) {
			t.Errorf("%s has %d bytes without %s", file, len(got), part)
		}
	}
}

// TestReportURL: status has the URL, and a new operator does not upload again.
func TestReportURL(t *testing.T) {
	w := newWorld(t)
	b := newBucket(t)
	w.storage(b)
	w.ended("url", nil)
	lt := w.await("url", "the upload", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Report != nil && lt.Status.Report.URL != "" })
	w.wantCondition(lt, v1alpha1.ConditionReportStored, metav1.ConditionTrue, v1alpha1.ReasonUploaded)
	want := b.URL + "/results/x/" + w.ns + "/url/" + string(lt.UID) + "/report.html"
	if url := lt.Status.Report.URL; url != want {
		t.Errorf("report.url %s, want %s", url, want)
	}
	b.refuse(true)
	w.operator()
	w.ended("after", nil)
	w.awaitMessage("after", v1alpha1.ConditionReportStored, v1alpha1.ReasonUploadFailed, "AccessDenied")
	w.wantCondition(w.get("url"), v1alpha1.ConditionReportStored, metav1.ConditionTrue, v1alpha1.ReasonUploaded)
}

// TestReportStoredDeadline: the operator stops after the deadline, and the TTL then deletes the LoadTest.
func TestReportStoredDeadline(t *testing.T) {
	w := newWorld(t)
	b := newBucket(t)
	b.refuse(true)
	w.storage(b)
	w.ended("late", nil)
	w.awaitMessage("late", v1alpha1.ConditionReportStored, v1alpha1.ReasonUploadFailed, "tries again")
	w.later(2 * time.Hour)
	w.awaitMessage("late", v1alpha1.ConditionReportStored, v1alpha1.ReasonUploadAbandoned, "the operator stopped after")
	w.edit("late", func(spec *v1alpha1.LoadTestSpec) { spec.TTLSecondsAfterFinished = ptr.To[int32](0) })
	w.awaitGone(&v1alpha1.LoadTest{}, "late")
}

// reading counts the reports that the operator read from the API server, and whose upload has not ended.
type reading struct {
	mu        sync.Mutex
	now, most int // guarded by mu
}

func (r *reading) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now += n
	r.most = max(r.most, r.now)
}

// roundTripper is a function that sends a request.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestUploadsAtOnce: the operator reads a report when its upload begins, so it has at most four reports in memory, however many wait for a storage
// that does not answer.
func TestUploadsAtOnce(t *testing.T) {
	w := newWorld(t)
	reports, b, answers := &reading{}, newBucket(t), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		<-answers
		b.ServeHTTP(rw, r)
		if strings.HasSuffix(r.URL.Path, "report.json") {
			reports.add(-1)
		}
	}))
	t.Cleanup(slow.Close)
	w.endOperator()
	w.cfg.ResultStorage = &configv1alpha1.ResultStorage{Endpoint: slow.URL, Bucket: "results", Region: "us-east-1",
		Timeout: metav1.Duration{Duration: soon}} // the storage answers late
	kube := rest.CopyConfig(apiServer)
	kube.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			answer, err := rt.RoundTrip(req)
			if err == nil && answer.StatusCode == http.StatusOK && req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "-report") {
				reports.add(1)
			}
			return answer, err
		})
	})
	done, cancel, _ := w.replica(kube)
	t.Cleanup(func() { cancel(); w.must(<-done) })
	const tests = 12
	for i := range tests {
		w.apply(twoShards(fmt.Sprint("t", i), time.Second).Edit(func(s *v1alpha1.LoadTestSpec) { s.Stop = true }).Build())
	}
	for i := range tests {
		w.awaitPhase(fmt.Sprint("t", i), v1alpha1.PhaseStopped)
	}
	close(answers)
	for i := range tests {
		w.await(fmt.Sprint("t", i), "uploaded", func(lt *v1alpha1.LoadTest) bool { return lt.Status.Report != nil && lt.Status.Report.URL != "" })
	}
	if reports.most > 4 || reports.now != 0 {
		t.Errorf("at most %d reports were in memory at the same time; %d are left", reports.most, reports.now)
	}
}

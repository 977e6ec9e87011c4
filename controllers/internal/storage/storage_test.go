package storage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

var run = configv1alpha1.ResultRun{Namespace: "team", Name: "smoke", UID: "1-2-3"}

func newStorage(t *testing.T, endpoint, bucket string) *Storage {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
	cfg := &configv1alpha1.OperatorConfig{ResultStorage: &configv1alpha1.ResultStorage{Endpoint: endpoint, Bucket: bucket, Region: "us-east-1"}}
	cfg.SetDefaults(configv1alpha1.Environment{})
	s, err := New(cfg.ResultStorage)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestUpload: the storage gets three files, the JSON last, with the bytes of the ConfigMap.
func TestUpload(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type"))
		if strings.HasSuffix(r.URL.Path, ".json") && !strings.Contains(string(body), `{"report":1}`) {
			t.Errorf("report.json is %q", body)
		}
	}))
	defer server.Close()
	url, err := newStorage(t, server.URL, "results").Upload(context.Background(), run, []byte(`{"report":1}`), &runnerv1alpha1.Report{})
	if err != nil {
		t.Fatal(err)
	}
	if want := server.URL + "/results/team/smoke/1-2-3/report.html"; url != want {
		t.Errorf("URL %s, want %s", url, want)
	}
	want := []string{
		"PUT /results/team/smoke/1-2-3/report.html text/html; charset=utf-8", "PUT /results/team/smoke/1-2-3/report.csv text/csv; charset=utf-8",
		"PUT /results/team/smoke/1-2-3/report.json application/json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestUploadRefused: the error has the code and the text of the storage, and no credentials.
func TestUploadRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>Not for you</Message></Error>`)
	}))
	defer server.Close()
	_, err := newStorage(t, server.URL, "results").Upload(context.Background(), run, nil, &runnerv1alpha1.Report{})
	if err == nil || !strings.Contains(err.Error(), "team/smoke/1-2-3/report.html: AccessDenied: Not for you") || strings.Contains(err.Error(), "secret-of-the-test") {
		t.Errorf("error %v", err)
	}
}

// TestUploads: each failure doubles the wait up to five minutes, success ends it, and only one upload of a run is active.
func TestUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := types.NamespacedName{Namespace: "team", Name: "smoke"}
		ended := make(chan types.NamespacedName, 1)
		u := NewUploads(time.Now, func(n types.NamespacedName) { ended <- n })
		var waits []time.Duration
		for range 11 {
			u.Start(name, "a", func(context.Context) (string, error) { return "", errors.New("refused") })
			if n := <-ended; n != name {
				t.Fatalf("the upload of %s ended", n)
			}
			waits = append(waits, time.Until(u.State("a").Next))
			time.Sleep(waits[len(waits)-1])
		}
		s := time.Second
		if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 300 * s, 300 * s}, waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		hold := make(chan bool)
		u.Start(name, "a", func(context.Context) (string, error) { <-hold; return "https://s3.test/a", nil })
		u.Start(name, "a", func(context.Context) (string, error) { t.Error("a second upload began"); return "", nil })
		if !u.State("a").Running {
			t.Error("the upload does not run")
		}
		close(hold)
		<-ended
		if got := u.State("a"); got.Running || got.URL != "https://s3.test/a" || got.Failures != 0 || got.Err != nil {
			t.Errorf("after success: %+v", got)
		}
		u.Forget("a")
		if got := u.State("a"); got.URL != "" {
			t.Errorf("forgotten, but %+v", got)
		}
	})
}

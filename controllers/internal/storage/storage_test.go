package storage

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

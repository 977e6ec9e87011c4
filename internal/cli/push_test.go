package cli

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/h2surge/h2surge/internal/report/verdict"
)

// receiver keeps what is pushed, and answers with a status and a body.
type receiver struct {
	*httptest.Server
	paths, tokens []string
	metrics       int
}

func newReceiver(t *testing.T, status int, body string) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.paths, r.tokens = append(r.paths, q.Method+" "+q.URL.Path), append(r.tokens, q.Header.Get("Authorization"))
		z, err := gzip.NewReader(q.Body)
		if err != nil {
			t.Error(err)
			return
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Error(err)
		}
		var data metricsv1.MetricsData
		if err := protojson.Unmarshal(text, &data); err != nil || q.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v in %s", err, q.Header.Get("Content-Type"))
			return
		}
		r.metrics += len(data.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics())
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(r.Close)
	return r
}

func TestPush(t *testing.T) {
	saved := savedRun(t, 100, 0, 1000)
	for _, tt := range []struct {
		name   string
		status int
		body   string
		code   int
		want   string // in the standard error
	}{
		{"accepted", 200, "{}", verdict.ExitPassed, ""},
		{"accepted, no body", 200, "", verdict.ExitPassed, ""},
		{"some refused", 200, `{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old"}}`, verdict.ExitError, "--otlp-endpoint: the receiver refused some figures: too old\n"},
		{"not found", 404, "no such page", verdict.ExitError, "--otlp-endpoint: the receiver answered with status 404: no such page\n"},
		{"unauthorized", 401, `{"code": 16, "message": "no token"}`, verdict.ExitError, "--otlp-endpoint: the receiver answered with status 401: no token\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20secret,x=y")
			r := newReceiver(t, tt.status, tt.body)
			got := h2surge(t, nil, nil, "report", saved, "--otlp-endpoint", r.URL+"/api/")
			if got.code != tt.code || got.errors != tt.want || !strings.Contains(got.out, "Verdict: Passed") {
				t.Errorf("%+v", got)
			}
			if len(r.paths) != 1 || r.paths[0] != "POST /api/v1/metrics" || r.tokens[0] != "Bearer secret" || r.metrics < 8 {
				t.Errorf("%q, %q, %d metrics", r.paths, r.tokens, r.metrics)
			}
		})
	}
}

// TestRunPushes: the push comes after the report.
func TestRunPushes(t *testing.T) {
	r := newReceiver(t, 200, "")
	got := h2surge(t, newFakeEngine(answered(100, 0, 30_000)), nil, "run", "-q", "-f", "-", "--otlp-endpoint", r.URL)
	if got.code != verdict.ExitFailed || len(r.paths) != 1 || !strings.Contains(got.out, "Verdict: Failed") {
		t.Errorf("%+v, %q", got, r.paths)
	}
	r.Close()
	got = h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-q", "-f", "-", "--otlp-endpoint", r.URL)
	if got.code != verdict.ExitError || !strings.Contains(got.errors, "--otlp-endpoint: ") || !strings.Contains(got.out, "Verdict: Passed") {
		t.Errorf("nothing listens: %+v", got)
	}
}

func TestPushMistakes(t *testing.T) {
	for _, endpoint := range []string{"collector:4318", "grpc://collector:4317", "http://"} {
		got := h2surge(t, nil, nil, "run", "-q", "-f", "-", "--otlp-endpoint", endpoint)
		if got.code != verdict.ExitUsage || !strings.Contains(got.errors, "is not a URL that starts with http:// or https://") {
			t.Errorf("%s: %+v", endpoint, got)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "secret")
	got := h2surge(t, nil, nil, "run", "-q", "-f", "-", "--otlp-endpoint", "http://collector:4318")
	if got.code != verdict.ExitUsage || !strings.HasPrefix(got.errors, "OTEL_EXPORTER_OTLP_HEADERS: must be NAME=VALUE") || strings.Contains(got.errors, "secret") {
		t.Errorf("%+v", got)
	}
}

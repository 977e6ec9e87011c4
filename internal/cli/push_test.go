package cli

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
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
		{"some refused without a reason", 200, `{"partialSuccess": {"rejectedDataPoints": 3}}`, verdict.ExitError, "--otlp-endpoint: the receiver refused some figures: 3 data points\n"},
		{"accepted with a warning", 200, `{"partialSuccess": {"errorMessage": "deprecated"}}`, verdict.ExitPassed, ""},
		{"accepted with a warning and a count", 200, `{"partialSuccess": {"rejectedDataPoints": "0", "errorMessage": "deprecated"}}`, verdict.ExitPassed, ""},
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

// TestRunPushesByEnvironment: without the flag, the variables of OpenTelemetry decide. What is wrong with them or with their receiver is a
// warning, because they may be meant for other programs.
func TestRunPushesByEnvironment(t *testing.T) {
	r := newReceiver(t, 200, "")
	refusing := newReceiver(t, 503, "busy")
	for name, tt := range map[string]struct {
		variables map[string]string
		paths     []string
		want      string // in the standard error
	}{
		"endpoint":            {map[string]string{"ENDPOINT": r.URL}, []string{"POST /v1/metrics"}, ""},
		"endpoint of metrics": {map[string]string{"ENDPOINT": "http://unused", "METRICS_ENDPOINT": r.URL + "/all", "HEADERS": "secret", "METRICS_HEADERS": "Authorization=b"}, []string{"POST /all"}, ""},
		"not a URL":           {map[string]string{"ENDPOINT": "collector:4317"}, nil, `warning: OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" is not a URL that starts with http:// or https://; no figures are sent` + "\n"},
		"headers":             {map[string]string{"ENDPOINT": r.URL, "HEADERS": "secret"}, nil, "warning: OTEL_EXPORTER_OTLP_HEADERS: must be NAME=VALUE,NAME=VALUE with percent-encoded values; no figures are sent\n"},
		"refused":             {map[string]string{"ENDPOINT": refusing.URL}, nil, "warning: OTEL_EXPORTER_OTLP_ENDPOINT: the receiver answered with status 503: busy\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range tt.variables {
				t.Setenv("OTEL_EXPORTER_OTLP_"+variable, value)
			}
			r.paths = nil
			got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-q", "-f", "-")
			if got.code != verdict.ExitPassed || got.errors != tt.want || !slices.Equal(r.paths, tt.paths) {
				t.Errorf("%+v, %q", got, r.paths)
			}
			t.Setenv("OTEL_METRICS_EXPORTER", "none")
			r.paths = nil
			got = h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-q", "-f", "-")
			if got.errors != "" || len(r.paths) > 0 {
				t.Errorf("none: %+v, %q", got, r.paths)
			}
		})
	}
}

// TestRunPushesWhileItLasts: the figures of a run that lasts are sent, too, with the start of those of the report. A receiver that is away in
// between is reported when it goes and when it comes.
func TestRunPushesWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []string
		began := time.Now()
		transport := http.DefaultTransport
		http.DefaultTransport = roundTrip(func(q *http.Request) (*http.Response, error) {
			z, err := gzip.NewReader(q.Body)
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(z)
			if err != nil {
				return nil, err
			}
			_, start, _ := strings.Cut(string(text), `"startTimeUnixNano":"`)
			start, _, _ = strings.Cut(start, `"`)
			requests = append(requests, start)
			if at := time.Since(began); at > 7*time.Second && at < 12*time.Second {
				return nil, errors.New("connection refused")
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})
		defer func() { http.DefaultTransport = transport }()
		e := newFakeEngine(answered(100, 0, 1000))
		e.lasting = true
		time.AfterFunc(22*time.Second, func() { _ = e.Stop(rv.Stop{Drain: true}) })
		got := h2surge(t, e, nil, "run", "-q", "-f", "-", "--otlp-endpoint", "http://collector")
		want := "--otlp-endpoint: connection refused; the test continues\n--otlp-endpoint: the receiver accepts figures again\n"
		if got.code != verdict.ExitPassed || got.errors != want {
			t.Errorf("%+v", got)
		}
		if slices.Sort(requests); len(requests) != 5 || requests[0] != requests[4] {
			t.Errorf("starts of the requests: %q", requests)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

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

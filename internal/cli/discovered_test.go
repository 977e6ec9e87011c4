package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// discoverable starts a server without TLS that speaks one protocol. It counts the requests for /asked.
func discoverable(t *testing.T, p rv.Protocol) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/asked" && (r.ProtoMajor == 1) == (p == rv.ProtocolHTTP1) {
			requests.Add(1)
		}
	}))
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(p == rv.ProtocolHTTP1)
	server.Config.Protocols.SetUnencryptedHTTP2(p == rv.ProtocolH2C)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, requests
}

// TestDiscovered: with an http URL, the run uses what the server speaks, says so, and the server gets no request more.
// A URL with placeholders is shown with their values.
func TestDiscovered(t *testing.T) {
	waits(t)
	for _, tc := range []struct {
		name         string
		protocol     rv.Protocol
		target, want string // HOST is the server's host and port
	}{
		{"http1", rv.ProtocolHTTP1, `url: "http://HOST"`, "http://HOST"},
		{"h2c", rv.ProtocolH2C, `url: "http://HOST"`, "http://HOST"},
		{"placeholder", rv.ProtocolH2C, `url: "http://${at}/"`, "http://HOST"},
		{"placeholder and connectTo", rv.ProtocolHTTP1, `url: "http://${name}.example", connectTo: "HOST"`, "http://web.example"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			waits(t)
			url, requests := discoverable(t, tc.protocol)
			host := strings.TrimPrefix(url, "http://")
			manifest := `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: discovered}
spec:
  targets: [{name: web, ` + tc.target + `, connections: 2}]
  variables: [{name: at, perShard: {values: ["HOST"]}}, {name: name, constant: {value: web}}]
  chains: [{name: c, target: web, steps: [{name: a, request: {path: "/asked?${at}${name}"}}]}]
  rates: [{name: r, requests: 20, closedLoop: {concurrency: 2}}]
`
			var out, errors bytes.Buffer
			in := strings.NewReader(strings.ReplaceAll(manifest, "HOST", host))
			code := execute(t.Context(), []string{"h2surge", "run", "-q", "-o", "json", "-f", "-"}, in, &out, &errors, parts())
			var report rv.Report
			if err := json.Unmarshal(out.Bytes(), &report); err != nil || code != 0 {
				t.Fatalf("exit code %d, %v: %s", code, err, errors.String())
			}
			if report.Requests.Done != 20 || requests.Load() != 20 {
				t.Errorf("%d requests done, the server counted %d, want 20", report.Requests.Done, requests.Load())
			}
			want := []rv.FoundProtocol{{Target: "web", URL: strings.ReplaceAll(tc.want, "HOST", host), Protocol: tc.protocol}}
			if diff := cmp.Diff(want, report.Protocols); diff != "" {
				t.Errorf("protocols (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTryDiscovered: a trial shows what each server without TLS speaks.
func TestTryDiscovered(t *testing.T) {
	waits(t)
	for _, tc := range []struct {
		protocol rv.Protocol
		words    string
	}{{rv.ProtocolHTTP1, "HTTP/1.1"}, {rv.ProtocolH2C, "HTTP/2"}} {
		t.Run(string(tc.protocol), func(t *testing.T) {
			waits(t)
			url, _ := discoverable(t, tc.protocol)
			manifest := `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: discovered}
spec:
  targets: [{name: web, url: "` + url + `/v1"}]
  chains: [{name: c, target: web, steps: [{name: a, request: {path: /}}]}]
  rates: [{name: r, requests: 20, closedLoop: {concurrency: 2}}]
`
			got := tries(t, manifest, "-f", "-")
			if want := "\ntarget web speaks " + tc.words + " at " + url + "/v1\n1 of 1 chains passed\n"; got.code != 0 || !strings.HasSuffix(got.out, want) {
				t.Errorf("exit code %d:\n%s%s\nwant at the end %s", got.code, got.out, got.errors, want)
			}
			var result triedResult
			if err := json.Unmarshal([]byte(tries(t, manifest, "-f", "-", "-o", "json").out), &result); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]rv.FoundProtocol{{Target: "web", URL: url + "/v1", Protocol: tc.protocol}}, result.Protocols); diff != "" {
				t.Errorf("protocols (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConnectionsCarry: over HTTP/1.1, a rate that the connections do not carry is a limit of the test, and the message
// has both rates and what to set.
func TestConnectionsCarry(t *testing.T) {
	waits(t)
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) })
	for name, start := range map[string]func(http.Handler) *httptest.Server{"found": httptest.NewServer, "negotiated by ALPN": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			server := start(slow)
			t.Cleanup(server.Close)
			var out, errors bytes.Buffer
			code := execute(t.Context(), []string{"h2surge", "run", "-q", "-o", "json", "--insecure", "--rps", "20", "-D", "1", "-c", "1", server.URL}, strings.NewReader(""), &out, &errors, parts())
			var report rv.Report
			if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Bounds) != 1 {
				t.Fatalf("exit code %d, %v, %v: %s", code, err, report.Bounds, errors.String())
			}
			b := report.Bounds[0]
			want := regexp.MustCompile(`^target target: over HTTP/1\.1, 1 connection carries 1 request at a time, which is [0-9.]+ requests per second with an average duration of [0-9.]+m?s; 20 requests per second need about \d+: set -c to \d+$`)
			if b.Bound != rv.BoundConnections || b.Allowed != 1 || b.Needed < 3 || !want.MatchString(b.Message) {
				t.Errorf("%+v, want %s", b, want)
			}
		})
	}
}

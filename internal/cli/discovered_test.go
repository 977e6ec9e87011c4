package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestDiscovered: with an http URL, the run uses what the server speaks, says so, and the server gets no request more.
func TestDiscovered(t *testing.T) {
	waits(t)
	for _, want := range []rv.Protocol{rv.ProtocolHTTP1, rv.ProtocolH2C} {
		t.Run(string(want), func(t *testing.T) {
			waits(t)
			var requests atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/asked" && (r.ProtoMajor == 1) == (want == rv.ProtocolHTTP1) {
					requests.Add(1)
				}
			}))
			server.Config.Protocols = &http.Protocols{}
			server.Config.Protocols.SetHTTP1(want == rv.ProtocolHTTP1)
			server.Config.Protocols.SetUnencryptedHTTP2(want == rv.ProtocolH2C)
			server.Start()
			t.Cleanup(server.Close)
			manifest := fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: discovered}
spec:
  targets: [{name: web, url: %q, connections: 2}]
  chains: [{name: c, target: web, steps: [{name: a, request: {path: /asked}}]}]
  rates: [{name: r, requests: 20, closedLoop: {concurrency: 2}}]
`, server.URL)
			var out, errors bytes.Buffer
			code := execute(t.Context(), []string{"h2surge", "run", "-q", "-o", "json", "-f", "-"}, strings.NewReader(manifest), &out, &errors, parts())
			var report rv.Report
			if err := json.Unmarshal(out.Bytes(), &report); err != nil || code != 0 {
				t.Fatalf("exit code %d, %v: %s", code, err, errors.String())
			}
			if report.Requests.Done != 20 || requests.Load() != 20 {
				t.Errorf("%d requests done, the server counted %d, want 20", report.Requests.Done, requests.Load())
			}
			if diff := cmp.Diff([]rv.FoundProtocol{{Target: "web", URL: server.URL, Protocol: want}}, report.Protocols); diff != "" {
				t.Errorf("protocols (-want +got):\n%s", diff)
			}
		})
	}
}

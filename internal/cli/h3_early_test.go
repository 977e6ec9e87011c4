//go:build !race

package cli

import (
	"context"
	"fmt"
	"testing"

	"github.com/h2surge/h2surge/internal/mock"
)

// TestEarlyDataToTarget: h2surge target accepts early data, and counts what the report counts. For the build tag, see
// runner/quicnet/early_test.go.
func TestEarlyDataToTarget(t *testing.T) {
	target, err := mock.New(mock.Options{Listen: "127.0.0.1:0", ListenHTTP3: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- target.Serve(ctx) }()
	r := run(t, fmt.Sprintf(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: t}
spec:
  targets:
    - name: t
      url: "https://%s"
      protocol: h3
      connections: 1
      tls: {insecureSkipVerify: true, sessionResumption: true, earlyData: SafeMethods}
      connecting: {maxRequests: 20}
  templates: [{name: a}]
  chains: [{name: c, target: t, steps: [{template: a}]}]
  rates: [{name: r, requests: 190, closedLoop: {concurrency: 1}}]
`, target.HTTP3Addr()), 0, "-f", "-")
	g, got := &r.Generator, target.Stats()
	if r.Requests.Succeeded != 190 || got.Requests != 190 || g.Connects != 10 || g.Resumed == 0 || g.EarlyData == 0 {
		t.Errorf("%+v over %d connections, %d resumed, %d with early data; the target has %d requests", r.Requests, g.Connects,
			g.Resumed, g.EarlyData, got.Requests)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

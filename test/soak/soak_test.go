//go:build soak

package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// requestsPerSecond is the rate of the soak.
const requestsPerSecond = 2000

const manifest = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: soak}
spec:
  targets:
    - name: t
      urls: [%q, %q]
      connections: 8
      maxConcurrentStreams: 100
      connecting: {maxAge: 7s, failbackInterval: 2s}
  templates:
    - {name: get, path: "/items/${item}", timeout: 3s}
    - {name: look, path: "/items/${item}/state", timeout: 3s}
  variables:
    - {name: item, counter: {}}
  chains:
    - {name: reads, target: t, steps: [{template: get}, {template: look}]}
  rates:
    - {name: soak, requestsPerSecond: %d, duration: %s}
`

// TestSoak is described by the package.
func TestSoak(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	var n counts
	servers := []*server{newServer(t, &n), newServer(t, &n)}
	file := filepath.Join(t.TempDir(), "soak.yaml")
	text := fmt.Sprintf(manifest, "http://"+servers[0].address, "http://"+servers[1].address, requestsPerSecond, lasts)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	run := exec.Command(os.Getenv("H2SURGE"), "run", "-q", "-f", file, "-o", "json")
	run.Stdout, run.Stderr = &out, os.Stderr
	h := newHeap(t, run)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill() })
	done := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		away(servers, done)
	}()
	sizes := h.watch(t, run.Process.Pid, lasts)
	err = run.Wait()
	close(done)
	<-gone
	for _, s := range servers {
		s.close()
	}
	var r rv.Report
	if json.Unmarshal(out.Bytes(), &r) != nil {
		t.Fatalf("%v, no report: %s", err, out.String())
	}
	compare(t, &r, &n)
	t.Logf("FIGURE %v: %d requests, %d connections, %d GOAWAY", lasts, r.Requests.Sent, n.connections.Load(), n.goAways.Load())
	h.check(t, sizes)
}

// compare holds the report against what the servers have counted.
func compare(t *testing.T, r *rv.Report, n *counts) {
	t.Helper()
	q := &r.Requests
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"sent", q.Sent, n.sent.Load()},
		{"succeeded", q.Succeeded, n.succeeded.Load()},
		{"failedChecks", q.FailedChecks, n.failedChecks.Load()},
		{"timedOut", q.TimedOut, n.timedOut.Load()},
		{"reset", q.Reset, n.reset.Load()},
		{"connectionLost", q.ConnectionLost, n.lost.Load()},
		{"dropped", q.Dropped, 0},
		{"inFlightAtEnd", q.InFlightAtEnd, 0},
	} {
		t.Logf("%-15s %8d", c.name, c.got)
		if c.got != c.want {
			t.Errorf("%s: %d in the report, the servers counted %d", c.name, c.got, c.want)
		}
	}
	for _, f := range r.Failures {
		t.Logf("%+v", f)
	}
}

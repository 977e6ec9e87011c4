//go:build !race

package loop

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func batched() *rv.Plan {
	p := gets(rv.Rate{Name: "r", Count: 1_000_000, Period: time.Second, Duration: time.Hour})
	p.Targets[0].Connections, p.Targets[0].Batch = 8, true
	return p
}

// TestSteadyStateAllocatesNothing is the promise on which the engine's speed and the absence of
// garbage collection pauses rest.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for name, p := range map[string]*rv.Plan{
		"get":   gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour}),
		"chain": cannedChain(),
		"batch": batched(),
		"paced": gets(rv.Rate{Name: "r", Count: 1_000_000, Period: time.Second, Duration: time.Hour}),
	} {
		t.Run(name, func(t *testing.T) {
			w := cannedWorker(t, p, &canned{clock: 1})
			w.cfg.Lease = &Lease{}
			w.cfg.Lease.Set(never - 1)
			from := sent(w)
			const turns = 1000
			allocs := testing.AllocsPerRun(10, func() {
				for range turns {
					if err := w.turn(); err != nil {
						t.Fatal(err)
					}
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations in %d turns", allocs, turns)
			}
			if n := sent(w) - from; n < turns {
				t.Errorf("only %d requests", n)
			}
		})
	}
}

// TestShortConnectionsAllocateNothing: each request has a connection of its own, which the loop opens.
func TestShortConnectionsAllocateNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ended bool
	}{
		{"the peer closes after the response", true},
		{"the runner closes first", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour})
			p.Targets[0].Protocol = rv.ProtocolHTTP1
			p.Targets[0].HTTP1.NoKeepAlive = true
			w := cannedWorker(t, p, &shortNet{canned: canned{clock: 1}, ended: tt.ended})
			from, reconnects := sent(w), w.rec.Reconnects
			const turns = 1000
			allocs := testing.AllocsPerRun(10, func() {
				for range turns {
					if err := w.turn(); err != nil {
						t.Fatal(err)
					}
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations in %d turns", allocs, turns)
			}
			if n, opened := sent(w)-from, w.rec.Reconnects-reconnects; n < turns || opened < n-10 {
				t.Errorf("%d requests over %d connections", n, opened)
			}
		})
	}
}

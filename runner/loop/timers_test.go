package loop

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestTimersOfShortConnections: connections that live for one request leave no timers behind, however long the timers are.
func TestTimersOfShortConnections(t *testing.T) {
	const places, requests = 10, 10_000
	for _, tt := range []struct {
		name string
		plan func(*rv.Target)
	}{
		{"no keep-alive", func(t *rv.Target) { t.Protocol, t.HTTP1.NoKeepAlive = rv.ProtocolHTTP1, true }},
		{"maxRequests over HTTP/1.1", func(t *rv.Target) { t.Protocol, t.Connecting.MaxRequests = rv.ProtocolHTTP1, 1 }},
		{"maxRequests over HTTP/2", func(t *rv.Target) { t.Connecting.MaxRequests = 2 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gets(perSecond(1000, requests/1000*time.Second))
			p.Targets[0].Connections = places
			p.Targets[0].Connecting.MaxAge, p.Targets[0].Connecting.InactivityTimeout = time.Hour, time.Hour
			p.Targets[0].HTTP2.PingInterval = time.Hour
			tt.plan(&p.Targets[0])
			b := newBench(t, p, ok(time.Millisecond))
			b.direct = true
			most := 0
			b.everyTurn = func() { most = max(most, b.w.conns.Timers()) }
			if got := b.run(); got.Done != requests || len(b.sim.conns) < requests/2 {
				t.Fatalf("%d connections, got %+v", len(b.sim.conns), got)
			}
			if bound := 2 * places; most > bound {
				t.Errorf("%d timers for %d places, want at most %d", most, places, bound)
			}
		})
	}
}

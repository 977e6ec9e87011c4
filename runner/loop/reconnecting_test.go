package loop

import (
	"fmt"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// TestReconnectingIsNotBlocked: the wait for a stream of an open connection is blocked, the wait until the
// connection was open again is reconnecting, and with lag and service time they make the response time.
func TestReconnectingIsNotBlocked(t *testing.T) {
	const ms = 1000 // microseconds
	type span struct{ least, most int64 }
	for _, tt := range []struct {
		name  string
		rate  rv.Rate
		plan  func(*rv.Target)
		serve func(*bench, *simRequest) reply
		// reconnecting and blocked have these extremes over all requests.
		reconnecting, blocked span
	}{
		{
			name: "the connection stays open", rate: perSecond(50, time.Second),
			serve: func(*bench, *simRequest) reply { return reply{Status: 200, After: ms * time.Microsecond} },
		},
		{
			name: "no stream is free", rate: perSecond(50, time.Second),
			plan:    func(t *rv.Target) { t.MaxConcurrentStreams = 1 },
			serve:   func(*bench, *simRequest) reply { return reply{Status: 200, After: 30 * time.Millisecond} },
			blocked: span{0, 490 * ms},
		},
		{
			name: "the server closes idle connections", rate: perSecond(50, time.Second),
			plan: func(t *rv.Target) { t.Connecting.OnDemand = true },
			serve: func(b *bench, r *simRequest) reply {
				b.in(time.Millisecond, func() { b.conns[r.Conn].Closed = true })
				return reply{Status: 200}
			},
			reconnecting: span{ms, ms},
		},
		{
			name: "the server announces the end of each connection", rate: perSecond(50, time.Second),
			plan:         func(t *rv.Target) { t.Connecting.OnDemand = true },
			serve:        func(*bench, *simRequest) reply { return reply{Status: 200, Announces: true} },
			reconnecting: span{ms, ms},
		},
		{
			// Requests are due every 20 ms. Each takes 30 ms on a connection that was opened for it in 1 ms.
			name: "one busy connection that is opened for each request", rate: perSecond(50, time.Second),
			plan: func(t *rv.Target) { t.Connecting.MaxRequests = 1 },
			serve: func(*bench, *simRequest) reply {
				return reply{Status: 200, Announces: true, After: 30 * time.Millisecond}
			},
			reconnecting: span{0, ms}, blocked: span{0, 538 * ms},
		},
		{
			// The first request is never answered. The server closes 100 ms later, and the connection waits for
			// 10 ms and opens in 1 ms. The requests due before and after it closes wait for both and for one.
			name: "the connection is lost while requests wait for a stream", rate: perSecond(50, 120*time.Millisecond),
			plan: func(t *rv.Target) { t.MaxConcurrentStreams = 1 },
			serve: func(b *bench, r *simRequest) reply {
				if r.Conn == 0 {
					b.in(100*time.Millisecond, func() { b.conns[0].Closed = true })
					return reply{}
				}
				return reply{Status: 200}
			},
			reconnecting: span{0, 11 * ms}, blocked: span{0, 80 * ms},
		},
	} {
		for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
			t.Run(fmt.Sprintf("%s/%s", tt.name, protocol), func(t *testing.T) {
				p := gets(tt.rate)
				p.Targets[0].Protocol, p.Drain = protocol, 10*time.Second
				if tt.plan != nil {
					tt.plan(&p.Targets[0])
				}
				var b *bench
				b = newBench(t, p, func(r *simRequest) reply { return tt.serve(b, r) })
				got := b.run()
				for name, h := range map[string]struct {
					*histogram.H
					want span
				}{
					"reconnecting": {&b.w.rec.Targets[0].Reconnecting, tt.reconnecting}, "blocked": {&b.w.rec.Targets[0].Blocked, tt.blocked},
				} {
					if s := (span{h.Min(), h.Max()}); s != h.want {
						t.Errorf("%s %+v us, want %+v", name, s, h.want)
					}
				}
				if got.Lost == 0 {
					checkTimesAddUp(t, b)
				}
			})
		}
	}
}

// checkTimesAddUp: each instant between the scheduled time and the response is in one of five times.
func checkTimesAddUp(t *testing.T, b *bench) {
	t.Helper()
	r, target := &b.w.rec.Steps[0], &b.w.rec.Targets[0]
	service := r.TimeToFirstByte.Sum() + target.Body.Sum()
	if service != r.ServiceTime.Sum() {
		t.Errorf("first byte and body are %d us, service times %d us", service, r.ServiceTime.Sum())
	}
	if sum, want := b.w.rec.Lag.Sum()+target.Reconnecting.Sum()+target.Blocked.Sum()+service, r.ResponseTime.Sum(); sum != want {
		t.Errorf("lag, reconnecting, blocked and service time are %d us, response times %d us", sum, want)
	}
}

// TestTrialIsNoReconnect: requests that wait for a stream until a trial takes the place of their connection have
// waited for a stream; a connection was open all the time.
func TestTrialIsNoReconnect(t *testing.T) {
	p := group(perSecond(100, 2*time.Second))
	p.Targets[0].Connections, p.Targets[0].MaxConcurrentStreams = 1, 1
	p.Targets[0].Connecting.FailbackInterval = 100 * time.Millisecond
	p.Drain = 10 * time.Second
	b := newBench(t, p, ok(15*time.Millisecond))
	b.down = map[int]bool{0: true}
	b.in(time.Second, func() { b.down[0] = false })
	if got := b.run(); got.Done != 200 || b.w.rec.Targets[0].Blocked.Max() < 500_000 || b.w.rec.Targets[0].Reconnecting.Max() != 0 {
		t.Errorf("got %+v, blocked %d us, reconnecting %d us", got, b.w.rec.Targets[0].Blocked.Max(), b.w.rec.Targets[0].Reconnecting.Max())
	}
	if first, last := b.served[0].Conn, b.served[len(b.served)-1].Conn; b.conns[first].endpoint != 1 || b.conns[last].endpoint != 0 {
		t.Error("no trial took the place of the connection")
	}
}

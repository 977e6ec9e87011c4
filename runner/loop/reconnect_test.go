package loop

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestAnnouncedEndsCostNoBackoff: a connection that says that it ends before its first response is complete is
// replaced at once, again and again. With back-off, a connection a second would remain.
func TestAnnouncedEndsCostNoBackoff(t *testing.T) {
	body := []byte("body")
	for _, tt := range []struct {
		name     string
		protocol rv.Protocol
		plan     func(*rv.Target)
		reply    reply
	}{
		{"connection: close, head and body in one", rv.ProtocolHTTP1, nil, reply{Status: 200, Announces: true, Body: body}},
		{"connection: close, the body later", rv.ProtocolHTTP1, nil, reply{Status: 200, Announces: true, Body: body, BodyAfter: time.Millisecond}},
		{"no keep-alive, the body later", rv.ProtocolHTTP1, func(t *rv.Target) { t.HTTP1.NoKeepAlive = true }, reply{Status: 200, Announces: true, Body: body, BodyAfter: time.Millisecond}},
		{"maxRequests 1 over HTTP/1.1", rv.ProtocolHTTP1, func(t *rv.Target) { t.Connecting.MaxRequests = 1 }, reply{Status: 200}},
		{"maxRequests 1 over HTTP/2", rv.ProtocolH2C, func(t *rv.Target) { t.Connecting.MaxRequests = 1 }, reply{Status: 200, After: time.Millisecond}},
		{"GOAWAY before the response", rv.ProtocolH2C, nil, reply{Status: 200, Announces: true, After: time.Millisecond}},
	} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/direct=%v", tt.name, direct), func(t *testing.T) {
				p := gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: 3 * time.Second})
				p.Targets[0].Protocol, p.Targets[0].MaxConcurrentStreams = tt.protocol, 1
				if tt.plan != nil {
					tt.plan(&p.Targets[0])
				}
				b := newBench(t, p, func(*simRequest) reply { return tt.reply })
				b.direct = direct
				got := b.run()
				// Connecting, the request and its body take at most 3 ms.
				if got.Done < 500 || got.Done != got.Sent || len(causesOf(b)) > 0 {
					t.Errorf("%d responses in 3 s: %+v, failures %v", got.Done, got, causesOf(b))
				}
			})
		}
	}
}

// TestNoKeepAliveKeepsTheBound: while a body arrives slowly, its connection counts.
func TestNoKeepAliveKeepsTheBound(t *testing.T) {
	for _, pipeline := range []int{0, 4} {
		p := gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Second})
		p.Targets[0].Protocol, p.Targets[0].Connections = rv.ProtocolHTTP1, 3
		if p.Targets[0].HTTP1.Pipeline = pipeline; pipeline == 0 {
			p.Targets[0].HTTP1.NoKeepAlive = true
		}
		b := newBench(t, p, func(*simRequest) reply {
			return reply{Status: 200, Announces: true, Body: []byte("slow"), BodyAfter: 30 * time.Millisecond}
		})
		most := 0
		b.everyTurn = func() {
			most = max(most, b.sockets())
		}
		if got := b.run(); most != 3 || got.Done < 60 {
			t.Errorf("pipeline %d: %d connections at once, want 3; %+v", pipeline, most, got)
		}
	}
}

// TestIdleEndsAreNoFailures: a server that closes idle connections costs neither back-off nor a change of endpoint.
func TestIdleEndsAreNoFailures(t *testing.T) {
	for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
		for _, goAway := range []bool{false, true} {
			for _, onDemand := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/GOAWAY=%v/onDemand=%v", protocol, goAway, onDemand), func(t *testing.T) {
					checkIdleEnds(t, protocol, goAway, onDemand)
				})
			}
		}
	}
}

func checkIdleEnds(t *testing.T, protocol rv.Protocol, goAway, onDemand bool) {
	p := group(perSecond(50, 4*time.Second))
	p.Targets[0].Connections, p.Targets[0].Protocol = 1, protocol
	p.Targets[0].Connecting.OnDemand = onDemand
	b := newBench(t, p, ok(0))
	var idle func()
	idle = func() { // every connection is closed when nothing is in flight on it
		b.in(time.Millisecond, idle)
		for _, c := range b.conns {
			if len(c.Open) > 0 || c.Out.Len() > 0 || c.pending || c.Closed {
				continue
			}
			if goAway && !c.HTTP1 {
				c.GoAway()
			}
			c.Closed = true
		}
	}
	b.onStart = append(b.onStart, idle)
	got := b.run()
	if got.Done < 190 || got.Sent != 200 {
		t.Errorf("got %+v", got)
	}
	// A request waits for a connect of 1 ms, once or twice if the peer closes again.
	if m := b.w.rec.Steps[0].ResponseTime.Quantile(0.9); m > 5000 {
		t.Errorf("p90 %d us", m)
	}
	for _, c := range b.conns {
		if c.endpoint != 0 {
			t.Fatal("the connection changed its endpoint")
		}
	}
	if n := len(b.conns); onDemand && n > 300 {
		t.Errorf("%d connections for 200 requests", n)
	}
}

// TestOnDemand: connections are opened when requests wait for them, as many as those need.
func TestOnDemand(t *testing.T) {
	p := gets(perSecond(100, time.Second))
	p.Targets[0].Connections, p.Targets[0].MaxConcurrentStreams = 8, 10
	p.Targets[0].Connecting.OnDemand = true
	b := newBench(t, p, ok(time.Millisecond))
	b.onStart = append(b.onStart, func() {
		if len(b.dialled) > 0 {
			t.Error("connected before the start")
		}
	})
	if got := b.run(); got.Done != 100 || len(b.conns) != 1 {
		t.Errorf("got %+v over %d connections, want 1", got, len(b.conns))
	}
	if r := b.w.rec; r.Connects != 1 || r.Reconnects != 0 {
		t.Errorf("%d connects, %d of them to connect again, want 1, 0", r.Connects, r.Reconnects)
	}
	p.Rates[0] = rv.Rate{Name: "fast", ClosedLoop: true, Requests: 1000}
	b = newBench(t, p, ok(time.Millisecond))
	if got := b.run(); got.Done != 1000 || len(b.conns) != 8 {
		t.Errorf("closed loop: got %+v over %d connections, want 8", got, len(b.conns))
	}
}

// TestFailbackProvesTheFirstEndpoint: while the first endpoint is dead, in whatever way, the connection that works
// is not given up; when it is well again, it is used.
func TestFailbackProvesTheFirstEndpoint(t *testing.T) {
	for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
		for _, direct := range []bool{false, true} {
			for _, how := range append(behaviours(), behaviour{name: "refuses", http1: true}) {
				if protocol == rv.ProtocolHTTP1 && (!how.http1 || how.name == "says nothing") {
					continue // a peer that only does not answer shows by requests
				}
				if how.name == "greets and closes" || how.name == "sends GOAWAY first" {
					continue // it has answered
				}
				t.Run(fmt.Sprintf("%s/direct=%v/%s", protocol, direct, how.name), func(t *testing.T) {
					checkFailback(t, protocol, direct, how)
				})
			}
		}
	}
}

func checkFailback(t *testing.T, protocol rv.Protocol, direct bool, how behaviour) {
	p := group(perSecond(100, 10*time.Second))
	p.Targets[0].Connections, p.Targets[0].Protocol = 1, protocol
	p.Targets[0].ConnectTimeout = 300 * time.Millisecond
	p.Targets[0].Connecting.FailbackInterval = 500 * time.Millisecond
	b := newBench(t, p, ok(time.Millisecond))
	b.direct, b.bad, b.down = direct, map[int]func(*simConn){}, map[int]bool{}
	if b.down[0] = how.greet == nil; how.greet != nil {
		b.bad[0] = how.greet
	}
	b.in(7*time.Second, func() { delete(b.bad, 0); delete(b.down, 0) })
	got := b.run()
	if lost := 1000 - got.Done; lost > 2 {
		t.Errorf("%d requests have no response: %+v", lost, got)
	}
	second, last := map[int]bool{}, 0
	for _, r := range b.served {
		c := b.conns[r.Conn]
		if c.endpoint == 1 {
			second[r.Conn] = true
		}
		last = c.endpoint
	}
	if len(second) > 1 {
		t.Errorf("the working connection was given up: %d to the second endpoint", len(second))
	}
	if last != 0 {
		t.Error("the first endpoint is well, and is not used")
	}
}

// TestUnsentRequestsAreNotLost: HTTP/1.1 requests are put on a connection while the loop connects it. If the connect
// fails, none of their octets was sent, so they go to the next connection. TCP that hangs fails after connectTimeout. A
// connect that fails counts as a failure, and not as a connect.
func TestUnsentRequestsAreNotLost(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(b *bench, on bool)
		cause rv.Cause
	}{
		{"refused", func(b *bench, on bool) { b.down[0] = on }, rv.CauseRefused},
		{"hangs", func(b *bench, on bool) { b.hangs = on }, rv.CauseConnectTimeout},
	} {
		for _, how := range []struct {
			protocol rv.Protocol
			pipeline int
		}{{rv.ProtocolHTTP1, 0}, {rv.ProtocolHTTP1, 4}, {rv.ProtocolH2C, 1}} {
			pipeline := how.pipeline
			t.Run(fmt.Sprintf("%s/%s/pipeline=%d", tt.name, how.protocol, pipeline), func(t *testing.T) {
				p := gets(perSecond(100, time.Second))
				p.Chains[0].Steps[0].Timeout, p.Drain = 5*time.Second, 5*time.Second
				p.Targets[0].Protocol, p.Targets[0].ConnectTimeout = how.protocol, 100*time.Millisecond
				if p.Targets[0].HTTP1.Pipeline = pipeline; pipeline == 0 {
					p.Targets[0].HTTP1.NoKeepAlive = true
				}
				b := newBench(t, p, func(*simRequest) reply { return reply{Status: 200, Announces: pipeline == 0} })
				b.direct, b.down = true, map[int]bool{}
				b.onStart = append(b.onStart, func() {
					b.in(300*time.Millisecond, func() {
						tt.spoil(b, true)
						for _, c := range b.conns {
							c.Closed = true
						}
					})
					b.in(500*time.Millisecond, func() { tt.spoil(b, false) })
				})
				got := b.run()
				if want := (&rvTotals{Sent: 100, Done: 100, Succeeded: 100, Retried: got.Retried}); !cmp.Equal(want, got) {
					t.Errorf("got %+v", got)
				}
				accepted := int64(0)
				for _, c := range b.conns {
					if !c.pending && !c.refused {
						accepted++
					}
				}
				if n := b.w.rec.Connects; n > accepted {
					t.Errorf("%d connects, but the peer accepted %d connections", n, accepted)
				}
				detail := ""
				if tt.cause == rv.CauseConnectTimeout {
					detail = "100ms"
				}
				if n := causesOf(b)[rv.Failure{Of: rv.FailureConnect, Cause: tt.cause, Detail: detail, Address: "t:80"}]; n == 0 {
					t.Errorf("no connect failed by %q: %v", tt.cause, causesOf(b))
				}
			})
		}
	}
}

// The race detector finds races of quic-go here: a stream that is opened before the handshake is complete reads what the
// goroutine of the connection takes from the server's transport parameters.

//go:build !race

package quicnet_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/quicnet"
)

// earlyServer is a server with sessions. It reads early data if allows is true.
type earlyServer struct {
	*server
	allows atomic.Bool
	// hold: the server answers after the channel is closed; nil: at once.
	hold atomic.Pointer[chan struct{}]
	mu   sync.Mutex
	seen []string // the paths of the requests, with ! if the handshake was complete
}

func serveEarly(t *testing.T, limit func(*quic.Config)) *earlyServer {
	t.Helper()
	e := new(earlyServer)
	e.allows.Store(true)
	e.server = serve(t, func(s *server) {
		s.gate = new(gate)
		s.config.ClientSessionCache = &sessions{tls.NewLRUClientSessionCache(0), make(chan struct{}, 1)}
		s.QUICConfig = &quic.Config{GetConfigForClient: func(*quic.ClientInfo) (*quic.Config, error) {
			q := &quic.Config{Allow0RTT: e.allows.Load()}
			limit(q)
			return q, nil
		}, Allow0RTT: true}
	})
	e.handle(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if hold := e.hold.Load(); hold != nil {
			<-*hold
		}
		if r.TLS.HandshakeComplete {
			<-w.(http3.Settingser).ReceivedSettings() // also if those in early data were rejected
			path += "!"
		}
		e.mu.Lock()
		e.seen = append(e.seen, path)
		e.mu.Unlock()
		e.requests.Add(1)
	})
	// The first connection gets a session.
	c := mustDial(t, e.server, 1)
	_ = c.run(t, func() bool { return c.Free() == 1 })
	if code, ok := c.Handshake(); code != h3.NewSession || !ok {
		t.Fatalf("handshake %d, %t", code, ok)
	}
	c.get("/first", "")
	_ = c.run(t, func() bool { return len(c.done) == 1 })
	<-e.config.ClientSessionCache.(*sessions).put //nolint:forcetypeassert,errcheck // see above
	return e
}

// paths returns the requests that the server has got.
func (e *earlyServer) paths() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.Clone(e.seen[1:])
	slices.Sort(all)
	return strings.Join(all, " ")
}

// dialEarly opens a connection whose handshake does not complete before the gate opens.
func (e *earlyServer) dialEarly(t *testing.T, streams int) *client {
	t.Helper()
	e.gate.set(true)
	conn, err := quicnet.Dial(t.Context(), e.address, &quicnet.Config{TLS: e.config, Streams: streams, Early: true})
	if err != nil {
		t.Fatal(err)
	}
	return converse(t, conn, streams)
}

// TestEarlyData: requests that may be early data are sent before the handshake is complete, and the others after it. If
// the server rejects early data, it gets each request once.
func TestEarlyData(t *testing.T) {
	for _, accepts := range []bool{true, false} {
		t.Run(fmt.Sprintf("accepts %t", accepts), func(t *testing.T) {
			e := serveEarly(t, func(*quic.Config) {})
			e.allows.Store(accepts)
			c := e.dialEarly(t, 5)
			_ = c.run(t, func() bool { return c.Free() == 5 })
			for i := range 3 {
				c.open(fmt.Sprintf("/early/%d", i), "", protocol.EarlyData)
			}
			c.open("/late", strings.Repeat("b", 5000), 0)
			want, code := "/early/0 /early/1 /early/2 /late!", uint32(h3.AcceptedEarly)
			_ = c.run(t, func() bool { c.wake(); return !accepts || e.requests.Load() == 4 })
			if !accepts {
				want, code = "/early/0! /early/1! /early/2! /late!", h3.Resumed
			}
			e.gate.set(false)
			if err := c.run(t, func() bool { return len(c.done) == 4 }); err != nil || c.count(protocol.Completed) != 4 {
				t.Fatalf("%v, outcomes %v", err, c.done)
			}
			if got := e.paths(); got != want {
				t.Errorf("the server has %q, want %q", got, want)
			}
			if got, ok := c.Handshake(); got != code || !ok {
				t.Errorf("handshake %d, %t, want %d", got, ok, code)
			}
			// The connection works as any other from now on.
			n := 0
			err := c.run(t, func() bool {
				for ; c.Free() > 0 && n < 50; n++ {
					c.get("/more", "")
					sent, _ := c.conn.Send(c.Pending())
					c.Wrote(sent)
				}
				return len(c.done) == 54
			})
			if err != nil || c.count(protocol.Completed) != 54 || e.requests.Load() != 55 {
				t.Errorf("%v, %d completed; the server has %d", err, c.count(protocol.Completed), e.requests.Load())
			}
		})
	}
}

// TestOneControlStream: after the server has rejected early data, no stream can be opened for SETTINGS before settle opens
// one for those that were early data.
func TestOneControlStream(t *testing.T) {
	e := serveEarly(t, func(*quic.Config) {})
	e.allows.Store(false)
	c := e.dialEarly(t, 5)
	if c.conn.OpensDuring(func() { e.gate.set(false) }) {
		t.Error("a stream is opened before settle")
	}
}

// TestEarlyDataIsCancelled: a request that is cancelled before the handshake is complete has no outcome. If the server
// has rejected early data, it does not get it. Its slot is free again.
func TestEarlyDataIsCancelled(t *testing.T) {
	for _, accepts := range []bool{true, false} {
		t.Run(fmt.Sprintf("accepts %t", accepts), func(t *testing.T) {
			e := serveEarly(t, func(*quic.Config) {})
			e.allows.Store(accepts)
			c := e.dialEarly(t, 3)
			_ = c.run(t, func() bool { return c.Free() == 3 })
			held := c.open("/held", "", 0)
			early := c.open("/early", "", protocol.EarlyData)
			c.open("/kept", "", protocol.EarlyData)
			_ = c.run(t, func() bool { return true })
			c.Cancel(held, 0)
			c.Cancel(early, 0)
			_ = c.run(t, func() bool { return true })
			e.gate.set(false)
			err := c.run(t, func() bool { return len(c.done) == 1 && c.Free() == 3 })
			if err != nil || c.count(protocol.Completed) != 1 {
				t.Fatalf("%v, outcomes %v", err, c.done)
			}
			if got := e.paths(); !accepts && got != "/kept!" || strings.Contains(got, "/held") {
				t.Errorf("the server has %q", got)
			}
		})
	}
}

// TestFewerStreamsThanBefore: a server that permits fewer streams than before, and so rejects early data, gets each request
// once, as it permits streams. A request that is cancelled while it waits for one has no outcome. The connection keeps the
// new session, so that the next one has early data again.
func TestFewerStreamsThanBefore(t *testing.T) {
	var streams atomic.Int64
	streams.Store(10)
	e := serveEarly(t, func(q *quic.Config) { q.MaxIncomingStreams = streams.Load() })
	streams.Store(2) // so the server rejects early data
	answer := make(chan struct{})
	e.hold.Store(&answer)
	c := e.dialEarly(t, 8)
	_ = c.run(t, func() bool { return c.Free() == 8 })
	for i := range 4 {
		c.open(fmt.Sprintf("/early/%d", i), "", protocol.EarlyData)
	}
	before, after := c.open("/before", "", protocol.EarlyData), c.open("/after", "", protocol.EarlyData)
	_ = c.run(t, func() bool { return true })
	c.Cancel(before, 0)
	_ = c.run(t, func() bool { return true })
	e.gate.set(false)
	_ = c.run(t, func() bool { _, complete := c.Handshake(); return complete })
	c.Cancel(after, 0)
	c.open("/late/0", "", 0)
	c.open("/late/1", "", protocol.EarlyData)
	_ = c.run(t, func() bool { return true })
	close(answer)
	err := c.run(t, func() bool { return len(c.done) == 6 })
	const want = "/early/0! /early/1! /early/2! /early/3! /late/0! /late/1!"
	if got := e.paths(); err != nil || c.count(protocol.Completed) != 6 || got != want {
		t.Fatalf("%v, outcomes %v; the server has %q", err, c.done, got)
	}
	for n := 7; n < 40; n++ {
		_ = c.run(t, func() bool { return c.Free() > 0 })
		c.get("/more", "")
		if err := c.run(t, func() bool { return len(c.done) == n }); err != nil || c.count(protocol.Completed) != n {
			t.Fatalf("%v, outcomes %v", err, c.done)
		}
	}
	<-e.config.ClientSessionCache.(*sessions).put //nolint:forcetypeassert,errcheck // see serveEarly
	c = e.dialEarly(t, 7)
	_ = c.run(t, func() bool { return c.Free() == 2 })
	c.open("/next", "", protocol.EarlyData)
	_ = c.run(t, func() bool { c.wake(); return strings.HasSuffix(e.paths(), " /next") })
	e.gate.set(false)
	if err := c.run(t, func() bool { return len(c.done) == 1 }); err != nil || c.count(protocol.Completed) != 1 {
		t.Errorf("%v, outcomes %v", err, c.done)
	}
}

package quicnet_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/h3/qpack"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/quicnet"
	"github.com/h2surge/h2surge/test/certtest"
)

// server is an HTTP/3 server that counts.
type server struct {
	http3.Server
	address  string
	config   *tls.Config // of clients
	retry    bool        // it validates addresses
	requests atomic.Int64
	octets   atomic.Int64
	// largest is the size of the largest datagram that has come, in octets.
	largest atomic.Int64
	sizes   bool  // largest is noted
	gate    *gate // of the socket; nil: there is none
	// other handles the requests in the place of answer; nil: answer does.
	other atomic.Pointer[http.HandlerFunc]
}

// gate lets no datagram of a socket pass while it is shut, so that no handshake completes.
type gate struct {
	net.PacketConn
	mu   sync.Mutex
	shut bool
	held []func()
}

func (g *gate) WriteTo(b []byte, to net.Addr) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		return g.PacketConn.WriteTo(b, to)
	}
	b = bytes.Clone(b)
	g.held = append(g.held, func() { _, _ = g.PacketConn.WriteTo(b, to) })
	return len(b), nil
}

// set shuts or opens the gate.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, pass := range g.held {
		pass()
	}
	g.held = nil
}

// handle lets h handle the requests from now on.
func (s *server) handle(h http.HandlerFunc) { s.other.Store(&h) }

// serve starts a server. Its answers: /echo sends the body back, /length?n=N sends N octets, and /abort resets the
// stream.
func serve(t *testing.T, change func(*server)) *server {
	t.Helper()
	pair := certtest.Self(t, "target.example")
	s := &server{config: &tls.Config{RootCAs: pair.Pool(), ServerName: "target.example"}}
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	s.Handler = http.HandlerFunc(s.answer)
	if change != nil {
		change(s)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = udp.LocalAddr().String()
	socket := udp
	if s.sizes {
		socket = sized{udp, &s.largest}
	}
	if s.gate != nil {
		s.gate.PacketConn = udp
		socket = s.gate
	}
	transport := &quic.Transport{Conn: socket, VerifySourceAddress: func(net.Addr) bool { return s.retry }}
	listener, err := transport.ListenEarly(http3.ConfigureTLSConfig(s.TLSConfig), s.QUICConfig)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.ServeListener(listener)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		_ = transport.Close()
		_ = udp.Close()
		<-ended
	})
	return s
}

// sized is a socket that notes the size of the largest datagram.
type sized struct {
	net.PacketConn
	largest *atomic.Int64
}

func (s sized) ReadFrom(b []byte) (n int, from net.Addr, err error) {
	n, from, err = s.PacketConn.ReadFrom(b)
	s.largest.Store(max(s.largest.Load(), int64(n))) // one goroutine reads
	return n, from, err
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if h := s.other.Load(); h != nil {
		(*h)(w, r)
		return
	}
	s.requests.Add(1)
	switch r.URL.Path {
	case "/echo":
		n, _ := io.Copy(w, r.Body)
		s.octets.Add(n)
	case "/length":
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		_, _ = w.Write(make([]byte, n))
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/wait":
		<-r.Context().Done()
	}
}

// client is a session over a connection.
type client struct {
	*h3.Client
	conn   *quicnet.Conn
	woken  chan struct{}
	octets int
	done   []protocol.Outcome
	status []int
}

func (c *client) OnStatus(_ uint32, status int)       { c.status = append(c.status, status) }
func (c *client) OnHeader(uint32, []byte, []byte)     {}
func (c *client) OnTrailer(uint32, []byte, []byte)    {}
func (c *client) OnData(_ uint32, p []byte)           { c.octets += len(p) }
func (c *client) OnDone(_ uint32, o protocol.Outcome) { c.done = append(c.done, o) }
func (c *client) count(k protocol.Kind) (n int) {
	for _, o := range c.done {
		if o.Kind == k {
			n++
		}
	}
	return n
}

func dial(t *testing.T, s *server, streams int) (*client, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := quicnet.Dial(ctx, s.address, &quicnet.Config{TLS: s.config, Streams: streams})
	if err != nil {
		return nil, err
	}
	return converse(t, conn, streams), nil
}

// converse begins a session.
func converse(t *testing.T, conn *quicnet.Conn, streams int) *client {
	t.Cleanup(conn.Close)
	c := &client{conn: conn, woken: make(chan struct{}, 1)}
	c.Client = h3.NewClient(h3.Config{MaxConcurrentStreams: streams}, c)
	conn.Notify(func() {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	})
	return c
}

func mustDial(t *testing.T, s *server, streams int) *client {
	t.Helper()
	c, err := dial(t, s, streams)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run moves records until the condition is true, or the connection ends.
func (c *client) run(t *testing.T, until func() bool) error {
	t.Helper()
	buf := make([]byte, 64<<10)
	for {
		for n := 1; n > 0; c.Wrote(n) {
			var err error
			if n, err = c.conn.Send(c.Pending()); err != nil {
				t.Fatal(err)
			}
		}
		for {
			n, err := c.conn.Read(buf)
			if err != nil {
				c.Close()
				return err
			}
			if n == 0 {
				break
			}
			if err := c.Receive(buf[:n], 0); err != nil {
				t.Fatal(err)
			}
		}
		if until() {
			return nil
		}
		select {
		case <-c.woken:
		case <-t.Context().Done():
			t.Fatal("nothing happens")
		}
	}
}

func (c *client) get(path, body string) uint32 { return c.open(path, body, 0) }

func (c *client) open(path, body string, want protocol.Want) uint32 {
	b := c.Begin()
	b = append(b, qpack.Prefix...)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", "127.0.0.1"}, {":path", path}} {
		_, name := qpack.StaticIndex(f[0], f[1])
		b = qpack.AppendLiteral(b, hpack.Without, name, f[0], f[1])
	}
	return c.Open(b, 1, []byte(body), protocol.WantBody|want)
}

// TestExchanges: more requests than streams at a time, with bodies of several sizes in both directions; the counts of
// both sides are equal.
func TestExchanges(t *testing.T) {
	s := serve(t, nil)
	c := mustDial(t, s, 7)
	const requests = 200
	opened, sent, want := 0, 0, 0
	body := string(bytes.Repeat([]byte("b"), 700<<10))
	err := c.run(t, func() bool {
		for c.Free() > 0 && opened < requests {
			switch opened % 20 {
			case 0:
				c.get("/length?n=500000", "")
				want += 500000
			case 10:
				c.get("/echo", body)
				sent += len(body)
				want += len(body)
			default:
				c.get("/echo", "abc")
				sent, want = sent+3, want+3
			}
			opened++
		}
		n, _ := c.conn.Send(c.Pending())
		c.Wrote(n)
		return len(c.done) == requests
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.count(protocol.Completed) != requests || c.octets != want {
		t.Errorf("%d completed with %d octets, want %d with %d", c.count(protocol.Completed), c.octets, requests, want)
	}
	if s.requests.Load() != requests || s.octets.Load() != int64(sent) {
		t.Errorf("the server has %d requests with %d octets, want %d with %d", s.requests.Load(), s.octets.Load(), requests, sent)
	}
	if out, in := c.conn.Octets(); out < int64(sent) || in < int64(want) {
		t.Errorf("%d octets sent, %d received", out, in)
	}
}

// TestPathMTU: datagrams become larger than the 1200 octets at the begin, as the path permits. On loopback, quic-go ends
// with 1452 octets.
func TestPathMTU(t *testing.T) {
	s := serve(t, func(s *server) { s.sizes = true })
	c := mustDial(t, s, 1)
	body := string(make([]byte, 64<<10))
	err := c.run(t, func() bool {
		if c.Free() > 0 {
			c.get("/echo", body)
			n, _ := c.conn.Send(c.Pending())
			c.Wrote(n)
		}
		return s.largest.Load() > 1400
	})
	if err != nil || s.largest.Load() > 1452 {
		t.Errorf("%v, the largest datagram has %d octets", err, s.largest.Load())
	}
}

// TestStreamLimit: no request is opened before the peer permits its stream.
func TestStreamLimit(t *testing.T) {
	s := serve(t, func(s *server) { s.QUICConfig = &quic.Config{MaxIncomingStreams: 3} })
	var now, most atomic.Int64
	s.handle(func(http.ResponseWriter, *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		now.Add(-1)
	})
	c := mustDial(t, s, 10)
	opened := 0
	err := c.run(t, func() bool {
		for c.Free() > 0 && opened < 50 {
			c.get("/echo", "")
			opened++
		}
		n, _ := c.conn.Send(c.Pending())
		c.Wrote(n)
		return len(c.done) == 50
	})
	if err != nil || c.count(protocol.Completed) != 50 || most.Load() > 3 {
		t.Errorf("%d completed, %d at a time, %v", c.count(protocol.Completed), most.Load(), err)
	}
}

// TestHandshakes has the ways to open a connection.
func TestHandshakes(t *testing.T) {
	identity := certtest.Self(t, "client.example")
	for name, change := range map[string]func(*server){
		"version 1": func(s *server) { s.QUICConfig = &quic.Config{Versions: []quic.Version{quic.Version1}} },
		"version 2": func(s *server) { s.QUICConfig = &quic.Config{Versions: []quic.Version{quic.Version2}} },
		"Retry":     func(s *server) { s.retry = true },
		"a certificate of the client": func(s *server) {
			s.TLSConfig.ClientAuth, s.TLSConfig.ClientCAs = tls.RequireAndVerifyClientCert, identity.Pool()
			s.config.Certificates = []tls.Certificate{identity.TLS()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := mustDial(t, serve(t, change), 1)
			_ = c.run(t, func() bool { return c.Free() == 1 })
			c.get("/echo", "")
			if err := c.run(t, func() bool { return len(c.done) == 1 }); err != nil || c.count(protocol.Completed) != 1 {
				t.Errorf("%v, outcomes %v", err, c.done)
			}
		})
	}
}

func TestReset(t *testing.T) {
	c := mustDial(t, serve(t, nil), 2)
	_ = c.run(t, func() bool { return c.Ready() && c.Free() == 2 })
	c.get("/abort", "")
	if err := c.run(t, func() bool { return len(c.done) == 1 && c.Free() == 2 }); err != nil {
		t.Fatal(err)
	}
	if o := c.done[0]; o.Kind != protocol.Reset || protocol.CodeName(o.Code) != "H3_INTERNAL_ERROR" {
		t.Errorf("outcome %+v", o)
	}
}

// TestCancel: the server gets the cancellation and the slot is free again, also if so much of the request waits for flow
// control that no other one is sent.
func TestCancel(t *testing.T) {
	for name, octets := range map[string]int{"no body": 0, "a body that waits": 2 << 20} {
		t.Run(name, func(t *testing.T) {
			left := make(chan struct{})
			s := serve(t, nil)
			s.handle(func(_ http.ResponseWriter, r *http.Request) {
				s.requests.Add(1)
				if r.URL.Path == "/wait" {
					<-r.Context().Done()
					close(left)
				}
			})
			c := mustDial(t, s, 2)
			_ = c.run(t, func() bool { return c.Ready() && c.Free() == 2 })
			id := c.get("/wait", string(make([]byte, octets)))
			// The server has the request when it permits no earlier end: a second connection is not needed to know.
			_ = c.run(t, func() bool { c.wake(); return s.requests.Load() == 1 })
			c.get("/", "")
			c.Cancel(id, 0)
			if err := c.run(t, func() bool { return len(c.done) == 1 && c.Free() == 2 }); err != nil {
				t.Fatal(err)
			}
			<-left
			if c.count(protocol.Completed) != 1 {
				t.Errorf("outcomes %v", c.done)
			}
		})
	}
}

func (c *client) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// TestGoAway: a server that ends lets its requests end, and takes no more.
func TestGoAway(t *testing.T) {
	s := serve(t, nil)
	arrived, finish := make(chan struct{}), make(chan struct{})
	s.handle(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-finish
		w.WriteHeader(http.StatusTeapot)
	})
	c := mustDial(t, s, 2)
	_ = c.run(t, func() bool { return c.Ready() && c.Free() == 2 })
	c.get("/", "")
	n, _ := c.conn.Send(c.Pending())
	c.Wrote(n)
	<-arrived
	go s.Shutdown(t.Context()) //nolint:errcheck // ends with the test
	if err := c.run(t, c.Draining); err != nil {
		t.Fatal(err)
	}
	if c.Free() != 0 || c.InFlight() != 1 {
		t.Errorf("%d free, %d in flight", c.Free(), c.InFlight())
	}
	close(finish)
	if err := c.run(t, func() bool { return len(c.done) == 1 }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(c.status) != "[418]" {
		t.Errorf("status %v", c.status)
	}
}

// TestProtocolError: the peer gets the code of the session, also if the connection is closed at once.
func TestProtocolError(t *testing.T) {
	for _, closes := range []bool{false, true} {
		t.Run(fmt.Sprintf("closes %t", closes), func(t *testing.T) {
			accepted := make(chan *quic.Conn, 1)
			s := serve(t, func(s *server) {
				s.ConnContext = func(ctx context.Context, q *quic.Conn) context.Context {
					accepted <- q
					return ctx
				}
			})
			s.handle(func(http.ResponseWriter, *http.Request) {})
			c := mustDial(t, s, 1)
			_ = c.run(t, func() bool { return c.Ready() && c.Free() == 1 })
			c.get("/", "") // before the handshake is confirmed, the peer would get APPLICATION_ERROR (RFC 9000 10.2.3)
			n, _ := c.conn.Send(c.Pending())
			c.Wrote(n)
			_ = c.run(t, func() bool { return len(c.done) == 1 })
			record := h3.AppendRecord(nil, &h3.Record{Kind: h3.Close, Code: uint32(protocol.H3FrameError), Data: []byte("why")})
			if n, err := c.conn.Send(record); n != len(record) || err != nil {
				t.Fatal(n, err)
			}
			if closes {
				c.conn.Close()
			}
			err := c.run(t, func() bool { return false })
			if f := failure.Of(err, ""); f.Detail != `H3_FRAME_ERROR: "why"` {
				t.Errorf("%+v", f)
			}
			peer := (<-accepted).Context()
			<-peer.Done()
			var got *quic.ApplicationError
			if err := context.Cause(peer); !errors.As(err, &got) || got.ErrorCode != quic.ApplicationErrorCode(protocol.H3FrameError) {
				t.Errorf("the peer gets %v", err)
			}
		})
	}
}

// TestServerCloses: the end of a connection has a cause, and its requests are lost.
func TestServerCloses(t *testing.T) {
	s := serve(t, nil)
	arrived := make(chan struct{})
	s.handle(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	c := mustDial(t, s, 1)
	_ = c.run(t, func() bool { return c.Ready() && c.Free() == 1 })
	c.get("/wait", "")
	n, _ := c.conn.Send(c.Pending())
	c.Wrote(n)
	<-arrived
	_ = s.Close()
	err := c.run(t, func() bool { return false })
	if f := failure.Of(err, ""); f.Kind != rv.CauseClosed || c.count(protocol.Lost) != 1 {
		t.Errorf("%+v, outcomes %v", f, c.done)
	}
}

// TestCauses has why connections cannot be opened.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*server)
		config func(*server)
		kind   rv.Cause
	}{
		{name: "no server", config: func(s *server) { s.address = closedPort(t) }, kind: rv.CauseRefused},
		{name: "another authority", config: func(s *server) { s.config.RootCAs = x509.NewCertPool() }, kind: rv.CauseTLS},
		{name: "another name", config: func(s *server) { s.config.ServerName = "other.example" }, kind: rv.CauseTLS},
		{name: "no certificate of the client", change: func(s *server) { s.TLSConfig.ClientAuth = tls.RequireAnyClientCert },
			kind: rv.CauseTLSAlert},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.change)
			if c.config != nil {
				c.config(s)
			}
			conn, err := dial(t, s, 1)
			if err == nil { // the server judges the client's certificate after the client has all it needs
				err = conn.run(t, func() bool { return false })
			}
			if f := failure.Of(err, s.address); f.Kind != c.kind {
				t.Errorf("%+v of %v, want %s", f, err, c.kind)
			}
		})
	}
}

// closedPort returns an address without a server.
func closedPort(t *testing.T) string {
	t.Helper()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close() //nolint:errcheck // nothing was sent
	return udp.LocalAddr().String()
}

// TestDialEnds with its context.
func TestDialEnds(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0") // answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close() //nolint:errcheck // nothing was sent
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _, _ = udp.ReadFrom(make([]byte, 2000))
		cancel()
	}()
	_, err = quicnet.Dial(ctx, udp.LocalAddr().String(), &quicnet.Config{TLS: &tls.Config{ServerName: "a"}, Streams: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

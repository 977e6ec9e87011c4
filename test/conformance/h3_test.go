package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// quicServer is a server of quic-go that counts.
type quicServer struct {
	http3.Server
	socket   net.PacketConn
	caFile   string
	requests atomic.Int64
	// other handles the requests; nil: they get 612 octets.
	other atomic.Pointer[http.HandlerFunc]
}

// handle lets h handle the requests from now on.
func (s *quicServer) handle(h http.HandlerFunc) { s.other.Store(&h) }

// newQUIC starts one. It answers with 612 octets.
func newQUIC(t *testing.T, change func(*quicServer)) *quicServer {
	t.Helper()
	names := []string{"localhost"}
	pair := certtest.New(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: names, IsCA: true, BasicConstraintsValid: true}, nil)
	s := &quicServer{caFile: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(s.caFile, []byte(pair.PEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	s.TLSConfig = http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair.TLS()}})
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := s.other.Load(); h != nil {
			(*h)(w, r)
			return
		}
		s.requests.Add(1)
		_, _ = w.Write([]byte(strings.Repeat("q", 612)))
	})
	if change != nil {
		change(s)
	}
	var err error
	if s.socket, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(s.socket)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		_ = s.socket.Close()
		<-ended
	})
	return s
}

// plan is a plan of GETs over HTTP/3.
func (s *quicServer) plan(address string, requests int64) *rv.Plan {
	p := newPlan(address, rv.ProtocolH3, requests)
	t := &p.Targets[0]
	t.Connections, t.MaxConcurrentStreams = 4, 10
	t.Endpoints[0].Scheme = "https"
	t.TLS = &rv.TLS{CAFile: s.caFile, MinVersion: "1.3", MaxVersion: "1.3", ALPN: []string{"h3"}}
	return p
}

// proxy passes datagrams between clients and a server, and loses and reorders some.
type proxy struct {
	socket net.PacketConn
	server net.Addr
	// lose and swap are which datagrams of a direction are lost, and which are sent after the next one: each n-th; 0: none.
	lose, swap int
	// largest is the size of the largest datagram that passes, in octets; 0: all pass.
	largest int
	passed  atomic.Int64
	lost    atomic.Int64
	mu      sync.Mutex
	clients map[string]net.Conn
}

func newProxy(t *testing.T, to net.Addr, change func(*proxy)) *proxy {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{socket: socket, server: to, clients: map[string]net.Conn{}}
	change(p)
	go p.run()
	t.Cleanup(func() {
		_ = socket.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.clients {
			_ = c.Close()
		}
	})
	return p
}

func (p *proxy) run() {
	buf := make([]byte, 2048)
	directions := map[string]*direction{}
	for {
		n, from, err := p.socket.ReadFrom(buf)
		if err != nil {
			return
		}
		d := directions[from.String()]
		if d == nil {
			if d = p.open(from); d == nil {
				return
			}
			directions[from.String()] = d
		}
		d.pass(buf[:n])
	}
}

// open connects to the server for a client, and passes what the server answers.
func (p *proxy) open(client net.Addr) *direction {
	up, err := net.Dial("udp", p.server.String())
	if err != nil {
		return nil
	}
	p.mu.Lock()
	p.clients[client.String()] = up
	p.mu.Unlock()
	down := &direction{proxy: p, write: func(b []byte) { _, _ = p.socket.WriteTo(b, client) }}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, err := up.Read(buf)
			if err != nil {
				return
			}
			down.pass(buf[:n])
		}
	}()
	return &direction{proxy: p, write: func(b []byte) { _, _ = up.Write(b) }}
}

// direction is one of a client's two.
type direction struct {
	proxy *proxy
	write func([]byte)
	n     int
	held  []byte
}

func (d *direction) pass(b []byte) {
	p := d.proxy
	d.n++
	p.passed.Add(1)
	switch {
	case p.largest > 0 && len(b) > p.largest:
		p.lost.Add(1)
	case p.lose > 0 && d.n%p.lose == 0:
		p.lost.Add(1)
	case p.swap > 0 && d.n%p.swap == 0:
		d.held = append([]byte(nil), b...)
	default:
		d.write(b)
		if d.held != nil {
			d.write(d.held)
			d.held = nil
		}
	}
}

// TestHTTP3OverABadNetwork: all requests succeed, and the counts are those of the server.
func TestHTTP3OverABadNetwork(t *testing.T) {
	for _, c := range []struct {
		name       string
		lose, swap int
	}{{"nothing is lost", 0, 0}, {"each 20th datagram is lost", 20, 0}, {"each 3rd datagram is late", 0, 3}, {"both", 25, 4}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newQUIC(t, nil)
			p := newProxy(t, s.socket.LocalAddr(), func(p *proxy) { p.lose, p.swap = c.lose, c.swap })
			got := mustExecute(t, s.plan(p.socket.LocalAddr().String(), 500)).Counters
			if got.Sent != 500 || got.Succeeded != 500 || s.requests.Load() != 500 {
				t.Errorf("%+v; the server has %d requests", got, s.requests.Load())
			}
			if lost := p.lost.Load(); p.passed.Load() < 100 || (lost > 0) != (c.lose > 0) {
				t.Errorf("%d datagrams, %d lost", p.passed.Load(), lost)
			}
		})
	}
}

// TestHTTP3PathMTU: the probes for a larger path MTU are lost, on a path that carries no more than the smallest MTU of
// IPv6 with headers of IPv4. All requests succeed, and the counts are those of the server.
func TestHTTP3PathMTU(t *testing.T) {
	s := newQUIC(t, func(s *quicServer) { s.QUICConfig = &quic.Config{InitialPacketSize: 1200} })
	s.handle(func(w http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(w, r.Body); n == 3000 {
			s.requests.Add(1)
		}
	})
	path := newProxy(t, s.socket.LocalAddr(), func(p *proxy) { p.largest = 1252 })
	p := s.plan(path.socket.LocalAddr().String(), 1000)
	p.Targets[0].Connections = 1
	p.Chains[0].Steps[0].Method, p.Chains[0].Steps[0].Body = http.MethodPost, text(strings.Repeat("b", 3000))
	got := mustExecute(t, p).Counters
	if got.Sent != 1000 || got.Succeeded != 1000 || s.requests.Load() != 1000 {
		t.Errorf("%+v; the server has %d requests", got, s.requests.Load())
	}
	if path.lost.Load() == 0 {
		t.Error("no datagram was too large")
	}
}

// TestHTTP3Limits: a server that permits few streams, or little data, gets all requests.
func TestHTTP3Limits(t *testing.T) {
	for name, limit := range map[string]*quic.Config{
		"two streams":   {MaxIncomingStreams: 2},
		"small windows": {InitialStreamReceiveWindow: 1000, InitialConnectionReceiveWindow: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newQUIC(t, func(s *quicServer) { s.QUICConfig = limit })
			p := s.plan(s.socket.LocalAddr().String(), 300)
			p.Chains[0].Steps[0].Method = http.MethodPost
			p.Chains[0].Steps[0].Body = rv.Text{{Literal: strings.Repeat("b", 3000)}}
			s.handle(func(w http.ResponseWriter, r *http.Request) {
				s.requests.Add(1)
				if n, _ := io.Copy(io.Discard, r.Body); n != 3000 || r.ContentLength != 3000 {
					w.WriteHeader(http.StatusBadRequest)
				}
			})
			got := mustExecute(t, p).Counters
			if got.Succeeded != 300 || s.requests.Load() != 300 {
				t.Errorf("%+v; the server has %d requests", got, s.requests.Load())
			}
		})
	}
}

// TestHTTP3Resets: resets are counted with their code, and the other requests of the connection succeed.
func TestHTTP3Resets(t *testing.T) {
	s := newQUIC(t, nil)
	s.handle(func(http.ResponseWriter, *http.Request) {
		if s.requests.Add(1)%10 == 0 {
			panic(http.ErrAbortHandler)
		}
	})
	got := mustExecute(t, s.plan(s.socket.LocalAddr().String(), 500)).Counters
	if got.Sent != 500 || got.Reset != 50 || got.Succeeded != 450 || s.requests.Load() != 500 {
		t.Errorf("%+v; the server has %d requests", got, s.requests.Load())
	}
}

// TestHTTP3Timeouts: requests without an answer time out, and their streams are reset, which the server sees.
func TestHTTP3Timeouts(t *testing.T) {
	s := newQUIC(t, nil)
	left := make(chan struct{}, 20)
	s.handle(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hang" {
			s.requests.Add(1)
			return
		}
		<-r.Context().Done()
		left <- struct{}{}
	})
	// Only the requests that hang have little time.
	p := s.plan(s.socket.LocalAddr().String(), 200)
	hang := p.Chains[0].Steps[0]
	hang.Path, hang.Timeout = text("/hang"), 200*time.Millisecond
	p.Chains[0].Weight = 9
	p.Chains = append(p.Chains, rv.Chain{Name: "hang", Weight: 1, Steps: []rv.Step{hang}})
	got := mustExecute(t, p).Counters
	<-left // a busy server can miss the others: their streams may be reset before it reads them
	if got.Sent != 200 || got.TimedOut != 20 || got.Succeeded != 180 || s.requests.Load() != 180 {
		t.Errorf("%+v; the server answered %d requests", got, s.requests.Load())
	}
}

// TestHTTP3Refused: the cause of a port without a server.
func TestHTTP3Refused(t *testing.T) {
	s := newQUIC(t, nil)
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	p := s.plan(closed.LocalAddr().String(), 1)
	p.Targets[0].ConnectTimeout = time.Second
	_, err = run(context.Background(), p)
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v", err)
	}
}

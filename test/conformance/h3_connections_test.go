package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quic-go/quic-go"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// connectionsOf are the connections that a server of quic-go has got.
type connectionsOf struct {
	mu  sync.Mutex
	all []*quic.Conn
}

// watch notes the connections of a server.
func (c *connectionsOf) watch(s *quicServer) {
	s.ConnContext = func(ctx context.Context, q *quic.Conn) context.Context {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, q)
		return ctx
	}
}

// count returns how many connections have a property.
func (c *connectionsOf) count(has func(quic.ConnectionState) bool) (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.all {
		if has(q.ConnectionState()) {
			n++
		}
	}
	return n
}

// TestHTTP3EarlyData: connections of 30 requests resume the session of the one before. The counts of requests, of
// resumed connections, and of those with early data are those of the server, which also gets early data that it has
// rejected once.
func TestHTTP3EarlyData(t *testing.T) {
	all := func(int64) bool { return true }
	for _, c := range []struct {
		name   string
		early  rv.EarlyData
		method string
		// accepts returns whether the connection of a number may have early data.
		accepts func(n int64) bool
		// tooEarly: the server answers early data with 425 (RFC 8470).
		tooEarly bool
		// used: the server gets requests as early data.
		used bool
	}{
		{"no early data", "", "GET", all, false, false},
		{"GET", rv.EarlySafe, "GET", all, false, true},
		{"POST", rv.EarlySafe, "POST", all, false, false},
		{"POST if all are allowed", rv.EarlyAll, "POST", all, false, true},
		{"too early", rv.EarlySafe, "GET", all, true, true},
		{"a part is rejected", rv.EarlySafe, "GET", func(n int64) bool { return n%3 != 2 }, false, true},
		{"all is rejected", rv.EarlySafe, "GET", func(n int64) bool { return n == 1 }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var connections connectionsOf
			var number, early atomic.Int64
			s := newQUIC(t, func(s *quicServer) {
				connections.watch(s)
				s.QUICConfig = &quic.Config{Allow0RTT: true, GetConfigForClient: func(*quic.ClientInfo) (*quic.Config, error) {
					return &quic.Config{Allow0RTT: c.accepts(number.Add(1))}, nil
				}}
			})
			s.handle(func(w http.ResponseWriter, r *http.Request) {
				s.requests.Add(1)
				if !r.TLS.HandshakeComplete {
					early.Add(1)
					if c.tooEarly {
						w.WriteHeader(http.StatusTooEarly)
					}
				}
			})
			p := s.plan(s.socket.LocalAddr().String(), 285)
			target := &p.Targets[0]
			target.Connections, target.Connecting.MaxRequests = 1, 30
			target.TLS.SessionResumption, target.TLS.EarlyData = true, c.early
			p.Chains[0].Steps[0].Method = c.method
			snapshot := mustExecute(t, p)
			got := snapshot.Counters
			if got.Sent != 285 || got.Done != 285 || s.requests.Load() != 285 {
				t.Errorf("%+v; the server has %d requests", got, s.requests.Load())
			}
			var tooEarly int64
			if c.tooEarly {
				tooEarly = early.Load()
			}
			if n := snapshot.StatusCodes["425"]; n != tooEarly || got.Succeeded != 285-tooEarly {
				t.Errorf("%d responses with 425 and %d that succeeded; the server sent %d", n, got.Succeeded, tooEarly)
			}
			resumed := connections.count(func(s quic.ConnectionState) bool { return s.TLS.DidResume })
			used := connections.count(func(s quic.ConnectionState) bool { return s.Used0RTT })
			if got.Connects != 10 || got.Resumed != resumed || got.EarlyData != used || resumed == 0 {
				t.Errorf("%d connections, %d resumed, %d with early data; the server has %d and %d", got.Connects, got.Resumed,
					got.EarlyData, resumed, used)
			}
			if early.Load() > 0 && !c.used {
				t.Errorf("%d requests were early data", early.Load())
			}
		})
	}
}

// TestHTTP3PerInstance: each chain instance has a connection of its own, from one of the addresses of the plan.
func TestHTTP3PerInstance(t *testing.T) {
	var mu sync.Mutex
	type connection struct{}
	from := map[*quic.Conn]int{} // requests by connection: a port can be used again
	s := newQUIC(t, func(s *quicServer) {
		s.ConnContext = func(ctx context.Context, c *quic.Conn) context.Context {
			return context.WithValue(ctx, connection{}, c)
		}
	})
	s.handle(func(_ http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		mu.Lock()
		defer mu.Unlock()
		from[r.Context().Value(connection{}).(*quic.Conn)]++
	})
	p := s.plan(s.socket.LocalAddr().String(), 300)
	p.Targets[0].Connecting = rv.Connecting{OnDemand: true, PerInstance: true, LocalAddresses: []string{"127.0.0.2", "127.0.0.3"}}
	p.Rates[0].Count = 4 // chain instances at a time
	steps := &p.Chains[0].Steps
	*steps = append(*steps, (*steps)[0], (*steps)[0])
	snapshot := mustExecute(t, p)
	got, instances := snapshot.Counters, snapshot.Chains[0].Started
	unused := got.Connects - instances // a connection can open as the last request is due
	if got.Sent != 300 || got.Succeeded != 300 || s.requests.Load() != 300 || unused < 0 || unused > 4 || got.Reconnects != 0 {
		t.Errorf("%d instances, %+v; the server has %d requests", instances, got, s.requests.Load())
	}
	hosts := map[string]int{}
	for client, n := range from {
		host, _, _ := net.SplitHostPort(client.RemoteAddr().String())
		hosts[host]++
		if n > 3 {
			t.Errorf("%d requests from %s", n, client.RemoteAddr())
		}
	}
	if int64(len(from)) != instances || hosts["127.0.0.2"]+hosts["127.0.0.3"] != len(from) || hosts["127.0.0.2"] == 0 {
		t.Errorf("%d instances, connections by address: %v", instances, hosts)
	}
}

// TestHTTP3LocalAddresses: connection k is from address k modulo their number.
func TestHTTP3LocalAddresses(t *testing.T) {
	s := newQUIC(t, nil)
	var mu sync.Mutex
	from := map[string]bool{}
	s.handle(func(_ http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		mu.Lock()
		defer mu.Unlock()
		from[host] = true
	})
	p := s.plan(s.socket.LocalAddr().String(), 300)
	p.Targets[0].Connecting.LocalAddresses = []string{"127.0.0.2", "127.0.0.3"}
	if got := mustExecute(t, p).Counters; got.Succeeded != 300 || len(from) != 2 || !from["127.0.0.2"] || !from["127.0.0.3"] {
		t.Errorf("%+v; requests came from %v", got, from)
	}
}

// TestHTTP3AltSvc: a server of HTTP/2 offers HTTP/3 at another port. It gets one request of each run, and the server of
// HTTP/3 gets the load. A run does not start without an offer.
func TestHTTP3AltSvc(t *testing.T) {
	for _, c := range []struct {
		name, host, offer, want string
	}{
		{"at another port", "127.0.0.1", `h2=":1", h3=":%d"; ma=3600`, ""},
		{"at another host", "127.0.0.1", `h3="localhost:%d"`, ""},
		{"at an address", "localhost", `h3="127.0.0.1:%d"`, ""},
		{"no offer", "127.0.0.1", "", "the target offers no h3 by Alt-Svc (RFC 7838)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newQUIC(t, nil)
			var mu sync.Mutex
			var asked []string
			origin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.Proto+" "+r.Method)
				mu.Unlock()
				if c.offer != "" {
					w.Header().Set("Alt-Svc", fmt.Sprintf(c.offer, s.socket.LocalAddr().(*net.UDPAddr).Port))
				}
			}))
			origin.EnableHTTP2, origin.TLS = true, &tls.Config{Certificates: s.TLSConfig.Certificates}
			origin.StartTLS()
			t.Cleanup(origin.Close)
			_, port, _ := net.SplitHostPort(origin.Listener.Addr().String())
			p := s.plan(net.JoinHostPort(c.host, port), 300)
			p.Targets[0].AltSvc = true
			if c.want != "" {
				_, err := run(t.Context(), p)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			got := mustExecute(t, p).Counters
			if got.Sent != 300 || got.Succeeded != 300 || s.requests.Load() != 300 || !slices.Equal(asked, []string{"HTTP/2.0 HEAD"}) {
				t.Errorf("%+v; the server has %d requests, the origin %q", got, s.requests.Load(), asked)
			}
		})
	}
}

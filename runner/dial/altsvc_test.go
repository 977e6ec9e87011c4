package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

func TestHTTP3Of(t *testing.T) {
	for fields, want := range map[string]string{
		`h3=":443"; ma=3600`:                     ":443",
		`h3="alt.example:8443"`:                  "alt.example:8443",
		`h3="[::1]:443"`:                         "[::1]:443",
		`h2="a:1", h3=":2"`:                      ":2",
		`x="a,h3=\":9\"", h3=":2";ma=1, h3=":3"`: ":2",
		`h3=:443`:                                ":443", // Alt-Svc needs quotes, but servers forget them
		`h3=":443" ;ma=1`:                        ":443",
		`clear`:                                  "",
		`h3-29=":443", h2=":443"`:                "",
		`h3="443"`:                               "",
		`h3`:                                     "",
		`h3="`:                                   "",
		`"`:                                      "",
		``:                                       "",
		strings.Repeat(`h2=":1", `, 1000) + `h3=":7"`: ":7",
	} {
		if got, ok := http3Of(fields); got != want || ok != (want != "") {
			t.Errorf("%.40s: %q, %t, want %q", fields, got, ok, want)
		}
	}
}

// TestAlternatives: the connection goes where the origin says. Its TLS is for the origin, which is asked once, from the
// local address of the connection.
func TestAlternatives(t *testing.T) {
	var asked atomic.Int64
	offer := `h2=":1", h3=":4433"; ma=60`
	origin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodHead || r.URL.Path != "/base" || r.ProtoMajor != 2 {
			t.Errorf("%s %s over %s", r.Method, r.URL, r.Proto)
		}
		if from, _, _ := net.SplitHostPort(r.RemoteAddr); from != "127.0.0.2" {
			t.Errorf("asked from %s", from)
		}
		w.Header().Set("Alt-Svc", offer)
	}))
	origin.EnableHTTP2 = true
	origin.StartTLS()
	t.Cleanup(origin.Close)
	at := origin.Listener.Addr().String()
	host, _, _ := net.SplitHostPort(at)
	roots := origin.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs //nolint:errcheck,forcetypeassert // of httptest
	var to string
	stop := errors.New("no server")
	r := &Request{
		Endpoint: &rv.Endpoint{Scheme: "https", Authority: "example.com", Address: at, BasePath: "/base"},
		Protocol: rv.ProtocolH3, Timeout: time.Minute, TLS: &tls.Config{RootCAs: roots}, Resolver: NewResolver(nil),
		LocalAddresses: []string{"127.0.0.2"}, Alternatives: new(Alternatives),
		QUIC: func(_ context.Context, _ net.Addr, address string, secure *tls.Config) (Streams, error) {
			if to = address; secure.ServerName != "example.com" {
				t.Errorf("the name of the server is %q", secure.ServerName)
			}
			return nil, stop
		},
	}
	for range 2 {
		if _, err := Open(t.Context(), r); !errors.Is(err, stop) || to != host+":4433" {
			t.Errorf("connects to %q, error %v", to, err)
		}
	}
	if asked.Load() != 1 || r.Endpoint.Address != at {
		t.Errorf("asked %d times; the endpoint's address is %s", asked.Load(), r.Endpoint.Address)
	}
	// The step of an origin with a name ends, though the offer has an address.
	name := r.Endpoint.Authority + at[strings.LastIndexByte(at, ':'):]
	r.Endpoint, r.Resolver = &rv.Endpoint{Scheme: "https", Authority: name, Address: name, BasePath: "/base"}, fixed(host)
	var steps []Step
	r.Progress = func(s Step) { steps = append(steps, s) }
	r.Alternatives, offer = new(Alternatives), `h3="127.0.0.9:4433"`
	_, err := Open(t.Context(), r)
	if !errors.Is(err, stop) || to != "127.0.0.9:4433" || !slices.Equal(steps, []Step{Connecting, Handshaking}) {
		t.Errorf("connects to %q, steps %v, error %v", to, steps, err)
	}
	r.Endpoint.Authority = "example.com"
	r.Alternatives, offer = new(Alternatives), "clear"
	_, err = Open(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), `offers no h3 by Alt-Svc (RFC 7838): HEAD https://example.com/base has status 200 and Alt-Svc "clear"`) {
		t.Errorf("error %v", err)
	}
}

// TestAlternativesAfterAnAddressThatHangs: HEAD goes to the next address of the origin, in half of the time.
func TestAlternativesAfterAnAddressThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &halfHanging{accepted: make(chan net.Conn)}
		origin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Alt-Svc", `h3=":4433"`)
		}))
		_ = origin.Listener.Close()
		origin.Listener = n
		origin.StartTLS()
		defer origin.Close()
		stop := errors.New("no server")
		r := &Request{
			Endpoint: &rv.Endpoint{Scheme: "https", Authority: "example.com", Address: "example.com:443"},
			Protocol: rv.ProtocolH3, Timeout: time.Minute, Network: n, Resolver: fixed("192.0.2.1", "192.0.2.2"),
			TLS:          origin.Client().Transport.(*http.Transport).TLSClientConfig, //nolint:errcheck,forcetypeassert // of httptest
			Alternatives: new(Alternatives),
			QUIC:         func(context.Context, net.Addr, string, *tls.Config) (Streams, error) { return nil, stop },
		}
		began := time.Now()
		if _, err := Open(t.Context(), r); !errors.Is(err, stop) || time.Since(began) != r.Timeout/2 {
			t.Errorf("error %v after %v, want %v after %v", err, time.Since(began), stop, r.Timeout/2)
		}
	})
}

// TestQuestionsHaveTheTimeOfEachAttempt: an attempt that waits for the question of another one asks itself when the time of that one is over, and
// fails when its own is.
func TestQuestionsHaveTheTimeOfEachAttempt(t *testing.T) {
	stop := errors.New("no server")
	for name, tt := range map[string]struct {
		r     Request
		start func(*httptest.Server)
		want  error
	}{
		"protocol": {Request{Protocol: rv.ProtocolDiscovered, Discovery: new(Discovery)}, (*httptest.Server).Start, nil},
		"Alt-Svc":  {Request{Protocol: rv.ProtocolH3, Alternatives: new(Alternatives)}, (*httptest.Server).StartTLS, stop},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &halfHanging{accepted: make(chan net.Conn)}
				origin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Alt-Svc", `h3=":4433"`)
				}))
				_ = origin.Listener.Close()
				origin.Listener = n
				tt.start(origin)
				defer origin.Close()
				first := tt.r
				first.Endpoint = &rv.Endpoint{Scheme: "https", Authority: "example.com", Address: "example.com:443"}
				first.Timeout, first.Network, first.Resolver = 10*time.Second, n, fixed("192.0.2.1")
				if client, ok := origin.Client().Transport.(*http.Transport); ok && first.Alternatives != nil {
					first.TLS = client.TLSClientConfig
				}
				first.QUIC = func(context.Context, net.Addr, string, *tls.Config) (Streams, error) { return nil, stop }
				second, short := first, first
				second.Resolver, short.Timeout = fixed("192.0.2.2"), first.Timeout/2
				begun := time.Now()
				for _, r := range []*Request{&first, &short} {
					go func() {
						_, err := Open(t.Context(), r)
						got := failure.Of(err, "192.0.2.1:443")
						want := failure.Cause{Kind: rv.CauseConnectTimeout, Detail: r.Timeout.String(), Address: "192.0.2.1:443"}
						if took := time.Since(begun); got != want || took != r.Timeout {
							t.Errorf("error %v after %v, want %v after %v", got, took, want, r.Timeout)
						}
					}()
					synctest.Wait() // the first one asks
				}
				time.Sleep(first.Timeout - time.Second)
				began := time.Now()
				c, err := Open(t.Context(), &second)
				if !errors.Is(err, tt.want) || time.Since(began) != time.Second {
					t.Errorf("error %v after %v, want %v after 1s", err, time.Since(began), tt.want)
				}
				if err == nil {
					c.Close()
				}
			})
		})
	}
}

// halfHanging is a Network in which 192.0.2.1 gives no answer, and the listener of all other addresses.
type halfHanging struct {
	Network
	accepted chan net.Conn
	close    sync.Once
}

func (n *halfHanging) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	if address == "192.0.2.1:443" {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded} // as of a socket with this deadline
	}
	c, s := net.Pipe()
	n.accepted <- s
	return c, nil
}

func (n *halfHanging) Accept() (net.Conn, error) {
	c, ok := <-n.accepted
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (n *halfHanging) Close() error {
	n.close.Do(func() { close(n.accepted) })
	return nil
}

func (*halfHanging) Addr() net.Addr { return &net.TCPAddr{} }

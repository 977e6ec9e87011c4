package dial

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestPhases: each phase that a connection needs has a time, and they are part of the whole time.
func TestPhases(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	config := &tls.Config{InsecureSkipVerify: true, ServerName: "a"} //nolint:gosec // the test's own server
	for _, tt := range []struct {
		name, address string
		tls           *tls.Config
		addresses     int
	}{
		{"an address", plain.Listener.Addr().String(), nil, 0},
		{"a name", "a:" + port, nil, 1},
		{"the second address of a name", "b:" + port, nil, 2},
		{"TLS", secure.Listener.Addr().String(), config, 0},
		{"a Unix socket", "unix:" + path, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := fixed("127.0.0.1")
			if tt.address[0] == 'b' {
				r = fixed("127.0.0.0", "127.0.0.1") // the first one is refused
			}
			c, err := Open(t.Context(), &Request{Endpoint: &rv.Endpoint{Address: tt.address, Authority: "a"}, Timeout: 10 * time.Second, TLS: tt.tls, Resolver: r})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			p := c.Phases
			if c.Addresses != tt.addresses || p.NameResolution > 0 != (tt.addresses > 0) || p.TCPConnect <= 0 || p.TLSHandshake > 0 != (tt.tls != nil) {
				t.Errorf("%d addresses, phases %+v", c.Addresses, p)
			}
			if sum := p.NameResolution + p.TCPConnect + p.TLSHandshake; sum > c.Took {
				t.Errorf("the phases take %v of %v", sum, c.Took)
			}
		})
	}
}

// TestResolutionIsNotCountedTwice: an answer that the resolver knows takes no time.
func TestResolutionIsNotCountedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewResolver(nil)
		r.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
			time.Sleep(40 * time.Millisecond)
			return parse("10.0.0.1"), nil
		}
		for i, want := range []time.Duration{40 * time.Millisecond, 0} {
			begin := time.Now()
			if _, err := r.addresses(t.Context(), "a:80"); err != nil || time.Since(begin) != want {
				t.Errorf("look-up %d takes %v, %v; want %v", i, time.Since(begin), err, want)
			}
		}
	})
}

package dial

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// silentListener accepts connections and sends nothing.
func silentListener(t *testing.T, ip string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp4", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestStepsAreReported: an attempt reports each step as it begins, and a time-out names the step that took too long.
func TestStepsAreReported(t *testing.T) {
	port := silentListener(t, "127.0.0.3")
	silent := &Resolver{now: time.Now, hosts: map[string]*answer{}, lookup: func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	missing := fixed()
	missing.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "a", IsNotFound: true}
	}
	shakesHands := &tls.Config{ServerName: "a"} //nolint:gosec // no handshake is completed
	for _, tt := range []struct {
		name     string
		host     string
		resolver *Resolver
		tls      *tls.Config
		timeout  time.Duration // zero: long enough also on a busy machine
		steps    []Step
		cause    rv.Cause
		detail   string
	}{
		{name: "an address", host: "127.0.0.3"},
		{name: "a name", host: "a", resolver: fixed("127.0.0.3"), steps: []Step{Connecting}},
		{name: "the second address of a name", host: "a", resolver: fixed("127.0.0.2", "127.0.0.3"), steps: []Step{Connecting, Connecting}},
		{name: "no such name", host: "a", resolver: missing, cause: rv.CauseNotResolved, detail: "a: no such host"},
		{name: "the name server is silent", host: "a", resolver: silent, timeout: 100 * time.Millisecond, cause: rv.CauseNotResolved, detail: "a: no answer in time"},
		{name: "the peer does not shake hands", host: "127.0.0.3", tls: shakesHands, timeout: 2 * time.Second, steps: []Step{Handshaking}, cause: rv.CauseTLS, detail: "the handshake timed out after 2s"},
		{name: "nor does another address", host: "a", resolver: fixed("127.0.0.2", "127.0.0.3"), tls: shakesHands, timeout: 2 * time.Second, steps: []Step{Connecting, Connecting, Handshaking}, cause: rv.CauseTLS, detail: "the handshake timed out after 2s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.timeout == 0 {
				tt.timeout = time.Minute
			}
			var steps []Step
			c, err := Open(t.Context(), &Request{
				Endpoint: &rv.Endpoint{Address: tt.host + ":" + port}, Timeout: tt.timeout, TLS: tt.tls, Resolver: tt.resolver,
				Progress: func(s Step) { steps = append(steps, s) },
			})
			if err == nil {
				c.Close()
			}
			if diff := cmp.Diff(tt.steps, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if got := failure.Of(err, ""); got.Kind != tt.cause || got.Detail != tt.detail {
				t.Errorf("%v is %q: %q, want %q: %q", err, got.Kind, got.Detail, tt.cause, tt.detail)
			}
		})
	}
}

package dial

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// answers plays a server: what it sends when a message has come, by the first word of the message. It closes after it, or
// without an answer at once. silent sends nothing and does not close.
type answers map[string]string

const silent = "silent"

func (a answers) connect() (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		in := bufio.NewReader(server)
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		answer := a[strings.Fields(line)[0]]
		if answer == silent {
			_, _ = io.Copy(io.Discard, in)
			return
		}
		go io.Copy(io.Discard, in) //nolint:errcheck // until the pipe closes
		_, _ = io.WriteString(server, answer)
	}()
	return client, nil
}

// TestDiscover: servers that are odd about the preface of HTTP/2.
func TestDiscover(t *testing.T) {
	const (
		settings   = "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80"
		badRequest = "HTTP/1.1 400 Bad Request\r\n\r\n"
		ok         = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
		alert      = "\x15\x03\x01\x00\x02\x02F"
		wantsTLS   = "the server expects TLS: write https:// in the URL"
		noAnswer   = "the server closed the connection or did not answer within 1s, as servers with TLS do: try https:// in the URL"
	)
	for _, tc := range []struct {
		name string
		peer answers
		want rv.Protocol
		err  string
		took time.Duration
	}{
		{"HTTP/2", answers{"PRI": settings}, rv.ProtocolH2C, "", 0},
		{"GOAWAY", answers{"PRI": "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b"}, rv.ProtocolH2C, "", 0},
		{"400", answers{"PRI": badRequest}, rv.ProtocolHTTP1, "", 0},
		{"505", answers{"PRI": "HTTP/1.0 505 HTTP Version Not Supported\r\n\r\n"}, rv.ProtocolHTTP1, "", 0},
		{"closes", answers{"OPTIONS": ok}, rv.ProtocolHTTP1, "", 0},
		{"says nothing", answers{"PRI": silent, "OPTIONS": ok}, rv.ProtocolHTTP1, "", time.Second},
		{"a body first", answers{"PRI": "<html>no</html>", "OPTIONS": badRequest}, rv.ProtocolHTTP1, "", 0},
		{"less than a frame header", answers{"PRI": settings[:8]}, "", `answered "\x00\x00\x06\x04\x00\x00\x00\x00" to HTTP/2, and nothing to HTTP/1.1`, 0},
		{"SETTINGS with ACK", answers{"PRI": "\x00\x00\x00\x04\x01\x00\x00\x00\x00"}, "", "to HTTP/2, and nothing to HTTP/1.1", 0},
		{"SETTINGS on a stream", answers{"PRI": "\x00\x00\x00\x04\x00\x00\x00\x00\x01"}, "", "to HTTP/2, and nothing to HTTP/1.1", 0},
		{"another protocol", answers{"PRI": "SSH-2.0-OpenSSH", "OPTIONS": "SSH-2.0-OpenSSH"}, "", `answered "SSH-2.0-O" to HTTP/2, and "SSH-2.0-O" to HTTP/1.1`, 0},
		{"never says anything", answers{"PRI": silent, "OPTIONS": silent}, "", noAnswer, 2 * time.Second},
		{"always closes", answers{}, "", noAnswer, 0},
		{"a TLS alert", answers{"PRI": alert, "OPTIONS": alert}, "", wantsTLS, 0},
		{"a TLS alert to HTTP/2 only", answers{"PRI": alert}, "", wantsTLS, 0},
		{"a TLS alert to HTTP/1.1 only", answers{"OPTIONS": alert}, "", wantsTLS, 0},
		{"a part of a TLS alert", answers{"PRI": alert[:1], "OPTIONS": alert[:1]}, "", `answered "\x15" to HTTP/2, and "\x15" to HTTP/1.1`, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				got, err := discover(t.Context(), &rv.Endpoint{Authority: "a.example"}, tc.peer.connect)
				if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%q, %v, want %q, %s", got, err, tc.want, tc.err)
				}
				if took := time.Since(begun); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
			})
		})
	}
}

// TestDiscoveryEndsWithItsAttempt: a server that is silent for longer than an attempt has time is no server of HTTP/1.1,
// and the next address gets its part of the time.
func TestDiscoveryEndsWithItsAttempt(t *testing.T) {
	const first, second = "192.0.2.1", "192.0.2.2"
	ok := answers{"PRI": "HTTP/1.1 400 Bad Request\r\n\r\n"}
	never, late := answers{"PRI": silent, "OPTIONS": silent}, answers{"PRI": silent, "OPTIONS": "HTTP/1.1 200 OK\r\n\r\n"}
	for name, tt := range map[string]struct {
		peers           map[string]answers
		timeout, cancel time.Duration
		want            rv.Protocol
		cause           rv.Cause
		took            time.Duration
	}{
		"time for both questions":  {map[string]answers{first: late}, 2 * time.Second, 0, rv.ProtocolHTTP1, "", time.Second},
		"for a part of the first":  {map[string]answers{first: late}, 300 * time.Millisecond, 0, "", rv.CauseConnectTimeout, 300 * time.Millisecond},
		"for a part of the second": {map[string]answers{first: never}, 1500 * time.Millisecond, 0, "", rv.CauseConnectTimeout, 1500 * time.Millisecond},
		"another address answers":  {map[string]answers{first: never, second: ok}, time.Second, 0, rv.ProtocolHTTP1, "", 500 * time.Millisecond},
		"the run ends":             {map[string]answers{first: never}, time.Minute, 200 * time.Millisecond, "", rv.CauseUnknown, 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				begun := time.Now()
				c, err := Open(ctx, &Request{
					Endpoint: &rv.Endpoint{Address: "a.example:80", Authority: "a.example"}, Protocol: rv.ProtocolDiscovered, Discovery: new(Discovery),
					Timeout: tt.timeout, Resolver: fixed(slices.Sorted(maps.Keys(tt.peers))...), Network: network{peers: tt.peers},
				})
				got := rv.Protocol("")
				if err == nil {
					got = c.Protocol
					c.Close()
				}
				if cause := failure.Of(err, "").Kind; got != tt.want || cause != tt.cause {
					t.Errorf("%q, %q (%v), want %q, %q", got, cause, err, tt.want, tt.cause)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// network is a Network of servers, by their IP addresses.
type network struct {
	Network
	peers map[string]answers
}

func (n network) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	return n.peers[host].connect()
}

// TestDiscoveryAsksOnce: all connections to an endpoint wait for one answer. An endpoint that cannot be asked is asked
// again.
func TestDiscoveryAsksOnce(t *testing.T) {
	var asked atomic.Int32
	peer := answers{"PRI": "HTTP/1.1 400 Bad Request\r\n\r\n"}
	connect := func() (net.Conn, error) {
		if asked.Add(1) == 1 {
			return nil, errors.New("refused")
		}
		return peer.connect()
	}
	var d Discovery
	e := &rv.Endpoint{Address: "a.example:80", Authority: "a.example"}
	if p, err := d.of(t.Context(), e, connect); p != "" || err == nil || d.Found(e.Address) != "" {
		t.Errorf("%q, %v of an endpoint that refuses", p, err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if p, err := d.of(t.Context(), e, connect); p != rv.ProtocolHTTP1 || err != nil {
				t.Errorf("%q, %v", p, err)
			}
		})
	}
	all.Wait()
	if p, n := d.Found(e.Address), asked.Load(); p != rv.ProtocolHTTP1 || n != 2 {
		t.Errorf("%q after %d questions, want %q after 2", p, n, rv.ProtocolHTTP1)
	}
}

// TestIsHTTP2: the frame header that x/net writes.
func TestIsHTTP2(t *testing.T) {
	var b strings.Builder
	if err := http2.NewFramer(&b, nil).WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if !isHTTP2([]byte(b.String()[:frameHeader])) {
		t.Errorf("%q is SETTINGS", b.String())
	}
}

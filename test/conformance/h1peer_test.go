package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// h1row is one thing that a server of HTTP/1.1 does.
type h1row struct {
	// name begins with the section of RFC 9112 that says what is wanted, or with another RFC.
	name string
	// does answers the first request of the first connection. All others are answered as they should be, on
	// that connection too unless it has been closed.
	does func(c *h1conn, r *http.Request)
	plan func(*rv.Plan)
	want outcome
}

// says is a row whose server answers with these octets.
func says(name, octets string, want outcome) h1row {
	return h1row{name: name, want: want, does: func(c *h1conn, _ *http.Request) { c.text(octets) }}
}

// saysAndCloses closes after them.
func saysAndCloses(name, octets string, want outcome) h1row {
	return h1row{name: name, want: want, does: func(c *h1conn, _ *http.Request) {
		c.text(octets)
		_ = c.Close()
	}}
}

func runH1Rows(t *testing.T, rows []h1row) {
	t.Helper()
	for _, row := range rows {
		list(t, h1Rows, row.name, row.want.String())
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newH1Peer(t, false, row.does)
			plan := newPlan(p.address, rv.ProtocolHTTP1, requestsPerRow)
			if row.plan != nil {
				row.plan(plan)
			}
			s := mustExecute(t, plan)
			p.end()
			row.want.check(t, &s.Counters)
			for _, f := range p.faults {
				t.Error("the client is at fault: " + f)
			}
		})
	}
}

// h1peer is a scripted server of HTTP/1.1 over cleartext TCP.
type h1peer struct {
	address  string
	does     func(*h1conn, *http.Request)
	always   bool // on every connection, not only on the first
	listener net.Listener
	group    sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
	faults   []string
}

// h1conn is one connection.
type h1conn struct {
	net.Conn
	peer *h1peer
	in   *bufio.Reader
}

func newH1Peer(t *testing.T, always bool, does func(*h1conn, *http.Request)) *h1peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &h1peer{address: l.Addr().String(), does: does, always: always, listener: l}
	p.group.Go(func() {
		for number := 0; ; number++ {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, nc)
			p.mu.Unlock()
			p.group.Go(func() { p.serve(&h1conn{Conn: nc, peer: p, in: bufio.NewReader(nc)}, number == 0 || p.always) })
		}
	})
	t.Cleanup(p.end)
	return p
}

func (p *h1peer) serve(c *h1conn, hostile bool) {
	defer c.Close() //nolint:errcheck // a test's
	for {
		r := c.request()
		if r == nil {
			return
		}
		if hostile {
			hostile = false
			p.does(c, r)
			continue
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		c.text("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")
		if r.Method != http.MethodHead {
			c.text("ok")
		}
	}
}

// request is the client's next one, of which the body is not read yet; nil: the connection ended.
func (c *h1conn) request() *http.Request {
	r, err := http.ReadRequest(c.in)
	var ne net.Error
	switch {
	case err == nil:
		return r
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &ne):
	default:
		c.peer.mu.Lock()
		c.peer.faults = append(c.peer.faults, fmt.Sprintf("not a request: %v", err))
		c.peer.mu.Unlock()
	}
	return nil
}

func (c *h1conn) text(octets string) { _, _ = io.Copy(c, strings.NewReader(octets)) }

// end closes the peer and waits for it.
func (p *h1peer) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}

package conformance

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// rateRow is a server that announces the end of each connection before its first response is complete.
type rateRow struct {
	name     string
	protocol rv.Protocol
	plan     func(*rv.Plan)
	// http1 answers one HTTP/1.1 request; h2 one HTTP/2 request.
	http1 func(c net.Conn)
	h2    func(c *h2conn)
}

// TestEndsThatAreAnnouncedKeepTheRate: back-off follows failures only. With it, 250 requests would take longer than a run
// may; without it, there are hundreds or thousands a second on an idle machine.
func TestEndsThatAreAnnouncedKeepTheRate(t *testing.T) {
	const requests = 250
	noKeepAlive := setTarget(func(t *rv.Target) { t.HTTP1.NoKeepAlive = true })
	once := setTarget(func(t *rv.Target) { t.Connecting.MaxRequests = 1 })
	write := func(c net.Conn, s string) { _, _ = c.Write([]byte(s)) }
	megabyte := strings.Repeat("x", 1<<20)
	for _, row := range []rateRow{
		{name: "connection: close, head and body in two segments", protocol: rv.ProtocolHTTP1, http1: func(c net.Conn) {
			write(c, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\n")
			time.Sleep(time.Millisecond)
			write(c, "body")
		}},
		{name: "1 MB without keep-alive", protocol: rv.ProtocolHTTP1, plan: noKeepAlive, http1: func(c net.Conn) {
			write(c, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1048576\r\n\r\n"+megabyte)
		}},
		{name: "HTTP/1.0", protocol: rv.ProtocolHTTP1, http1: func(c net.Conn) {
			write(c, "HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\n")
			time.Sleep(time.Millisecond)
			write(c, "body")
		}},
		{name: "a body that ends with the connection", protocol: rv.ProtocolHTTP1, http1: func(c net.Conn) {
			write(c, "HTTP/1.1 200 OK\r\n\r\n")
			time.Sleep(time.Millisecond)
			write(c, "body")
		}},
		{name: "maxRequests 1 over HTTP/1.1", protocol: rv.ProtocolHTTP1, plan: once, http1: func(c net.Conn) {
			write(c, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
			time.Sleep(time.Millisecond)
		}},
		{name: "maxRequests 1 over HTTP/2", protocol: rv.ProtocolH2C, plan: once, h2: func(c *h2conn) { c.greet() }},
		{name: "GOAWAY before the response", protocol: rv.ProtocolH2C, h2: func(c *h2conn) {
			c.greet()
			if id := c.next(); id != 0 {
				_ = c.fr.WriteGoAway(id, 0, nil)
				time.Sleep(time.Millisecond)
				c.ok(id)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			plan := newPlan(row.address(t), row.protocol, requests)
			if row.plan != nil {
				row.plan(plan)
			}
			begin := time.Now()
			s := mustExecute(t, plan)
			t.Logf("%.0f a second", requests/time.Since(begin).Seconds())
			if c := &s.Counters; c.Succeeded != requests {
				t.Errorf("%+v, want %d succeeded", *c, requests)
			}
		})
	}
}

func (row *rateRow) address(t *testing.T) string {
	if row.h2 != nil {
		p := newH2Peer(t, row.h2)
		p.hostile = 1 << 30
		p.start()
		return p.address
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close() //nolint:errcheck // the client has all of it
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					row.http1(c)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestTargetThatHangsStarvesNoOther: as many connections hang in their handshake as may be dialed at once, and
// another target answers.
func TestTargetThatHangsStarvesNoOther(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts by its backlog and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	begin, took := time.Now(), time.Duration(0)
	good := newH2Peer(t, func(c *h2conn) {
		took = time.Since(begin)
		c.greet()
	})
	good.start()
	plan := newPlan(good.address, rv.ProtocolH2C, requestsPerRow)
	hanging := plan.Targets[0]
	hanging.Name, hanging.Protocol, hanging.Connections, hanging.ConnectTimeout = "hangs", rv.ProtocolH2, 100, 5*time.Second
	hanging.TLS = &rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{"h2"}, InsecureSkipVerify: true}
	hanging.Endpoints = []rv.Endpoint{{Scheme: "https", Authority: l.Addr().String(), Address: l.Addr().String()}}
	plan.Targets = append([]rv.Target{hanging}, plan.Targets...)
	plan.Chains[0].Target, plan.Chains[0].Steps[0].Target = 1, 1
	_, err = execute(t, plan)
	if err == nil || !strings.Contains(fmt.Sprint(err), "hangs") {
		t.Errorf("error %v, want one about the target that hangs", err)
	}
	good.close()
	if len(good.conns) != 1 || took > 4*time.Second {
		t.Errorf("the other target has seen %d connections, the first after %v; want 1 before the others' timeout of 5 s", len(good.conns), took)
	}
}

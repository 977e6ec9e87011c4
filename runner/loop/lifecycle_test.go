package loop

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// behaviour is what a server does instead of greeting.
type behaviour struct {
	name string
	// http1: it can be done to HTTP/1.1, too.
	http1 bool
	greet func(*simConn)
}

func behaviours() []behaviour {
	return []behaviour{
		{"accepts and closes", true, func(c *simConn) { c.Closed = true }},
		{"accepts and resets", true, func(c *simConn) { c.broken = errors.Join(syscall.ECONNRESET) }},
		{"sends garbage", true, func(c *simConn) { c.Out.WriteString("this is neither a frame nor a status line\r\n\r\n") }},
		{"speaks HTTP/1.1", false, func(c *simConn) { c.Out.WriteString("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n") }},
		{"says nothing", true, func(*simConn) {}},
		{"sends GOAWAY first", false, func(c *simConn) {
			fr := http2.NewFramer(&c.Out, nil)
			_ = fr.WriteSettings()
			_ = fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil)
		}},
		{"greets and closes", false, func(c *simConn) {
			_ = http2.NewFramer(&c.Out, nil).WriteSettings()
			c.Closed = true
		}},
	}
}

// failover is a run against several endpoints of which only the last is good.
func failover(t *testing.T, n int, protocol rv.Protocol, spoil func(b *bench, bad []int)) (*bench, *rvTotals) {
	p := gets(perSecond(100, 10*time.Second))
	p.Targets[0].Protocol = protocol
	p.Targets[0].ConnectTimeout = 300 * time.Millisecond
	p.Targets[0].Connecting.FailbackInterval = time.Hour
	p.Chains[0].Steps[0].Timeout, p.Drain = 200*time.Millisecond, 200*time.Millisecond
	p.Targets[0].Connections = n // one at home with each
	var bad []int
	for i := 1; i < n; i++ {
		bad = append(bad, i-1)
		p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: fmt.Sprint("e", i), Address: fmt.Sprintf("e%d:80", i)})
	}
	b := newBench(t, p, ok(time.Millisecond))
	b.bad, b.down = map[int]func(*simConn){}, map[int]bool{}
	spoil(b, bad)
	return b, b.run()
}

// TestFailover: a connection leaves an endpoint whatever is wrong with it, at the start and in mid-run, and stays
// with one that works.
func TestFailover(t *testing.T) {
	for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
		for _, n := range []int{2, 3, 5} {
			for _, how := range append(behaviours(), behaviour{name: "refuses", http1: true}) {
				if protocol == rv.ProtocolHTTP1 && !how.http1 {
					continue
				}
				for _, start := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%d/%s/start=%v", protocol, n, how.name, start), func(t *testing.T) {
						checkFailover(t, n, protocol, how, start)
					})
				}
			}
		}
	}
}

func checkFailover(t *testing.T, n int, protocol rv.Protocol, how behaviour, start bool) {
	b, got := failover(t, n, protocol, func(b *bench, bad []int) {
		spoil := func() {
			for _, i := range bad {
				if b.down[i] = how.greet == nil; how.greet != nil {
					b.bad[i] = how.greet
				}
			}
			for _, c := range b.conns {
				c.Closed = c.Closed || slices.Contains(bad, c.endpoint)
			}
		}
		if start {
			spoil()
		} else {
			b.in(3*time.Second, spoil)
		}
	})
	late := 0
	for _, r := range b.served {
		if r.At > time.Duration(b.startAt)+7*time.Second && b.conns[r.Conn].endpoint != n-1 {
			late++
		}
	}
	if late > 0 {
		t.Errorf("%d requests went to a bad endpoint in the last seconds", late)
	}
	// What was given to a bad endpoint is lost or times out; a connection visits each once.
	if got.Done < 1000-int64(20*n*n) {
		t.Errorf("got %+v", got)
	}
}

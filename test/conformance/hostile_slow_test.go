package conformance

import (
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// short is the timeout of requests that are to time out.
const short = 150 * time.Millisecond

// shortTimeout lets the first request time out soon. All others have time, however busy the machine is.
func shortTimeout(p *rv.Plan) {
	c := &p.Chains[0]
	others := c.Steps[0]
	others.Name, others.Repeat = "others", requestsPerRow-1
	c.Steps[0].Timeout, c.Steps[0].OnFailure.Continue = short, true
	c.Steps = append(c.Steps, others)
}

func TestSlowServers(t *testing.T) {
	cancelled := outcome{place: theStream, codes: []http2.ErrCode{http2.ErrCodeCancel}, timedOut: 1}
	// The time to connect is a second for each endpoint: eight of them leave time for the second attempt.
	quick := setTarget(func(t *rv.Target) { t.ConnectTimeout, t.Endpoints = time.Second, slices.Repeat(t.Endpoints, 8) })
	replaced := outcome{abandoned: true}
	runH2Rows(t, []h2row{
		{name: "no answer", plan: shortTimeout, want: cancelled, commit: func(c *h2conn, id uint32) { c.await(id) }},
		{name: "no answer, and a late one", plan: shortTimeout, want: cancelled, commit: func(c *h2conn, id uint32) {
			c.await(id)
			c.ok(id)
		}},
		{name: "one octet at a time", plan: shortTimeout, want: cancelled, commit: func(c *h2conn, id uint32) {
			// HEADERS with :status 200, then DATA of 200 octets.
			answer := join([]byte{0, 0, 1, 1, 4, 0, 0, 0, byte(id), 0x88}, []byte{0, 0, 200, 0, 1, 0, 0, 0, byte(id)}, make([]byte, 200))
			for i, b := range answer {
				if !c.stopped(id) && i < len(answer)-1 {
					time.Sleep(10 * time.Millisecond)
				}
				c.bytes([]byte{b})
			}
		}},
		{name: "a header block that is never complete", plan: shortTimeout, want: cancelled, commit: func(c *h2conn, id uint32) {
			c.frame(http2.FrameHeaders, 0, id, []byte{0x88})
			c.await(id)
			c.frame(http2.FrameContinuation, endHeaders, id, nil)
		}},
		{name: "only interim responses", plan: shortTimeout, want: cancelled, commit: func(c *h2conn, id uint32) {
			for !c.stopped(id) {
				c.headers(id, false, ":status", "103")
				time.Sleep(5 * time.Millisecond)
			}
		}},
		{name: "DATA without end", plan: shortTimeout, want: cancelled, commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			for !c.stopped(id) {
				c.data(id, false, []byte("x"))
				time.Sleep(5 * time.Millisecond)
			}
		}},
		{name: "only PING, which is answered", plan: shortTimeout, want: cancelled, commit: func(c *h2conn, id uint32) {
			for !c.stopped(id) {
				_ = c.fr.WritePing(false, [8]byte{1, 2, 3})
				time.Sleep(5 * time.Millisecond)
			}
		}},
		{name: "no SETTINGS", plan: quick, want: replaced, preface: func(c *h2conn) { c.readPreface() }},
		{name: "closes at once", want: replaced, preface: func(c *h2conn) { _ = c.Close() }},
		{name: "closes with RST", want: replaced, preface: func(c *h2conn) {
			c.readPreface()
			_ = c.Conn.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}},
		{name: "closes after SETTINGS", want: replaced, preface: func(c *h2conn) {
			c.readPreface()
			_ = c.fr.WriteSettings()
			_ = c.Close()
		}},
		{name: "closes its half within the response", want: outcome{lost: 1, abandoned: true}, commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			_ = c.Conn.(*net.TCPConn).CloseWrite()
		}},
		{name: "closes its half after the response", want: outcome{lost: 1, abandoned: true}, commit: func(c *h2conn, id uint32) {
			c.ok(id)
			c.next() // lost with the connection, or not sent on it
			_ = c.Conn.(*net.TCPConn).CloseWrite()
		}},
		{name: "resets the connection within the response", want: outcome{lost: 1, abandoned: true}, commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			_ = c.Conn.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}},
	})
}

// TestDeafServer takes nothing of a large request: it times out, and what the socket did not take
// does not keep the run from ending.
func TestDeafServer(t *testing.T) {
	listTest(t, h2Rows, "reads nothing of a large request", "timedOut 1; the run ends")
	ended := make(chan struct{})
	p := newH2Peer(t, func(c *h2conn) {
		c.readPreface()
		_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
		_ = c.fr.WriteWindowUpdate(0, 1<<30)
		<-ended
	})
	p.start()
	plan := newPlan(p.address, rv.ProtocolH2C, 1)
	upload(plan)
	plan.Chains[0].Steps[0].Body = make(rv.Text, 0, 100)
	for range 100 {
		plan.Chains[0].Steps[0].Body = append(plan.Chains[0].Steps[0].Body, rv.Part{Literal: string(make([]byte, uploadSize))})
	}
	shortTimeout(plan)
	s := mustExecute(t, plan)
	close(ended)
	p.close()
	if s.Counters.TimedOut != 1 || s.Counters.Sent != 1 {
		t.Errorf("%+v", s.Counters)
	}
}

// TestServersThatAreAlwaysBad misbehave on every connection. A run against them ends in time, and
// does not storm them with connections: waits between attempts double from 10 ms.
func TestServersThatAreAlwaysBad(t *testing.T) {
	const lasts, most = 500 * time.Millisecond, 60
	for name, bad := range map[string]func(c *h2conn){
		"close at once": func(c *h2conn) { _ = c.Close() },
		"close after SETTINGS": func(c *h2conn) {
			c.readPreface()
			_ = c.fr.WriteSettings()
			_ = c.Close()
		},
		"GOAWAY after SETTINGS": func(c *h2conn) {
			c.readPreface()
			_ = c.fr.WriteSettings()
			_ = c.fr.WriteGoAway(0, enhanceYourCalm, nil)
			_ = c.Close()
		},
		"close at the first request": func(c *h2conn) {
			c.greet()
			c.next()
			_ = c.Close()
		},
		"GOAWAY at the first request": func(c *h2conn) {
			c.greet()
			c.next()
			_ = c.fr.WriteGoAway(0, 0, nil)
		},
		"a connection error at the first request": func(c *h2conn) {
			c.greet()
			c.next()
			c.frame(http2.FramePing, 0, 1, nil)
		},
	} {
		list(t, h2Rows, "always: "+name, "no success; reconnects after waits that double, and the run ends")
		t.Run("always: "+name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t, bad)
			p.hostile = 1 << 30
			p.start()
			plan := newPlan(p.address, rv.ProtocolH2C, 0)
			plan.Targets[0].ConnectTimeout = lasts
			plan.Rates[0].Duration = lasts
			setTimeout(plan, short)
			s, _ := execute(t, plan)
			p.close()
			c := &s.Counters
			if c.Succeeded != 0 || len(p.conns) > most {
				t.Errorf("%d connections in %v, at most %d wanted: %+v", len(p.conns), lasts, most, *c)
			}
		})
	}
}

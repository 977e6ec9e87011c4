package conformance

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func ptr(v uint32) *uint32 { return &v }

func TestHostileFlowControl(t *testing.T) {
	smallStream := setTarget(func(t *rv.Target) { t.HTTP2.StreamWindow = ptr(1000) })
	smallConn := setTarget(func(t *rv.Target) {
		t.HTTP2.StreamWindow, t.HTTP2.ConnectionWindow, t.HTTP2.MaxFrameSize = ptr(1<<20), ptr(65535), ptr(1<<20)
	})
	runH2Rows(t, []h2row{
		{name: "6.9.1 DATA beyond the stream's window", plan: smallStream, want: reset(flowControlError), commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.data(id, true, make([]byte, 1001))
		}},
		{name: "6.9.1 padding beyond the stream's window", plan: smallStream, want: reset(flowControlError), commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			_ = c.fr.WriteDataPadded(id, true, make([]byte, 800), make([]byte, 255))
		}},
		{name: "6.9.1 DATA as large as the stream's window", plan: smallStream, want: tolerated, commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.data(id, true, make([]byte, 1000))
		}},
		{name: "6.9.1 DATA beyond the connection's window", plan: smallConn, want: goAway(flowControlError), commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.data(id, true, make([]byte, 65536))
		}},
		{name: "6.9.1 DATA of a closed stream beyond the connection's window", plan: smallConn, want: goAway(flowControlError), commit: func(c *h2conn, id uint32) {
			c.ok(id)
			c.next()
			c.data(id, true, make([]byte, 65536))
		}},
		{name: "6.9.2 SETTINGS take a stream's window above 2^31-1", want: goAway(flowControlError), commit: func(c *h2conn, id uint32) {
			_ = c.fr.WriteWindowUpdate(id, 1<<31-1-65535)
			_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65536})
		}},
		{name: "6.9.2 a stream's window of 2^31-1", want: tolerated, commit: func(c *h2conn, id uint32) {
			_ = c.fr.WriteWindowUpdate(id, 1<<31-1-65535)
			_ = c.fr.WriteWindowUpdate(0, 1<<31-1-65535)
			c.ok(id)
		}},
		{name: "6.9 WINDOW_UPDATE on a closed stream", want: tolerated, commit: func(c *h2conn, id uint32) {
			c.ok(id)
			_ = c.fr.WriteWindowUpdate(id, 1)
			_ = c.fr.WriteWindowUpdate(id, 1<<31-1)
		}},
	})
}

// TestWindowOfClosedStreams: DATA of a stream that the client has given up is dropped, but the
// connection's window is opened again, or the connection would starve (RFC 9113 6.9).
func TestWindowOfClosedStreams(t *testing.T) {
	listTest(t, h2Rows, "6.9 DATA of a stream that was cancelled", "RST_STREAM CANCEL, timedOut 1; the connection's window is opened again")
	p := newH2Peer(t, func(c *h2conn) {
		c.greet()
		id := c.next()
		c.await(id)
		c.headers(id, false, ":status", "200")
		for range 64 {
			c.data(id, false, make([]byte, 1024))
		}
	})
	p.start()
	plan := newPlan(p.address, rv.ProtocolH2C, 4)
	plan.Targets[0].HTTP2.ConnectionWindow = ptr(65535)
	shortTimeout(plan)
	s := mustExecute(t, plan)
	p.await()
	want := outcome{place: theStream, codes: []http2.ErrCode{http2.ErrCodeCancel}, timedOut: 1}
	want.check(t, &s.Counters)
	want.checkPeer(t, p)
	if got := p.conns[0].updates[0]; got < 32<<10 {
		t.Errorf("the connection's window was opened by %d", got)
	}
}

// await waits until the client has stopped the stream.
func (c *h2conn) await(id uint32) {
	for range 2000 {
		if c.stopped(id) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

const uploadSize = 200_000

// upload makes the requests POST with a body larger than any window.
func upload(p *rv.Plan) {
	s := &p.Chains[0].Steps[0]
	s.Method, s.Body = http.MethodPost, text(strings.Repeat("u", uploadSize))
}

// drain takes a request's body with the windows opened by n octets at a time, then answers.
func (c *h2conn) drain(id uint32, n uint32) {
	granted := min(c.streamWindow, 65535)
	for granted < uploadSize {
		for range 5000 { // until what was granted is used up
			if c.received(id) >= granted {
				break
			}
			time.Sleep(200 * time.Microsecond)
		}
		c.grant(0, n)
		c.grant(id, n)
		granted += int64(n)
	}
	c.takeAll(id)
}

// takeAll answers a request when all of its body has come through windows that are open.
func (c *h2conn) takeAll(id uint32) {
	for range 100_000 {
		if c.received(id) >= uploadSize || c.stopped(id) {
			break
		}
		time.Sleep(200 * time.Microsecond)
	}
	c.ok(id)
}

func TestUploads(t *testing.T) {
	once := func(p *rv.Plan) {
		upload(p)
		p.Rates[0].Requests = 1
	}
	window := func(v uint32) []http2.Setting { return []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: v}} }
	early := outcome{place: theStream, codes: []http2.ErrCode{http2.ErrCodeNo}}
	rows := []h2row{
		{name: "6.9.1 windows that open by 1000", plan: once, settings: window(10), want: tolerated, commit: func(c *h2conn, id uint32) { c.drain(id, 1000) }},
		{name: "6.9.1 windows that open by 7 and then by much", plan: once, settings: window(0), want: tolerated, commit: func(c *h2conn, id uint32) {
			for range 20 {
				c.grant(id, 7)
			}
			c.drain(id, 60_000)
		}},
		{name: "6.9.2 SETTINGS open the windows", plan: once, settings: window(0), want: tolerated, commit: func(c *h2conn, id uint32) {
			c.grant(0, 1<<20)
			more := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}
			c.expect(more)
			_ = c.fr.WriteSettings(more)
			c.takeAll(id)
		}},
		{name: "6.9.2 SETTINGS make a window negative", plan: once, settings: window(40_000), want: tolerated, commit: func(c *h2conn, id uint32) {
			for c.received(id) < 40_000 {
				time.Sleep(time.Millisecond)
			}
			_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			// From here on the window is -40000: 40000 open nothing.
			c.expect(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			c.grant(id, 40_000)
			time.Sleep(20 * time.Millisecond)
			c.grant(0, 1<<20)
			c.grant(id, uploadSize)
			c.takeAll(id)
		}},
		{name: "8.1 the response before the request is complete", plan: once, want: early, commit: func(c *h2conn, id uint32) { c.ok(id) }},
		{name: "8.1 the response, then RST_STREAM with NO_ERROR", plan: once, want: early, commit: func(c *h2conn, id uint32) {
			c.ok(id)
			_ = c.fr.WriteRSTStream(id, http2.ErrCodeNo)
		}},
		{name: "6.4 RST_STREAM within the request", plan: upload, want: outcome{reset: 1, lost: 0}, commit: func(c *h2conn, id uint32) {
			_ = c.fr.WriteRSTStream(id, http2.ErrCodeInternal)
			c.uploads()
		}},
	}
	for _, row := range rows {
		list(t, h2Rows, row.name, row.want.String())
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.runUpload(t)
		})
	}
}

// TestEarlyResponses is RFC 9113 8.1: a server that answers before the end of the request, whose window it
// never opens. It resets the stream with NO_ERROR, or leaves that to the client.
func TestEarlyResponses(t *testing.T) {
	for name, resets := range map[string]bool{"8.1 early responses, then RST_STREAM with NO_ERROR": true, "8.1 early responses on streams that stay open": false} {
		list(t, h2Rows, name, "accepts it; streams that stay open are reset within the budget, or the connection is replaced")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t, func(c *h2conn) {
				c.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
				for r := c.request(); r != nil; r = c.request() {
					c.headers(r.id, true, ":status", "413")
					if resets {
						c.closed()
						_ = c.fr.WriteRSTStream(r.id, http2.ErrCodeNo)
					}
				}
			})
			p.hostile = 1 << 20
			p.start()
			const requests = 3000 // at 30 a second beyond the first 500, these would take more than a minute
			plan := newPlan(p.address, rv.ProtocolH2C, requests)
			upload(plan)
			plan.Targets[0].MaxConcurrentStreams = 16
			plan.Chains[0].Steps[0].Expect.Status = []rv.StatusRange{{From: 413, To: 413}}
			s := mustExecute(t, plan)
			p.await()
			if c := &s.Counters; c.Succeeded != requests || resets != (c.Connects == 1) {
				t.Errorf("%+v, want %d succeeded", *c, requests)
			}
			for _, c := range p.conns {
				for _, f := range c.faults {
					t.Error("the client is at fault: " + f)
				}
				// A server has some milliseconds to reset a stream before the client does; on a busy machine few are late.
				if n := len(c.stopsBut(http2.ErrCodeNo)); n > 1000 || resets && n > requests/10 {
					t.Errorf("the client has reset %d streams of connection %d", n, c.number)
				}
			}
		})
	}
}

// runUpload is run but for the codes of streams that are stopped without an error.
func (row *h2row) runUpload(t *testing.T) {
	p := newH2Peer(t, row.script)
	p.start()
	plan := newPlan(p.address, rv.ProtocolH2C, requestsPerRow)
	row.plan(plan)
	s := mustExecute(t, plan)
	p.await()
	row.want.check(t, &s.Counters)
	for _, f := range p.conns[0].faults {
		t.Error("the client is at fault: " + f)
	}
	for _, s := range p.conns[0].stops {
		if s.code != http2.ErrCodeNo {
			t.Errorf("the client stopped %v", s)
		}
		if s.id != 0 && row.want.place == nothing {
			t.Errorf("the client stopped stream %d", s.id)
		}
	}
}

// uploads answers every request when all of its body is there.
func (c *h2conn) uploads() {
	c.grant(0, 1<<30)
	for r := range c.requests {
		c.drain(r.id, 50_000)
	}
}

// TestLargeRequestHeader: a header block above the peer's MAX_FRAME_SIZE goes out in CONTINUATION
// frames (RFC 9113 4.3).
func TestLargeRequestHeader(t *testing.T) {
	listTest(t, h2Rows, "4.3 takes frames of 16 384 octets, and the request's header has 50 000", "sends CONTINUATION")
	p := newH2Peer(t, func(c *h2conn) {
		c.greet()
		for r := range c.requests {
			if n := len(r.get("x-large")); n != 50_000 {
				c.faults = append(c.faults, "the header did not come whole")
			}
			c.ok(r.id)
		}
	})
	p.start()
	plan := newPlan(p.address, rv.ProtocolH2C, requestsPerRow)
	plan.Chains[0].Steps[0].Headers = []rv.Header{{Name: rv.Text{{Literal: "x-large"}}, Value: text(strings.Repeat("h", 50_000))}}
	s := mustExecute(t, plan)
	p.await()
	tolerated.check(t, &s.Counters)
	tolerated.checkPeer(t, p)
}

func TestMaxConcurrentStreams(t *testing.T) {
	many := func(p *rv.Plan) {
		p.Targets[0].MaxConcurrentStreams = 10
		p.Rates[0].Requests = 50
	}
	limit := func(v uint32) http2.Setting { return http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: v} }
	runH2Rows(t, []h2row{
		{name: "5.1.2 MAX_CONCURRENT_STREAMS 1", plan: many, settings: []http2.Setting{limit(1)}, want: tolerated, commit: func(c *h2conn, id uint32) {
			time.Sleep(10 * time.Millisecond)
			c.ok(id)
		}},
		{name: "5.1.2 MAX_CONCURRENT_STREAMS 3", plan: many, settings: []http2.Setting{limit(3)}, want: tolerated, commit: func(c *h2conn, id uint32) {
			time.Sleep(10 * time.Millisecond)
			c.ok(id)
		}},
		{name: "6.5.2 MAX_CONCURRENT_STREAMS 0 in the first SETTINGS, later 2", plan: many, want: tolerated, preface: func(c *h2conn) {
			c.greet(limit(0))
			time.Sleep(30 * time.Millisecond)
			if len(c.requests) > 0 {
				_ = c.Close() // seen as a lost connection
			}
			c.expect(limit(2))
			_ = c.fr.WriteSettings(limit(2))
		}},
		{name: "6.5.2 MAX_CONCURRENT_STREAMS 1 while ten streams are open", plan: many, want: tolerated, commit: func(c *h2conn, id uint32) {
			_ = c.fr.WriteSettings(limit(1))
			_ = c.fr.WritePing(false, [8]byte{1})
			ids := []uint32{id}
			for range 9 {
				ids = append(ids, c.next())
			}
			time.Sleep(10 * time.Millisecond)
			for _, id := range ids {
				c.ok(id)
			}
		}},
	})
}

func TestGoAway(t *testing.T) {
	four := func(p *rv.Plan) { p.Targets[0].MaxConcurrentStreams = 4 }
	// Streams 1, 3, 5 and 7 are in flight.
	row := func(name string, retried, lost, reset int64, do func(c *h2conn)) h2row {
		return h2row{name: "6.8 " + name, plan: four, want: outcome{abandoned: true, retried: retried, lost: lost, reset: reset},
			commit: func(c *h2conn, _ uint32) {
				for range 3 {
					c.next()
				}
				do(c)
			}}
	}
	leave := func(c *h2conn, last uint32, code http2.ErrCode) { _ = c.fr.WriteGoAway(last, code, nil) }
	answer := func(c *h2conn, ids ...uint32) {
		for _, id := range ids {
			c.ok(id)
		}
	}
	runH2Rows(t, []h2row{
		row("GOAWAY, all requests are answered", 0, 0, 0, func(c *h2conn) { leave(c, 7, 0); answer(c, 1, 3, 5, 7) }),
		row("GOAWAY, two of four requests are answered", 2, 0, 0, func(c *h2conn) { leave(c, 3, 0); answer(c, 1, 3) }),
		row("GOAWAY with last id 0", 4, 0, 0, func(c *h2conn) { leave(c, 0, 0) }),
		row("GOAWAY with last id 2^31-1", 0, 0, 0, func(c *h2conn) { leave(c, 1<<31-1, 0); answer(c, 7, 5, 3, 1) }),
		row("GOAWAY with the reserved bit", 2, 0, 0, func(c *h2conn) {
			c.frame(http2.FrameGoAway, 0, 0, join(u32(1<<31|3), u32(0)))
			answer(c, 1, 3)
		}),
		row("GOAWAY with last id 2^31-1, then a lower one", 2, 0, 0, func(c *h2conn) { leave(c, 1<<31-1, 0); leave(c, 3, 0); answer(c, 1, 3) }),
		row("GOAWAY, then a higher last id", 2, 0, 0, func(c *h2conn) { leave(c, 3, 0); leave(c, 7, 0); answer(c, 1, 3) }),
		row("GOAWAY with an even last id", 2, 0, 0, func(c *h2conn) { leave(c, 4, 0); answer(c, 1, 3) }),
		row("GOAWAY, closes without answering two of four requests", 2, 2, 0, func(c *h2conn) { leave(c, 3, http2.ErrCodeInternal); _ = c.Close() }),
		row("GOAWAY with last id 0, and answers", 4, 0, 0, func(c *h2conn) { leave(c, 0, 0); answer(c, 1, 3, 5, 7) }),
		row("GOAWAY, resets one of four requests", 3, 0, 1, func(c *h2conn) { leave(c, 1, 0); _ = c.fr.WriteRSTStream(1, http2.ErrCodeInternal) }),
		row("GOAWAY ENHANCE_YOUR_CALM", 4, 0, 0, func(c *h2conn) { leave(c, 0, enhanceYourCalm); _ = c.Close() }),
		row("GOAWAY with an unknown code and 16 KiB of debug data", 4, 0, 0, func(c *h2conn) {
			_ = c.fr.WriteGoAway(0, 0xdeadbeef, bytes.Repeat([]byte("d"), 16376))
		}),
		row("GOAWAY, then REFUSED_STREAM for all requests", 4, 0, 0, func(c *h2conn) {
			leave(c, 7, 0)
			for _, id := range []uint32{1, 3, 5, 7} {
				_ = c.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			}
		}),
		row("closes without GOAWAY", 0, 4, 0, func(c *h2conn) { _ = c.Close() }),
	})
}

// TestGivenBackTwice: a request that a connection gave back at its end is sent again as often as
// that happens; one that was refused is sent once more.
func TestGivenBackTwice(t *testing.T) {
	const goAwayAgain, refusesAgain = "6.8 GOAWAY that gives requests back, twice", "8.7 refuses a request twice"
	outcomes := map[string]string{goAwayAgain: "retried each time", refusesAgain: "retried 1, then reset 1"}
	for name, giveBack := range map[string]func(c *h2conn, id uint32){
		goAwayAgain: func(c *h2conn, _ uint32) { _ = c.fr.WriteGoAway(0, 0, nil) },
		refusesAgain: func(c *h2conn, id uint32) {
			_ = c.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			c.next()
			_ = c.fr.WriteGoAway(0, 0, nil)
		},
	} {
		list(t, h2Rows, name, outcomes[name])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t, func(c *h2conn) {
				c.greet()
				if id := c.next(); id != 0 {
					giveBack(c, id)
				}
			})
			p.hostile = 2
			p.start()
			s := mustExecute(t, newPlan(p.address, rv.ProtocolH2C, requestsPerRow))
			p.await()
			c := &s.Counters
			if (c.Reset > 0) != (name == refusesAgain) || c.Retried == 0 || c.Sent != requestsPerRow || c.Succeeded != requestsPerRow-c.Reset {
				t.Errorf("%+v", *c)
			}
		})
	}
}

package conformance

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// flood is a row whose server sends a frame very often while the first request is in flight.
func flood(name string, want outcome, n int, send func(c *h2conn, id uint32)) h2row {
	return script(name, want, func(c *h2conn, id uint32) {
		for range n {
			send(c, id)
		}
		c.ok(id)
	})
}

// TestFloods sends what costs the server little. Frames that are allowed cost the client little too, and
// their number alone is no error.
func TestFloods(t *testing.T) {
	runH2Rows(t, []h2row{
		flood("6.7 500 PING, which are answered", tolerated, 500, func(c *h2conn, _ uint32) { _ = c.fr.WritePing(false, [8]byte{1}) }),
		flood("6.5 500 SETTINGS, which are acknowledged", tolerated, 500, func(c *h2conn, _ uint32) { _ = c.fr.WriteSettings() }),
		flood("6.3 10 000 PRIORITY", tolerated, 10_000, func(c *h2conn, id uint32) { c.frame(http2.FramePriority, 0, id, join(u32(0), []byte{7})) }),
		flood("5.5 10 000 unknown frames", tolerated, 10_000, func(c *h2conn, id uint32) { c.frame(0xfa, 0xff, id, []byte("x")) }),
		flood("6.9 10 000 WINDOW_UPDATE", tolerated, 10_000, func(c *h2conn, id uint32) {
			_ = c.fr.WriteWindowUpdate(0, 1)
			_ = c.fr.WriteWindowUpdate(id, 1)
		}),
		script("6.1 10 000 empty DATA", tolerated, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			for range 10_000 {
				c.data(id, false, nil)
			}
			c.data(id, true, nil)
		}),
		script("6.1 10 000 DATA of one octet", tolerated, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			for range 10_000 {
				c.data(id, false, []byte("x"))
			}
			c.data(id, true, nil)
		}),
		script("8.1 100 interim responses", tolerated, func(c *h2conn, id uint32) {
			for range 100 {
				c.headers(id, false, ":status", "103")
			}
			c.ok(id)
		}),
	})
}

func TestInterleaving(t *testing.T) {
	four := func(p *rv.Plan) { p.Targets[0].MaxConcurrentStreams = 4 }
	row := func(name string, do func(c *h2conn, ids []uint32)) h2row {
		return h2row{name: name, plan: four, want: tolerated, commit: func(c *h2conn, id uint32) {
			do(c, []uint32{id, c.next(), c.next(), c.next()})
		}}
	}
	runH2Rows(t, []h2row{
		row("5.1.2 responses in the reverse order", func(c *h2conn, ids []uint32) {
			for i := range ids {
				c.ok(ids[len(ids)-1-i])
			}
		}),
		row("5 DATA of four responses in turn", func(c *h2conn, ids []uint32) {
			for _, id := range ids {
				c.headers(id, false, ":status", "200")
			}
			for range 50 {
				for _, id := range ids {
					c.data(id, false, []byte("content"))
				}
			}
			for _, id := range ids {
				c.closed()
				c.data(id, true, nil)
			}
		}),
		row("5 four responses in one segment", func(c *h2conn, ids []uint32) {
			var out []byte
			for _, id := range ids {
				c.closed()
				out = append(out, 0, 0, 1, byte(http2.FrameHeaders), byte(endStream|endHeaders))
				out = append(append(out, u32(id)...), status200...)
			}
			c.bytes(out)
		}),
		row("4.3 fields that one response puts in the table and others take from it", func(c *h2conn, ids []uint32) {
			for _, id := range ids {
				c.closed()
				c.headers(id, true, ":status", "200", "x-shared", "a value that is long enough to be worth an entry")
			}
		}),
	})
}

func TestSettingsWhileRunning(t *testing.T) {
	set := func(c *h2conn, id http2.SettingID, v uint32) {
		s := http2.Setting{ID: id, Val: v}
		c.expect(s)
		_ = c.fr.WriteSettings(s)
	}
	headers := func(p *rv.Plan) {
		p.Chains[0].Steps[0].Headers = []rv.Header{{Name: text("x-constant"), Value: text(strings.Repeat("v", 200))}}
	}
	after := func(name string, plan func(*rv.Plan), change func(c *h2conn)) h2row {
		return h2row{name: name, plan: plan, want: tolerated, commit: func(c *h2conn, id uint32) {
			c.ok(id)
			if id = c.next(); id != 0 {
				change(c)
				c.ok(id)
			}
		}}
	}
	runH2Rows(t, []h2row{
		after("6.5.2 HEADER_TABLE_SIZE 0 in mid-run", headers, func(c *h2conn) { set(c, http2.SettingHeaderTableSize, 0) }),
		after("6.5.2 HEADER_TABLE_SIZE 65536 in mid-run", headers, func(c *h2conn) { set(c, http2.SettingHeaderTableSize, 65536) }),
		after("6.5.2 HEADER_TABLE_SIZE 0 and 4096 in one SETTINGS", headers, func(c *h2conn) {
			_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 4096})
		}),
		after("6.5.2 MAX_FRAME_SIZE 65536 in mid-run", upload4, func(c *h2conn) { set(c, http2.SettingMaxFrameSize, 16384) }),
		after("6.5.2 MAX_HEADER_LIST_SIZE 1 in mid-run", nil, func(c *h2conn) { set(c, http2.SettingMaxHeaderListSize, 1) }),
		after("RFC 8441 3 ENABLE_CONNECT_PROTOCOL", nil, func(c *h2conn) { set(c, 8, 1) }),
		after("RFC 9218 2.1 NO_RFC7540_PRIORITIES", nil, func(c *h2conn) { set(c, 9, 1) }),
		{name: "6.5.3 SETTINGS of the client are never acknowledged", want: tolerated, preface: func(c *h2conn) {
			c.readPreface()
			c.readSettings()
			_ = c.fr.WriteSettings()
			c.listen()
		}},
		{name: "6.5.2 MAX_CONCURRENT_STREAMS 0 in mid-run, later 1", want: tolerated, commit: func(c *h2conn, id uint32) {
			_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			_ = c.fr.WritePing(false, [8]byte{1})
			c.ok(id)
			time.Sleep(20 * time.Millisecond)
			_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		}},
	})
}

// upload4 makes the requests POST with a body below all windows.
func upload4(p *rv.Plan) {
	s := &p.Chains[0].Steps[0]
	s.Method, s.Body = "POST", text(strings.Repeat("u", 4000))
}

// TestWindowsThatStayShut: what the windows do not let out times out, and only its stream is given up.
func TestWindowsThatStayShut(t *testing.T) {
	cancelled := outcome{place: theStream, codes: []http2.ErrCode{http2.ErrCodeCancel}, timedOut: 1}
	first := func(p *rv.Plan) {
		upload4(p)
		shortTimeout(p)
	}
	runH2Rows(t, []h2row{
		{name: "6.9 the stream's window stays shut", plan: first, want: cancelled, settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}},
			commit: func(c *h2conn, id uint32) {
				c.await(id)
				more := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}
				c.expect(more)
				_ = c.fr.WriteSettings(more)
			}},
		{name: "6.9 the stream's window opens by 1 and no more", plan: first, want: cancelled, settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}},
			commit: func(c *h2conn, id uint32) {
				c.grant(id, 1)
				c.await(id)
				more := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}
				c.expect(more)
				_ = c.fr.WriteSettings(more)
			}},
	})
}

// TestPaddedResponses: padding is part of the window, and of nothing else.
func TestPaddedResponses(t *testing.T) {
	runH2Rows(t, []h2row{
		script("6.2 HEADERS padded by 255", tolerated, func(c *h2conn, id uint32) {
			_ = c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: status200, EndStream: true, EndHeaders: true, PadLength: 255})
		}),
		script("6.2 padded HEADERS with priority", tolerated, func(c *h2conn, id uint32) {
			_ = c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: status200, EndStream: true, EndHeaders: true, PadLength: 9, Priority: http2.PriorityParam{Weight: 200}})
		}),
		script("6.1 content-length does not count padding", tolerated, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200", "content-length", "2")
			_ = c.fr.WriteDataPadded(id, true, []byte("ok"), make([]byte, 200))
		}),
		script("6.10 HEADERS without a fragment, then CONTINUATION", tolerated, func(c *h2conn, id uint32) {
			c.frame(http2.FrameHeaders, endStream, id, nil)
			c.frame(http2.FrameContinuation, 0, id, status200)
			c.frame(http2.FrameContinuation, endHeaders, id, nil)
		}),
		script("6.10 trailers in CONTINUATION", tolerated, func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.data(id, false, []byte("x"))
			block := c.fields("x-trailer", "y")
			c.frame(http2.FrameHeaders, endStream, id, block[:2])
			c.frame(http2.FrameContinuation, endHeaders, id, block[2:])
		}),
	})
}

package conformance

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Short names for what every row says.
const (
	protocolError    = http2.ErrCodeProtocol
	frameSizeError   = http2.ErrCodeFrameSize
	flowControlError = http2.ErrCodeFlowControl
	compressionError = http2.ErrCodeCompression
	streamClosed     = http2.ErrCodeStreamClosed
	enhanceYourCalm  = http2.ErrCodeEnhanceYourCalm

	endStream  = http2.FlagDataEndStream
	endHeaders = http2.FlagHeadersEndHeaders
	padded     = http2.FlagDataPadded
	priority   = http2.FlagHeadersPriority
)

// raw is a row whose violation is one frame while the first request is in flight; a frame on
// stream 1 is on the request's.
func raw(name string, t http2.FrameType, flags http2.Flags, id uint32, payload []byte, want outcome) h2row {
	return h2row{name: name, want: want, commit: func(c *h2conn, _ uint32) { c.frame(t, flags, id, payload) }}
}

// harmless is a row whose frame must be ignored: the request is answered after it.
func harmless(name string, t http2.FrameType, flags http2.Flags, id uint32, payload []byte) h2row {
	return h2row{name: name, want: tolerated, commit: func(c *h2conn, own uint32) {
		c.frame(t, flags, id, payload)
		c.ok(own)
	}}
}

// begun is a row whose frame comes after the header of the response.
func begun(name string, t http2.FrameType, flags http2.Flags, id uint32, payload []byte, want outcome) h2row {
	return h2row{name: name, want: want, commit: func(c *h2conn, own uint32) {
		c.headers(own, false, ":status", "200")
		c.frame(t, flags, id, payload)
	}}
}

func greeting(name string, want outcome, script func(c *h2conn)) h2row {
	return h2row{name: name, want: want, preface: script}
}

// first is a row in which a frame comes instead of the server's first SETTINGS.
func first(name string, t http2.FrameType, flags http2.Flags, id uint32, payload []byte, codes ...http2.ErrCode) h2row {
	return greeting(name, refused(codes...), func(c *h2conn) {
		c.readPreface()
		c.frame(t, flags, id, payload)
	})
}

// badSetting is a row whose first SETTINGS are not acceptable.
func badSetting(name string, code http2.ErrCode, id http2.SettingID, v uint32) h2row {
	return first(name, http2.FrameSettings, 0, 0, setting(id, v), code)
}

func TestHostileGreeting(t *testing.T) {
	runH2Rows(t, []h2row{
		first("3.4 PING before SETTINGS", http2.FramePing, 0, 0, make([]byte, 8), protocolError),
		first("3.4 HEADERS before SETTINGS", http2.FrameHeaders, endHeaders|endStream, 1, status200, protocolError),
		first("3.4 DATA before SETTINGS", http2.FrameData, endStream, 1, nil, protocolError),
		first("3.4 WINDOW_UPDATE before SETTINGS", http2.FrameWindowUpdate, 0, 0, u32(1), protocolError),
		first("3.4 GOAWAY before SETTINGS", http2.FrameGoAway, 0, 0, make([]byte, 8), protocolError),
		first("3.4 unknown frame before SETTINGS", 0xfa, 0, 0, nil, protocolError),
		first("3.4 SETTINGS ACK before SETTINGS", http2.FrameSettings, http2.FlagSettingsAck, 0, nil, protocolError),
		first("6.5 SETTINGS on a stream", http2.FrameSettings, 0, 1, nil, protocolError),
		first("6.5 SETTINGS of 5 octets", http2.FrameSettings, 0, 0, make([]byte, 5), frameSizeError),
		first("6.5 SETTINGS of 7 octets", http2.FrameSettings, 0, 0, make([]byte, 7), frameSizeError),
		badSetting("6.5.2 ENABLE_PUSH 1 of a server", protocolError, http2.SettingEnablePush, 1),
		badSetting("6.5.2 ENABLE_PUSH 2", protocolError, http2.SettingEnablePush, 2),
		badSetting("6.5.2 INITIAL_WINDOW_SIZE 2^31", flowControlError, http2.SettingInitialWindowSize, 1<<31),
		badSetting("6.5.2 MAX_FRAME_SIZE 16383", protocolError, http2.SettingMaxFrameSize, 16383),
		badSetting("6.5.2 MAX_FRAME_SIZE 2^24", protocolError, http2.SettingMaxFrameSize, 1<<24),
		// 3.4 asks for PROTOCOL_ERROR, 4.2 for FRAME_SIZE_ERROR: text read as a frame is both.
		greeting("3.4 HTTP/1.1 to an HTTP/2 client", refused(protocolError), func(c *h2conn) {
			c.readPreface()
			c.bytes([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
		}),
		greeting("3.4 a TLS alert", refused(protocolError, frameSizeError), func(c *h2conn) {
			c.readPreface()
			c.bytes([]byte{21, 3, 3, 0, 2, 2, 80, 0, 0, 0, 0, 0})
		}),
		greeting("3.4 garbage", refused(protocolError, frameSizeError), func(c *h2conn) {
			c.readPreface()
			c.bytes([]byte(strings.Repeat("\xde\xad\xbe\xef", 300)))
		}),
		greeting("3.4 the client's own preface comes back", refused(protocolError, frameSizeError), func(c *h2conn) {
			c.readPreface()
			c.bytes([]byte(http2.ClientPreface))
		}),
		greeting("3.4 unknown settings, and every known one", tolerated, func(c *h2conn) {
			c.greet(http2.Setting{ID: 0xff, Val: 1}, http2.Setting{ID: 0, Val: 1 << 31}, http2.Setting{ID: http2.SettingEnablePush},
				http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1<<24 - 1}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1},
				http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 0}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1<<32 - 1},
				http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1})
		}),
		greeting("6.5.3 the same setting many times, the last counts", tolerated, func(c *h2conn) {
			c.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3},
				http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7})
		}),
		greeting("3.4 SETTINGS one octet at a time", tolerated, func(c *h2conn) {
			c.readPreface()
			for _, b := range []byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x05\x00\x00\x00\x04\x01\x00\x00\x00\x00") {
				c.bytes([]byte{b})
			}
		}),
	})
}

func TestHostileFrames(t *testing.T) {
	ping, none := make([]byte, 8), []byte(nil)
	over := make([]byte, 16385)
	runH2Rows(t, []h2row{
		// 4.1, 4.2
		raw("4.2 DATA above MAX_FRAME_SIZE", http2.FrameData, 0, 1, over, goAway(frameSizeError)),
		raw("4.2 HEADERS above MAX_FRAME_SIZE", http2.FrameHeaders, endHeaders, 1, over, goAway(frameSizeError)),
		raw("4.2 SETTINGS above MAX_FRAME_SIZE", http2.FrameSettings, 0, 0, make([]byte, 16386), goAway(frameSizeError)),
		raw("4.2 unknown frame above MAX_FRAME_SIZE", 0xfa, 0, 0, over, goAway(frameSizeError)),
		{name: "4.2 a length of 2^24-1, and nothing after it", want: goAway(frameSizeError), commit: func(c *h2conn, _ uint32) {
			c.bytes([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1})
		}},
		harmless("4.1 unknown frame on the connection", 0xfa, 0xff, 0, over[:16384]),
		harmless("4.1 unknown frame on the stream", 0xfa, 0xff, 1, ping),
		harmless("5.5 unknown frame on an idle stream", 0xfa, 0xff, 99, ping),
		harmless("4.1 reserved bit", http2.FramePing, 0, 1<<31, ping),
		harmless("4.1 undefined flags", http2.FramePing, 0xfe, 0, ping),
		harmless("7 ALTSVC", 0xa, 0, 1, ping),
		harmless("7 ORIGIN", 0xc, 0, 0, none),
		harmless("7 PRIORITY_UPDATE", 0x10, 0, 0, ping),

		// 6.1 DATA
		raw("6.1 DATA on stream 0", http2.FrameData, 0, 0, none, goAway(protocolError)),
		raw("5.1 DATA on an idle stream", http2.FrameData, 0, 99, none, goAway(protocolError)),
		raw("5.1.1 DATA on an even stream", http2.FrameData, 0, 2, none, goAway(protocolError)),
		begun("6.1 padding as long as DATA", http2.FrameData, padded, 1, []byte{4, 0, 0, 0}, goAway(protocolError)),
		begun("6.1 padding longer than DATA", http2.FrameData, padded, 1, []byte{255, 0, 0, 0}, goAway(protocolError)),
		begun("6.1 padded DATA without a padding length", http2.FrameData, padded, 1, none, goAway(frameSizeError, protocolError)),
		raw("8.1 DATA before HEADERS", http2.FrameData, 0, 1, ping, reset(protocolError)),
		raw("8.1 END_STREAM without HEADERS", http2.FrameData, endStream, 1, none, reset(protocolError)),

		// 6.2 HEADERS
		raw("6.2 HEADERS on stream 0", http2.FrameHeaders, endHeaders, 0, status200, goAway(protocolError)),
		raw("5.1 HEADERS on an idle stream", http2.FrameHeaders, endHeaders, 99, status200, goAway(protocolError)),
		raw("5.1.1 HEADERS on an even stream", http2.FrameHeaders, endHeaders, 2, status200, goAway(protocolError)),
		raw("6.2 padding longer than HEADERS", http2.FrameHeaders, endHeaders|padded, 1, []byte{9, 0x88}, goAway(protocolError)),
		raw("6.2 padded HEADERS without a padding length", http2.FrameHeaders, endHeaders|padded, 1, none, goAway(frameSizeError, protocolError)),
		raw("6.2 HEADERS too short for their priority", http2.FrameHeaders, endHeaders|priority, 1, []byte{0, 0, 0, 0}, goAway(frameSizeError, protocolError)),
		{name: "6.2 padded HEADERS with priority, on itself", want: tolerated, commit: func(c *h2conn, id uint32) {
			c.frame(http2.FrameHeaders, endHeaders|endStream|padded|priority, id, join([]byte{3}, u32(id), []byte{9}, status200, make([]byte, 3)))
		}},

		// 6.3 PRIORITY
		raw("6.3 PRIORITY on stream 0", http2.FramePriority, 0, 0, make([]byte, 5), goAway(protocolError)),
		raw("6.3 PRIORITY of 4 octets", http2.FramePriority, 0, 1, make([]byte, 4), reset(frameSizeError)),
		raw("6.3 PRIORITY of 6 octets", http2.FramePriority, 0, 1, make([]byte, 6), reset(frameSizeError)),
		harmless("6.3 PRIORITY on an idle stream", http2.FramePriority, 0, 99, make([]byte, 5)),
		harmless("6.3 PRIORITY on an even stream", http2.FramePriority, 0, 98, make([]byte, 5)),

		// 6.4 RST_STREAM
		raw("6.4 RST_STREAM on stream 0", http2.FrameRSTStream, 0, 0, u32(8), goAway(protocolError)),
		raw("6.4 RST_STREAM on an idle stream", http2.FrameRSTStream, 0, 99, u32(8), goAway(protocolError)),
		raw("6.4 RST_STREAM on an even stream", http2.FrameRSTStream, 0, 2, u32(8), goAway(protocolError)),
		raw("6.4 RST_STREAM of 3 octets", http2.FrameRSTStream, 0, 1, make([]byte, 3), goAway(frameSizeError)),
		raw("6.4 RST_STREAM of 5 octets", http2.FrameRSTStream, 0, 1, make([]byte, 5), goAway(frameSizeError)),
		raw("6.4 RST_STREAM", http2.FrameRSTStream, 0, 1, u32(uint32(http2.ErrCodeInternal)), outcome{reset: 1}),
		raw("6.4 RST_STREAM with NO_ERROR and no response", http2.FrameRSTStream, 0, 1, u32(0), outcome{reset: 1}),
		raw("7 RST_STREAM with an unknown code", http2.FrameRSTStream, 0, 1, u32(0xdeadbeef), outcome{reset: 1}),
		raw("8.7 RST_STREAM with REFUSED_STREAM is sent again", http2.FrameRSTStream, 0, 1, u32(7), outcome{retried: 1}),

		// 6.5 SETTINGS
		raw("6.5 SETTINGS ACK with a payload", http2.FrameSettings, http2.FlagSettingsAck, 0, make([]byte, 6), goAway(frameSizeError)),
		raw("6.5 SETTINGS ACK on a stream", http2.FrameSettings, http2.FlagSettingsAck, 1, none, goAway(protocolError)),
		raw("6.5 later SETTINGS on the stream", http2.FrameSettings, 0, 1, none, goAway(protocolError)),
		raw("6.5 later SETTINGS of a wrong length", http2.FrameSettings, 0, 0, make([]byte, 8), goAway(frameSizeError)),
		raw("6.5.2 later ENABLE_PUSH", http2.FrameSettings, 0, 0, setting(http2.SettingEnablePush, 1), goAway(protocolError)),
		raw("6.5.2 later MAX_FRAME_SIZE 0", http2.FrameSettings, 0, 0, setting(http2.SettingMaxFrameSize, 0), goAway(protocolError)),
		raw("6.5.2 later INITIAL_WINDOW_SIZE 2^32-1", http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 1<<32-1), goAway(flowControlError)),
		harmless("6.5 SETTINGS ACK that nothing asked for", http2.FrameSettings, http2.FlagSettingsAck, 0, none),
		harmless("6.5 empty SETTINGS", http2.FrameSettings, 0, 0, none),

		// 6.6 PUSH_PROMISE, which our SETTINGS forbid
		raw("6.6 PUSH_PROMISE", http2.FramePushPromise, endHeaders, 1, join(u32(2), status200), goAway(protocolError)),
		raw("6.6 PUSH_PROMISE on stream 0", http2.FramePushPromise, endHeaders, 0, join(u32(2), status200), goAway(protocolError)),
		raw("6.6 PUSH_PROMISE on an idle stream", http2.FramePushPromise, endHeaders, 99, join(u32(2), status200), goAway(protocolError)),
		raw("6.6 PUSH_PROMISE of an odd stream", http2.FramePushPromise, endHeaders, 1, join(u32(7), status200), goAway(protocolError)),
		raw("6.6 PUSH_PROMISE of 3 octets", http2.FramePushPromise, endHeaders, 1, make([]byte, 3), goAway(protocolError, frameSizeError)),

		// 6.7 PING
		raw("6.7 PING on a stream", http2.FramePing, 0, 1, ping, goAway(protocolError)),
		raw("6.7 PING ACK on a stream", http2.FramePing, http2.FlagPingAck, 1, ping, goAway(protocolError)),
		raw("6.7 PING of 7 octets", http2.FramePing, 0, 0, ping[:7], goAway(frameSizeError)),
		raw("6.7 PING of 9 octets", http2.FramePing, 0, 0, make([]byte, 9), goAway(frameSizeError)),
		raw("6.7 empty PING ACK", http2.FramePing, http2.FlagPingAck, 0, none, goAway(frameSizeError)),
		harmless("6.7 PING ACK that nothing asked for", http2.FramePing, http2.FlagPingAck, 0, ping),

		// 6.8 GOAWAY; its last ids have a table of their own
		raw("6.8 GOAWAY on a stream", http2.FrameGoAway, 0, 1, make([]byte, 8), goAway(protocolError)),
		raw("6.8 GOAWAY of 7 octets", http2.FrameGoAway, 0, 0, make([]byte, 7), goAway(frameSizeError)),
		raw("6.8 empty GOAWAY", http2.FrameGoAway, 0, 0, none, goAway(frameSizeError)),

		// 6.9 WINDOW_UPDATE
		raw("6.9 WINDOW_UPDATE of 3 octets", http2.FrameWindowUpdate, 0, 0, make([]byte, 3), goAway(frameSizeError)),
		raw("6.9 WINDOW_UPDATE of 5 octets", http2.FrameWindowUpdate, 0, 1, make([]byte, 5), goAway(frameSizeError)),
		raw("6.9 WINDOW_UPDATE by 0 of the connection", http2.FrameWindowUpdate, 0, 0, u32(0), goAway(protocolError)),
		raw("6.9 WINDOW_UPDATE by 0 with the reserved bit", http2.FrameWindowUpdate, 0, 0, u32(1<<31), goAway(protocolError)),
		raw("6.9 WINDOW_UPDATE by 0 of the stream", http2.FrameWindowUpdate, 0, 1, u32(0), reset(protocolError)),
		raw("5.1 WINDOW_UPDATE on an idle stream", http2.FrameWindowUpdate, 0, 99, u32(1), goAway(protocolError)),
		raw("5.1.1 WINDOW_UPDATE on an even stream", http2.FrameWindowUpdate, 0, 2, u32(1), goAway(protocolError)),
		raw("6.9.1 the connection's window above 2^31-1", http2.FrameWindowUpdate, 0, 0, u32(1<<31-1), goAway(flowControlError)),
		raw("6.9.1 the stream's window above 2^31-1", http2.FrameWindowUpdate, 0, 1, u32(1<<31-1), reset(flowControlError)),

		// 6.10 CONTINUATION
		raw("6.10 CONTINUATION without HEADERS", http2.FrameContinuation, endHeaders, 1, status200, goAway(protocolError)),
		raw("6.10 CONTINUATION on stream 0", http2.FrameContinuation, endHeaders, 0, status200, goAway(protocolError)),
		begun("6.10 CONTINUATION after END_HEADERS", http2.FrameContinuation, endHeaders, 1, none, goAway(protocolError)),
		openBlock("6.10 CONTINUATION of another stream", http2.FrameContinuation, endHeaders, 3, none),
		openBlock("6.10 DATA within a header block", http2.FrameData, 0, 1, none),
		openBlock("6.10 HEADERS within a header block", http2.FrameHeaders, endHeaders, 1, status200),
		openBlock("6.10 PING within a header block", http2.FramePing, 0, 0, ping),
		openBlock("6.10 SETTINGS within a header block", http2.FrameSettings, 0, 0, none),
		openBlock("6.10 RST_STREAM within a header block", http2.FrameRSTStream, 0, 1, u32(8)),
		openBlock("6.10 WINDOW_UPDATE within a header block", http2.FrameWindowUpdate, 0, 0, u32(1)),
		openBlock("6.10 PUSH_PROMISE within a header block", http2.FramePushPromise, endHeaders, 1, join(u32(2), status200)),
		openBlock("6.10 GOAWAY within a header block", http2.FrameGoAway, 0, 0, ping),
		openBlock("5.5 unknown frame within a header block", 0xfa, 0, 1, none),
	})
}

// openBlock is a row whose frame comes where only a CONTINUATION may.
func openBlock(name string, t http2.FrameType, flags http2.Flags, id uint32, payload []byte) h2row {
	return h2row{name: name, want: goAway(protocolError), commit: func(c *h2conn, own uint32) {
		c.frame(http2.FrameHeaders, 0, own, status200)
		c.frame(t, flags, id, payload)
	}}
}

// TestEveryFrameTypeCut ends the connection in the middle of a frame of each type: the request is
// lost, and nothing waits.
func TestEveryFrameTypeCut(t *testing.T) {
	var rows []h2row
	for ft := range http2.FrameType(12) {
		rows = append(rows, h2row{name: "4.1 closes within " + ft.String(), want: outcome{lost: 1, abandoned: true}, commit: func(c *h2conn, id uint32) {
			c.headers(id, false, ":status", "200")
			c.bytes([]byte{0, 0, 200, byte(ft), 0, 0, 0, 0, 1, 1, 2, 3})
			_ = c.Close()
		}})
	}
	runH2Rows(t, rows)
}

// setTarget makes a plan function of one that changes the target.
func setTarget(f func(*rv.Target)) func(*rv.Plan) {
	return func(p *rv.Plan) { f(&p.Targets[0]) }
}

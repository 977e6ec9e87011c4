package h2

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// goAway is what follows the greeting when the connection fails before any request.
func goAway(code string) []string { return []string{"GOAWAY 0 " + code} }

func TestServerRequests(t *testing.T) {
	runServerCases(t, []serverCase{
		{
			name:       "GET",
			do:         func(p *serverPeer) { p.request(1, true, "GET", "/a?b") },
			wantSent:   []string{"HEADERS 1 :status=204 end"},
			wantEvents: []string{"request 1 GET /a?b", "end 1"},
		},
		{
			name: "content, told when asked for",
			want: protocol.WantBody,
			do: func(p *serverPeer) {
				p.request(1, false, "POST", "/", "content-length", "6")
				p.data(1, false, "abc")
				p.data(1, true, "def")
			},
			wantSent:   []string{"HEADERS 1 :status=204 end"},
			wantEvents: []string{"request 1 POST /", "data 1 abcdef", "end 1"},
		},
		{
			name: "content, not asked for",
			do: func(p *serverPeer) {
				p.request(1, false, "POST", "/")
				p.data(1, true, "abc")
			},
			wantSent:   []string{"HEADERS 1 :status=204 end"},
			wantEvents: []string{"request 1 POST /", "end 1"},
		},
		{
			name: "header fields, told when asked for",
			want: protocol.WantHeaders,
			do: func(p *serverPeer) {
				p.request(1, true, "GET", "/", ":authority", "x", "accept", "a", "te", "trailers")
			},
			wantSent: []string{"HEADERS 1 :status=204 end"},
			wantEvents: []string{
				"request 1 GET /", "header 1 :scheme=http", "header 1 :authority=x",
				"header 1 accept=a", "header 1 te=trailers", "end 1",
			},
		},
		{
			name: "padding and priority (6.1, 6.2)",
			want: protocol.WantBody,
			do: func(p *serverPeer) {
				p.check(p.fr.WriteHeaders(http2.HeadersFrameParam{
					StreamID: 1, EndHeaders: true, PadLength: 7, Priority: http2.PriorityParam{StreamDep: 0, Weight: 3},
					BlockFragment: p.headers(":method", "PUT", ":scheme", "http", ":path", "/p"),
				}))
				p.check(p.fr.WriteDataPadded(1, false, []byte("abc"), make([]byte, 255)))
				p.check(p.fr.WriteDataPadded(1, false, nil, make([]byte, 3)))
				p.check(p.fr.WriteDataPadded(1, true, []byte("d"), []byte{}))
			},
			wantSent:   []string{"HEADERS 1 :status=204 end"},
			wantEvents: []string{"request 1 PUT /p", "data 1 abcd", "end 1"},
		},
		{
			name: "CONTINUATION (6.10)",
			do: func(p *serverPeer) {
				b := p.headers(":method", "GET", ":scheme", "http", ":path", "/long")
				p.check(p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, BlockFragment: b[:2]}))
				p.check(p.fr.WriteContinuation(1, false, nil))
				p.check(p.fr.WriteContinuation(1, false, b[2:4]))
				p.check(p.fr.WriteContinuation(1, true, b[4:]))
			},
			wantSent:   []string{"HEADERS 1 :status=204 end"},
			wantEvents: []string{"request 1 GET /long", "end 1"},
		},
		{
			name: "trailers (8.1)",
			want: protocol.WantHeaders | protocol.WantBody,
			do: func(p *serverPeer) {
				p.raw(1, false, ":method", "POST", ":scheme", "http", ":path", "/")
				p.data(1, false, "abc")
				p.raw(1, true, "checksum", "1")
			},
			wantSent:   []string{"HEADERS 1 :status=204 end"},
			wantEvents: []string{"request 1 POST /", "header 1 :scheme=http", "data 1 abc", "end 1"},
		},
		{
			name: "CONNECT and OPTIONS * (8.5, 8.3.1)",
			do: func(p *serverPeer) {
				p.raw(1, true, ":method", "CONNECT", ":authority", "x:1")
				p.request(3, true, "OPTIONS", "*")
			},
			wantSent:   []string{"HEADERS 1 :status=204 end", "HEADERS 3 :status=204 end"},
			wantEvents: []string{"request 1 CONNECT ", "end 1", "request 3 OPTIONS *", "end 3"},
		},
	})
	t.Run("early answer", func(t *testing.T) {
		p := newServerPeer(t, Config{}, false)
		p.greet()
		p.onRequest = func(id uint32) { p.respond(id, nil) }
		p.request(1, false, "POST", "/")
		p.data(1, false, "ignored")
		p.data(1, true, "ignored")
		p.flush()
		want := "HEADERS 1 :status=204 end,RST_STREAM 1 NO_ERROR"
		if got := strings.Join(p.sent, ","); got != want || p.err != nil {
			t.Errorf("sent %s, error %v; want %s", got, p.err, want)
		}
		if got := strings.Join(p.events, ","); got != "request 1 POST /" {
			t.Errorf("events %s", got)
		}
	})
}

func TestServerMalformedRequests(t *testing.T) { // RFC 9113 8.1.1, 8.2, 8.3
	ok := []string{":method", "GET", ":scheme", "http", ":path", "/"}
	with := func(more ...string) []string { return append(append([]string{}, ok...), more...) }
	for name, fields := range map[string][]string{
		"no method":             {":scheme", "http", ":path", "/"},
		"no scheme":             {":method", "GET", ":path", "/"},
		"no path":               {":method", "GET", ":scheme", "http"},
		"empty path":            {":method", "GET", ":scheme", "http", ":path", ""},
		"relative path":         {":method", "GET", ":scheme", "http", ":path", "a"},
		"star for GET":          {":method", "GET", ":scheme", "http", ":path", "*"},
		"empty method":          {":method", "", ":scheme", "http", ":path", "/"},
		"method twice":          with(":method", "GET"),
		"path twice":            with(":path", "/"),
		"status":                with(":status", "200"),
		"unknown pseudo":        with(":foo", "x"),
		"pseudo after regular":  {":method", "GET", ":scheme", "http", "a", "b", ":path", "/"},
		"CONNECT with path":     {":method", "CONNECT", ":authority", "x", ":path", "/"},
		"CONNECT, no authority": {":method", "CONNECT"},
		"upper case":            with("Accept", "x"),
		"connection":            with("connection", "close"),
		"keep-alive":            with("keep-alive", "1"),
		"proxy-connection":      with("proxy-connection", "x"),
		"transfer-encoding":     with("transfer-encoding", "chunked"),
		"upgrade":               with("upgrade", "h2c"),
		"te":                    with("te", "gzip"),
		"newline":               with("a", "b\nc"),
		"NUL":                   with("a", "b\x00c"),
		"blank at the end":      with("a", "b "),
		"space in a name":       with("a b", "c"),
		"empty name":            with("", "c"),
		"bad content-length":    with("content-length", "x"),
		"two content-lengths":   with("content-length", "0", "content-length", "1"),
		"content-length, none":  with("content-length", "1"),
	} {
		t.Run(name, serverCase{
			do: func(p *serverPeer) {
				p.raw(1, true, fields...)
				p.request(3, true, "GET", "/") // the connection goes on
			},
			wantSent:   []string{"RST_STREAM 1 PROTOCOL_ERROR", "HEADERS 3 :status=204 end"},
			wantEvents: []string{"request 3 GET /", "end 3"},
		}.run)
	}
}

func TestServerStreamErrors(t *testing.T) {
	began := []string{"request 1 POST /", "reset 1"}
	post := func(p *serverPeer, more ...string) { p.request(1, false, "POST", "/", more...) }
	runServerCases(t, []serverCase{
		{
			name:     "more content than content-length (8.1.1)",
			do:       func(p *serverPeer) { post(p, "content-length", "2"); p.data(1, true, "abc"); p.data(1, true, "x") },
			wantSent: []string{"RST_STREAM 1 PROTOCOL_ERROR"}, wantEvents: began,
		},
		{
			name:     "less content than content-length (8.1.1)",
			do:       func(p *serverPeer) { post(p, "content-length", "4"); p.data(1, true, "abc") },
			wantSent: []string{"RST_STREAM 1 PROTOCOL_ERROR"}, wantEvents: began,
		},
		{
			name:     "trailers without END_STREAM (8.1)",
			do:       func(p *serverPeer) { post(p); p.raw(1, false, "a", "b") },
			wantSent: []string{"RST_STREAM 1 PROTOCOL_ERROR"}, wantEvents: began,
		},
		{
			name:     "pseudo-header field in trailers (8.1)",
			do:       func(p *serverPeer) { post(p); p.raw(1, true, ":path", "/") },
			wantSent: []string{"RST_STREAM 1 PROTOCOL_ERROR"}, wantEvents: began,
		},
		{
			name:     "window update of 0 (6.9)",
			do:       func(p *serverPeer) { post(p); p.frame(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00") },
			wantSent: []string{"RST_STREAM 1 PROTOCOL_ERROR"}, wantEvents: began,
		},
		{
			name:     "window overflow (6.9.1)",
			do:       func(p *serverPeer) { post(p); p.frame(http2.FrameWindowUpdate, 0, 1, "\x7f\xff\xff\xff") },
			wantSent: []string{"RST_STREAM 1 FLOW_CONTROL_ERROR"}, wantEvents: began,
		},
		{
			name:     "PRIORITY of a wrong size (6.3)",
			do:       func(p *serverPeer) { post(p); p.frame(http2.FramePriority, 0, 1, "1234") },
			wantSent: []string{"RST_STREAM 1 FRAME_SIZE_ERROR"}, wantEvents: began,
		},
		{
			name:       "PRIORITY of a wrong size on an idle stream, which RST_STREAM must not be sent for (6.4)",
			do:         func(p *serverPeer) { p.frame(http2.FramePriority, 0, 5, "1234"); p.request(5, true, "GET", "/") },
			wantSent:   []string{"HEADERS 5 :status=204 end"},
			wantEvents: []string{"request 5 GET /", "end 5"},
		},
		{
			name: "reset by the client (6.4), and what crossed it",
			do: func(p *serverPeer) {
				post(p)
				p.check(p.fr.WriteRSTStream(1, http2.ErrCodeCancel))
				p.check(p.fr.WriteWindowUpdate(1, 5))
			},
			wantEvents: began,
		},
		{
			name: "DATA on a stream the client ended (5.1)",
			do: func(p *serverPeer) {
				p.silent()
				p.request(1, true, "GET", "/")
				p.data(1, false, "x")
			},
			wantSent: []string{"RST_STREAM 1 STREAM_CLOSED"}, wantEvents: []string{"request 1 GET /", "end 1", "reset 1"},
		},
		{
			name: "stream over the announced limit (5.1.2)",
			cfg:  Config{MaxConcurrentStreams: 1},
			do: func(p *serverPeer) {
				p.silent()
				p.request(1, true, "GET", "/")
				p.request(3, false, "POST", "/", "x", "enters the table")
				p.data(3, true, "what the client sent before it knew")
				p.check(p.fr.WriteRSTStream(1, http2.ErrCodeCancel))
				p.request(5, true, "GET", "/", "x", "enters the table")
			},
			wantSent:   []string{"RST_STREAM 3 REFUSED_STREAM"},
			wantEvents: []string{"request 1 GET /", "end 1", "reset 1", "request 5 GET /", "end 5"},
		},
		{
			name:       "header list over the bound: 431",
			cfg:        Config{MaxHeaderListSize: 200},
			do:         func(p *serverPeer) { p.request(1, true, "GET", "/", "a", strings.Repeat("x", 200)) },
			wantSent:   []string{"HEADERS 1 :status=431 end"},
			wantEvents: nil,
		},
	})
}

func TestServerConnectionErrors(t *testing.T) {
	raw := func(t http2.FrameType, flags http2.Flags, id uint32, payload string) func(*serverPeer) {
		return func(p *serverPeer) { p.frame(t, flags, id, payload) }
	}
	runServerCases(t, []serverCase{
		{name: "DATA on stream 0", do: raw(http2.FrameData, 0, 0, "x"), wantErr: "PROTOCOL_ERROR"},
		{name: "DATA on an idle stream", do: raw(http2.FrameData, 0, 1, "x"), wantErr: "PROTOCOL_ERROR"},
		{name: "HEADERS on stream 0", do: raw(http2.FrameHeaders, 4, 0, "\x82"), wantErr: "PROTOCOL_ERROR"},
		{name: "HEADERS on an even stream", do: raw(http2.FrameHeaders, 4, 2, "\x82"), wantErr: "PROTOCOL_ERROR"},
		{name: "HEADERS all padding", do: raw(http2.FrameHeaders, 4|8, 1, "\x05ab"), wantErr: "PROTOCOL_ERROR"},
		{name: "HEADERS too short for padding", do: raw(http2.FrameHeaders, 4|8, 1, ""), wantErr: "FRAME_SIZE_ERROR"},
		{name: "PRIORITY on stream 0", do: raw(http2.FramePriority, 0, 0, "12345"), wantErr: "PROTOCOL_ERROR"},
		{name: "RST_STREAM on stream 0", do: raw(http2.FrameRSTStream, 0, 0, "1234"), wantErr: "PROTOCOL_ERROR"},
		{name: "RST_STREAM on an idle stream", do: raw(http2.FrameRSTStream, 0, 1, "1234"), wantErr: "PROTOCOL_ERROR"},
		{name: "RST_STREAM size", do: raw(http2.FrameRSTStream, 0, 1, "123"), wantErr: "FRAME_SIZE_ERROR"},
		{name: "SETTINGS on a stream", do: raw(http2.FrameSettings, 0, 1, ""), wantErr: "PROTOCOL_ERROR"},
		{name: "SETTINGS size", do: raw(http2.FrameSettings, 0, 0, "12345"), wantErr: "FRAME_SIZE_ERROR"},
		{name: "SETTINGS ack with payload", do: raw(http2.FrameSettings, 1, 0, "123456"), wantErr: "FRAME_SIZE_ERROR"},
		{name: "ENABLE_PUSH 2", do: raw(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x02"), wantErr: "PROTOCOL_ERROR"},
		{name: "INITIAL_WINDOW_SIZE", do: raw(http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00"), wantErr: "FLOW_CONTROL_ERROR"},
		{name: "MAX_FRAME_SIZE", do: raw(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x3f\xff"), wantErr: "PROTOCOL_ERROR"},
		{name: "PUSH_PROMISE", do: raw(http2.FramePushPromise, 4, 1, "1234"), wantErr: "PROTOCOL_ERROR"},
		{name: "PING on a stream", do: raw(http2.FramePing, 0, 1, "12345678"), wantErr: "PROTOCOL_ERROR"},
		{name: "PING size", do: raw(http2.FramePing, 0, 0, "1234567"), wantErr: "FRAME_SIZE_ERROR"},
		{name: "GOAWAY on a stream", do: raw(http2.FrameGoAway, 0, 1, "12345678"), wantErr: "PROTOCOL_ERROR"},
		{name: "GOAWAY size", do: raw(http2.FrameGoAway, 0, 0, "1234567"), wantErr: "FRAME_SIZE_ERROR"},
		{name: "WINDOW_UPDATE size", do: raw(http2.FrameWindowUpdate, 0, 0, "123"), wantErr: "FRAME_SIZE_ERROR"},
		{name: "WINDOW_UPDATE of 0", do: raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), wantErr: "PROTOCOL_ERROR"},
		{name: "WINDOW_UPDATE overflow", do: raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), wantErr: "FLOW_CONTROL_ERROR"},
		{name: "WINDOW_UPDATE on an idle stream", do: raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x01"), wantErr: "PROTOCOL_ERROR"},
		{name: "CONTINUATION alone", do: raw(http2.FrameContinuation, 4, 1, "x"), wantErr: "PROTOCOL_ERROR"},
		{name: "frame over MAX_FRAME_SIZE", do: raw(http2.FrameData, 0, 1, strings.Repeat("x", 16385)), wantErr: "FRAME_SIZE_ERROR"},
		{name: "bad HPACK", do: raw(http2.FrameHeaders, 4, 1, "\xff\xff\xff"), wantErr: "COMPRESSION_ERROR"},
		{name: "index 0", do: raw(http2.FrameHeaders, 4, 1, "\x80"), wantErr: "COMPRESSION_ERROR"},
	}, func(c *serverCase) {
		c.wantSent = goAway(c.wantErr)
		if c.name == "bad HPACK" || c.name == "index 0" {
			c.wantSent = []string{"GOAWAY 1 COMPRESSION_ERROR"}
		}
	})
}

func TestServerConnectionErrorsAfterARequest(t *testing.T) {
	get := []string{"request 1 GET /", "end 1"}
	runServerCases(t, []serverCase{
		{
			name:       "HEADERS on a stream that is over (5.1.1)",
			do:         func(p *serverPeer) { p.request(1, true, "GET", "/"); p.request(1, true, "GET", "/") },
			wantSent:   []string{"HEADERS 1 :status=204 end", "GOAWAY 1 STREAM_CLOSED"},
			wantEvents: get, wantErr: "STREAM_CLOSED",
		},
		{
			name: "another stream inside a header block (6.2)",
			do: func(p *serverPeer) {
				p.request(1, true, "GET", "/")
				p.check(p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x82}}))
				p.request(5, true, "GET", "/")
			},
			wantSent:   []string{"HEADERS 1 :status=204 end", "GOAWAY 1 PROTOCOL_ERROR"},
			wantEvents: get, wantErr: "PROTOCOL_ERROR",
		},
		{
			name: "padding as long as DATA (6.1)",
			do: func(p *serverPeer) {
				p.request(1, false, "GET", "/")
				p.frame(http2.FrameData, http2.FlagDataPadded, 1, "\x03abc")
				p.frame(http2.FrameData, http2.FlagDataPadded, 1, "\x04abc")
			},
			wantSent:   []string{"GOAWAY 1 PROTOCOL_ERROR"},
			wantEvents: get[:1], wantErr: "PROTOCOL_ERROR",
		},
		{
			name: "DATA beyond the connection's window (6.9.1)",
			cfg:  Config{StreamWindow: 1 << 20, ConnWindow: 65535, MaxFrameSize: 1 << 20},
			do: func(p *serverPeer) {
				p.request(1, false, "GET", "/")
				p.data(1, false, strings.Repeat("x", 65536))
			},
			wantSent:   []string{"GOAWAY 1 FLOW_CONTROL_ERROR"},
			wantEvents: get[:1], wantErr: "FLOW_CONTROL_ERROR",
		},
		{
			name: "a header block without end (CVE-2024-27316)",
			do: func(p *serverPeer) {
				p.check(p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}}))
				for range 65 {
					p.check(p.fr.WriteContinuation(1, false, nil))
				}
			},
			wantSent: goAway("ENHANCE_YOUR_CALM"), wantErr: "ENHANCE_YOUR_CALM",
		},
	})
}

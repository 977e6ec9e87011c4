package h2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// rule is a row of the table of RFC 9113's rules: two GETs (tokens 1 and 2,
// streams 1 and 3) are open when the bytes come.
type rule struct {
	name   string
	in     []byte
	err    http2.ErrCode // of a connection error
	events string        // separated by "; "
	out    string        // frames sent, but for the GOAWAY of a connection error
}

const (
	ended  = http2.FlagHeadersEndStream
	whole  = http2.FlagHeadersEndHeaders
	padded = http2.FlagHeadersPadded
)

var ok200 = []string{":status", "200"}

func rules() []rule {
	ok := headers(1, true, ok200...)
	return []rule{
		// Frames.
		{name: "4.1 an unknown type is ignored", in: wire(raw(0xfa, 0xff, 1, "x"), raw(0xfa, 0, 9, ""), ok), events: "1 status 200; 1 completed"},
		{name: "4.1 the reserved bit of a stream id is ignored", in: wire(raw(http2.FrameHeaders, ended|whole, 1<<31|1, "\x88")), events: "1 status 200; 1 completed"},
		{name: "4.2 a frame above the size we announced", in: AppendFrameHeader(nil, FrameHeader{1<<14 + 1, 0xfa, 0, 0}), err: http2.ErrCodeFrameSize},
		{name: "4.2 DATA above the size we announced", in: AppendFrameHeader(nil, FrameHeader{1<<14 + 1, 0, 0, 1}), err: http2.ErrCodeFrameSize},
		{name: "4.3 a block that cannot be decoded", in: AppendHeaders(nil, 1, true, true, []byte{0x80}), err: http2.ErrCodeCompression},
		{name: "4.3 a table size update above our limit", in: AppendHeaders(nil, 1, true, true, hpack.AppendTableSizeUpdate(nil, 4097)), err: http2.ErrCodeCompression},
		{name: "4.3 an entry made on one stream serves another", in: wire(
			AppendHeaders(nil, 3, true, true, hpack.AppendLiteral([]byte{0x88}, hpack.Incremental, 0, "a", "b")),
			AppendHeaders(nil, 1, true, true, []byte{0x88, 0xbe})),
			events: "2 status 200; 2 a: b; 2 completed; 1 status 200; 1 a: b; 1 completed"},

		// Streams.
		{name: "5.1 HEADERS on an idle stream", in: headers(5, true, ok200...), err: http2.ErrCodeProtocol},
		{name: "5.1 DATA on an idle stream", in: data(5, true, "x"), err: http2.ErrCodeProtocol},
		{name: "5.1 RST_STREAM on an idle stream", in: AppendRSTStream(nil, 5, 0), err: http2.ErrCodeProtocol},
		{name: "5.1 WINDOW_UPDATE on an idle stream", in: AppendWindowUpdate(nil, 5, 1), err: http2.ErrCodeProtocol},
		{name: "5.1.1 HEADERS on a stream of the server's", in: headers(2, true, ok200...), err: http2.ErrCodeProtocol},
		{name: "5.1 PRIORITY on an idle stream is right", in: appendPriority(nil, 7, 0, false, 1)},
		{name: "5.1 frames on a closed stream are taken and ignored", in: wire(ok, AppendRSTStream(nil, 1, 0), AppendWindowUpdate(nil, 1, 0),
			appendPriority(nil, 1, 0, true, 1), headers(1, true, ok200...), data(1, false, "x")), events: "1 status 200; 1 completed"},
		{name: "5.1 the table is kept for closed streams", in: wire(ok,
			AppendHeaders(nil, 1, true, true, hpack.AppendLiteral([]byte{0x88}, hpack.Incremental, 0, "a", "b")),
			AppendHeaders(nil, 3, true, true, []byte{0x88, 0xbe})),
			events: "1 status 200; 1 completed; 2 status 200; 2 a: b; 2 completed"},

		// Frame types.
		{name: "6.1 DATA on stream 0", in: data(0, true, "x"), err: http2.ErrCodeProtocol},
		{name: "6.1 a body in pieces", in: wire(headers(1, false, ok200...), data(1, false, "ab"), data(1, false, ""), data(1, true, "c")),
			events: "1 status 200; 1 data abc; 1 completed"},
		{name: "6.1 an empty DATA frame ends a stream", in: wire(headers(1, false, ok200...), data(1, true, "")), events: "1 status 200; 1 completed"},
		{name: "6.1 padding is not data", in: wire(headers(1, false, ok200...), raw(0, http2.FlagDataPadded|1, 1, "\x02abc\x00\x00")),
			events: "1 status 200; 1 data abc; 1 completed"},
		{name: "6.1 padding only", in: wire(headers(1, false, ok200...), raw(0, http2.FlagDataPadded|1, 1, "\x02\x00\x00")),
			events: "1 status 200; 1 completed"},
		{name: "6.1 padding as long as the payload", in: wire(headers(1, false, ok200...), raw(0, http2.FlagDataPadded, 1, "\x04abc")),
			err: http2.ErrCodeProtocol, events: "1 status 200"},
		{name: "6.1 padded DATA without a length", in: wire(headers(1, false, ok200...), raw(0, http2.FlagDataPadded, 1, "")),
			err: http2.ErrCodeFrameSize, events: "1 status 200"},
		{name: "6.2 HEADERS on stream 0", in: headers(0, true, ok200...), err: http2.ErrCodeProtocol},
		{name: "6.2 padded, with priority", in: raw(http2.FrameHeaders, ended|whole|padded|http2.FlagHeadersPriority, 1, "\x02\x00\x00\x00\x00\x10\x88\x00\x00"),
			events: "1 status 200; 1 completed"},
		{name: "6.2 padding longer than the rest", in: raw(http2.FrameHeaders, ended|whole|padded, 1, "\x02\x88"), err: http2.ErrCodeProtocol},
		{name: "6.2 no room for the padding's length", in: raw(http2.FrameHeaders, ended|whole|padded, 1, ""), err: http2.ErrCodeFrameSize},
		{name: "6.2 no room for the priority", in: raw(http2.FrameHeaders, ended|whole|http2.FlagHeadersPriority, 1, "\x88"), err: http2.ErrCodeFrameSize},
		{name: "6.2 another frame inside a header block", in: wire(AppendHeaders(nil, 1, true, false, []byte{0x88}), AppendPing(nil, false, [8]byte{})), err: http2.ErrCodeProtocol},
		{name: "6.2 an unknown frame inside a header block", in: wire(AppendHeaders(nil, 1, true, false, []byte{0x88}), raw(0xfa, 0, 1, "")), err: http2.ErrCodeProtocol},
		{name: "6.3 PRIORITY is ignored", in: wire(appendPriority(nil, 1, 3, true, 255), ok), events: "1 status 200; 1 completed"},
		{name: "6.3 PRIORITY on stream 0", in: appendPriority(nil, 0, 1, false, 1), err: http2.ErrCodeProtocol},
		{name: "6.3 PRIORITY of another length", in: raw(http2.FramePriority, 0, 1, "1234"), events: "1 reset FRAME_SIZE_ERROR", out: "RST_STREAM 1 FRAME_SIZE_ERROR"},
		{name: "6.4 RST_STREAM", in: AppendRSTStream(nil, 1, http2.ErrCodeInternal), events: "1 reset INTERNAL_ERROR"},
		{name: "6.4 RST_STREAM on stream 0", in: AppendRSTStream(nil, 0, 0), err: http2.ErrCodeProtocol},
		{name: "6.4 RST_STREAM of another length", in: raw(http2.FrameRSTStream, 0, 1, "12345"), err: http2.ErrCodeFrameSize},
		{name: "6.5 SETTINGS are acknowledged", in: AppendSettings(nil, http2.Setting{ID: 0xfafa, Val: 1}), out: "SETTINGS 0 ack"},
		{name: "6.5 SETTINGS on a stream", in: raw(http2.FrameSettings, 0, 1, ""), err: http2.ErrCodeProtocol},
		{name: "6.5 SETTINGS of a broken length", in: raw(http2.FrameSettings, 0, 0, "12345"), err: http2.ErrCodeFrameSize},
		{name: "6.5 an acknowledgement with settings", in: raw(http2.FrameSettings, http2.FlagSettingsAck, 0, "123456"), err: http2.ErrCodeFrameSize},
		{name: "6.5.2 ENABLE_PUSH 0 is right", in: AppendSettings(nil, http2.Setting{ID: http2.SettingEnablePush}), out: "SETTINGS 0 ack"},
		{name: "6.5.2 ENABLE_PUSH 1 from a server", in: AppendSettings(nil, http2.Setting{ID: http2.SettingEnablePush, Val: 1}), err: http2.ErrCodeProtocol},
		{name: "6.5.2 ENABLE_PUSH 2", in: AppendSettings(nil, http2.Setting{ID: http2.SettingEnablePush, Val: 2}), err: http2.ErrCodeProtocol},
		{name: "6.5.2 INITIAL_WINDOW_SIZE 2^31", in: AppendSettings(nil, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31}), err: http2.ErrCodeFlowControl},
		{name: "6.5.2 MAX_FRAME_SIZE 2^14-1", in: AppendSettings(nil, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1<<14 - 1}), err: http2.ErrCodeProtocol},
		{name: "6.5.2 MAX_FRAME_SIZE 2^24", in: AppendSettings(nil, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 24}), err: http2.ErrCodeProtocol},
		{name: "6.6 PUSH_PROMISE though push is off", in: appendPushPromise(nil, 1, 2, true, []byte{0x82}), err: http2.ErrCodeProtocol},
		{name: "6.7 PING is answered", in: AppendPing(nil, false, [8]byte{1, 2}), out: "PING 0 0102000000000000 ack"},
		{name: "6.7 an answer to PING is not answered", in: AppendPing(nil, true, [8]byte{1, 2})},
		{name: "6.7 PING on a stream", in: raw(http2.FramePing, 0, 1, "12345678"), err: http2.ErrCodeProtocol},
		{name: "6.7 PING of another length", in: raw(http2.FramePing, 0, 0, "1234567"), err: http2.ErrCodeFrameSize},
		{name: "6.8 GOAWAY: streams above the last id were not processed", in: wire(AppendGoAway(nil, 1, 0, "bye"), ok),
			events: "2 unprocessed; 1 status 200; 1 completed"},
		{name: "6.8 GOAWAY lowered", in: wire(AppendGoAway(nil, 1<<31-1, 0, ""), AppendGoAway(nil, 1, http2.ErrCodeEnhanceYourCalm, ""), AppendGoAway(nil, 0, 0, "")),
			events: "2 unprocessed ENHANCE_YOUR_CALM; 1 unprocessed"},
		{name: "6.8 GOAWAY raised has no effect", in: wire(AppendGoAway(nil, 1, 0, ""), AppendGoAway(nil, 3, 0, ""), headers(3, true, ok200...)), events: "2 unprocessed"},
		{name: "6.8 GOAWAY on a stream", in: raw(http2.FrameGoAway, 0, 1, "12345678"), err: http2.ErrCodeProtocol},
		{name: "6.8 GOAWAY cut short", in: raw(http2.FrameGoAway, 0, 0, "1234567"), err: http2.ErrCodeFrameSize},
		{name: "6.9 WINDOW_UPDATE of another length", in: raw(http2.FrameWindowUpdate, 0, 0, "123"), err: http2.ErrCodeFrameSize},
		{name: "6.9 WINDOW_UPDATE by 0 on the connection", in: AppendWindowUpdate(nil, 0, 0), err: http2.ErrCodeProtocol},
		{name: "6.9 WINDOW_UPDATE by 0 on a stream", in: AppendWindowUpdate(nil, 1, 0), events: "1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "6.9 the reserved bit of an increment is ignored", in: AppendWindowUpdate(nil, 1, 1<<31|1)},
		{name: "6.9.1 the connection's window above 2^31-1", in: AppendWindowUpdate(nil, 0, 1<<31-65535), err: http2.ErrCodeFlowControl},
		{name: "6.9.1 the connection's window of 2^31-1 is right", in: AppendWindowUpdate(nil, 0, 1<<31-1-65535)},
		{name: "6.9.1 a stream's window above 2^31-1", in: AppendWindowUpdate(nil, 1, 1<<31-65535), events: "1 reset FLOW_CONTROL_ERROR", out: "RST_STREAM 1 FLOW_CONTROL_ERROR"},
		{name: "6.9.2 a stream's window above 2^31-1 by SETTINGS", in: wire(AppendWindowUpdate(nil, 1, 1), AppendSettings(nil, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})),
			err: http2.ErrCodeFlowControl},
		{name: "6.10 a block in three frames", in: wire(AppendHeaders(nil, 1, true, false, fields(ok200...)[:3]),
			AppendContinuation(nil, 1, false, fields(ok200...)[3:5]), AppendContinuation(nil, 1, true, fields(ok200...)[5:])),
			events: "1 status 200; 1 completed"},
		{name: "6.10 CONTINUATION of another stream", in: wire(AppendHeaders(nil, 1, true, false, nil), AppendContinuation(nil, 3, true, []byte{0x88})), err: http2.ErrCodeProtocol},
		{name: "6.10 CONTINUATION out of place", in: AppendContinuation(nil, 1, true, []byte{0x88}), err: http2.ErrCodeProtocol},
		{name: "6.10 CONTINUATION after the block's end", in: wire(AppendHeaders(nil, 1, false, true, []byte{0x88}), AppendContinuation(nil, 1, true, nil)),
			err: http2.ErrCodeProtocol, events: "1 status 200"},

		// Messages.
		{name: "8.1 a response of a header only", in: ok, events: "1 status 200; 1 completed"},
		{name: "8.1 fields", in: headers(1, true, ":status", "201", "location", "/a/1", "server", "x"), events: "1 status 201; 1 location: /a/1; 1 server: x; 1 completed"},
		{name: "8.1 interim responses are swallowed", in: wire(headers(1, false, ":status", "100"), headers(1, false, ":status", "103", "link", "x"), ok), events: "1 status 200; 1 completed"},
		{name: "8.1 an interim response must not end the stream", in: headers(1, true, ":status", "100"), events: "1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1 DATA before the final response", in: wire(headers(1, false, ":status", "100"), data(1, true, "x")), events: "1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1 trailers", in: wire(headers(1, false, ok200...), data(1, false, "x"), headers(1, true, "grpc-status", "0")), events: "1 status 200; 1 data x; 1 trailer grpc-status: 0; 1 completed"},
		{name: "8.1 a second header block that does not end the stream", in: wire(headers(1, false, ok200...), headers(1, false, "a", "b")),
			events: "1 status 200; 1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1 pseudo-header fields in trailers", in: wire(headers(1, false, ok200...), headers(1, true, ok200...)),
			events: "1 status 200; 1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1.1 content-length is right", in: wire(headers(1, false, ":status", "200", "content-length", "3"), data(1, false, "ab"), data(1, true, "c")),
			events: "1 status 200; 1 content-length: 3; 1 data abc; 1 completed"},
		{name: "8.1.1 padding is not content", in: wire(headers(1, false, ":status", "200", "content-length", "3"), raw(0, http2.FlagDataPadded|1, 1, "\x02abc\x00\x00")),
			events: "1 status 200; 1 content-length: 3; 1 data abc; 1 completed"},
		{name: "8.1.1 less content than content-length", in: wire(headers(1, false, ":status", "200", "content-length", "3"), data(1, true, "ab")),
			events: "1 status 200; 1 content-length: 3; 1 data ab; 1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1.1 more content than content-length", in: wire(headers(1, false, ":status", "200", "content-length", "3"), data(1, true, "abcd")),
			events: "1 status 200; 1 content-length: 3; 1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1.1 no content though content-length", in: headers(1, true, ":status", "200", "content-length", "3"),
			events: "1 status 200; 1 content-length: 3; 1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1.1 trailers before all content", in: wire(headers(1, false, ":status", "200", "content-length", "3"), headers(1, true, "a", "b")),
			events: "1 status 200; 1 content-length: 3; 1 trailer a: b; 1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		{name: "8.1.1 304 has a content-length and no content", in: headers(1, true, ":status", "304", "content-length", "3"), events: "1 status 304; 1 content-length: 3; 1 completed"},
		{name: "8.1.1 204 has no content", in: wire(headers(1, false, ":status", "204"), data(1, true, "x")),
			events: "1 status 204; 1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		malformed("8.2.1 upper case", ":status", "200", "Server", "x"),
		malformed("8.2.1 LF in a value", ":status", "200", "a", "b\nc"),
		malformed("8.2.2 connection-specific field", ":status", "200", "connection", "close"),
		malformed("8.2.2 transfer-encoding", ":status", "200", "transfer-encoding", "chunked"),
		malformed("8.3.2 no status", "server", "x"),
		malformed("8.3.2 an empty header"),
		malformed("8.3.2 a request's pseudo-header field", ":status", "200", ":path", "/"),
		malformed("8.3 an unknown pseudo-header field", ":status", "200", ":x", "/"),
		malformed("8.3 status twice", ":status", "200", ":status", "200"),
		malformed("8.3 status after a field", "server", "x", ":status", "200"),
		malformed("8.3.2 a status that is no number", ":status", "abc"),
		malformed("8.3.2 a status of four digits", ":status", "2000"),
		malformed("8.6 status 101", ":status", "101"),
		{name: "8.6 status 101 though the stream goes on", in: headers(1, false, ":status", "101"), events: "1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"},
		malformed("6.5.2 a header list above our limit", ":status", "200", "a", strings.Repeat("a", 2000)),
		{name: "8.7 REFUSED_STREAM: not processed", in: AppendRSTStream(nil, 1, http2.ErrCodeRefusedStream), events: "1 refused REFUSED_STREAM"},
		{name: "8.7 GOAWAY and REFUSED_STREAM: told once", in: wire(AppendGoAway(nil, 0, 0, ""), AppendRSTStream(nil, 1, http2.ErrCodeRefusedStream)), events: "1 unprocessed; 2 unprocessed"},
		{name: "10.5.1 a block without end", in: wire(AppendHeaders(nil, 1, true, false, nil), repeat(maxContinuations+1, AppendContinuation(nil, 1, false, nil))), err: http2.ErrCodeEnhanceYourCalm},
		{name: "10.5.1 a block above our limit", in: wire(AppendHeaders(nil, 1, true, false, nil), AppendContinuation(nil, 1, false, make([]byte, 1001))), err: http2.ErrCodeEnhanceYourCalm},
		{name: "10.5 a flood of PING", in: repeat(maxControl+1, AppendPing(nil, false, [8]byte{})), err: http2.ErrCodeEnhanceYourCalm},
		{name: "10.5 a flood of SETTINGS", in: repeat(maxControl+1, AppendSettings(nil)), err: http2.ErrCodeEnhanceYourCalm},
	}
}

// malformed is a response that must be a stream error (RFC 9113 8.1.1).
func malformed(name string, pairs ...string) rule {
	r := rule{name: name, in: headers(1, true, pairs...), events: "1 reset PROTOCOL_ERROR", out: "RST_STREAM 1 PROTOCOL_ERROR"}
	if len(pairs) > 0 && pairs[0] == ":status" && len(pairs[1]) == 3 && pairs[1][0] == '2' {
		r.events = "1 status 200; " + r.events // told before the fault was seen
	}
	return r
}

func repeat(n int, p []byte) []byte { return []byte(strings.Repeat(string(p), n)) }

// TestRules feeds every row whole, by single octets and by sevens.
func TestRules(t *testing.T) {
	for _, tc := range rules() {
		for _, size := range []int{0, 1, 7} {
			t.Run(fmt.Sprintf("%s/pieces of %d", tc.name, size), func(t *testing.T) { checkRule(t, tc, size) })
		}
	}
}

func checkRule(t *testing.T, tc rule, size int) {
	v := converse(t, Config{MaxHeaderListSize: 1000})
	v.get()
	v.get()
	v.sent()
	err := v.receive(tc.in, size)
	events, out := strings.Join(v.Take(), "; "), v.sent()
	want := -1
	if tc.err != 0 {
		want = int(tc.err)
		if len(out) == 0 || out[len(out)-1] != fmt.Sprintf("GOAWAY 0 last 0 %v", tc.err) {
			t.Fatalf("sent %q, want GOAWAY with %v at the end", out, tc.err)
		}
		out = nil
	}
	if got := codeOf(err); got != want {
		t.Errorf("Receive: %v, want code %d", err, want)
	}
	if diff := cmp.Diff(tc.events, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tc.out, strings.Join(out, "; ")); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	checkEndings(t, v, events)
}

// checkEndings closes the session and wants each of the two requests ended
// exactly once.
func checkEndings(t *testing.T, v *conversation, events string) {
	t.Helper()
	v.Close()
	v.Close()
	all := events + "; " + strings.Join(v.Take(), "; ")
	for _, tok := range []string{"1", "2"} {
		n := 0
		for _, end := range []string{" completed", " reset", " unprocessed", " refused", " lost"} {
			n += strings.Count(all, tok+end)
		}
		if n != 1 {
			t.Errorf("request %s ended %d times in %q", tok, n, all)
		}
	}
	if v.InFlight() != 0 || v.Abandoned() != 0 || v.Free() != 0 {
		t.Errorf("after Close: %d in flight, %d abandoned, %d free; want none", v.InFlight(), v.Abandoned(), v.Free())
	}
}

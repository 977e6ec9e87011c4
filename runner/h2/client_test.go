package h2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/protocol/protocoltest"
)

// want compares lines; none and nil are the same.
func want(t *testing.T, what string, got []string, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(lines, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (v *conversation) mustReceive(frames ...[]byte) {
	v.t.Helper()
	if err := v.Receive(wire(frames...), 0); err != nil {
		v.t.Fatal(err)
	}
}

func setting(id http2.SettingID, v uint32) []byte {
	return AppendSettings(nil, http2.Setting{ID: id, Val: v})
}

// TestHTTP1Answer: what a server of HTTP/1.1 says to the preface is told apart from a bad frame, wherever it is cut.
func TestHTTP1Answer(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n":                     AnsweredHTTP1,
		"HTTP/1.0 505 Not Supported\r\n\r\n":                   AnsweredHTTP1,
		"<!DOCTYPE HTML>\n<html lang=\"en\">\n":                AnsweredHTTP1, // an error without a head, as in HTTP/0.9
		"<html>\n<body>400</body></html>\n":                    AnsweredHTTP1,
		"HTTP/2.0 200 OK\r\n\r\n":                              "frame size out of range",
		"SSH-2.0-OpenSSH_9.2\r\n":                              "frame size out of range",
		"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x01": "the first frame is not SETTINGS",
	} {
		for cut := range len(in) {
			v := NewClient(Config{}, new(protocoltest.Recorder))
			err := v.Receive([]byte(in[:cut]), 0)
			if err == nil {
				err = v.Receive([]byte(in[cut:]), 0)
			}
			if e := (*ConnError)(nil); !errors.As(err, &e) || e.Reason != want {
				t.Errorf("%q, cut at %d: %v, want %q", in, cut, err, want)
			}
		}
	}
	// It would be the beginning of a frame to a client that takes large ones.
	v := NewClient(Config{MaxFrameSize: 1<<24 - 1}, new(protocoltest.Recorder))
	if err := v.Receive([]byte("HTTP/1.1 200 OK\r\n"), 0); err == nil || !strings.Contains(err.Error(), AnsweredHTTP1) {
		t.Errorf("%v, want %q", err, AnsweredHTTP1)
	}
}

// TestPreface is RFC 9113 3.4 and 6.5.
func TestPreface(t *testing.T) {
	c := NewClient(Config{StreamWindow: 1000, ConnWindow: 70000, HeaderTableSize: 8192, MaxFrameSize: 20000, MaxHeaderListSize: 5000}, new(protocoltest.Recorder))
	p, ok := bytes.CutPrefix(c.Pending(), []byte(http2.ClientPreface))
	if !ok {
		t.Errorf("no preface in %q", c.Pending())
	}
	want(t, "sent", describe(t, p),
		"SETTINGS 0 INITIAL_WINDOW_SIZE=1000 MAX_HEADER_LIST_SIZE=5000 HEADER_TABLE_SIZE=8192 MAX_FRAME_SIZE=20000 ENABLE_PUSH=0",
		"WINDOW_UPDATE 0 +4465")
	if c.Ready() || c.Free() != 0 || c.Open(c.Begin(), 1, nil, 0) != 0 {
		t.Error("ready before the peer's SETTINGS")
	}
	if err := c.Receive(AppendSettings(nil), 0); err != nil || !c.Ready() || c.Free() != 100 {
		t.Errorf("after SETTINGS: err %v, ready %v, free %d; want nil, true, 100", err, c.Ready(), c.Free())
	}
}

func TestFirstFrameMustBeSettings(t *testing.T) {
	for name, p := range map[string][]byte{
		"PING": AppendPing(nil, false, [8]byte{}), "an acknowledgement": AppendSettingsAck(nil),
		"unknown": raw(0xfa, 0, 0, ""), "GOAWAY": AppendGoAway(nil, 0, 0, ""), "HTTP/1.1": []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		c := NewClient(Config{}, new(protocoltest.Recorder))
		if err := c.Receive(p, 0); codeOf(err) != int(http2.ErrCodeProtocol) && codeOf(err) != int(http2.ErrCodeFrameSize) {
			t.Errorf("%s: %v, want a PROTOCOL_ERROR", name, err)
		}
		if err := c.Receive(AppendSettings(nil), 0); err == nil || c.Ready() {
			t.Errorf("%s: the session went on", name)
		}
	}
}

// TestConcurrency is RFC 9113 5.1.2: the lower of the user's and the peer's bound.
func TestConcurrency(t *testing.T) {
	v := converse(t, Config{MaxConcurrentStreams: 10})
	for i, step := range []struct{ peer, free int }{{4, 4}, {20, 10}, {0, 0}, {1, 1}} {
		v.mustReceive(setting(http2.SettingMaxConcurrentStreams, uint32(step.peer)))
		if v.Free() != step.free {
			t.Errorf("step %d: free %d, want %d", i, v.Free(), step.free)
		}
	}
	id := v.get()
	if v.Free() != 0 || v.get() != 0 || v.InFlight() != 1 {
		t.Errorf("free %d, in flight %d, want 0, 1 and no stream more", v.Free(), v.InFlight())
	}
	v.mustReceive(headers(id, true, ok200...))
	if v.Free() != 1 {
		t.Errorf("free %d after the response, want 1", v.Free())
	}
}

// TestSendWindows is RFC 9113 6.9: a body under both windows, in frames the
// peer takes, shared among streams.
func TestSendWindows(t *testing.T) {
	v := converse(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	v.post(strings.Repeat("a", 25))
	v.post(strings.Repeat("b", 10))
	v.post("")
	want(t, "opened", v.sent(), "HEADERS 1 82", "DATA 1 len 10", "HEADERS 3 82", "DATA 3 len 10 end", "HEADERS 5 82 end")

	v.mustReceive(AppendWindowUpdate(nil, 0, 1000))
	want(t, "the connection's window alone", v.sent())
	v.mustReceive(AppendWindowUpdate(nil, 1, 5))
	want(t, "the stream's window", v.sent(), "DATA 1 len 5")
	v.mustReceive(setting(http2.SettingInitialWindowSize, 17))
	want(t, "SETTINGS open it by 7", v.sent(), "SETTINGS 0 ack", "DATA 1 len 7")
	v.mustReceive(setting(http2.SettingInitialWindowSize, 1), AppendWindowUpdate(nil, 1, 16))
	want(t, "closed by 16, opened by 16: nothing", v.sent(), "SETTINGS 0 ack")
	v.mustReceive(AppendWindowUpdate(nil, 1, 100))
	want(t, "the rest", v.sent(), "DATA 1 len 3 end")
	if v.bodies.count != 0 {
		t.Errorf("%d bodies left, want 0", v.bodies.count)
	}
}

func TestSendFrameSize(t *testing.T) {
	v := converse(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	v.post(strings.Repeat("a", 40000))
	want(t, "opened", v.sent(), "HEADERS 1 82", "DATA 1 len 16384", "DATA 1 len 16384", "DATA 1 len 7232 end")
	v.mustReceive(setting(http2.SettingMaxFrameSize, 20000))
	v.post(strings.Repeat("a", 30000))
	want(t, "opened after SETTINGS", v.sent(), "SETTINGS 0 ack", "HEADERS 3 82", "DATA 3 len 20000", "DATA 3 len 5535")
	v.post("xyz")
	v.mustReceive(AppendWindowUpdate(nil, 0, 2), AppendWindowUpdate(nil, 0, 1<<20))
	got := strings.Join(v.sent(), "; ")
	if !strings.Contains(got, "DATA 5 len 3 end") && !strings.Contains(got, "DATA 5 len 1 end") {
		t.Errorf("sent %s, want all of stream 5", got)
	}
	if !strings.Contains(got, "DATA 3 len 4465 end") && !strings.Contains(got, "DATA 3 len 4463 end") {
		t.Errorf("sent %s, want the rest of stream 3", got)
	}
}

// TestReceiveWindows is RFC 9113 6.9 the other way: half of a window used, then
// one WINDOW_UPDATE; padding counts; none for a stream that ended.
func TestReceiveWindows(t *testing.T) {
	v := converse(t, Config{StreamWindow: 40000, ConnWindow: 80000})
	v.open(nil, 0)
	v.sent()
	v.mustReceive(headers(1, false, ok200...), data(1, false, strings.Repeat("x", 16000)))
	want(t, "under half", v.sent())
	v.mustReceive(raw(0, http2.FlagDataPadded, 1, "\xff"+strings.Repeat("x", 4000)))
	want(t, "half of the stream's", v.sent(), "WINDOW_UPDATE 1 +20001")
	v.mustReceive(data(1, false, strings.Repeat("x", 16000)), data(1, true, strings.Repeat("x", 10000)))
	want(t, "half of the connection's", v.sent(), "WINDOW_UPDATE 0 +46001")
	want(t, "events", v.Take(), "1 status 200", "1 completed")
}

func TestReceiveBeyondWindows(t *testing.T) {
	v := converse(t, Config{StreamWindow: 100})
	v.get()
	v.sent()
	v.mustReceive(headers(1, false, ok200...), data(1, false, strings.Repeat("x", 101)))
	want(t, "a stream's window", v.sent(), "RST_STREAM 1 FLOW_CONTROL_ERROR")
	want(t, "events", v.Take(), "1 status 200", "1 reset FLOW_CONTROL_ERROR")

	v = converse(t, Config{ConnWindow: 65535, MaxFrameSize: 1 << 20})
	v.get()
	err := v.Receive(wire(headers(1, false, ok200...), data(1, false, strings.Repeat("x", 65536))), 0)
	if codeOf(err) != int(http2.ErrCodeFlowControl) {
		t.Errorf("the connection's window: %v, want FLOW_CONTROL_ERROR", err)
	}
}

// TestEncoderTable is RFC 7541 4.2: the size update at the next block's
// beginning, and the smallest size too when it grew again.
func TestEncoderTable(t *testing.T) {
	v := converse(t, Config{})
	size := func(n uint32) []byte { return setting(http2.SettingHeaderTableSize, n) }
	for _, step := range []struct {
		name     string
		settings []byte
		want     string
		size     uint32
		epochs   uint32
	}{
		{"above what we use", size(65536), "82", 4096, 0},
		{"shrunk", size(100), "3f4582", 100, 1},
		{"the same again", size(100), "82", 100, 0},
		{"grown", size(5000), "3fe11f82", 4096, 1},
		{"shrunk, then grown", wire(size(0), size(4096)), "203fe11f82", 4096, 2},
		{"in one frame", AppendSettings(nil, http2.Setting{ID: 1, Val: 30}, http2.Setting{ID: 1, Val: 20}, http2.Setting{ID: 1, Val: 25}), "343982", 25, 3},
	} {
		t.Run(step.name, func(t *testing.T) {
			before := v.EncoderTableEpoch()
			v.mustReceive(step.settings)
			v.sent()
			id := v.get()
			want(t, "request", v.sent(), fmt.Sprintf("HEADERS %d %s end", id, step.want))
			if v.EncoderTableSize() != step.size || v.EncoderTableEpoch()-before != step.epochs {
				t.Errorf("size %d, %d changes, want %d, %d", v.EncoderTableSize(), v.EncoderTableEpoch()-before, step.size, step.epochs)
			}
		})
	}
}

// TestDecoderTable is RFC 9113 4.3.1: a table we made smaller must be confirmed
// after the acknowledgement, and not before it.
func TestDecoderTable(t *testing.T) {
	v := converse(t, Config{HeaderTableSize: 100})
	v.get()
	v.get()
	v.mustReceive(headers(1, true, ok200...), AppendSettingsAck(nil))
	good := append(hpack.AppendTableSizeUpdate(nil, 100), 0x88)
	v.mustReceive(AppendHeaders(nil, 3, true, true, good))

	v = converse(t, Config{HeaderTableSize: 100})
	v.get()
	v.mustReceive(AppendSettingsAck(nil))
	if err := v.Receive(headers(1, true, ok200...), 0); codeOf(err) != int(http2.ErrCodeCompression) {
		t.Errorf("no size update: %v, want COMPRESSION_ERROR", err)
	}

	v = converse(t, Config{NoHeaderTable: true})
	v.get()
	v.mustReceive(AppendSettingsAck(nil), AppendHeaders(nil, 1, true, true, append(hpack.AppendTableSizeUpdate(nil, 0), 0x88)))
	if err := v.Receive(AppendHeaders(nil, 1, true, true, []byte{0x3f, 0xe1, 0x1f, 0x88}), 0); codeOf(err) != int(http2.ErrCodeCompression) {
		t.Errorf("a table though we announced none: %v, want COMPRESSION_ERROR", err)
	}

	v = converse(t, Config{HeaderTableSize: 8192})
	v.get()
	v.mustReceive(AppendHeaders(nil, 1, true, true, append(hpack.AppendTableSizeUpdate(nil, 8192), 0x88)))
}

// TestSendContinuation: a block above the peer's frame size is cut.
func TestSendContinuation(t *testing.T) {
	v := converse(t, Config{})
	block := hpack.AppendLiteral(v.Begin(), hpack.Without, 0, "a", strings.Repeat("\xff", 40000))
	v.Open(block, 1, []byte("body"), 0)
	f := http2.NewFramer(nil, bytes.NewReader(v.Pending()))
	f.ReadMetaHeaders = nil
	var sizes []int
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		sizes = append(sizes, int(frame.Header().Length))
	}
	if diff := cmp.Diff([]int{16384, 16384, 40000 + 1 + 2 + 4 - 2*16384, 4}, sizes); diff != "" {
		t.Errorf("frame sizes (-want +got):\n%s", diff)
	}
}

// TestBeginLeavesNoTrace: a Begin without Open, with a size update owed.
func TestBeginLeavesNoTrace(t *testing.T) {
	v := converse(t, Config{})
	v.mustReceive(setting(http2.SettingHeaderTableSize, 0))
	v.sent()
	_ = append(v.Begin(), "garbage"...)
	want(t, "sent", v.sent())
	v.get()
	want(t, "sent", v.sent(), "HEADERS 1 2082 end")
}

func TestCancel(t *testing.T) {
	v := converse(t, Config{MaxConcurrentStreams: 3, ResetsPerSecond: 10, ResetBurst: 2})
	a, b, c := v.get(), v.get(), v.get()
	v.sent()
	for i, id := range []uint32{a, b, c} {
		if got, want := v.Cancel(id, 0), i < 2; got != want {
			t.Errorf("Cancel(%d) = %v, want %v", id, got, want)
		}
	}
	want(t, "sent", v.sent(), "RST_STREAM 1 CANCEL", "RST_STREAM 3 CANCEL")
	if v.InFlight() != 0 || v.Abandoned() != 1 || v.Free() != 2 {
		t.Errorf("%d in flight, %d abandoned, %d free, want 0, 1, 2", v.InFlight(), v.Abandoned(), v.Free())
	}
	if v.Cancel(a, 1e9) || v.Cancel(c, 1e9) || v.Cancel(99, 1e9) {
		t.Error("Cancel of a stream that was cancelled or never opened")
	}
	v.mustReceive(headers(a, false, ok200...), data(a, true, "late"), headers(c, false, ok200...), data(c, false, "x"))
	if v.Abandoned() != 1 {
		t.Errorf("%d abandoned before the peer ended it, want 1", v.Abandoned())
	}
	v.mustReceive(data(c, true, "y"))
	if v.Abandoned() != 0 || v.Free() != 3 {
		t.Errorf("%d abandoned, %d free after the peer ended it, want 0, 3", v.Abandoned(), v.Free())
	}
	want(t, "events", v.Take())
	if d := v.get(); !v.Cancel(d, 1e8) { // 10 a second: one more after 100 ms
		t.Error("no budget after 100 ms")
	}
}

// TestCancelAfterError: nothing follows the GOAWAY of a connection error.
func TestCancelAfterError(t *testing.T) {
	v := converse(t, Config{})
	v.get()
	v.sent()
	if err := v.Receive(data(0, true, "x"), 0); err == nil || v.Cancel(1, 0) {
		t.Errorf("err %v, want a connection error and no reset", err)
	}
	want(t, "sent", v.sent(), "GOAWAY 0 last 0 PROTOCOL_ERROR")
	v.Close()
	want(t, "events", v.Take())
}

// TestAbandonedEnds: whatever ends an abandoned stream frees it, silently.
func TestAbandonedEnds(t *testing.T) {
	for name, p := range map[string][]byte{
		"RST_STREAM": AppendRSTStream(nil, 1, 0), "REFUSED_STREAM": AppendRSTStream(nil, 1, http2.ErrCodeRefusedStream),
		"GOAWAY": AppendGoAway(nil, 0, 0, ""), "a response": headers(1, true, ok200...),
		"a malformed response": headers(1, true, "A", "b"), "trailers": wire(headers(1, false, ok200...), headers(1, true, "a", "b")),
	} {
		v := converse(t, Config{ResetBurst: -1})
		v.get()
		if v.Cancel(1, 0) || v.Abandoned() != 1 {
			t.Fatal("the stream is not abandoned")
		}
		v.mustReceive(p)
		want(t, name, v.Take())
		if v.Abandoned() != 0 || v.streams.count != 0 {
			t.Errorf("%s: %d abandoned, %d streams, want none", name, v.Abandoned(), v.streams.count)
		}
	}
}

// TestAbandonedErrorBody: the handler gets no error body either, because the token may be another request's.
func TestAbandonedErrorBody(t *testing.T) {
	v := converse(t, Config{ResetBurst: -1})
	v.Cancel(v.open(nil, protocol.WantErrorBody), 0)
	v.mustReceive(headers(1, false, ":status", "500"), data(1, true, "late"))
	want(t, "events", v.Take())
}

// TestAbandonedWindow: an abandoned stream's data still opens its window, or it
// would never end.
func TestAbandonedWindow(t *testing.T) {
	v := converse(t, Config{ResetBurst: -1, StreamWindow: 100})
	v.get()
	v.Cancel(1, 0)
	v.sent()
	v.mustReceive(headers(1, false, ok200...), data(1, false, strings.Repeat("x", 60)))
	want(t, "sent", v.sent(), "WINDOW_UPDATE 1 +60")
}

// TestEarlyResponse is RFC 9113 8.1: a complete response before the end of the request completes it. The
// server may end the stream by RST_STREAM(NO_ERROR) or take the rest; a stream that it leaves open is reset.
func TestEarlyResponse(t *testing.T) {
	v := converse(t, Config{ResetsPerSecond: 1, ResetBurst: 1}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	for range 4 {
		v.post("abc")
	}
	v.sent()
	for id := uint32(1); id < 8; id += 2 {
		v.mustReceive(headers(id, true, ":status", "413"))
	}
	want(t, "events", v.Take(), "1 status 413", "1 completed", "2 status 413", "2 completed",
		"3 status 413", "3 completed", "4 status 413", "4 completed")
	want(t, "at once", v.sent())
	if v.Abandoned() != 4 || v.InFlight() != 0 || v.Cancel(3, 0) {
		t.Errorf("%d abandoned, %d in flight, want 4, 0", v.Abandoned(), v.InFlight())
	}
	v.mustReceive(AppendRSTStream(nil, 1, http2.ErrCodeNo), AppendWindowUpdate(nil, 3, 10))
	want(t, "the window opens", v.sent(), "DATA 3 len 2 end")
	v.ResetAbandoned(0)
	want(t, "the first call", v.sent())
	v.ResetAbandoned(0)
	want(t, "the second call, a budget of one", v.sent(), "RST_STREAM 5 NO_ERROR")
	v.ResetAbandoned(5e8)
	want(t, "without budget", v.sent())
	v.ResetAbandoned(1e9)
	want(t, "the budget is back", v.sent(), "RST_STREAM 7 NO_ERROR")
	if v.streams.count != 0 || v.Abandoned() != 0 || v.overdue != 0 || v.bodies.count != 0 {
		t.Errorf("left: %d streams, %d abandoned, %d bodies", v.streams.count, v.Abandoned(), v.bodies.count)
	}
	want(t, "events", v.Take())
}

// TestResetAbandoned: streams that were cancelled without budget are reset when it is back.
func TestResetAbandoned(t *testing.T) {
	v := converse(t, Config{MaxConcurrentStreams: 32, ResetsPerSecond: 10, ResetBurst: 1},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	for range 3 {
		v.Cancel(v.get(), 0)
	}
	v.Cancel(v.post("abc"), 0)
	v.sent()
	if v.Abandoned() != 3 || v.Free() != 29 || v.bodies.count != 0 {
		t.Errorf("%d abandoned, %d free, %d bodies, want 3, 29, 0", v.Abandoned(), v.Free(), v.bodies.count)
	}
	// The request of stream 7 was cut off, so its response does not end the stream.
	v.mustReceive(headers(7, true, ok200...))
	for _, step := range []struct {
		now  int64
		want []string
	}{
		{5e7, nil}, {1e8, []string{"RST_STREAM 3 CANCEL"}}, {2e8, []string{"RST_STREAM 5 CANCEL"}}, {3e8, []string{"RST_STREAM 7 NO_ERROR"}}, {9e9, nil},
	} {
		v.ResetAbandoned(step.now)
		want(t, fmt.Sprint("at ", step.now), v.sent(), step.want...)
	}
	want(t, "events", v.Take())
	if v.Abandoned() != 0 || v.overdue != 0 || v.Free() != 32 {
		t.Errorf("%d abandoned, %d overdue, %d free, want 0, 0, 32", v.Abandoned(), v.overdue, v.Free())
	}
}

// TestBudgetIsUsedUp: a connection drains if the peer has passed over more abandoned streams than a second's budget gives
// back, that is, it has answered a newer one.
func TestBudgetIsUsedUp(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cfg       Config
		cancelled int
		// older: the peer answers a request that is older than those that were cancelled. late: the answer is too late.
		older, late bool
		now         int64 // of ResetAbandoned
		want        bool
	}{
		{name: "more than a second's budget", cfg: Config{ResetsPerSecond: 3, ResetBurst: 2}, cancelled: 6, want: true},
		{name: "a late answer", cfg: Config{ResetsPerSecond: 3, ResetBurst: 2}, cancelled: 6, late: true, want: true},
		{name: "an answer to an older request", cfg: Config{ResetsPerSecond: 3, ResetBurst: 2}, cancelled: 6, older: true},
		{name: "no more than a second's budget", cfg: Config{ResetsPerSecond: 3, ResetBurst: 2}, cancelled: 5},
		{name: "an eighth of few streams", cfg: Config{MaxConcurrentStreams: 16, ResetsPerSecond: 3, ResetBurst: 2}, cancelled: 4},
		{name: "more than an eighth of few streams", cfg: Config{MaxConcurrentStreams: 16, ResetsPerSecond: 3, ResetBurst: 2}, cancelled: 5, want: true},
		{name: "the budget is back", cfg: Config{ResetsPerSecond: 3, ResetBurst: 2}, cancelled: 6, now: 1e9},
		{name: "no bound", cfg: Config{ResetsPerSecond: -1}, cancelled: 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := converse(t, tt.cfg)
			id := v.get()
			for range tt.cancelled {
				v.Cancel(v.get(), 0)
			}
			if !tt.older {
				id = v.get()
			}
			if tt.late {
				v.Cancel(id, 0)
			}
			if v.ResetAbandoned(0); v.Draining() || v.Answered() {
				t.Errorf("draining %v, answered %v before the peer answers", v.Draining(), v.Answered())
			}
			if err := v.Receive(headers(id, true, ok200...), 0); err != nil {
				t.Fatal(err)
			}
			if v.ResetAbandoned(0); v.Draining() {
				t.Error("drains although the other answers may be about to come")
			}
			v.ResetAbandoned(tt.now)
			if v.Draining() != tt.want || (v.Free() == 0) != tt.want || !v.Answered() {
				t.Errorf("draining %v, %d free, want %v; answered %v", v.Draining(), v.Free(), tt.want, v.Answered())
			}
		})
	}
}

// TestAfterTheEnd is RFC 9113 5.1, half-closed (remote): frames after END_STREAM
// while we still send.
func TestAfterTheEnd(t *testing.T) {
	for name, p := range map[string][]byte{"DATA": data(1, false, "x"), "HEADERS": headers(1, true, "a", "b")} {
		v := converse(t, Config{ResetBurst: -1}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		v.post("abc")
		v.sent()
		v.mustReceive(headers(1, true, ok200...), p)
		want(t, name, v.sent(), "RST_STREAM 1 STREAM_CLOSED")
		want(t, name, v.Take(), "1 status 200", "1 completed")
		if v.streams.count != 0 || v.abandoned != 0 {
			t.Errorf("%s: %d streams, %d abandoned left", name, v.streams.count, v.abandoned)
		}
	}
}

func TestHead(t *testing.T) {
	v := converse(t, Config{})
	v.open(nil, protocol.HeadRequest)
	v.open(nil, protocol.HeadRequest)
	v.mustReceive(headers(1, true, ":status", "200", "content-length", "100"), headers(3, false, ok200...), data(3, true, "x"))
	want(t, "events", v.Take(), "1 status 200", "1 completed", "2 status 200", "2 reset PROTOCOL_ERROR")
}

func TestDraining(t *testing.T) {
	v := converse(t, Config{})
	v.get()
	v.mustReceive(AppendGoAway(nil, 1, 0, ""))
	if !v.Draining() || v.Free() != 0 || v.InFlight() != 1 {
		t.Errorf("after GOAWAY: draining %v, free %d, in flight %d, want true, 0, 1", v.Draining(), v.Free(), v.InFlight())
	}
	v.mustReceive(setting(http2.SettingMaxConcurrentStreams, 5))
	if v.Free() != 0 {
		t.Error("SETTINGS after GOAWAY opened the connection again")
	}
}

// TestIDsRunOut is RFC 9113 5.1.1: a new connection is needed then.
func TestIDsRunOut(t *testing.T) {
	v := converse(t, Config{})
	v.nextID = maxStreamID - 2
	id := v.get()
	if v.Draining() || v.Free() == 0 {
		t.Error("drains one id too early")
	}
	last := v.get()
	if !v.Draining() || v.Free() != 0 || last != id+2 || v.get() != 0 {
		t.Errorf("ids %d, %d: draining %v, free %d, want true, 0", id, last, v.Draining(), v.Free())
	}
	v.mustReceive(headers(id, true, ok200...), headers(last, true, ok200...))
	if v.InFlight() != 0 {
		t.Errorf("%d in flight, want 0", v.InFlight())
	}
}

func TestShutdown(t *testing.T) {
	v := converse(t, Config{})
	v.get()
	v.sent()
	v.Shutdown()
	v.Shutdown()
	want(t, "sent", v.sent(), "GOAWAY 0 last 0 NO_ERROR")
	if v.Free() != 0 {
		t.Errorf("free %d, want 0", v.Free())
	}
	v.mustReceive(headers(1, true, ok200...))
	want(t, "events", v.Take(), "1 status 200", "1 completed")
}

func TestClose(t *testing.T) {
	v := converse(t, Config{ResetBurst: -1})
	v.get()
	v.get()
	v.get()
	v.Cancel(3, 0)
	v.Close()
	want(t, "events", v.Take(), "1 lost", "3 lost")
	if err := v.Receive([]byte{0}, 0); err == nil {
		t.Error("Receive after Close: nil, want an error")
	}
	v.Shutdown()
}

// TestFloodBound: the bound counts what waits, not what was ever asked.
func TestFloodBound(t *testing.T) {
	v := converse(t, Config{})
	for range 3 * maxControl {
		v.mustReceive(AppendPing(nil, false, [8]byte{}))
		v.Wrote(len(v.Pending()))
	}
}

// TestPartialWrites takes what is pending in pieces while more comes.
func TestPartialWrites(t *testing.T) {
	v := converse(t, Config{MaxConcurrentStreams: 5000})
	r := rand.New(rand.NewPCG(1, 1))
	var got []byte
	take := func(n int) {
		got = append(got, v.Pending()[:n]...)
		v.Wrote(n)
	}
	for range 4000 {
		v.open([]byte("0123456789"), 0)
		take(min(len(v.Pending()), r.IntN(60)))
	}
	take(len(v.Pending()))
	lines := describe(t, got)
	if len(lines) != 8000 || lines[7999] != "DATA 7999 len 10 end" {
		t.Errorf("%d frames, the last %s; want 8000, DATA 7999 len 10 end", len(lines), lines[len(lines)-1])
	}
}

// TestStreamTable compares the table with a map. Some streams outlive many laps of the ring.
func TestStreamTable(t *testing.T) {
	for _, seed := range []uint32{0, 0x9e3779b1, 3} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { checkStreamTable(t, streamTable{seed: seed}) })
	}
}

func checkStreamTable(t *testing.T, table streamTable) {
	r := rand.New(rand.NewPCG(3, 3))
	toks := map[uint32]uint32{}
	var ids []uint32
	next := uint32(1)
	displaced := false
	for step := range uint32(100000) {
		if len(ids) < 50 && r.IntN(2) == 0 {
			*table.add(next) = stream{id: next, tok: step}
			toks[next] = step
			ids = append(ids, next)
			next += 2 * (1 + r.Uint32N(2))
		} else if len(ids) > 0 {
			i := r.IntN(len(ids))
			id := ids[i]
			if s := table.find(id); s == nil || s.tok != toks[id] {
				t.Fatalf("step %d: stream %d is %+v, want token %d", step, id, s, toks[id])
			}
			if id%64 != 1 || r.IntN(100) == 0 {
				table.remove(table.find(id))
				delete(toks, id)
				ids[i] = ids[len(ids)-1]
				ids = ids[:len(ids)-1]
			}
		}
		if id := r.Uint32N(next+10) | 1; (table.find(id) != nil) != slices.Contains(ids, id) {
			t.Fatalf("step %d: stream %d: found %v, open %v", step, id, table.find(id) != nil, slices.Contains(ids, id))
		}
		checkEntries(t, &table, toks)
		displaced = displaced || len(table.displaced) > 0
	}
	if !displaced {
		t.Error("no two streams had the same home")
	}
}

// checkEntries compares the table's entries and counts with the open streams.
func checkEntries(t *testing.T, table *streamTable, toks map[uint32]uint32) {
	t.Helper()
	n := 0
	for s := range table.all {
		n++
		if toks[s.id] != s.tok {
			t.Fatalf("stream %d: token %d, want %d", s.id, s.tok, toks[s.id])
		}
	}
	if n != len(toks) || n != table.count || len(table.ring) > 128 {
		t.Fatalf("%d streams in a ring of %d; want %d, at most 128; the table counts %d", n, len(table.ring), len(toks), table.count)
	}
}

// TestStreamTableAll removes streams while it iterates: each stream is there once.
func TestStreamTableAll(t *testing.T) {
	var table streamTable
	for id := uint32(1); id < 600; id += 2 {
		*table.add(id) = stream{id: id}
		if id%64 != 1 {
			table.remove(table.find(id))
		}
	}
	seen := map[uint32]int{}
	for s := range table.all {
		seen[s.id]++
		if s.id%128 == 1 {
			table.remove(s)
		}
	}
	for id := uint32(1); id < 600; id += 64 {
		if left := table.find(id) != nil; seen[id] != 1 || left != (id%128 != 1) {
			t.Errorf("stream %d: seen %d times, left: %v", id, seen[id], left)
		}
	}
	if len(table.displaced) == 0 {
		t.Error("no two streams had the same home")
	}
}

// TestCloseReportsOldStreams leaves every 16th stream without a response, so that newer streams take their homes.
func TestCloseReportsOldStreams(t *testing.T) {
	v := converse(t, Config{})
	var want []string
	for tok := range 200 {
		id := v.get()
		if tok%16 == 0 {
			want = append(want, fmt.Sprintf("%d lost", (id+1)/2))
			continue
		}
		if err := v.receive(headers(id, true, ":status", "200"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.streams.displaced) == 0 {
		t.Error("no two streams had the same home")
	}
	v.Take()
	v.Close()
	got := v.Take()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestResetBudget(t *testing.T) {
	b := newResetBudget(10, 3)
	takes := func(now int64) (n int) {
		for n < 100 && b.take(now) {
			n++
		}
		return n
	}
	const ms = 1e6
	for _, step := range []struct {
		now  int64
		want int
	}{{0, 3}, {99 * ms, 0}, {100 * ms, 1}, {350 * ms, 2}, {1e12, 3}} {
		if got := takes(step.now); got != step.want {
			t.Errorf("at %d ms: %d, want %d", step.now/ms, got, step.want)
		}
	}
	if b = newResetBudget(-1, 0); takes(0) != 100 {
		t.Error("a negative rate is a bound")
	}
}

// TestIdleMemory: ten thousand idle connections must cost little each. The
// bound is generous: the sockets around them cost more.
func TestIdleMemory(t *testing.T) {
	const n = 500
	var before, after runtime.MemStats
	keep := make([]*conversation, n)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range keep {
		keep[i] = &conversation{Client: NewClient(Config{}, nil), t: t}
		keep[i].mustReceive(setting(http2.SettingMaxConcurrentStreams, 100))
		keep[i].Wrote(len(keep[i].Pending()))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := int64(after.HeapAlloc-before.HeapAlloc) / n; each > 2048 {
		t.Errorf("%d octets an idle session, want at most 2048", each)
	}
	runtime.KeepAlive(keep)
}

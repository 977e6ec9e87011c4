package h2

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// answering makes every request get a body of n octets.
func (p *serverPeer) answering(n int) {
	body := bytes.Repeat([]byte{'x'}, n)
	p.onEnd = func(id uint32) { p.respond(id, body) }
}

func TestServerSendsUnderWindows(t *testing.T) {
	window := func(n uint32) []http2.Setting {
		return []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: n}}
	}
	get := []string{"request 1 GET /", "end 1"}
	runServerCases(t, []serverCase{
		{
			name: "stream window (6.9.1)", client: window(10),
			do: func(p *serverPeer) {
				p.answering(25)
				p.request(1, true, "GET", "/")
				p.flush()
				p.check(p.fr.WriteWindowUpdate(1, 10))
				p.flush()
				p.check(p.fr.WriteWindowUpdate(1, 100))
			},
			wantSent:   []string{"HEADERS 1 :status=200", "DATA 1 10", "DATA 1 10", "DATA 1 5 end"},
			wantEvents: get,
		},
		{
			name: "window 0, then SETTINGS (6.9.2)", client: window(0),
			do: func(p *serverPeer) {
				p.answering(5)
				p.request(1, true, "GET", "/")
				p.flush()
				p.check(p.fr.WriteSettings(window(5)...))
			},
			wantSent:   []string{"HEADERS 1 :status=200", "SETTINGS ack", "DATA 1 5 end"},
			wantEvents: get,
		},
		{
			name: "a window made negative by SETTINGS (6.9.2)", client: window(10),
			do: func(p *serverPeer) {
				p.answering(15)
				p.request(1, true, "GET", "/")
				p.flush()
				p.check(p.fr.WriteSettings(window(4)...)) // the stream's: -6
				p.check(p.fr.WriteWindowUpdate(1, 6))
				p.flush()
				p.check(p.fr.WriteWindowUpdate(1, 1))
				p.flush()
				p.check(p.fr.WriteWindowUpdate(1, 4))
			},
			wantSent:   []string{"HEADERS 1 :status=200", "DATA 1 10", "SETTINGS ack", "DATA 1 1", "DATA 1 4 end"},
			wantEvents: get,
		},
		{
			name: "connection window and turns", client: window(1 << 20),
			do: func(p *serverPeer) {
				p.answering(50000)
				p.request(1, true, "GET", "/")
				p.request(3, true, "GET", "/")
				p.flush()
				p.check(p.fr.WriteWindowUpdate(0, 1<<20))
			},
			wantSent: []string{
				"HEADERS 1 :status=200", "DATA 1 16384", "DATA 1 16384", "DATA 1 16384", "DATA 1 848 end",
				"HEADERS 3 :status=200", "DATA 3 15535", "DATA 3 16384", "DATA 3 16384", "DATA 3 1697 end",
			},
			wantEvents: append(slices.Clone(get), "request 3 GET /", "end 3"),
		},
		{
			name: "reset while sending", client: window(5),
			do: func(p *serverPeer) {
				p.answering(10)
				p.request(1, true, "GET", "/")
				p.flush()
				p.check(p.fr.WriteRSTStream(1, http2.ErrCodeCancel))
				p.check(p.fr.WriteWindowUpdate(1, 10))
			},
			wantSent:   []string{"HEADERS 1 :status=200", "DATA 1 5"},
			wantEvents: get, // the response was given: no reset is told
		},
		{
			name: "reset while waiting for the connection's window", client: window(1 << 20),
			do: func(p *serverPeer) {
				p.answering(65536)
				for id := uint32(1); id < 7; id += 2 {
					p.request(id, true, "GET", "/")
				}
				p.flush()
				p.check(p.fr.WriteRSTStream(3, http2.ErrCodeCancel))
				p.check(p.fr.WriteRSTStream(1, http2.ErrCodeCancel))
				p.check(p.fr.WriteWindowUpdate(0, 3))
			},
			wantSent: []string{
				"HEADERS 1 :status=200", "DATA 1 16384", "DATA 1 16384", "DATA 1 16384", "DATA 1 16383",
				"HEADERS 3 :status=200", "HEADERS 5 :status=200", "DATA 5 3",
			},
			wantEvents: append(slices.Clone(get), "request 3 GET /", "end 3", "request 5 GET /", "end 5"),
		},
		{
			name: "overflow by SETTINGS (6.9.2)", client: window(0),
			do: func(p *serverPeer) {
				p.answering(5)
				p.request(1, true, "GET", "/")
				p.flush()
				p.check(p.fr.WriteSettings(window(1)...))
				p.check(p.fr.WriteSettings(window(0)...))
				p.frame(http2.FrameWindowUpdate, 0, 1, "\x7f\xff\xff\xff")
				p.check(p.fr.WriteSettings(window(3)...))
			},
			wantSent: []string{
				"HEADERS 1 :status=200", "SETTINGS ack", "DATA 1 1", "SETTINGS ack", "DATA 1 4 end", "SETTINGS ack",
			},
			wantEvents: get,
		},
	})
}

// TestServerBoundsOutput: DATA waits as references, not in the output.
func TestServerBoundsOutput(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxWindow})
	p.check(p.fr.WriteWindowUpdate(0, maxWindow-initialWindowSize))
	p.answering(10 << 20)
	for id := uint32(1); id < 20; id += 2 {
		p.request(id, true, "GET", "/")
	}
	p.check(p.s.Receive(p.in.Bytes(), 1))
	total, most := 0, 0
	for len(p.s.Pending()) > 0 {
		n := len(p.s.Pending())
		most = max(most, n)
		n = min(n, 10000)
		total += n
		p.s.Wrote(n)
	}
	if most > sendAhead+minMaxFrameSize+10*FrameHeaderLen+FrameHeaderLen*20 {
		t.Errorf("%d octets were pending at once", most)
	}
	if total < 100<<20 || p.s.Open() != 0 {
		t.Errorf("%d octets sent, %d streams open", total, p.s.Open())
	}
}

func TestServerReceiveWindows(t *testing.T) {
	p := newServerPeer(t, Config{StreamWindow: 65535, ConnWindow: 100000}, false)
	p.greet()
	p.request(1, false, "POST", "/")
	got := map[string]int{}
	for range 20 { // 320000 octets, far more than either window
		p.data(1, false, strings.Repeat("x", 16000))
		p.flush()
		for _, s := range p.sent {
			got[s]++
		}
		p.sent = nil
	}
	if p.err != nil {
		t.Fatal(p.err)
	}
	// Each update gives back what was used once half was: 3 frames of a stream's window, 4 of
	// the connection's.
	if diff := cmp.Diff(map[string]int{"WINDOW_UPDATE 1 48000": 6, "WINDOW_UPDATE 0 64000": 5}, got); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	p.data(1, false, strings.Repeat("x", 16000))
	p.data(1, false, strings.Repeat("x", 16000))
	p.frame(http2.FrameData, 0, 1, strings.Repeat("x", 16384))
	p.flush()
	if p.err != nil {
		t.Fatal(p.err)
	}
}

func TestServerStreamWindowIsEnforced(t *testing.T) {
	p := newServerPeer(t, Config{StreamWindow: 65535, MaxFrameSize: 1 << 17}, false)
	p.greet()
	p.request(1, false, "POST", "/")
	p.data(1, false, strings.Repeat("x", 65536))
	p.data(1, true, "skipped")
	p.flush()
	if diff := cmp.Diff([]string{"RST_STREAM 1 FLOW_CONTROL_ERROR"}, p.sent); diff != "" || p.err != nil {
		t.Errorf("error %v, sent (-want +got):\n%s", p.err, diff)
	}
}

func TestServerSplitsLongBlocks(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet()
	long := strings.Repeat("~", 40000)
	p.onEnd = func(id uint32) {
		b := hpack.AppendIndexed(p.s.Begin(), 8)
		p.s.Respond(id, hpack.AppendLiteral(b, hpack.Without, 0, "x", long), nil)
	}
	p.request(1, true, "GET", "/")
	p.flush() // the Framer checks the CONTINUATION frames and their sizes
	if diff := cmp.Diff([]string{"HEADERS 1 :status=200 x=" + long + " end"}, p.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// TestServerTableUpdates: what a block begins with after SETTINGS (RFC 7541 section 4.2).
func TestServerTableUpdates(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet()
	id := uint32(1)
	for _, c := range []struct {
		sizes []uint32
		want  []byte // 0x89 is :status 204
	}{
		{nil, []byte{0x89}},
		{[]uint32{0}, []byte{0x20, 0x89}},
		{nil, []byte{0x89}},
		{[]uint32{30}, []byte{0x3e, 0x89}},
		{[]uint32{0, 20}, []byte{0x20, 0x34, 0x89}},
		{nil, []byte{0x89}},
	} {
		for _, size := range c.sizes {
			p.check(p.fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size}))
		}
		p.request(id, true, "GET", "/")
		p.check(p.s.Receive(p.in.Bytes(), 1))
		p.in.Reset()
		fr := http2.NewFramer(nil, bytes.NewReader(p.s.Pending()))
		for {
			f, err := fr.ReadFrame()
			p.check(err)
			if h, ok := f.(*http2.HeadersFrame); ok {
				if !bytes.Equal(h.HeaderBlockFragment(), c.want) {
					t.Errorf("after %d: block %x, want %x", c.sizes, h.HeaderBlockFragment(), c.want)
				}
				break
			}
		}
		p.s.Wrote(len(p.s.Pending()))
		id += 2
	}
}

// TestServerTableSize: x/net's decoder accepts the blocks under all sizes.
func TestServerTableSize(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet()
	for i, size := range []uint32{4096, 100, 0, 4096, 1 << 16} {
		p.dec.SetAllowedMaxDynamicTableSize(size)
		p.check(p.fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size}))
		for j := range 2 {
			p.request(uint32(4*i+2*j+1), true, "GET", "/")
		}
		p.flush()
		if got := p.s.EncoderTableSize(); got != min(size, 4096) || p.err != nil {
			t.Errorf("SETTINGS say %d: the table has %d, error %v", size, got, p.err)
		}
	}
}

func TestServerOwnTableSize(t *testing.T) {
	p := newServerPeer(t, Config{HeaderTableSize: 64}, false)
	p.greet() // acknowledges
	p.enc.SetMaxDynamicTableSizeLimit(64)
	p.request(1, true, "GET", "/", "some-name", "enters no table of 64 octets")
	p.flush()
	if p.err != nil {
		t.Fatalf("a client that sends the update: %v", p.err)
	}
	q := newServerPeer(t, Config{HeaderTableSize: 64}, false)
	q.greet()
	q.request(1, true, "GET", "/") // goes on with 4096
	q.flush()
	if got := code(q.err); got != "COMPRESSION_ERROR" {
		t.Errorf("a client that ignores SETTINGS_HEADER_TABLE_SIZE: %v, want COMPRESSION_ERROR", q.err)
	}
}

func TestServerBoundsResets(t *testing.T) { // CVE-2023-44487 and CVE-2025-8671
	for name, provoke := range map[string]func(p *serverPeer, id uint32){
		"by the client": func(p *serverPeer, id uint32) { p.check(p.fr.WriteRSTStream(id, http2.ErrCodeCancel)) },
		"provoked":      func(p *serverPeer, id uint32) { p.frame(http2.FrameWindowUpdate, 0, id, "\x00\x00\x00\x00") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newServerPeer(t, Config{ResetsPerSecond: 10, ResetBurst: 20}, false)
			p.greet()
			p.silent()
			id, resets := uint32(1), 0
			one := func() bool {
				p.request(id, true, "GET", "/")
				provoke(p, id)
				p.flush()
				id += 2
				resets++
				return p.err == nil
			}
			for range 20 {
				if !one() {
					t.Fatalf("%d resets at once: %v", resets, p.err)
				}
			}
			p.now += 1e9
			for range 10 {
				if !one() {
					t.Fatalf("%d resets after a second: %v", resets, p.err)
				}
			}
			if one(); code(p.err) != "ENHANCE_YOUR_CALM" {
				t.Errorf("after %d resets: %v, want ENHANCE_YOUR_CALM", resets, p.err)
			}
		})
	}
}

func TestServerBoundsFloods(t *testing.T) {
	for name, write := range map[string]func(p *serverPeer) error{
		"PING":     func(p *serverPeer) error { return p.fr.WritePing(false, [8]byte{}) },
		"SETTINGS": func(p *serverPeer) error { return p.fr.WriteSettings() },
	} {
		p := newServerPeer(t, Config{}, false)
		p.greet()
		for range 2000 {
			p.check(write(p))
		}
		if err := p.s.Receive(p.in.Bytes(), 1); code(err) != "ENHANCE_YOUR_CALM" {
			t.Errorf("2000 %s and nothing read: %v, want ENHANCE_YOUR_CALM", name, err)
		}
	}
}

func TestServerCongestion(t *testing.T) {
	p := newServerPeer(t, Config{MaxConcurrentStreams: 1 << 20}, false)
	p.greet()
	path := "/" + strings.Repeat("p", 4000)
	p.onEnd = func(id uint32) {
		b := hpack.AppendIndexed(p.s.Begin(), 8)
		p.s.Respond(id, hpack.AppendLiteral(b, hpack.Without, 46, "location", path), nil)
	}
	n := 0
	for id := uint32(1); !p.s.Congested(); id += 2 {
		if n++; n > 1000 {
			t.Fatal("a megabyte waits and the session is not congested")
		}
		p.request(id, true, "GET", "/")
		p.check(p.s.Receive(p.in.Bytes(), 1))
		p.in.Reset()
	}
	p.s.Wrote(len(p.s.Pending()))
	if p.s.Congested() {
		t.Error("congested with nothing pending")
	}
}

func TestServerShutdown(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet()
	p.silent()
	p.request(1, true, "GET", "/")
	p.flush()
	p.s.Shutdown()
	p.request(3, false, "POST", "/", "x", "enters the table")
	p.data(3, false, "a")
	p.raw(3, true, "x", "enters the table")
	p.flush()
	p.respond(1, nil)
	p.collect()
	if diff := cmp.Diff([]string{"GOAWAY 1 NO_ERROR", "HEADERS 1 :status=204 end"}, p.sent); diff != "" || p.err != nil {
		t.Errorf("error %v, sent (-want +got):\n%s", p.err, diff)
	}
}

func TestServerClose(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	p.answering(5)
	p.request(1, true, "GET", "/") // answered, not all sent
	p.flush()
	p.silent()
	p.request(3, true, "GET", "/")
	p.request(5, false, "POST", "/")
	p.flush()
	p.events = nil
	p.s.Close()
	slices.Sort(p.events)
	if diff := cmp.Diff([]string{"reset 3", "reset 5"}, p.events); diff != "" {
		t.Errorf("events of Close (-want +got):\n%s", diff)
	}
	if p.s.Open() != 0 || p.respond(3, nil) || p.s.Receive([]byte("x"), 2) == nil {
		t.Error("a closed session goes on")
	}
}

func TestServerRespondTwiceOrLate(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet()
	p.silent()
	p.request(1, true, "GET", "/")
	p.request(3, true, "GET", "/")
	p.check(p.fr.WriteRSTStream(3, http2.ErrCodeCancel))
	p.flush()
	got := []bool{p.respond(1, nil), p.respond(1, nil), p.respond(3, nil), p.respond(99, nil)}
	p.collect()
	if diff := cmp.Diff([]bool{true, false, false, false}, got); diff != "" {
		t.Errorf("Respond (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"HEADERS 1 :status=204 end"}, p.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func TestServerResetStream(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet()
	p.onRequest = func(id uint32) { p.s.ResetStream(id, http2.ErrCodeInternal) }
	p.request(1, false, "POST", "/")
	p.data(1, true, "crossed it")
	p.flush()
	p.s.ResetStream(1, http2.ErrCodeInternal)
	p.collect()
	if diff := cmp.Diff([]string{"RST_STREAM 1 INTERNAL_ERROR"}, p.sent); diff != "" || p.err != nil {
		t.Errorf("error %v, sent (-want +got):\n%s", p.err, diff)
	}
	if diff := cmp.Diff([]string{"request 1 POST /"}, p.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestServerForgetsLargeHeaders: a connection without open streams takes little memory, whatever the header was that came last.
func TestServerForgetsLargeHeaders(t *testing.T) {
	block := []byte{0x83, 0x86, 0x84, 0x40, 1, 'x', 0} // POST http /; x, indexed
	block = append(block, bytes.Repeat([]byte{0xbe}, 1900)...)
	in := append([]byte(http2.ClientPreface), AppendHeaders(AppendSettings(nil), 1, true, true, block)...)
	servers := make([]*Server, 100)
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	for i := range servers {
		h := &answerAll{}
		h.s = NewServer(Config{}, protocol.WantHeaders, h)
		if err := h.s.Receive(in, 0); err != nil || h.s.Open() != 0 {
			t.Fatalf("%v, %d open streams", err, h.s.Open())
		}
		servers[i] = h.s
	}
	if each := (live() - before) / uint64(len(servers)); each > 12<<10 {
		t.Errorf("a connection takes %d octets after a request with 1900 fields, want at most 12 KiB", each)
	}
	runtime.KeepAlive(servers)
}

// answerAll answers each request with 204.
type answerAll struct{ s *Server }

func (h *answerAll) OnRequest(id uint32, _, _ []byte) uint32 { return id }
func (h *answerAll) OnHeader(uint32, uint32, []byte, []byte) {}
func (h *answerAll) OnData(uint32, uint32, []byte)           {}
func (h *answerAll) OnReset(uint32, uint32)                  {}
func (h *answerAll) OnEnd(id, _ uint32)                      { h.s.Respond(id, hpack.AppendIndexed(h.s.Begin(), 9), nil) }

// TestServerTrailers: a trailer section follows the body, also if the windows hold it back, and ends the stream (RFC 9113 8.1).
func TestServerTrailers(t *testing.T) {
	p := newServerPeer(t, Config{}, false)
	p.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 4})
	bodies := map[uint32]string{1: "", 3: "abc", 5: "abcdef", 7: "abcdef"}
	p.onEnd = func(id uint32) {
		trailers := hpack.AppendLiteral(nil, hpack.Without, 0, "grpc-status", "0")
		if !p.s.RespondTrailers(id, hpack.AppendIndexed(p.s.Begin(), 8), []byte(bodies[id]), trailers) {
			t.Errorf("stream %d has no response", id)
		}
	}
	for id := uint32(1); id < 9; id += 2 {
		p.request(id, true, "GET", "/")
	}
	p.check(p.fr.WriteRSTStream(7, http2.ErrCodeCancel))
	p.check(p.fr.WriteWindowUpdate(5, 10))
	p.flush()
	want := []string{
		"HEADERS 1 :status=200", "HEADERS 1 grpc-status=0 end",
		"HEADERS 3 :status=200", "DATA 3 3", "HEADERS 3 grpc-status=0 end",
		"HEADERS 5 :status=200", "DATA 5 4", "HEADERS 7 :status=200", "DATA 7 4",
		"DATA 5 2", "HEADERS 5 grpc-status=0 end",
	}
	if diff := cmp.Diff(want, p.sent); diff != "" || p.s.Open() != 0 {
		t.Errorf("%d streams are open, sent (-want +got):\n%s", p.s.Open(), diff)
	}
}

// TestServerParts: parts of a response follow each other while the request continues, also if the windows hold them
// back, and trailers end it.
func TestServerParts(t *testing.T) {
	ok := func(t *testing.T, done bool) {
		t.Helper()
		if !done {
			t.Error("refused")
		}
	}
	trailers := hpack.AppendLiteral(nil, hpack.Without, 0, "grpc-status", "0")
	for _, tt := range []struct {
		name   string
		window uint32
		do     func(t *testing.T, p *serverPeer)
		want   []string
		open   int
		end    bool // of the request, before the response
	}{
		{"parts", 100, func(t *testing.T, p *serverPeer) {
			ok(t, p.s.RespondNext(1, []byte("cde")))
			ok(t, p.s.RespondEnd(1, trailers))
		}, []string{"DATA 1 2", "DATA 1 3", "HEADERS 1 grpc-status=0 end"}, 0, true},
		{"before the end of the request", 100, func(t *testing.T, p *serverPeer) { ok(t, p.s.RespondEnd(1, trailers)) },
			[]string{"DATA 1 2", "HEADERS 1 grpc-status=0 end", "RST_STREAM 1 NO_ERROR"}, 0, false},
		{"not ended", 100, func(t *testing.T, p *serverPeer) { p.data(1, true, "") }, []string{"DATA 1 2"}, 1, false},
		{"a window that opens", 1, func(t *testing.T, p *serverPeer) {
			ok(t, p.s.RespondNext(1, []byte("c")))
			p.check(p.fr.WriteWindowUpdate(1, 10))
			p.flush()
			ok(t, p.s.RespondNext(1, []byte("d")))
			ok(t, p.s.RespondEnd(1, trailers))
		}, []string{"DATA 1 1", "DATA 1 2", "DATA 1 1", "HEADERS 1 grpc-status=0 end"}, 0, true},
		{"a window that opens after the end", 1, func(t *testing.T, p *serverPeer) {
			ok(t, p.s.RespondNext(1, []byte("c")))
			ok(t, p.s.RespondEnd(1, trailers))
			p.check(p.fr.WriteWindowUpdate(1, 10))
			p.flush()
		}, []string{"DATA 1 1", "DATA 1 2", "HEADERS 1 grpc-status=0 end"}, 0, true},
		{"twice or late", 100, func(t *testing.T, p *serverPeer) {
			again := p.s.RespondFirst(1, hpack.AppendIndexed(p.s.Begin(), 8), nil) || p.respond(1, nil)
			ok(t, p.s.RespondEnd(1, trailers))
			ok(t, !again && !p.s.RespondNext(1, []byte("x")) && !p.s.RespondEnd(1, trailers) && !p.s.RespondNext(3, nil))
		}, []string{"DATA 1 2", "HEADERS 1 grpc-status=0 end"}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newServerPeer(t, Config{}, false)
			p.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: tt.window})
			p.silent()
			p.request(1, tt.end, "POST", "/")
			p.flush()
			p.sent = nil
			ok(t, p.s.RespondFirst(1, hpack.AppendIndexed(p.s.Begin(), 8), []byte("ab")))
			tt.do(t, p)
			p.flush()
			if diff := cmp.Diff(append([]string{"HEADERS 1 :status=200"}, tt.want...), p.sent); diff != "" || p.s.Open() != tt.open {
				t.Errorf("%d streams are open, sent (-want +got):\n%s", p.s.Open(), diff)
			}
		})
	}
}

package h2

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// TestAppendOracle: what the append functions make is what x/net's Framer
// makes, to the octet.
func TestAppendOracle(t *testing.T) {
	var buf bytes.Buffer
	f := http2.NewFramer(&buf, nil)
	f.AllowIllegalWrites = true
	block, ping := []byte("block"), [8]byte{1, 2, 3}
	for _, tc := range []struct {
		name  string
		write func() error
		got   []byte
	}{
		{"DATA", func() error { return f.WriteData(7, true, []byte("abc")) }, AppendData(nil, 7, true, []byte("abc"))},
		{"DATA empty", func() error { return f.WriteData(7, false, nil) }, AppendData(nil, 7, false, nil)},
		{"HEADERS", func() error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1<<31 - 1, BlockFragment: block, EndStream: true, EndHeaders: true})
		}, AppendHeaders(nil, 1<<31-1, true, true, block)},
		{"HEADERS open", func() error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block})
		}, AppendHeaders(nil, 1, false, false, block)},
		{"CONTINUATION", func() error { return f.WriteContinuation(3, true, block) }, AppendContinuation(nil, 3, true, block)},
		{"PRIORITY", func() error {
			return f.WritePriority(3, http2.PriorityParam{StreamDep: 5, Exclusive: true, Weight: 200})
		}, appendPriority(nil, 3, 5, true, 200)},
		{"RST_STREAM", func() error { return f.WriteRSTStream(3, http2.ErrCodeCancel) }, AppendRSTStream(nil, 3, http2.ErrCodeCancel)},
		{"SETTINGS", func() error {
			return f.WriteSettings(http2.Setting{ID: 1, Val: 2}, http2.Setting{ID: 3, Val: 1<<32 - 1})
		}, AppendSettings(nil, http2.Setting{ID: 1, Val: 2}, http2.Setting{ID: 3, Val: 1<<32 - 1})},
		{"SETTINGS ack", f.WriteSettingsAck, AppendSettingsAck(nil)},
		{"PUSH_PROMISE", func() error {
			return f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: block, EndHeaders: true})
		}, appendPushPromise(nil, 1, 2, true, block)},
		{"PING", func() error { return f.WritePing(true, ping) }, AppendPing(nil, true, ping)},
		{"GOAWAY", func() error { return f.WriteGoAway(9, http2.ErrCodeProtocol, []byte("why")) }, AppendGoAway(nil, 9, http2.ErrCodeProtocol, "why")},
		{"WINDOW_UPDATE", func() error { return f.WriteWindowUpdate(9, 1<<31-1) }, AppendWindowUpdate(nil, 9, 1<<31-1)},
	} {
		buf.Reset()
		if err := tc.write(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(buf.Bytes(), tc.got); diff != "" {
			t.Errorf("%s (-theirs +ours):\n%s", tc.name, diff)
		}
		put := make([]byte, FrameHeaderLen)
		if putFrameHeader(put, ParseFrameHeader(tc.got)); !bytes.Equal(put, tc.got[:FrameHeaderLen]) {
			t.Errorf("%s: header %x comes back as %x", tc.name, tc.got[:FrameHeaderLen], put)
		}
	}
}

// TestReaderOracle: random frames of x/net's Framer, in random pieces, come out
// of the reader as the Framer reads them.
func TestReaderOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := randomFrames(r)
		theirs := describe(t, p)
		if diff := cmp.Diff(theirs, readerLines(t, r, p)); diff != "" {
			t.Fatalf("seed %d (-theirs +ours):\n%s", seed, diff)
		}
	}
}

func randomFrames(r *rand.Rand) []byte {
	var buf bytes.Buffer
	f := http2.NewFramer(&buf, nil)
	for range 30 {
		payload, pad := make([]byte, r.IntN(40)), make([]byte, r.IntN(20))
		id := uint32(1 + r.IntN(1<<20))
		switch r.IntN(8) {
		case 0, 1, 2:
			_ = f.WriteDataPadded(id, r.IntN(2) == 0, payload, pad)
		case 3:
			_ = f.WriteData(id, r.IntN(2) == 0, payload)
		case 4:
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: payload, EndStream: r.IntN(2) == 0, EndHeaders: true,
				PadLength: uint8(len(pad)), Priority: http2.PriorityParam{StreamDep: uint32(r.IntN(2) * 3), Weight: 7}})
		case 5:
			_ = f.WriteWindowUpdate(id, 1+uint32(r.IntN(1<<20)))
		case 6:
			_ = f.WritePing(false, [8]byte{byte(r.IntN(256))})
		default:
			_ = f.WriteRSTStream(id, http2.ErrCode(r.IntN(14)))
		}
	}
	return buf.Bytes()
}

// readerLines describes what the reader makes of p: complete frames by way of
// describe, DATA put together again.
func readerLines(t *testing.T, r *rand.Rand, p []byte) (lines []string) {
	t.Helper()
	in := reader{maxFrame: minMaxFrameSize}
	var body int
	for len(p) > 0 {
		piece := bytes.Clone(p[:min(len(p), 1+r.IntN(1+r.IntN(50)))])
		p = p[len(piece):]
		for len(piece) > 0 {
			h, payload, n, ok := in.next(piece)
			if !ok {
				break
			}
			piece = piece[n:]
			switch {
			case h.Type != http2.FrameData:
				lines = append(lines, describe(t, append(AppendFrameHeader(nil, h), payload...))...)
				continue
			case in.data.first:
				body = 0
			}
			if body += len(payload); !in.data.open {
				lines = append(lines, describe(t, AppendData(nil, h.StreamID, h.Flags.Has(http2.FlagDataEndStream), make([]byte, body)))...)
			}
		}
	}
	return lines
}

// TestAgainstServer talks to x/net's server: bodies both ways through small
// windows, many streams, header lists beyond a frame, trailers.
func TestAgainstServer(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { againstServer(t, rand.New(rand.NewPCG(seed, 4))) })
	}
}

// echo answers with the request's body after as many octets of header as asked
// for, and says in a trailer how much it read.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n, _ := strconv.Atoi(r.Header.Get("x-header"))
	w.Header().Set("x-long", strings.Repeat("h", n))
	w.Header().Set("Trailer", "x-read")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
	w.Header().Set("x-read", strconv.Itoa(len(body)))
}

func againstServer(t *testing.T, r *rand.Rand) {
	ours, theirs := net.Pipe()
	srv := &http2.Server{MaxConcurrentStreams: 20, MaxUploadBufferPerStream: 70000, MaxUploadBufferPerConnection: 70000}
	go srv.ServeConn(theirs, &http2.ServeConnOpts{Handler: http.HandlerFunc(echo)})
	defer ours.Close()

	got := &bodies{data: map[uint32][]byte{}, status: map[uint32]int{}, long: map[uint32]int{}, trailers: map[uint32]string{}}
	c := NewClient(Config{StreamWindow: uint32(1000 + r.IntN(50000)), MaxConcurrentStreams: 50, NoHeaderTable: r.IntN(2) == 0}, got)
	const requests = 300
	sent, header := map[uint32][]byte{}, map[uint32]int{}
	open := func() {
		for c.Free() > 0 && len(sent) < requests {
			tok := uint32(len(sent) + 1)
			body := make([]byte, r.IntN(1+r.IntN(100000)))
			for i := range body {
				body[i] = byte(r.Uint32())
			}
			sent[tok], header[tok] = body, r.IntN(1+r.IntN(40000))
			c.Open(appendEcho(c.Begin(), header[tok]), tok, body, protocol.WantHeaders|protocol.WantBody)
		}
	}
	converseOver(t, ours, c, func() bool { open(); return got.done == requests })
	for tok, body := range sent {
		if got.status[tok] != 201 || got.long[tok] != header[tok] || !bytes.Equal(got.data[tok], body) {
			t.Errorf("request %d: status %d, %d octets of header, %d of body; want 201, %d, %d", tok, got.status[tok], got.long[tok], len(got.data[tok]), header[tok], len(body))
		}
		if want := fmt.Sprintf("x-read: %d", len(body)); got.trailers[tok] != want {
			t.Errorf("request %d: trailer %q, want %q", tok, got.trailers[tok], want)
		}
	}
	if len(got.bad) > 0 {
		t.Errorf("not completed: %v", got.bad)
	}
}

func appendEcho(b []byte, n int) []byte {
	b = hpack.AppendIndexed(b, 3)
	b = hpack.AppendIndexed(b, 6)
	b = hpack.AppendLiteral(b, hpack.Without, 4, ":path", "/echo")
	b = hpack.AppendLiteral(b, hpack.Incremental, 1, ":authority", "test")
	return hpack.AppendLiteral(b, hpack.Without, 0, "x-header", strconv.Itoa(n))
}

// converseOver moves bytes between a session and a connection until over says
// so. A goroutine of its own reads; the session stays on this one.
func converseOver(t *testing.T, conn net.Conn, c *Client, over func() bool) {
	t.Helper()
	in, writable := make(chan []byte), make(chan []byte)
	go func() {
		defer close(in)
		for {
			p := make([]byte, 8192)
			n, err := conn.Read(p)
			if err != nil {
				return
			}
			in <- p[:n]
		}
	}()
	go func() {
		for p := range writable {
			if _, err := conn.Write(p); err != nil {
				return
			}
		}
	}()
	defer close(writable)
	for !over() {
		out := writable
		if len(c.Pending()) == 0 {
			out = nil
		}
		select {
		case p, ok := <-in:
			if !ok {
				t.Fatal("the server closed the connection")
			}
			if err := c.Receive(p, 0); err != nil {
				t.Fatal(err)
			}
		case out <- bytes.Clone(c.Pending()):
			c.Wrote(len(c.Pending()))
		}
	}
}

// bodies is a Handler that keeps responses.
type bodies struct {
	data     map[uint32][]byte
	status   map[uint32]int
	long     map[uint32]int
	trailers map[uint32]string
	done     int
	bad      []protocol.Outcome
}

func (b *bodies) OnStatus(tok uint32, status int) { b.status[tok] = status }
func (b *bodies) OnData(tok uint32, p []byte)     { b.data[tok] = append(b.data[tok], p...) }
func (b *bodies) OnHeader(tok uint32, name, v []byte) {
	if string(name) == "x-long" {
		b.long[tok] = len(v)
	}
}

func (b *bodies) OnTrailer(tok uint32, name, v []byte) {
	b.trailers[tok] = string(name) + ": " + string(v)
}

func (b *bodies) OnDone(_ uint32, o protocol.Outcome) {
	b.done++
	if o.Kind != protocol.Completed {
		b.bad = append(b.bad, o)
	}
}

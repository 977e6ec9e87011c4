package h2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/protocol/protocoltest"
)

// conversation is a client session with its recorder, past the first SETTINGS
// of both sides.
type conversation struct {
	*Client
	*protocoltest.Recorder
	t testing.TB
}

func converse(t testing.TB, cfg Config, settings ...http2.Setting) *conversation {
	t.Helper()
	v := &conversation{Recorder: new(protocoltest.Recorder), t: t}
	v.Client = NewClient(cfg, v.Recorder)
	v.sent()
	if err := v.Receive(AppendSettings(nil, settings...), 0); err != nil {
		t.Fatal(err)
	}
	v.sent()
	return v
}

// get opens a GET and post a POST, tokens counting from 1, headers and body wanted.
func (v *conversation) get() uint32 { return v.open(nil, protocol.WantHeaders|protocol.WantBody) }

func (v *conversation) post(body string) uint32 {
	return v.open([]byte(body), protocol.WantHeaders|protocol.WantBody)
}

func (v *conversation) open(body []byte, want protocol.Want) uint32 {
	block := hpack.AppendIndexed(v.Begin(), 2)
	return v.Open(block, (v.nextID+1)/2, body, want)
}

// sent takes what is pending and describes it, a line a frame.
func (v *conversation) sent() []string {
	v.t.Helper()
	p := bytes.TrimPrefix(v.Pending(), []byte(http2.ClientPreface))
	lines := describe(v.t, p)
	v.Wrote(len(v.Pending()))
	return lines
}

// receive gives the session bytes, cut into pieces of size octets; 0: at once.
func (v *conversation) receive(p []byte, size int) error {
	if size == 0 {
		size = max(1, len(p))
	}
	for piece := range slices.Chunk(p, size) {
		if err := v.Receive(slices.Clone(piece), 0); err != nil {
			return err
		}
	}
	return nil
}

// describe parses frames with x/net's Framer.
func describe(t testing.TB, p []byte) (lines []string) {
	t.Helper()
	f := http2.NewFramer(nil, bytes.NewReader(p))
	f.AllowIllegalReads = true
	f.SetMaxReadFrameSize(maxMaxFrameSize)
	for {
		frame, err := f.ReadFrame()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatalf("what was sent is no frame: %v", err)
		}
		lines = append(lines, line(frame))
	}
}

func line(frame http2.Frame) string {
	h := frame.Header()
	s := fmt.Sprintf("%v %d", h.Type, h.StreamID)
	switch f := frame.(type) {
	case *http2.DataFrame:
		s += fmt.Sprintf(" len %d", len(f.Data()))
		if f.StreamEnded() {
			s += " end"
		}
	case *http2.HeadersFrame:
		s += fmt.Sprintf(" %x", f.HeaderBlockFragment())
		if f.StreamEnded() {
			s += " end"
		}
	case *http2.ContinuationFrame:
		s += fmt.Sprintf(" %x", f.HeaderBlockFragment())
	case *http2.RSTStreamFrame:
		s += " " + f.ErrCode.String()
	case *http2.WindowUpdateFrame:
		s += fmt.Sprintf(" +%d", f.Increment)
	case *http2.GoAwayFrame:
		s += fmt.Sprintf(" last %d %v", f.LastStreamID, f.ErrCode)
	case *http2.PingFrame:
		s += fmt.Sprintf(" %x", f.Data)
	case *http2.SettingsFrame:
		_ = f.ForeachSetting(func(v http2.Setting) error { s += fmt.Sprintf(" %v=%d", v.ID, v.Val); return nil })
	}
	if h.Flags&1 != 0 && (h.Type == http2.FramePing || h.Type == http2.FrameSettings) {
		s += " ack"
	}
	return s
}

// wire puts frames together.
func wire(frames ...[]byte) []byte { return bytes.Join(frames, nil) }

// fields makes a header block of literals: name, value, name, value.
func fields(pairs ...string) (b []byte) {
	for i := 0; i < len(pairs); i += 2 {
		b = hpack.AppendLiteral(b, hpack.Without, 0, pairs[i], pairs[i+1])
	}
	return b
}

// raw makes a frame of anything.
func raw(typ http2.FrameType, flags http2.Flags, id uint32, payload string) []byte {
	return append(AppendFrameHeader(nil, FrameHeader{uint32(len(payload)), typ, flags, id}), payload...)
}

func data(id uint32, end bool, p string) []byte { return AppendData(nil, id, end, []byte(p)) }

func headers(id uint32, end bool, pairs ...string) []byte {
	return AppendHeaders(nil, id, end, true, fields(pairs...))
}

// codeOf is the code of a connection error; -1: none.
func codeOf(err error) int {
	var e *ConnError
	if errors.As(err, &e) {
		return int(e.Code)
	}
	return -1
}

// ending tells whether a line is the end of a request, and of which.
func ending(line string) (tok uint32, ok bool) {
	var kind string
	if n, _ := fmt.Sscanf(line, "%d %s", &tok, &kind); n != 2 {
		return 0, false
	}
	return tok, slices.Contains([]string{"completed", "reset", "unprocessed", "refused", "lost"}, kind)
}

// joinData puts together lines of data of one request which came in several
// takes.
func joinData(lines []string) (out []string) {
	for _, l := range lines {
		tok, data, ok := strings.Cut(l, " data ")
		if n := len(out); ok && n > 0 && strings.HasPrefix(out[n-1], tok+" data ") {
			out[n-1] += data
			continue
		}
		out = append(out, l)
	}
	return out
}

// appendPriority appends a PRIORITY frame (RFC 9113 6.3). Sessions ignore such frames.
func appendPriority(dst []byte, id, dependency uint32, exclusive bool, weight uint8) []byte {
	if exclusive {
		dependency |= 1 << 31
	}
	dst = AppendFrameHeader(dst, FrameHeader{priorityLen, http2.FramePriority, 0, id})
	return append(binary.BigEndian.AppendUint32(dst, dependency), weight)
}

// appendPushPromise appends a PUSH_PROMISE frame (RFC 9113 6.6).
func appendPushPromise(dst []byte, id, promised uint32, endHeaders bool, block []byte) []byte {
	flags := http2.Flags(0)
	if endHeaders {
		flags = http2.FlagPushPromiseEndHeaders
	}
	dst = AppendFrameHeader(dst, FrameHeader{uint32(4 + len(block)), http2.FramePushPromise, flags, id})
	return append(binary.BigEndian.AppendUint32(dst, promised), block...)
}

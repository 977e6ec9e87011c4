//go:build !race

package h2

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// plainHandler answers with a location, or with a body when it has one.
type plainHandler struct {
	s        *Server
	location []byte
	body     []byte
	received int
}

func (h *plainHandler) OnRequest(id uint32, _, _ []byte) uint32 { return id }
func (h *plainHandler) OnHeader(uint32, uint32, []byte, []byte) {}
func (h *plainHandler) OnData(_, _ uint32, p []byte)            { h.received += len(p) }
func (h *plainHandler) OnReset(uint32, uint32)                  {}
func (h *plainHandler) OnEnd(id, _ uint32) {
	b := hpack.AppendLiteralPrefix(hpack.AppendIndexed(h.s.Begin(), 8), hpack.Without, 46, "location")
	h.s.Respond(id, hpack.AppendString(b, h.location), h.body)
}

// requestBatch has n POSTs of 300 octets; number renumbers their streams.
type requestBatch struct {
	b   []byte
	ids []int // where the stream ids are
}

func newRequestBatch(n int) *requestBatch {
	var block []byte
	block = hpack.AppendIndexed(block, 3) // :method POST
	block = hpack.AppendIndexed(block, 6) // :scheme http
	block = hpack.AppendLiteral(block, hpack.Without, 4, ":path", "/npcf-policyauthorization/v1/app-sessions")
	block = hpack.AppendLiteral(block, hpack.Without, 31, "content-type", "application/json")
	block = hpack.AppendLiteral(block, hpack.Without, 28, "content-length", "300")
	r := &requestBatch{}
	for range n {
		r.ids = append(r.ids, len(r.b)+5)
		r.b = AppendHeaders(r.b, 0, false, true, block)
		r.ids = append(r.ids, len(r.b)+5)
		r.b = AppendData(r.b, 0, true, make([]byte, 300))
	}
	return r
}

func (r *requestBatch) number(first uint32) (next uint32) {
	for i, at := range r.ids {
		binary.BigEndian.PutUint32(r.b[at:], first+uint32(i/2)*2)
	}
	return first + uint32(len(r.ids))
}

func newPlainServer(tb testing.TB, body []byte) (s *Server, h *plainHandler) {
	h = &plainHandler{location: []byte("/npcf-policyauthorization/v1/app-sessions/0123456789abcdef"), body: body}
	s = NewServer(Config{}, protocol.WantBody, h)
	h.s = s
	in := AppendSettings([]byte(http2.ClientPreface), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	in = AppendWindowUpdate(in, 0, maxWindow-initialWindowSize)
	if err := s.Receive(in, 0); err != nil {
		tb.Fatal(err)
	}
	s.Wrote(len(s.Pending()))
	return s, h
}

func TestServerDoesNotAllocate(t *testing.T) {
	for name, body := range map[string][]byte{"no body": nil, "body": make([]byte, 1000)} {
		s, h := newPlainServer(t, body)
		batch := newRequestBatch(100)
		id := uint32(1)
		turn := func() {
			id = batch.number(id)
			half := len(batch.b)/2 + 17 // cuts a frame
			if s.Receive(batch.b[:half], 1) != nil || s.Receive(batch.b[half:], 1) != nil {
				t.Fatal(s.err)
			}
			s.Wrote(len(s.Pending()))
		}
		turn()
		if n := testing.AllocsPerRun(100, turn); n != 0 {
			t.Errorf("%s: %v allocations in a turn of 100 requests, want 0", name, n)
		}
		if want := 102 * 100 * 300; h.received != want || s.Open() != 0 {
			t.Errorf("%s: %d octets received, want %d; %d streams open", name, h.received, want, s.Open())
		}
	}
}

// BenchmarkServer measures one POST and its answer; compare runs with benchstat.
func BenchmarkServer(b *testing.B) {
	s, _ := newPlainServer(b, nil)
	batch := newRequestBatch(100)
	id := uint32(1)
	b.ReportAllocs()
	for i := 0; i < b.N; i += 100 {
		id = batch.number(id)
		if err := s.Receive(batch.b, int64(i)); err != nil {
			b.Fatal(err)
		}
		s.Wrote(len(s.Pending()))
		if id > 1<<30 {
			s, _ = newPlainServer(b, nil)
			id = 1
		}
	}
}

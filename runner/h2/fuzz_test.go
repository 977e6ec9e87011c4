package h2

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// FuzzReceive gives arbitrary bytes to a session after the first SETTINGS,
// whole and in pieces: the events and what is sent must be the same, and all
// requests end once.
func FuzzReceive(f *testing.F) {
	for i, r := range rules() {
		if len(r.in) < 200 {
			f.Add(r.in, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		whole, pieces := newTwin(t), newTwin(t)
		whole.feed(in, 0)
		pieces.feed(in, 1+int(size))
		whole.compare(pieces)
		whole.end()
		pieces.end()
	})
}

// FuzzClient reads its input as a script of what the owner and the peer do:
// frames that are nearly right find more than noise.
func FuzzClient(f *testing.F) {
	f.Add([]byte("\x00\x00\x10\x01\x05\x00\x01\x88\x01\x02\x11\x08\x00\x00\x04\x00\x00\x01\x00"))
	f.Add([]byte("\x01\x14\x00\x01\x05\x02\x00\x12\x01\x04\x01\x02\x88\x88\x13\x03\x01\x04\x00\x00\x00\x07"))
	f.Add([]byte("\x00\x10\x00\x09\x00\x05\x02a\x00\x00\x00\x10\x07\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x00"))
	f.Add([]byte("\x0c\x0d\x10\x08\x00\x05\x04\x00\x00\x00\x40\x0d\x0e\x10\x01\x05\x05\x01\x88\x0c\x10\x01\x05\x07\x01\x88\x0f"))
	f.Fuzz(func(t *testing.T, script []byte) {
		whole, bytewise := newTwin(t), newTwin(t)
		for step := range steps(script) {
			whole.do(step, 0)
			bytewise.do(step, 1)
			whole.compare(bytewise)
		}
		whole.end()
		bytewise.end()
	})
}

// step is what a script does next: a frame of the peer's, or an act of the owner's.
type step struct {
	act   byte
	frame []byte
}

// steps reads a script: an octet below 16 is an act, one above begins a frame:
// type, flags, stream, length, payload.
func steps(script []byte) func(yield func(step) bool) {
	return func(yield func(step) bool) {
		for len(script) > 0 {
			s := step{act: script[0]}
			script = script[1:]
			if s.act >= 16 && len(script) >= 4 {
				n := min(int(script[3]), len(script)-4)
				h := FrameHeader{uint32(n), http2.FrameType(script[0] % 12), http2.Flags(script[1]), uint32(script[2] % 16)}
				s.frame = append(AppendFrameHeader(nil, h), script[4:4+n]...)
				script = script[4+n:]
			}
			if !yield(s) {
				return
			}
		}
	}
}

// twin is one of two sessions that must behave alike.
type twin struct {
	*conversation
	failed     error
	opened     map[uint32]bool // by token; false: cancelled
	ids        []uint32
	events     []string
	transcript []byte
}

func newTwin(t *testing.T) *twin {
	w := &twin{opened: map[uint32]bool{}}
	w.conversation = converse(t, Config{MaxConcurrentStreams: 6, ResetsPerSecond: 1, ResetBurst: 2, MaxHeaderListSize: 4000, StreamWindow: 300, ConnWindow: 65535},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20})
	for range 2 {
		w.do(step{act: 0}, 0)
		w.do(step{act: 1}, 0)
	}
	return w
}

func (w *twin) do(s step, size int) {
	switch {
	case s.frame != nil:
		w.feed(s.frame, size)
	case s.act < 4:
		w.start([]byte("a body that does not fit its window")[:35*(s.act%2)], 0)
	case s.act < 8 && len(w.ids) > 0:
		i := int(s.act) % len(w.ids)
		if w.streams.find(w.ids[i]) != nil {
			w.Cancel(w.ids[i], 0)
			w.opened[uint32(i+1)] = false
		}
	case s.act < 12:
		w.transcript = append(w.transcript, w.Pending()...)
		w.Wrote(len(w.Pending()))
	case s.act == 12:
		w.start([]byte("the beginning"), protocol.Unfinished)
	case s.act < 16 && len(w.ids) > 0:
		w.Send(w.ids[len(w.ids)-1], []byte("of a body")[:9*(s.act&1)], s.act != 13)
	}
}

func (w *twin) start(body []byte, want protocol.Want) {
	free := w.Free()
	tok := uint32(len(w.ids) + 1)
	id := w.Open(append(w.Begin(), 0x82), tok, body, want|protocol.WantHeaders|protocol.WantBody)
	if (id == 0) != (free == 0) {
		w.t.Fatalf("Open gave %d with %d free", id, free)
	}
	if id != 0 {
		w.ids = append(w.ids, id)
		w.opened[tok] = true
	}
}

func (w *twin) feed(p []byte, size int) {
	if err := w.receive(p, size); err != nil {
		w.failed = err
	}
	w.events = append(w.events, w.Take()...)
	if len(w.in.carry) > FrameHeaderLen+minMaxFrameSize || cap(w.block.buf) > 3*minMaxFrameSize || len(w.streams.ring) > 16 {
		w.t.Fatalf("%d octets carried, %d of block, ring of %d", len(w.in.carry), cap(w.block.buf), len(w.streams.ring))
	}
}

// compare wants the same from both; bodies are put together, for their pieces
// differ.
func (w *twin) compare(o *twin) {
	w.t.Helper()
	if codeOf(w.failed) != codeOf(o.failed) {
		w.t.Fatalf("whole: %v, in pieces: %v", w.failed, o.failed)
	}
	if diff := cmp.Diff(joinData(w.events), joinData(o.events), cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("events (-whole +pieces):\n%s", diff)
	}
	if a, b := append(w.transcript, w.Pending()...), append(o.transcript, o.Pending()...); !bytes.Equal(a, b) {
		w.t.Fatalf("sent whole %q, in pieces %q", describe(w.t, a), describe(w.t, b))
	}
	if w.Free() != o.Free() || w.InFlight() != o.InFlight() || w.Abandoned() != o.Abandoned() {
		w.t.Fatalf("free %d %d, in flight %d %d, abandoned %d %d", w.Free(), o.Free(), w.InFlight(), o.InFlight(), w.Abandoned(), o.Abandoned())
	}
}

// end closes the session and counts the endings of each request.
func (w *twin) end() {
	w.t.Helper()
	w.sent() // parses
	w.Close()
	w.events = append(w.events, w.Take()...)
	endings := map[uint32]int{}
	for _, l := range w.events {
		if tok, ok := ending(l); ok {
			endings[tok]++
		}
	}
	for tok, open := range w.opened {
		if n := endings[tok]; n > 1 || open && n == 0 {
			w.t.Fatalf("request %d (cancelled: %v) ended %d times in %q", tok, !open, n, w.events)
		}
	}
	if w.streams.count != 0 || w.abandoned != 0 || w.overdue != 0 || w.InFlight() != 0 {
		w.t.Fatalf("left: %d streams, %d abandoned, %d overdue", w.streams.count, w.abandoned, w.overdue)
	}
}

package h2

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// ledgerHandler checks that each request is told once and ends at most once, and answers each
// in another way.
type ledgerHandler struct {
	t      *testing.T
	s      *Server
	open   map[uint32]bool
	events []string
	body   []byte
}

func (h *ledgerHandler) note(id uint32, what string, ends bool) {
	if !h.open[id] {
		h.t.Fatalf("stream %d is not open: %s", id, what)
	}
	if ends {
		delete(h.open, id)
	}
	h.events = append(h.events, what)
}

func (h *ledgerHandler) OnRequest(id uint32, method, path []byte) uint32 {
	if h.open[id] {
		h.t.Fatalf("stream %d began twice", id)
	}
	h.open[id] = true
	h.note(id, "request "+string(method)+" "+string(path), false)
	return id
}

func (h *ledgerHandler) OnHeader(id, _ uint32, name, value []byte) {
	h.note(id, "header "+string(name)+"="+string(value), false)
}

func (h *ledgerHandler) OnData(id, _ uint32, p []byte) {
	if len(p) == 0 {
		h.t.Fatalf("stream %d: an empty piece", id)
	}
	for _, c := range p {
		h.note(id, "octet "+string(rune(c)), false)
	}
}

func (h *ledgerHandler) OnEnd(id, _ uint32) {
	switch id / 2 % 4 {
	case 0:
		h.note(id, "end", true)
		h.s.Respond(id, append(h.s.Begin(), 0x89), nil)
	case 1:
		h.note(id, "end", true)
		h.s.Respond(id, append(h.s.Begin(), 0x88), h.body)
	case 2:
		h.note(id, "end", true)
		h.s.ResetStream(id, http2.ErrCodeInternal)
	default:
		h.note(id, "end", false) // never answered
	}
}

func (h *ledgerHandler) OnReset(id, _ uint32) { h.note(id, "reset", true) }

// receiveAll runs a session over the pieces of input and returns what it told and sent.
func receiveAll(t *testing.T, input []byte, piece int) (h *ledgerHandler, sent []byte, err error) {
	h = &ledgerHandler{t: t, open: map[uint32]bool{}, body: make([]byte, 100)}
	h.s = NewServer(Config{MaxConcurrentStreams: 3, MaxHeaderListSize: 1000}, protocol.WantHeaders|protocol.WantBody, h)
	for p := range slices.Chunk(input, piece) {
		if err = h.s.Receive(p, 1); err != nil {
			break
		}
	}
	sent = bytes.Clone(h.s.Pending())
	h.s.Wrote(len(sent))
	h.s.Close()
	if h.s.Open() != 0 || len(h.open) != 0 {
		t.Fatalf("after Close %d streams are open, and %d were not told to end", h.s.Open(), len(h.open))
	}
	return h, sent, err
}

// FuzzServerReceive: whatever a client sends, the session's output is well-formed, each stream
// ends once, and how the input is cut does not matter.
func FuzzServerReceive(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 1<<16 {
			return
		}
		input = append([]byte(http2.ClientPreface), input...)
		whole, sent, err := receiveAll(t, input, len(input))
		for _, piece := range []int{1, 7} {
			cut, cutSent, cutErr := receiveAll(t, input, piece)
			if !slices.Equal(whole.events, cut.events) {
				t.Errorf("pieces of %d: events (-whole +cut):\n%s", piece, cmp.Diff(whole.events, cut.events))
			}
			if !bytes.Equal(sent, cutSent) || code(err) != code(cutErr) {
				t.Errorf("pieces of %d: sent %x, error %v; whole: %x, %v", piece, cutSent, cutErr, sent, err)
			}
		}
		fr := http2.NewFramer(nil, bytes.NewReader(sent))
		for {
			_, err := fr.ReadFrame()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("output %x: %v", sent, err)
			}
		}
	})
}

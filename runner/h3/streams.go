package h3

import "github.com/h2surge/h2surge/runner/protocol"

// lengthUnknown is the value of stream.left without a content-length.
const lengthUnknown = -1

// blockKept is the size, in octets, of the buffer for cut header blocks that a slot keeps.
const blockKept = 1024

// stream is a slot for a request, and how far its response has been read.
type stream struct {
	credit // that the request has used
	tok    uint32
	left   int64 // octets of content that must follow according to content-length, or lengthUnknown
	want   protocol.Want
	state  streamState
	frame  frame
	block  []byte // the begin of a header block
}

type streamState uint8

const (
	closed       streamState = iota // no request
	awaitsHeader                    // or has interim responses only
	awaitsContent
	gotTrailers
)

func (s *stream) isOpen() bool { return s.state != closed }

// begin makes the slot that of a request.
func (s *stream) begin(on credit, tok uint32, want protocol.Want) {
	*s = stream{credit: on, tok: tok, want: want, left: lengthUnknown, state: awaitsHeader, block: s.block[:0]}
	if cap(s.block) > blockKept {
		s.block = nil
	}
}

// find returns the open request that a record belongs to; nil: it has ended.
func (c *Client) find(r *Record) *stream {
	if r.Slot >= uint32(len(c.streams)) {
		return nil
	}
	if s := &c.streams[r.Slot]; s.isOpen() && s.stream == r.Stream {
		return s
	}
	return nil
}

// drop forgets a request.
func (c *Client) drop(s *stream) {
	c.count--
	s.state = closed
}

// credit is a stream that the transport has opened for a request.
type credit struct{ slot, stream uint32 }

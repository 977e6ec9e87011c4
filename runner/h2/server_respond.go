package h2

import (
	"slices"

	"golang.org/x/net/http2"
)

// BeginResponse returns the output with room for a frame header, and a table size update when
// the client is owed one. The caller appends the header block and passes the result to Respond
// before it does anything else with the session.
func (s *Server) BeginResponse() []byte {
	var room [FrameHeaderLen]byte
	return s.peer.table.appendUpdates(append(s.out.buf, room[:]...))
}

// Respond completes the response that buf, from BeginResponse, ends with. Of body it keeps a
// reference until all is sent: it must not change. ok is false, and nothing is sent, when the
// stream is not open any more or has its response. A response to a request that has not ended
// yet ends the stream all the same (RFC 9113 section 8.1).
func (s *Server) Respond(id uint32, buf, body []byte) (ok bool) {
	st := s.streams.find(id)
	if st == nil || st.is(responded) || s.phase == failed {
		return false // out never got longer: the block is dropped
	}
	s.peer.table.sent()
	s.completeHeaders(buf, id, len(body) == 0)
	st.flags |= responded
	if len(body) == 0 {
		s.finish(st)
		return true
	}
	st.body = body
	s.requeue(st)
	s.pump()
	return true
}

// completeHeaders fills in the frame header that BeginResponse left room for.
func (s *Server) completeHeaders(buf []byte, id uint32, end bool) {
	at := len(s.out.buf)
	block := buf[at+FrameHeaderLen:]
	if len(block) > int(s.peer.maxFrame) {
		s.out.buf = AppendHeaderBlock(buf[:at], id, end, slices.Clone(block), s.peer.maxFrame)
		return
	}
	putFrameHeader(buf[at:], FrameHeader{uint32(len(block)), http2.FrameHeaders, endStream(end) | http2.FlagHeadersEndHeaders, id})
	s.out.buf = buf
}

// finish ends the server's side of a stream: all is in the output.
func (s *Server) finish(st *serverStream) {
	if !st.is(requestEnded) {
		s.rst(st.id, http2.ErrCodeNo)
	}
	s.drop(st)
}

// ResetStream ends a stream. It does nothing when the stream is not open.
func (s *Server) ResetStream(id uint32, code http2.ErrCode) {
	if st := s.streams.find(id); st != nil {
		s.drop(st)
		s.rst(id, code)
	}
}

// maxDataFrame bounds the DATA frames sent, whatever the client takes: a larger one saves nothing
// and holds up the other streams.
const maxDataFrame = 64 << 10

// pump sends DATA, a frame of each stream in turn, as far as the windows and the output's bound
// allow.
func (s *Server) pump() {
	for s.queue.head != 0 && s.sendWindow > 0 && len(s.out.pending()) < outHighWater && s.phase != failed {
		st := s.streams.number(s.queue.head)
		s.queue.remove(&s.streams, st)
		n := min(len(st.body), int(st.sendWindow), int(s.sendWindow), int(s.peer.maxFrame), maxDataFrame)
		end := n == len(st.body)
		s.out.buf = AppendData(s.out.buf, st.id, end, st.body[:n])
		st.body = st.body[n:]
		st.sendWindow -= int32(n)
		s.sendWindow -= int32(n)
		if end {
			s.finish(st)
			continue
		}
		s.requeue(st)
	}
}

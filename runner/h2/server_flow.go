package h2

import "golang.org/x/net/http2"

// shiftWindows follows a change of SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 section 6.9.2).
func (s *Server) shiftWindows(delta int64) (ok bool) {
	if delta == 0 {
		return true
	}
	for i := range s.streams.slots {
		st := &s.streams.slots[i]
		if st.id == 0 {
			continue
		}
		if !widen(&st.sendWindow, delta) {
			return false
		}
		s.requeue(st)
	}
	return true
}

// requeue puts a stream into the send queue, or takes it out, as its window says.
func (s *Server) requeue(st *serverStream) {
	want := len(st.body) > 0 && st.sendWindow > 0
	switch {
	case !want:
		s.queue.remove(&s.streams, st)
	case !st.is(queued):
		s.queue.push(&s.streams, st)
	}
}

// onWindowUpdate follows RFC 9113 section 6.9.
func (s *Server) onWindowUpdate(h FrameHeader, p []byte) {
	if h.Length != windowUpdateLen {
		s.connError(http2.ErrCodeFrameSize, "WINDOW_UPDATE of a wrong size")
		return
	}
	n := increment(p)
	if h.StreamID == 0 {
		s.widenConn(n)
		return
	}
	if s.idle(h.StreamID) {
		s.connError(http2.ErrCodeProtocol, "WINDOW_UPDATE on an idle stream")
		return
	}
	st := s.streams.find(h.StreamID)
	switch {
	case st == nil: // it crossed the end of the stream
	case n == 0:
		s.streamError(h.StreamID, http2.ErrCodeProtocol)
	case !widen(&st.sendWindow, int64(n)):
		s.streamError(h.StreamID, http2.ErrCodeFlowControl)
	default:
		s.requeue(st)
		s.pump()
	}
}

func (s *Server) widenConn(n uint32) {
	switch {
	case n == 0:
		s.connError(http2.ErrCodeProtocol, "WINDOW_UPDATE of 0")
	case !widen(&s.sendWindow, int64(n)):
		s.connError(http2.ErrCodeFlowControl, "the connection's window overflows")
	default:
		s.pump()
	}
}

// onData takes a piece of a DATA frame (RFC 9113 section 6.1). All that concerns the frame's
// length is settled with the first.
func (s *Server) onData(h FrameHeader, p []byte) {
	if s.in.data.first {
		s.in.data.first = false
		s.skipping = !s.beginData(h)
	}
	if s.skipping || s.err != nil {
		return
	}
	if len(p) > 0 && !s.takeContent(h.StreamID, p) {
		s.skipping = true
		return
	}
	if !s.in.data.open && h.Flags.Has(http2.FlagDataEndStream) {
		s.endRequest(h.StreamID)
	}
}

// takeContent hands content to the handler; ok is false when the stream has ended meanwhile or
// is more than its content-length promised (RFC 9113 section 8.1.1).
func (s *Server) takeContent(id uint32, p []byte) (ok bool) {
	st := s.streams.find(id)
	if st == nil {
		return false
	}
	if st.left == lengthUnknown {
		s.tellData(st, p)
		return true
	}
	n := min(int64(len(p)), st.left)
	st.left -= n
	s.tellData(st, p[:n])
	if n < int64(len(p)) {
		s.malformed(id)
		return false
	}
	return true
}

func (s *Server) tellData(st *serverStream, p []byte) {
	if s.cfg.TellBody && len(p) > 0 && !st.is(responded) {
		s.h.OnData(st.id, st.tok, p)
	}
}

// beginData accounts a DATA frame to the windows; ok is false when its content is to be skipped.
// Padding counts too (RFC 9113 section 6.9.1). Windows are given back in halves: content is
// consumed as it comes.
func (s *Server) beginData(h FrameHeader) (ok bool) {
	switch {
	case s.idle(h.StreamID):
		s.connError(http2.ErrCodeProtocol, "DATA on the connection or an idle stream")
		return false
	case int64(h.Length) > int64(s.recvWindow):
		s.connError(http2.ErrCodeFlowControl, "DATA beyond the connection's window")
		return false
	}
	s.recvWindow -= int32(h.Length)
	if n := refill(&s.recvWindow, int32(s.cfg.ConnWindow)); n > 0 {
		s.out.buf = AppendWindowUpdate(s.out.buf, 0, n)
	}
	st := s.streams.find(h.StreamID)
	switch {
	case st == nil || st.is(requestEnded):
		if st != nil || !s.ignores(h.StreamID) {
			s.streamError(h.StreamID, http2.ErrCodeStreamClosed)
		}
		return false
	case int64(h.Length) > int64(st.recvWindow):
		s.streamError(h.StreamID, http2.ErrCodeFlowControl)
		return false
	}
	st.recvWindow -= int32(h.Length)
	if h.Flags.Has(http2.FlagDataEndStream) {
		return true
	}
	if n := refill(&st.recvWindow, int32(s.cfg.StreamWindow)); n > 0 {
		s.out.buf = AppendWindowUpdate(s.out.buf, st.id, n)
	}
	return true
}

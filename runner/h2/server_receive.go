package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// Receive takes all of p. now is in nanoseconds from any origin and never decreases. An error,
// ErrPreface or a *ConnError, ends the session: the owner writes what is pending and closes.
func (s *Server) Receive(p []byte, now int64) error {
	s.now = now
	if s.phase == awaitPreface {
		p = s.receivePreface(p)
	}
	for len(p) > 0 && s.err == nil {
		h, payload, n, ok := s.in.next(p)
		switch {
		case ok:
			s.onFrame(h, payload)
		case s.in.oversize:
			s.connError(http2.ErrCodeFrameSize, "a frame over SETTINGS_MAX_FRAME_SIZE or too small")
		case s.in.badPad:
			s.connError(http2.ErrCodeProtocol, "more padding than DATA")
		}
		p = p[n:]
	}
	return s.err
}

func (s *Server) receivePreface(p []byte) (rest []byte) {
	want := http2.ClientPreface[s.preface:]
	n := min(len(p), len(want))
	if string(p[:n]) != want[:n] {
		s.phase, s.err = failed, ErrPreface
		return nil
	}
	s.preface += n
	if n == len(want) {
		s.phase = awaitSettings
	}
	return p[n:]
}

func (s *Server) onFrame(h FrameHeader, p []byte) {
	if !s.block.expects(h) {
		s.connError(http2.ErrCodeProtocol, "a header block without its CONTINUATION, or the reverse")
		return
	}
	if s.phase == awaitSettings {
		if h.Type != http2.FrameSettings || h.Flags.Has(http2.FlagSettingsAck) {
			s.connError(http2.ErrCodeProtocol, "the first frame is not SETTINGS")
			return
		}
		s.phase = serving
	}
	switch h.Type {
	case http2.FrameHeaders:
		s.onHeaders(h, p)
	case http2.FrameData:
		s.onData(h, p)
	case http2.FrameContinuation:
		s.onContinuation(h, p)
	case http2.FrameWindowUpdate:
		s.onWindowUpdate(h, p)
	case http2.FrameRSTStream:
		s.onReset(h)
	default:
		s.onRareFrame(h, p)
	}
}

// onRareFrame ignores unknown types (RFC 9113 section 4.1), and GOAWAY: a client that says it
// leaves opens no more streams, and those open are served.
func (s *Server) onRareFrame(h FrameHeader, p []byte) {
	switch h.Type {
	case http2.FrameSettings, http2.FramePing, http2.FrameGoAway:
		if h.StreamID != 0 {
			s.connError(http2.ErrCodeProtocol, "a frame of the connection on a stream")
			return
		}
	}
	switch h.Type {
	case http2.FrameSettings:
		s.onSettings(h, p)
	case http2.FramePing:
		s.onPing(h, p)
	case http2.FramePriority:
		s.onPriority(h)
	case http2.FrameGoAway:
		if h.Length < goAwayMinLen {
			s.connError(http2.ErrCodeFrameSize, "GOAWAY of a wrong size")
		}
	case http2.FramePushPromise:
		s.connError(http2.ErrCodeProtocol, "PUSH_PROMISE from a client")
	}
}

func (s *Server) onPing(h FrameHeader, p []byte) {
	switch {
	case h.Length != pingLen:
		s.connError(http2.ErrCodeFrameSize, "PING of a wrong size")
	case h.Flags.Has(http2.FlagPingAck):
	case !s.out.acknowledge():
		s.connError(http2.ErrCodeEnhanceYourCalm, "too many PINGs")
	default:
		s.out.buf = AppendPing(s.out.buf, true, [pingLen]byte(p))
	}
}

// onPriority checks and ignores: RFC 9113 section 5.3.2 deprecates the scheme.
func (s *Server) onPriority(h FrameHeader) {
	switch {
	case h.StreamID == 0:
		s.connError(http2.ErrCodeProtocol, "PRIORITY on the connection")
	case h.Length != priorityLen:
		s.streamError(h.StreamID, http2.ErrCodeFrameSize)
	}
}

func (s *Server) onReset(h FrameHeader) {
	switch {
	case h.Length != rstStreamLen:
		s.connError(http2.ErrCodeFrameSize, "RST_STREAM of a wrong size")
		return
	case s.idle(h.StreamID):
		s.connError(http2.ErrCodeProtocol, "RST_STREAM on the connection or an idle stream")
		return
	}
	s.counts.Resets++
	if st := s.streams.find(h.StreamID); st != nil {
		s.abort(st)
	}
	s.spendReset()
}

// onSettings applies the client's SETTINGS (RFC 9113 section 6.5).
func (s *Server) onSettings(h FrameHeader, p []byte) {
	ack := h.Flags.Has(http2.FlagSettingsAck)
	switch {
	case h.Length%settingLen != 0 || ack && h.Length != 0:
		s.connError(http2.ErrCodeFrameSize, "SETTINGS of a wrong size")
		return
	case ack:
		s.decoder.Limit(s.cfg.HeaderTableSize)
		return
	case !s.settings.take(s.now) || !s.out.acknowledge():
		s.connError(http2.ErrCodeEnhanceYourCalm, "too many SETTINGS")
		return
	}
	before := s.peer.initialWindow
	if err := s.peer.apply(p, false); err != nil {
		s.connError(err.Code, err.Reason)
		return
	}
	if !s.shiftWindows(int64(s.peer.initialWindow) - int64(before)) {
		s.connError(http2.ErrCodeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE overflows a window")
		return
	}
	s.out.buf = AppendSettingsAck(s.out.buf)
	s.pump()
}

// idle reports that the client has not begun this stream. Even ids are the server's, which
// never begins one; 0 is the connection.
func (s *Server) idle(id uint32) bool { return id > s.highestID || id%2 == 0 }

// ignores reports that the client may not know yet that this side ended or ignores the stream.
func (s *Server) ignores(id uint32) bool { return id > s.lastID || s.gone.has(id) }

// abort forgets a stream and tells the handler.
func (s *Server) abort(st *serverStream) {
	id, tok, done := st.id, st.tok, st.is(responded)
	s.drop(st)
	if !done {
		s.h.OnReset(id, tok)
	}
}

// streamError resets a stream because the client broke the protocol on it.
func (s *Server) streamError(id uint32, code http2.ErrCode) {
	if st := s.streams.find(id); st != nil {
		s.abort(st)
	}
	s.rst(id, code)
	s.spendReset()
}

// spendReset ends connections of clients that reset streams, or provoke resets, in bulk.
func (s *Server) spendReset() {
	if s.err == nil && !s.resets.take(s.now) {
		s.connError(http2.ErrCodeEnhanceYourCalm, "too many reset streams")
	}
}

func (s *Server) rst(id uint32, code http2.ErrCode) {
	s.out.buf = AppendRSTStream(s.out.buf, id, code)
	s.gone.add(id)
}

// drop forgets a stream.
func (s *Server) drop(st *serverStream) {
	s.queue.remove(&s.streams, st)
	s.streams.remove(st)
}

func increment(p []byte) uint32 { return binary.BigEndian.Uint32(p) & idMask }

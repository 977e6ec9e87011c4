package h2

import (
	"errors"
	"math/rand/v2"
	"slices"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// ServerHandler takes the events of a server session. The session calls it inside
// Receive and Close only. Slices are valid during the call. The handler may call
// Begin, the functions that respond, and ResetStream, and no other method of the session.
type ServerHandler interface {
	// OnRequest reports a well-formed request. path is empty for CONNECT, and otherwise the value
	// of :path with the query. The stream's later calls get the result.
	OnRequest(id uint32, method, path []byte) (tok uint32)
	// OnHeader reports a header field, only with WantHeaders: :scheme and :authority first,
	// then the other fields in their order; no trailers.
	OnHeader(id, tok uint32, name, value []byte)
	// OnData reports a piece of the request's content, only with WantBody.
	OnData(id, tok uint32, p []byte)
	// OnEnd reports that the request is complete. Most servers respond now.
	OnEnd(id, tok uint32)
	// OnReset reports that a stream ended without a complete response: reset by the client,
	// reset by the session because the client broke the protocol, or lost with the connection.
	// It does not follow a call of ResetStream.
	OnReset(id, tok uint32)
}

// ServerCounts has the counts of events that the handler does not get.
type ServerCounts struct {
	Resets    uint64 // RST_STREAM frames received
	Refused   uint64 // streams refused because too many were open
	Malformed uint64 // requests that were too large or were reset with PROTOCOL_ERROR
}

// Server is the server side of one connection.
type Server struct {
	conn
	h       ServerHandler
	want    protocol.Want // of all requests
	counts  ServerCounts
	preface int // octets of the client's preface received
	request requestFields
	// reset has the streams that this side ended while the client may still send on them.
	reset resetStreams
}

const (
	// congested is the amount of pending output, in octets, at which the owner should stop reading.
	congested = 1 << 20

	// A client has no reason to send SETTINGS more often. Each may change the windows of all streams.
	settingsPerSecond = 10
	settingsBurst     = 100
)

// ErrPreface reports that the peer does not speak HTTP/2 with prior knowledge. Nothing more is
// pending, because such a peer would not understand it.
var ErrPreface = errors.New("h2: the client did not begin with HTTP/2's preface")

// NewServer returns a session whose SETTINGS are pending. want may have WantHeaders and WantBody.
func NewServer(cfg Config, want protocol.Want, h ServerHandler) *Server {
	s := &Server{h: h, want: want}
	s.init(s, cfg.withDefaults(serverDefaults, initialWindowSize), false)
	s.settings = newResetBudget(settingsPerSecond, settingsBurst)
	s.streams.seed = rand.Uint32() | 1
	return s
}

// Congested reports that so much output is pending that the owner should not read more until the
// client has taken some. A client that sends and never reads must not fill the memory.
func (s *Server) Congested() bool { return len(s.out.pending()) > congested }

// Open returns the number of open streams.
func (s *Server) Open() int { return s.streams.count }

// Counts returns the counts since the session began.
func (s *Server) Counts() ServerCounts { return s.counts }

// Receive takes all of p. now is in nanoseconds from any origin and never decreases. An error,
// ErrPreface or a *ConnError, ends the session: the owner writes what is pending and closes.
func (s *Server) Receive(p []byte, now int64) error {
	s.now = now
	if s.preface < len(http2.ClientPreface) && s.err == nil {
		p = s.receivePreface(p)
	}
	for len(p) > 0 && s.err == nil {
		h, payload, n, ok := s.in.next(p)
		p = p[n:]
		switch {
		case !ok:
			s.cut(h)
		case !s.inPlace(h):
		case h.Type == http2.FrameHeaders, h.Type == http2.FrameContinuation:
			if block, end, complete := s.headerBlock(h, payload); complete {
				s.onBlock(h.StreamID, block, end)
			}
		case h.Type == http2.FrameData:
			s.onData(h, payload)
		default:
			s.onControl(h, payload)
		}
	}
	return s.err
}

func (s *Server) receivePreface(p []byte) (rest []byte) {
	want := http2.ClientPreface[s.preface:]
	n := min(len(p), len(want))
	if string(p[:n]) != want[:n] {
		s.err = ErrPreface
		return nil
	}
	s.preface += n
	return p[n:]
}

func (s *Server) onData(h FrameHeader, p []byte) {
	st := s.data(h)
	if st == nil {
		return
	}
	if len(p) > 0 && st.want&protocol.WantBody != 0 && !st.is(responded) {
		s.h.OnData(h.StreamID, st.tok, p)
	}
	if s.endsStream(h) {
		s.endRequest(h.StreamID)
	}
}

// Respond completes the response whose header block was appended to what Begin returned. It keeps
// a reference to body until all of it is sent: the caller must not change it. If the stream is not
// open or has its response, Respond sends nothing and returns false. A response to a request that
// is not complete ends the stream, too (RFC 9113 8.1).
func (s *Server) Respond(id uint32, buf, body []byte) (ok bool) {
	return s.RespondTrailers(id, buf, body, nil)
}

// RespondTrailers is Respond with a trailer section (RFC 9113 8.1): a header block without references to a dynamic
// table, which the caller must not change either.
func (s *Server) RespondTrailers(id uint32, buf, body, trailers []byte) (ok bool) {
	st := s.streams.find(id)
	if st == nil || st.is(responded|unfinished) || s.err != nil {
		return false // out does not include the block
	}
	s.sendHeaders(buf, id, len(body)+len(trailers) == 0)
	if st.flags |= responded; len(trailers) > 0 {
		st.flags |= trailing
	}
	switch {
	case !s.sendBody(st, body, true):
		s.bodies.items[st.body-1].trailers = trailers
		return true
	case len(trailers) > 0:
		s.sendHeaders(append(s.Begin(), trailers...), id, true)
	}
	s.onSent(st)
	return true
}

// RespondFirst begins a response as Respond does, and copies body. RespondNext continues it, and until RespondEnd ends
// it the handler gets the rest of the request. It may be called once.
func (s *Server) RespondFirst(id uint32, buf, body []byte) (ok bool) {
	st := s.streams.find(id)
	if st == nil || st.is(responded|unfinished) || s.err != nil {
		return false
	}
	st.flags |= unfinished
	s.sendHeaders(buf, id, false)
	s.sendBody(st, body, false)
	return true
}

// RespondNext copies the next part of the body. It sends nothing and returns false if the stream is not open, if its
// response has not begun or has ended, or if the client does not take more: then a megabyte waits for its windows.
func (s *Server) RespondNext(id uint32, p []byte) (ok bool) {
	st := s.streams.find(id)
	if st == nil || !st.is(unfinished) || s.err != nil {
		return false
	}
	switch {
	case st.body == 0:
		s.sendBody(st, p, false)
	case len(s.bodies.items[st.body-1].data) > congested:
		return false
	default:
		s.bodies.extend(st.body, p)
	}
	return true
}

// RespondEnd ends a response that RespondFirst began with a trailer section, as RespondTrailers does.
func (s *Server) RespondEnd(id uint32, trailers []byte) (ok bool) {
	st := s.streams.find(id)
	if st == nil || !st.is(unfinished) || s.err != nil {
		return false
	}
	st.flags = st.flags&^unfinished | responded | trailing
	if st.body != 0 {
		s.bodies.items[st.body-1].trailers = trailers
		return true
	}
	s.sendHeaders(append(s.Begin(), trailers...), id, true)
	s.onSent(st)
	return true
}

// onSent implements role. The client need not send the rest of its request (RFC 9113 8.1).
func (s *Server) onSent(st *stream) {
	if st.is(unfinished) {
		return
	}
	if !st.is(remoteClosed) {
		s.rst(st.id, http2.ErrCodeNo)
	}
	s.drop(st)
}

// ResetStream ends a stream. It has no effect if the stream is not open.
func (s *Server) ResetStream(id uint32, code http2.ErrCode) {
	if st := s.streams.find(id); st != nil {
		s.drop(st)
		s.rst(id, code)
	}
}

// Close reports every open stream as reset. The session has no further use.
func (s *Server) Close() {
	open := s.end()
	for st := range open.all {
		if !st.is(responded) {
			s.h.OnReset(st.id, st.tok)
		}
	}
}

// streamError implements role.
func (s *Server) streamError(st *stream, code http2.ErrCode, _ string) {
	id := st.id
	s.abort(st)
	s.rejectStream(id, code)
}

// rejectStream resets a stream because the client broke the protocol on it.
func (s *Server) rejectStream(id uint32, code http2.ErrCode) {
	if code == http2.ErrCodeProtocol {
		s.counts.Malformed++
	}
	s.rst(id, code)
	s.spendReset()
}

// onReset implements role.
func (s *Server) onReset(st *stream, _ http2.ErrCode) {
	s.counts.Resets++
	if st != nil {
		s.abort(st)
	}
	s.spendReset()
}

// onGoAway implements role: the client opens no more streams. The open ones continue.
func (s *Server) onGoAway(uint32, http2.ErrCode, []byte) {}

// onLateData implements role.
func (s *Server) onLateData(id uint32) {
	if !s.ignores(id) {
		s.rejectStream(id, http2.ErrCodeStreamClosed)
	}
}

// ignores reports that this side ended or ignores the stream, which the client may not know yet.
func (s *Server) ignores(id uint32) bool { return id > s.lastID || slices.Contains(s.reset.ids, id) }

// abort forgets a stream and reports it to the handler.
func (s *Server) abort(st *stream) {
	id, tok, report := st.id, st.tok, !st.is(responded)
	s.drop(st)
	if report {
		s.h.OnReset(id, tok)
	}
}

// spendReset ends connections of clients that reset streams, or cause resets, too often.
func (s *Server) spendReset() {
	if s.err == nil && !s.resets.take(s.now) {
		s.fail(http2.ErrCodeEnhanceYourCalm, "too many reset streams")
	}
}

func (s *Server) rst(id uint32, code http2.ErrCode) {
	s.sendReset(id, code)
	s.reset.add(id)
}

// resetStreams has the last 256 streams that this side reset. What the client sent on them before
// it got RST_STREAM is not an error (RFC 9113 5.1, closed).
type resetStreams struct {
	ids  []uint32 // allocated at first use, because most connections have no use for it
	next uint8
}

func (r *resetStreams) add(id uint32) {
	if r.ids == nil {
		r.ids = make([]uint32, 1<<8)
	}
	r.ids[r.next] = id
	r.next++
}

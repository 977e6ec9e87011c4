package h2

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// onBlock handles a complete header block: a request's, or its trailers.
func (s *Server) onBlock(id uint32, p []byte, end bool) {
	if id < s.nextID {
		s.trailers(id, p, end)
		return
	}
	s.nextID = id + 2
	ignored := s.gone
	if !ignored {
		s.lastID = id
	}
	r := &s.request
	r.reset(s.want&protocol.WantHeaders != 0)
	var sum hpack.Summary
	err := s.dec.Decode(&sum, p, r)
	switch {
	case err != nil:
		s.fail(http2.ErrCodeCompression, err.Error())
	case ignored:
	case s.streams.count >= s.cfg.MaxConcurrentStreams:
		s.counts.Refused++
		s.rst(id, http2.ErrCodeRefusedStream)
	case sum.Size > uint64(s.cfg.MaxHeaderListSize):
		s.tooLarge(id, end)
	case sum.Malformed || !r.wellFormed(sum.Pseudo) || end && sum.ContentLength > 0:
		s.rejectStream(id, http2.ErrCodeProtocol)
	default:
		s.begin(id, sum.ContentLength, end)
	}
	r.shrink()
}

// begin adds the stream and reports the request to the handler.
func (s *Server) begin(id uint32, length int64, end bool) {
	s.open(id, end).left = length
	r := &s.request
	tok := s.h.OnRequest(id, r.method, r.path)
	st := s.streams.find(id)
	if st == nil {
		return // the handler has responded or reset
	}
	st.tok = tok
	for _, f := range r.fields {
		name, value := r.arena[f.at:f.value], r.arena[f.value:f.end]
		s.h.OnHeader(id, tok, name, value)
	}
	if end {
		s.endRequest(id)
	}
}

// open adds a stream.
func (s *Server) open(id uint32, end bool) *stream {
	flags := gotHeader
	if end {
		flags |= remoteClosed
	}
	st := s.streams.add(id)
	s.conn.begin(st, id, 0, s.want, flags)
	return st
}

// trailers end a request (RFC 9113 8.1). The session drops their fields.
func (s *Server) trailers(id uint32, p []byte, end bool) {
	var sum hpack.Summary
	err := s.dec.Decode(&sum, p, nil)
	st := s.streams.find(id)
	switch {
	case err != nil:
		s.fail(http2.ErrCodeCompression, err.Error())
	case st == nil && s.ignores(id):
	case st == nil || st.is(remoteClosed):
		s.fail(http2.ErrCodeStreamClosed, "HEADERS after END_STREAM")
	case !end || sum.Malformed || sum.Pseudo != 0:
		s.streamError(st, http2.ErrCodeProtocol, "")
	default:
		s.endRequest(id)
	}
}

// endRequest handles END_STREAM. The handler may have ended the stream before.
func (s *Server) endRequest(id uint32) {
	st := s.streams.find(id)
	switch {
	case st == nil:
	case st.left > 0:
		s.streamError(st, http2.ErrCodeProtocol, contentLength)
	default:
		st.flags |= remoteClosed
		if !st.is(responded) {
			s.h.OnEnd(id, st.tok)
		}
	}
}

// tooLarge answers a header list above the bound with 431 (RFC 6585 5).
func (s *Server) tooLarge(id uint32, end bool) {
	s.counts.Malformed++
	s.open(id, end)
	_, name := hpack.StaticIndex(":status", "431")
	s.Respond(id, hpack.AppendLiteral(s.Begin(), hpack.Without, name, ":status", "431"), nil)
	s.spendReset()
}

// requestFields collects a request's header while the decoder decodes it. The decoder's strings
// are valid during one call.
type requestFields struct {
	method, path []byte
	// The other fields, if wanted, are in arena.
	want   bool
	arena  []byte
	fields []fieldSpan
}

// fieldSpan is a field in the arena: its name is at:value, its value is value:end.
type fieldSpan struct{ at, value, end int }

func (r *requestFields) reset(want bool) {
	r.method, r.path = r.method[:0], r.path[:0]
	r.want = want
	r.arena, r.fields = r.arena[:0], r.fields[:0]
}

// arenaKept and fieldsKept are the sizes of the buffers that a connection keeps, in octets and in fields. Most requests
// need less.
const (
	arenaKept  = 4096
	fieldsKept = 128
)

// shrink drops large buffers, because there may be many connections.
func (r *requestFields) shrink() {
	if cap(r.arena) > arenaKept || cap(r.fields) > fieldsKept || cap(r.path) > arenaKept {
		*r = requestFields{}
	}
}

// Field implements hpack.Sink.
func (r *requestFields) Field(name, value []byte, class hpack.Class) {
	switch class {
	case hpack.Method:
		r.method = append(r.method, value...)
		return
	case hpack.Path:
		r.path = append(r.path, value...)
		return
	}
	if r.want {
		f := fieldSpan{at: len(r.arena)}
		r.arena = append(r.arena, name...)
		f.value = len(r.arena)
		r.arena = append(r.arena, value...)
		f.end = len(r.arena)
		r.fields = append(r.fields, f)
	}
}

var (
	plainPseudo   = hpack.Method.Bit() | hpack.Scheme.Bit() | hpack.Path.Bit()
	connectPseudo = hpack.Method.Bit() | hpack.Authority.Bit()
)

// wellFormed checks the pseudo-header fields (RFC 9113 8.3.1, 8.5).
func (r *requestFields) wellFormed(set hpack.PseudoSet) bool {
	if string(r.method) == "CONNECT" {
		return set == connectPseudo
	}
	if set&^hpack.Authority.Bit() != plainPseudo || len(r.method) == 0 || len(r.path) == 0 {
		return false
	}
	return r.path[0] == '/' || string(r.path) == "*" && string(r.method) == "OPTIONS"
}

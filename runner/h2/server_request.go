package h2

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

func (s *Server) onHeaders(h FrameHeader, p []byte) {
	if h.StreamID%2 == 0 {
		s.connError(http2.ErrCodeProtocol, "HEADERS on a stream that is not the client's")
		return
	}
	fragment, code := headerFragment(h, p)
	if code != 0 {
		s.connError(code, "HEADERS with more padding or priority than payload")
		return
	}
	end := h.Flags.Has(http2.FlagHeadersEndStream)
	if !h.Flags.Has(http2.FlagHeadersEndHeaders) {
		s.block.begin(h.StreamID, end, fragment)
		return
	}
	s.endBlock(h.StreamID, fragment, end)
}

func (s *Server) onContinuation(h FrameHeader, p []byte) {
	if !s.block.add(p, s.cfg.MaxHeaderListSize) {
		s.connError(http2.ErrCodeEnhanceYourCalm, "a header block without end")
		return
	}
	if h.Flags.Has(http2.FlagContinuationEndHeaders) {
		s.endBlock(s.block.id, s.block.buf, s.block.end)
		s.block.done()
	}
}

// endBlock takes a complete header block: a request's, or its trailers. Whatever becomes of the
// stream the block is decoded, for the table's sake.
func (s *Server) endBlock(id uint32, p []byte, end bool) {
	if id <= s.highestID {
		s.trailers(id, p, end)
		return
	}
	s.highestID = id
	ignored := s.goAwaySent
	if !ignored {
		s.lastID = id
	}
	refused := s.streams.n >= int(s.cfg.MaxConcurrentStreams)
	r := &s.request
	r.reset(s.cfg.TellHeaders)
	sum, err := s.decoder.Decode(p, r)
	switch {
	case err != nil:
		s.connError(http2.ErrCodeCompression, err.Error())
	case ignored:
	case refused:
		s.counts.Refused++
		s.rst(id, http2.ErrCodeRefusedStream)
	case sum.Size > uint64(s.cfg.MaxHeaderListSize):
		s.tooLarge(id, end)
	case sum.Malformed || !r.wellFormed(sum.Pseudo) || end && sum.ContentLength > 0:
		s.malformed(id)
	default:
		s.begin(id, sum.ContentLength, end)
	}
}

// begin adds the stream and tells the handler.
func (s *Server) begin(id uint32, length int64, end bool) {
	st := s.streams.add(id)
	st.sendWindow = int32(s.peer.initialWindow)
	st.recvWindow = int32(s.cfg.StreamWindow)
	st.left = length
	if end {
		st.flags = requestEnded
		st.left = lengthUnknown
	}
	r := &s.request
	tok := s.h.OnRequest(id, r.method, r.path)
	if st = s.streams.find(id); st == nil {
		return // the handler has responded or reset
	}
	st.tok = tok
	for _, f := range r.fields {
		name, value := r.arena[f.at:f.value], r.arena[f.value:f.end]
		s.h.OnHeader(id, tok, name, value)
	}
	if len(r.fields) > 0 {
		st = s.streams.find(id)
	}
	if end && st != nil && !st.is(responded) {
		s.h.OnEnd(id, tok)
	}
}

// trailers end a request (RFC 9113 section 8.1). Their fields are dropped.
func (s *Server) trailers(id uint32, p []byte, end bool) {
	sum, err := s.decoder.Decode(p, nil)
	st := s.streams.find(id)
	switch {
	case err != nil:
		s.connError(http2.ErrCodeCompression, err.Error())
	case st == nil && s.ignores(id):
	case st == nil || st.is(requestEnded):
		s.connError(http2.ErrCodeStreamClosed, "HEADERS on a stream that has ended")
	case !end || sum.Malformed || sum.Pseudo != 0:
		s.malformed(id)
	default:
		s.endRequest(id)
	}
}

// endRequest handles END_STREAM after the request's header.
func (s *Server) endRequest(id uint32) {
	st := s.streams.find(id)
	if st == nil {
		return
	}
	if st.left > 0 { // less content than content-length promised
		s.malformed(id)
		return
	}
	st.flags |= requestEnded
	if !st.is(responded) {
		s.h.OnEnd(id, st.tok)
		return
	}
	if len(st.body) == 0 {
		s.drop(st)
	}
}

func (s *Server) malformed(id uint32) {
	s.counts.Malformed++
	s.streamError(id, http2.ErrCodeProtocol)
}

// tooLarge answers a header list over the bound with 431 (RFC 6585 section 5).
func (s *Server) tooLarge(id uint32, end bool) {
	s.counts.Malformed++
	st := s.streams.add(id)
	if end {
		st.flags = requestEnded
	}
	_, name := hpack.StaticIndex(":status", "431")
	s.Respond(id, hpack.AppendLiteral(s.BeginResponse(), hpack.Without, name, ":status", "431"), nil)
	s.spendReset()
}

// requestFields collects a request's header while it is decoded: the strings that the decoder
// hands out are valid during one call.
type requestFields struct {
	method, path []byte
	// The other fields, if wanted, are in arena.
	want   bool
	arena  []byte
	fields []fieldSpan
}

// fieldSpan is a field in the arena: name and value.
type fieldSpan struct{ at, value, end int }

func (r *requestFields) reset(want bool) {
	r.method, r.path = r.method[:0], r.path[:0]
	r.want = want
	r.arena, r.fields = r.arena[:0], r.fields[:0]
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

// wellFormed checks the pseudo-header fields (RFC 9113 sections 8.3.1 and 8.5).
func (r *requestFields) wellFormed(set hpack.PseudoSet) bool {
	if string(r.method) == "CONNECT" {
		return set == connectPseudo
	}
	if set&^hpack.Authority.Bit() != plainPseudo || len(r.method) == 0 || len(r.path) == 0 {
		return false
	}
	return r.path[0] == '/' || string(r.path) == "*" && string(r.method) == "OPTIONS"
}

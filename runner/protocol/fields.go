package protocol

import "github.com/h2surge/h2surge/runner/h2/hpack"

// Fields passes the fields of one header block of a response to the handler while a decoder decodes them.
type Fields struct {
	Handler  Handler
	Tok      uint32
	Trailers bool
	// Final: OnStatus was called.
	Final bool
}

// Field implements hpack.Sink. If the status is not the first field, the message is malformed (RFC 9113 8.3, RFC 9114
// 4.3).
func (f *Fields) Field(name, value []byte, class hpack.Class) {
	switch {
	case f.Trailers && !class.Pseudo():
		f.Handler.OnTrailer(f.Tok, name, value)
	case f.Final && !class.Pseudo():
		f.Handler.OnHeader(f.Tok, name, value)
	case class == hpack.Status && !f.Trailers:
		status := int(value[0]-'0')*100 + int(value[1]-'0')*10 + int(value[2]-'0')
		if status >= 200 {
			f.Final = true
			f.Handler.OnStatus(f.Tok, status)
		}
	}
}

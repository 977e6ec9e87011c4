package h1

import "github.com/h2surge/h2surge/internal/octet"

// chunk handles the octets around the data of chunks (RFC 9112 7.1), up to the next
// change of phase. Lines end with CRLF. LF alone, which RFC 9112 2.2 allows in
// heads, is refused here, because it has been used for request smuggling.
func (r *reader) chunk(p []byte) (n int, err *Error) {
	switch r.phase {
	case atChunk:
		return r.chunkSize(p)
	case atChunkBlank, atChunkExt:
		return r.chunkExt(p)
	case atChunkCR:
		if p[0] != '\r' {
			return 0, errChunkEnd
		}
		r.phase = atDataLF
	case atDataLF:
		if p[0] != '\n' {
			return 0, errChunkEnd
		}
		r.phase, r.digits, r.left = atChunk, 0, 0
	default: // atChunkLF
		if p[0] != '\n' {
			return 0, errChunkLine
		}
		r.phase = inChunk
		if r.left == 0 {
			r.phase = atTrailer
		}
	}
	return 1, nil
}

// chunkSize reads hexadecimal digits and the octet behind them.
func (r *reader) chunkSize(p []byte) (n int, err *Error) {
	for i, b := range p {
		d := octet.HexDigit(b)
		if d < octet.NoDigit && r.digits < maxChunkDigits {
			r.left = r.left<<4 | int64(d)
			r.digits++
			continue
		}
		switch {
		case d < octet.NoDigit || r.digits == 0:
			return 0, errChunkSize
		case b == '\r':
			r.phase = atChunkLF
		case b == ';':
			r.phase, r.ext = atChunkExt, 0
		case octet.IsBlank(b):
			r.phase, r.ext = atChunkBlank, 0
		default:
			return 0, errChunkSize
		}
		return i + 1, nil
	}
	return len(p), nil
}

// chunkExt skips extensions and the blanks before them. No extension is defined (RFC 9112 7.1.1).
func (r *reader) chunkExt(p []byte) (n int, err *Error) {
	for i, b := range p {
		if b == '\r' {
			r.phase = atChunkLF
			return i + 1, nil
		}
		r.ext++
		switch {
		case b < ' ' && b != '\t' || r.ext > maxChunkLine:
			return 0, errChunkLine
		case r.phase == atChunkExt || octet.IsBlank(b):
		case b == ';':
			r.phase = atChunkExt
		default:
			return 0, errChunkLine
		}
	}
	return len(p), nil
}

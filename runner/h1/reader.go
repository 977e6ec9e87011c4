package h1

import "bytes"

// phase is what comes next.
type phase uint8

const (
	atHead       phase = iota
	inLength           // left octets of content
	inClose            // content up to the end of the connection
	atChunk            // a chunk's size
	atChunkBlank       // blanks between the size and an extension (BWS, RFC 9112 7.1.1)
	atChunkExt         // its extensions
	atChunkLF          // the LF of its line
	inChunk            // left octets of it
	atChunkCR          // the CRLF behind it
	atDataLF           // the LF of that
	atTrailer          // trailer section
)

// carryKept and memoMost are what a connection keeps between responses, in
// octets.
const (
	carryKept = 2048
	memoMost  = 512
)

// reader has the state of the parser.
type reader struct {
	left    int64 // octets of content or of the chunk
	carry   []byte
	line    int // where the last line of carry begins
	head    head
	interim int // 1xx responses to the first request so far
	phase   phase
	digits  uint8  // of the chunk's size
	ext     uint16 // octets of its extensions

	// memo is the last head that came in one piece, and known is its meaning. The
	// heads of a test are equal until the date or a length changes.
	memo  []byte
	known head
}

// gather adds the lines of a head or a trailer section to carry. It returns true
// after the empty line.
func (r *reader) gather(p []byte) (n int, done bool) {
	for n < len(p) {
		i := bytes.IndexByte(p[n:], '\n')
		if i < 0 {
			r.carry = append(r.carry, p[n:]...)
			return len(p), false
		}
		r.carry = append(r.carry, p[n:n+i+1]...)
		n += i + 1
		line := r.carry[r.line:]
		r.line = len(r.carry)
		if len(line) == 1 || len(line) == 2 && line[0] == '\r' {
			return n, true
		}
	}
	return n, false
}

// release empties carry.
func (r *reader) release() {
	r.line = 0
	if cap(r.carry) > carryKept {
		r.carry = nil
		return
	}
	r.carry = r.carry[:0]
}

// emptied returns a reader for another connection in the same memory.
func (r *reader) emptied() reader {
	r.release()
	return reader{carry: r.carry, memo: r.memo, known: r.known}
}

// section returns the next head or trailer section and parses it: in place if p has
// all of it, otherwise in carry. It returns nil if the section is cut.
func (r *reader) section(p []byte, most int, trailer bool) (section []byte, n int, err *Error) {
	if len(r.carry) == 0 {
		if n, err = r.parse(p[:min(len(p), most)], trailer); n > 0 || err != nil {
			return p[:n], n, err
		}
	}
	n, done := r.gather(p[:min(len(p), most-len(r.carry))])
	switch {
	case done:
		_, err = r.parse(r.carry, trailer)
		return r.carry, n, err
	case len(r.carry) == most:
		return nil, 0, errTooLong
	}
	return nil, n, nil
}

func (r *reader) parse(p []byte, trailer bool) (n int, err *Error) {
	if trailer {
		return parseFields(p, 0, nil)
	}
	if n = r.recall(p); n > 0 {
		r.head = r.known
		return n, nil
	}
	n, err = parseHead(p, &r.head)
	if n > 0 && n <= memoMost {
		r.memo, r.known = append(r.memo[:0], p[:n]...), r.head
	}
	return n, err
}

// recall compares the beginning of p with memo. Values may differ if they have the
// same length and do not affect framing, such as a date or an id. It returns the
// length of the head, or 0 if it differs. This takes a third of the time of parsing.
func (r *reader) recall(p []byte) (n int) {
	m := r.memo
	if len(m) == 0 || len(p) < len(m) {
		return 0
	}
	p = p[:len(m)]
	if bytes.Equal(p, m) {
		return len(m)
	}
	for n = common(p, m); n < len(m); {
		i := bytes.LastIndexByte(m[:n], '\n') + 1
		colon := tokenEnd(p, i)
		if i == 0 || colon >= n || matters(colon-i) {
			return 0 // the status line, a name, or a field that may matter
		}
		_, next := lineEnd(p, colon)
		if next <= 0 || next != i+bytes.IndexByte(m[i:], '\n')+1 {
			return 0
		}
		copy(m[i:next], p[i:next]) // the rest may be equal again
		n = next + common(p[next:], m[next:])
	}
	return n
}

package h1

import (
	"bytes"
	"encoding/binary"

	"github.com/h2surge/h2surge/internal/octet"
)

// head is what the session must know of a response's head.
type head struct {
	length    int64 // content-length, or -1
	status    int
	minor     byte // HTTP/1.minor
	chunked   bool
	close     bool // connection: close
	keepAlive bool // connection: keep-alive
}

// parseHead reads a response's head: status line, fields and the empty line
// behind them. n is its length, or 0 when it is cut.
func parseHead(p []byte, h *head) (n int, err *Error) {
	*h = head{length: -1}
	if n, err = h.statusLine(p); n == 0 {
		return 0, err
	}
	if n, err = parseFields(p, n, h); n == 0 {
		return 0, err
	}
	if h.chunked && h.length >= 0 {
		return 0, errCodingLength
	}
	return n, nil
}

// Layout of a status line: HTTP/1.1 SP 3DIGIT SP reason (RFC 9112 4).
const (
	version   = "HTTP/1."
	statusAt  = len(version) + 2
	reasonAt  = statusAt + 3
	bytesHTTP = 0x2e312f50545448 // version, little-endian
)

// statusLine reads the status line. Minor versions above 1 are read as 1
// (RFC 9110 2.5). The space before an absent reason may be absent too, as many
// servers have it. Codes of 600 and above are handed on like any other
// (RFC 9110 15).
func (h *head) statusLine(p []byte) (n int, err *Error) {
	if len(p) <= reasonAt {
		k := min(len(p), len(version))
		if string(p[:k]) != version[:k] || bytes.IndexByte(p, '\n') >= 0 {
			return 0, noStatusLine(p)
		}
		return 0, nil
	}
	w := binary.LittleEndian.Uint64(p)
	minor, a, b, c := byte(w>>56)-'0', p[statusAt]-'0', p[statusAt+1]-'0', p[statusAt+2]-'0'
	if w<<8>>8 != bytesHTTP || minor > 9 || p[statusAt-1] != ' ' || a-1 > 8 || b > 9 || c > 9 {
		return 0, noStatusLine(p)
	}
	if s := p[reasonAt]; s != ' ' && s != '\r' && s != '\n' {
		return 0, noStatusLine(p)
	}
	h.minor, h.status = minor, int(a)*100+int(b)*10+int(c)
	_, n = lineEnd(p, reasonAt)
	return max(n, 0), cutOrBad(n)
}

// noStatusLine returns the error of a response that does not begin with a status line. A server of HTTP/2 answers with
// a SETTINGS or a GOAWAY frame on stream 0 that is shorter than 64 KiB.
func noStatusLine(p []byte) *Error {
	if len(p) >= 9 && p[0] == 0 && (p[3] == 4 || p[3] == 7) && p[4] == 0 && binary.BigEndian.Uint32(p[5:]) == 0 {
		return errHTTP2
	}
	return errStatusLine
}

// parseFields reads field lines from p[i] on, and the empty line behind them. n
// is where it ends, or 0 when they are cut. Without h, the fields are a
// trailer's: none has a meaning (RFC 9110 6.5.1), but they must be well-formed
// and their lines end with CRLF, as all around chunks.
func parseFields(p []byte, i int, h *head) (n int, err *Error) {
	for {
		// Independent of each other, so that the processor does both at once.
		end, next := lineEnd(p, i)
		colon := tokenEnd(p, i)
		if colon == len(p) {
			return 0, nil
		}
		if p[colon] != ':' || colon == i {
			return endOfFields(p, i, colon, h != nil)
		}
		if next <= 0 {
			return 0, cutOrBad(next)
		}
		if h == nil && p[end] == '\n' {
			return 0, errLine
		}
		if next == len(p) || octet.IsBlank(p[next]) {
			if end, next, err = unfold(p, end, next, h != nil); next == 0 {
				return 0, err
			}
		}
		if matters(colon-i) && h != nil {
			if err = h.field(p[i:colon], p[colon+1:end]); err != nil {
				return 0, err
			}
		}
		i = next
	}
}

// unfold replaces the line ends behind which a field continues (obs-fold, RFC 9112
// 5.2) by spaces, in place. p[end:next] is the end of the field's first line; the
// results are those of its last. next is 0 when what follows the field is cut,
// for that may be another line of it. bareLF says that LF alone ends a line.
func unfold(p []byte, end, next int, bareLF bool) (int, int, *Error) {
	for next < len(p) && octet.IsBlank(p[next]) {
		for ; end < next; end++ {
			p[end] = ' '
		}
		if end, next = lineEnd(p, next); next <= 0 {
			return 0, 0, cutOrBad(next)
		}
		if !bareLF && p[end] == '\n' {
			return 0, 0, errLine
		}
	}
	if next == len(p) {
		return 0, 0, nil
	}
	return end, next, nil
}

// cutOrBad says why lineEnd found no next line.
func cutOrBad(next int) *Error {
	if next < 0 {
		return errLine
	}
	return nil
}

// matters returns true if a name is as long as content-length, transfer-encoding
// or connection.
func matters(name int) bool { return name == 14 || name == 17 || name == 10 }

// endOfFields takes the line at start, where a token ends at i without a colon:
// the empty line, or one that is refused. bareLF says that LF alone will do.
func endOfFields(p []byte, start, i int, bareLF bool) (n int, err *Error) {
	switch b := p[i]; {
	case i > start && octet.IsBlank(b):
		return 0, errSpaceColon
	case i > start:
		return 0, errName
	case b == '\n' && bareLF:
		return i + 1, nil
	case b == '\r' && i+1 == len(p):
		return 0, nil
	case b == '\r' && p[i+1] == '\n':
		return i + 2, nil
	case b == '\r' || b == '\n':
		return 0, errLine
	case octet.IsBlank(b):
		return 0, errFold
	}
	return 0, errName
}

// field notes a field that frames the response or ends the connection.
func (h *head) field(name, value []byte) *Error {
	switch name[0] | 0x20 {
	case 'c':
		switch {
		case len(name) == 14 && foldsTo(name, "content-length"):
			return h.contentLength(octet.TrimBlanks(value))
		case len(name) == 10 && foldsTo(name, "connection"):
			h.connection(value)
		}
	case 't':
		switch {
		case !foldsTo(name, "transfer-encoding"):
		case h.minor == 0:
			return errCoding10
		case h.chunked || !foldsTo(octet.TrimBlanks(value), "chunked"):
			// Chunked alone: we ask for no other coding, and a second or an
			// unknown one leaves the length in doubt (RFC 9112 6.3).
			return errCoding
		default:
			h.chunked = true
		}
	}
	return nil
}

// contentLength takes a number, or a list that repeats one, as does a field that
// was sent twice (RFC 9112 6.3).
func (h *head) contentLength(value []byte) *Error {
	for {
		item := value
		comma := bytes.IndexByte(value, ',')
		if comma >= 0 {
			item = octet.TrimBlanks(value[:comma])
			value = octet.TrimBlanks(value[comma+1:])
		}
		n := octet.ContentLength(item)
		switch {
		case n < 0:
			return errLength
		case h.length >= 0 && h.length != n:
			return errLengths
		}
		h.length = n
		if comma < 0 {
			return nil
		}
	}
}

// connection looks for the options that matter (RFC 9110 7.6.1).
func (h *head) connection(value []byte) {
	for more := true; more; {
		option := value
		if comma := bytes.IndexByte(value, ','); comma >= 0 {
			option, value = value[:comma], value[comma+1:]
		} else {
			more = false
		}
		option = octet.TrimBlanks(option)
		h.close = h.close || foldsTo(option, "close")
		h.keepAlive = h.keepAlive || foldsTo(option, "keep-alive")
	}
}

// persists returns true if the connection may stay (RFC 9112 9.3).
func (h *head) persists() bool { return !h.close && (h.minor > 0 || h.keepAlive) }

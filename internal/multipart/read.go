package multipart

import (
	"bytes"
	"errors"
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// MaxParts is the maximum number of parts that are read.
const MaxParts = 64

// maxHeader is the maximum size of the header of a part, in octets.
const maxHeader = 8 << 10

// maxBoundary is the maximum size of a boundary (RFC 2046 5.1.1).
const maxBoundary = 70

// Errors of a content.
var (
	ErrNotMultipart = errors.New("content-type is not multipart (RFC 2046 5.1)")
	ErrBoundary     = errors.New("content-type has no boundary of 1 to 70 allowed characters (RFC 2046 5.1.1)")
	ErrNoDelimiter  = errors.New("the content has no line with two hyphens and the boundary (RFC 2046 5.1.1)")
	ErrNotClosed    = errors.New("no line with the boundary follows a part, so the content may be cut (RFC 2046 5.1.1)")
	ErrHeader       = errors.New("the header of a part does not end with an empty line within 8 KiB (RFC 2046 5.1)")
	ErrTooMany      = errors.New("the content has more than 64 parts")
	ErrNoPart       = errors.New("the content does not have the part")
)

// Part is a part of a content. Its fields are slices of the content.
type Part struct {
	header []byte
	// Body is the content of the part.
	Body []byte
}

// Reader reads the parts of a content, in their order.
type Reader struct {
	rest     []byte
	boundary []byte
	parts    int
}

// NewReader returns a reader of a content with the value of its Content-Type.
func NewReader(contentType, content []byte) (Reader, error) {
	boundary, err := boundaryOf(contentType)
	if err != nil {
		return Reader{}, err
	}
	r := Reader{rest: content, boundary: boundary}
	if _, last, ok := r.cut(); !ok || last {
		return Reader{}, ErrNoDelimiter
	}
	return r, nil
}

// Root returns the content of the first part of a content whose Content-Type is not known, or the content itself if it
// is not multipart. It takes the boundary from the first line, so there must not be a preamble.
func Root(content []byte) []byte {
	line, rest, ok := bytes.Cut(content, crlf)
	boundary, prefixed := bytes.CutPrefix(bytes.TrimRight(line, " \t"), hyphens)
	if !ok || !prefixed || !isBoundary(boundary) {
		return content
	}
	r := Reader{rest: rest, boundary: boundary}
	p, more, err := r.Next()
	if err != nil || !more {
		return content
	}
	return p.Body
}

// Next returns the next part. more is false after the last part.
func (r *Reader) Next() (p Part, more bool, err error) {
	if r.boundary == nil {
		return p, false, nil
	}
	if r.parts++; r.parts > MaxParts {
		return p, false, ErrTooMany
	}
	entity, last, ok := r.cut()
	if !ok {
		return p, false, ErrNotClosed
	}
	if last {
		r.boundary = nil
	}
	p, ok = split(entity)
	if !ok {
		return p, false, ErrHeader
	}
	return p, true, nil
}

// split splits a part into its header, which can be empty, and its content.
func split(entity []byte) (p Part, ok bool) {
	if len(entity) == 0 || bytes.HasPrefix(entity, crlf) {
		return Part{Body: bytes.TrimPrefix(entity, crlf)}, true
	}
	end := bytes.Index(entity[:min(len(entity), maxHeader)], emptyLine)
	switch {
	case end >= 0:
		return Part{header: entity[:end], Body: entity[end+len(emptyLine):]}, true
	case len(entity) <= maxHeader && bytes.HasSuffix(entity, crlf): // a part without content
		return Part{header: entity}, true
	}
	return p, false
}

var (
	crlf      = []byte("\r\n")
	emptyLine = []byte("\r\n\r\n")
	hyphens   = []byte("--")
)

// cut returns the octets before the next delimiter, and reads the delimiter. last: it is the close-delimiter. The line
// end before a delimiter belongs to the delimiter.
func (r *Reader) cut() (before []byte, last, ok bool) {
	for from := 0; ; {
		i := bytes.Index(r.rest[from:], r.boundary)
		if i < 0 {
			return nil, false, false
		}
		at := from + i
		from = at + 1
		start := at - len(hyphens)
		if start < 0 || !bytes.Equal(r.rest[start:at], hyphens) {
			continue
		}
		if start > 0 && !bytes.HasSuffix(r.rest[:start], crlf) {
			continue
		}
		after, last, ok := endOfDelimiter(r.rest[at+len(r.boundary):])
		if !ok {
			continue
		}
		before = r.rest[:max(0, start-len(crlf))]
		r.rest = after
		return before, last, true
	}
}

// endOfDelimiter returns what follows the line of a delimiter, whose boundary is before s. A line with further
// characters is not a delimiter.
func endOfDelimiter(s []byte) (after []byte, last, ok bool) {
	s, last = bytes.CutPrefix(s, hyphens)
	padded := bytes.TrimLeft(s, " \t") // transport-padding
	switch {
	case bytes.HasPrefix(padded, crlf):
		return padded[len(crlf):], last, true
	case last && len(padded) == 0:
		return nil, true, true
	}
	return nil, false, false
}

// ContentID returns the Content-ID of the part without angle brackets, or nil.
func (p *Part) ContentID() []byte {
	id := p.field("content-id")
	if n := len(id); n > 1 && id[0] == '<' && id[n-1] == '>' {
		return id[1 : n-1]
	}
	return id
}

// MediaType returns the media type of the part without parameters, or nil.
func (p *Part) MediaType() []byte {
	kind, _, _ := bytes.Cut(p.field("content-type"), []byte(";"))
	return bytes.TrimSpace(kind)
}

// field returns the value of the first field with the lower-case name.
func (p *Part) field(name string) []byte {
	for rest := p.header; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, crlf)
		for len(rest) > 0 && octet.IsBlank(rest[0]) { // a folded line (RFC 5322 2.2.3)
			folded, after, _ := bytes.Cut(rest, crlf)
			line, rest = line[:len(line)+len(crlf)+len(folded)], after
		}
		found, value, ok := bytes.Cut(line, []byte(":"))
		if ok && octet.EqualFold(bytes.TrimSpace(found), name) {
			return bytes.TrimSpace(value)
		}
	}
	return nil
}

// Is reports whether a name refers to the part: a name with a slash is its media type, another name its Content-ID.
func (p *Part) Is(name string) bool {
	if strings.IndexByte(name, '/') >= 0 {
		return octet.EqualFold(p.MediaType(), name)
	}
	return string(p.ContentID()) == name
}

// Find returns the content of the first part that a name refers to. It does not read the parts after it.
func Find(contentType, content []byte, name string) ([]byte, error) {
	r, err := NewReader(contentType, content)
	if err != nil {
		return nil, err
	}
	for {
		p, more, err := r.Next()
		switch {
		case err != nil:
			return nil, err
		case !more:
			return nil, ErrNoPart
		case p.Is(name):
			return p.Body, nil
		}
	}
}

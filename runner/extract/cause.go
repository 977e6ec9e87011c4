package extract

import (
	"unicode"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/related"
)

var (
	causePointer  = mustPointer("/cause")
	nestedPointer = mustPointer("/error/cause")
	typePointer   = mustPointer("/type")
)

func mustPointer(s string) *jsontext.Pointer {
	p, err := jsontext.ParsePointer(s)
	if err != nil {
		panic(err)
	}
	return p
}

// Cause returns the cause of an error response whose content is problem details (RFC 9457) or a similar JSON object: the
// member "cause" (3GPP TS 29.500 5.2.7.2), else "cause" of the member "error" (SmContextCreateError and others of TS 29.502
// 6.1.6.2), or else "type" unless it is about:blank. Of a multipart content, the first part counts. ok is false if none is a
// string with text. Cause does not need the media type, because then the fields of every response would have to be decoded.
//
// Cause appends to dst and returns the appended text: at most rv.MaxCauseLength octets of UTF-8, with U+FFFD for
// characters that are not printable. It allocates nothing if the capacity of dst is sufficient for the text and, if the
// member has escapes, for its characters.
func Cause(dst, body []byte) (cause []byte, ok bool) {
	body = related.Root(body)
	for _, p := range [...]*jsontext.Pointer{causePointer, nestedPointer} {
		if text := stringAt(dst, p, body); len(text) > 0 {
			return printable(dst, text), true
		}
	}
	if text := stringAt(dst, typePointer, body); len(text) > 0 && string(text) != "about:blank" {
		return printable(dst, text), true
	}
	return nil, false
}

// stringAt is empty when there is no string.
func stringAt(dst []byte, p *jsontext.Pointer, doc []byte) []byte {
	raw, ok := p.Raw(doc)
	if !ok || raw[0] != '"' {
		return nil
	}
	return jsontext.Text(dst, raw)
}

// printable appends as much of text to dst as fits, and returns that.
func printable(dst, text []byte) []byte {
	var short [rv.MaxCauseLength]byte // text may lie where it is appended
	out := short[:0]
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		if len(out)+utf8.RuneLen(r) > len(short) {
			break
		}
		out = utf8.AppendRune(out, r)
		text = text[size:]
	}
	return append(dst, out...)[len(dst):]
}

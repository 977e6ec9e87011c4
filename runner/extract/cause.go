package extract

import (
	"unicode"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/multipart"
)

var (
	causePointers  = [...]*jsontext.Pointer{mustPointer("/cause"), mustPointer("/error/cause")}
	typePointer    = mustPointer("/type")
	titlePointers  = [...]*jsontext.Pointer{mustPointer("/title"), mustPointer("/error/title")}
	statusPointers = [...]*jsontext.Pointer{mustPointer("/status"), mustPointer("/error/status")}
)

func mustPointer(s string) *jsontext.Pointer {
	p, err := jsontext.ParsePointer(s)
	if err != nil {
		panic(err)
	}
	return p
}

// Cause returns the cause of an error response whose content is problem details (RFC 9457) or a similar JSON object:
// the member "cause" (3GPP TS 29.500 5.2.7.2), else "cause" of the member "error" (SmContextCreateError and others of
// TS 29.502
// 6.1.6.2), or else "type" unless it is about:blank. Problem details without both have their "title" as the cause, or
// else "status 404" of the member "status". Of a multipart content, the first part counts. ok is false without all of
// them. Cause does not need the media type, because then the fields of every response would have to be decoded.
//
// Cause appends to dst and returns the appended text: at most rv.MaxCauseLength octets of UTF-8, with U+FFFD for
// characters that are not printable. It allocates nothing if the capacity of dst is sufficient for the text and, if the
// member has escapes, for its characters.
func Cause(dst, body []byte) (cause []byte, ok bool) {
	body = multipart.Root(body)
	if text := firstString(dst, causePointers[:], body); len(text) > 0 {
		return printable(dst, text), true
	}
	if text := stringAt(dst, typePointer, body); len(text) > 0 && string(text) != "about:blank" {
		return printable(dst, text), true
	}
	if text := firstString(dst, titlePointers[:], body); len(text) > 0 {
		return printable(dst, text), true
	}
	for _, p := range statusPointers {
		if raw, ok := p.Raw(body); ok && isStatus(raw) {
			return append(append(dst, "status "...), raw...)[len(dst):], true
		}
	}
	return nil, false
}

// isStatus returns whether a JSON value is a status code.
func isStatus(raw []byte) bool {
	return len(raw) == 3 && raw[0] >= '1' && raw[0] <= '9' && raw[1] >= '0' && raw[1] <= '9' && raw[2] >= '0' &&
		raw[2] <= '9'
}

// firstString returns the first string that is not empty.
func firstString(dst []byte, at []*jsontext.Pointer, doc []byte) []byte {
	for _, p := range at {
		if text := stringAt(dst, p, doc); len(text) > 0 {
			return text
		}
	}
	return nil
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

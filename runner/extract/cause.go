package extract

import (
	"unicode"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/jsontext"
)

var (
	causePointer = mustPointer("/cause")
	typePointer  = mustPointer("/type")
)

func mustPointer(s string) *jsontext.Pointer {
	p, err := jsontext.ParsePointer(s)
	if err != nil {
		panic(err)
	}
	return p
}

// Cause tells why a response is an error, if its content is problem details (RFC 9457) or another JSON
// object like them: the member "cause" (3GPP TS 29.500 5.2.7.2), or without one the "type", unless that is
// about:blank. ok is false when there is neither as a string that is not empty. The media type is not
// looked at: that would cost every request the decoding of its response's fields.
//
// The cause is appended to dst, and is what follows dst's length: at most rv.MaxCauseLength octets of UTF-8, in
// which U+FFFD stands for what cannot be printed. Nothing is allocated if dst has room for it, and for the
// member's characters where it has escapes.
func Cause(dst, body []byte) (cause []byte, ok bool) {
	if text := stringAt(dst, causePointer, body); len(text) > 0 {
		return printable(dst, text), true
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

package extract

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/extract/jsonpointer"
	"github.com/h2surge/h2surge/runner/message"
)

var (
	causePointer = mustPointer("/cause")
	typePointer  = mustPointer("/type")
)

func mustPointer(s string) *jsonpointer.Pointer {
	p, err := jsonpointer.Parse(s)
	if err != nil {
		panic(err)
	}
	return p
}

// Cause tells why a response is an error, if its content is problem details (RFC 9457): the member "cause"
// (3GPP TS 29.500 5.2.7.2), or without one the "type", unless that is about:blank. ok is false when there is
// neither as a string that is not empty.
//
// The cause is appended to dst, and is what follows dst's length: at most rv.MaxCauseLength octets of UTF-8, in
// which U+FFFD stands for what cannot be printed. Nothing is allocated if dst has room for it, and for the
// member's characters where it has escapes.
func Cause(dst []byte, m *message.Message) (cause []byte, ok bool) {
	if t, ok := m.Header("content-type"); !ok || !isProblem(t) {
		return nil, false
	}
	if text := stringAt(dst, causePointer, m.Body); len(text) > 0 {
		return printable(dst, text), true
	}
	if text := stringAt(dst, typePointer, m.Body); len(text) > 0 && string(text) != "about:blank" {
		return printable(dst, text), true
	}
	return nil, false
}

// isProblem compares a media type without its parameters (RFC 9110 8.3.1).
func isProblem(contentType []byte) bool {
	media, _, _ := bytes.Cut(contentType, []byte(";"))
	return bytes.EqualFold(bytes.Trim(media, " \t"), []byte("application/problem+json"))
}

// stringAt is empty when there is no string.
func stringAt(dst []byte, p *jsonpointer.Pointer, doc []byte) []byte {
	raw, ok := p.Raw(doc)
	if !ok || raw[0] != '"' {
		return nil
	}
	return jsonpointer.Text(dst, raw)
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

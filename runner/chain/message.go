package chain

import (
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/message"
)

// AppendPath appends the path and query of a step's request to an endpoint, as they are sent.
func (s *Step) AppendPath(dst []byte, _ *Program, inst *Instance, e *rv.Endpoint) []byte {
	at := len(dst)
	if !s.path.complete() {
		dst = append(dst, e.BasePath...)
	}
	return neutralise(s.path.appendTo(dst, inst), at, targetHole)
}

// RenderMessage fills m with everything that a step's request to an endpoint has: all fields but
// content-length. body and cookie are rendered already. It appends the octets to buf, which it returns;
// m's slices are parts of what it appended, and valid until that is written over.
func (s *Step) RenderMessage(m *message.Message, buf []byte, g *Program, inst *Instance, e *rv.Endpoint, body, cookie []byte) []byte {
	// Where buf has to grow, its old memory stays as it is, so what points there stays right.
	m.Status, m.Body, m.Fields = 0, body, m.Fields[:0]
	buf, m.Method = part(append(buf, s.method...), len(buf))
	buf, m.Scheme = part(append(buf, e.Scheme...), len(buf))
	buf, m.Authority = part(append(buf, e.Authority...), len(buf))
	buf, m.Path = part(s.AppendPath(buf, g, inst, e), len(buf))
	for i := range s.fields {
		if f := &s.fields[i]; f.inMessage() {
			buf = f.render(m, buf, inst, s.Target)
		}
	}
	if len(cookie) > 0 {
		buf = addCookie(m, buf, cookie)
	}
	return buf
}

// part returns buf, and what is behind at in it.
func part(buf []byte, at int) (all, appended []byte) { return buf, buf[at:len(buf):len(buf)] }

// inMessage: pseudo-header fields are elsewhere in a message, and the length is that of what is sent
// in the end.
func (f *fieldSource) inMessage() bool {
	if f.holes != nil {
		return true
	}
	return f.name[0] != ':' && f.name != "content-length"
}

func (f *fieldSource) render(m *message.Message, buf []byte, inst *Instance, target int) []byte {
	var out message.Field
	if f.holes != nil {
		buf, out.Name = part(neutraliseName(f.holes.appendTo(buf, inst), len(buf)), len(buf))
	} else {
		buf, out.Name = part(append(buf, f.name...), len(buf))
	}
	at := len(buf)
	if f.kind == fieldAuthorization {
		buf = append(buf, inst.src.authorization(target)...)
		if len(buf) == at {
			return buf
		}
	} else {
		buf = f.value.appendTo(buf, inst)
	}
	buf, out.Value = part(neutralise2(buf, at, valueHole), at)
	m.Fields = append(m.Fields, out)
	return buf
}

// addCookie adds to the field that is there, since there is one only (RFC 6265 5.4).
func addCookie(m *message.Message, buf, cookie []byte) []byte {
	at := len(buf)
	for i := range m.Fields {
		if f := &m.Fields[i]; string(f.Name) == "cookie" {
			buf = append(append(append(buf, f.Value...), "; "...), cookie...)
			buf, f.Value = part(neutralise2(buf, at, valueHole), at)
			return buf
		}
	}
	f := message.Field{Name: cookieName}
	buf, f.Value = part(neutralise2(append(buf, cookie...), at, valueHole), at)
	m.Fields = append(m.Fields, f)
	return buf
}

var cookieName = []byte("cookie")

// AppendMessage appends the header block of a request that a script may have changed, whose body has
// bodyLen octets. It neither reads nor changes the table, whatever state that is in. What the engine
// sets itself, or belongs to a connection (RFC 9113 8.2.2), is left out of m's fields.
func (e *Encoder) AppendMessage(dst []byte, m *message.Message, bodyLen int) []byte {
	dst = appendField(dst, ":method", m.Method, tokenHole)
	dst = appendField(dst, ":scheme", m.Scheme, targetHole)
	dst = appendField(dst, ":authority", m.Authority, targetHole)
	dst = appendField(dst, ":path", pathOf(m), targetHole)
	for i := range m.Fields {
		f := &m.Fields[i]
		switch {
		case ofConnection(f.Name) || string(f.Name) == "content-length" || string(f.Name) == "host":
		case string(f.Name) == "te" && string(f.Value) != "trailers":
		default:
			dst = appendField(dst, string(f.Name), f.Value, valueHole)
		}
	}
	if n, ok := messageLength(m, bodyLen); ok {
		var digits [20]byte
		dst = appendField(dst, "content-length", strconv.AppendInt(digits[:0], n, 10), valueHole)
	}
	return dst
}

func pathOf(m *message.Message) []byte {
	if len(m.Path) == 0 {
		return rootPath
	}
	return m.Path
}

var rootPath = []byte("/")

// messageLength is the content-length of a request, where it has one; see appendLength.
func messageLength(m *message.Message, bodyLen int) (int64, bool) {
	return int64(bodyLen), bodyLen > 0 || expectsContent(string(m.Method))
}

// appendField appends a field by its index in the static table, or else as a literal.
func appendField(dst []byte, name string, value []byte, place holeKind) []byte {
	const longest = 32 // octets of a value in the static table
	known := ""
	if len(value) <= longest {
		known = string(value)
	}
	full, index := hpack.StaticIndex(name, known)
	if full > 0 && len(known) == len(value) {
		return hpack.AppendIndexed(dst, full)
	}
	indexing := hpack.Without
	if secret(name) {
		indexing = hpack.Never
	}
	if index > 0 {
		dst = hpack.AppendLiteralPrefix(dst, indexing, index, "")
	} else {
		dst = append(dst, map[hpack.Indexing]byte{hpack.Without: 0, hpack.Never: 0x10}[indexing])
		dst = appendOctets(dst, name, tokenHole)
	}
	return appendOctets(dst, value, place)
}

// appendOctets appends a string of HPACK (RFC 7541 5.2).
func appendOctets[T ~string | ~[]byte](dst []byte, s T, place holeKind) []byte {
	at := len(dst)
	dst = append(append(dst, 0), s...)
	return closeString(neutralise2(dst, at+1, place), at)
}

// AppendMessage appends the head of a request that a script may have changed, whose body has bodyLen
// octets, with the empty line that ends it. What the engine sets itself, or belongs to a connection
// (RFC 9110 7.6.1), is left out of m's fields.
func (h *Head) AppendMessage(dst []byte, m *message.Message, bodyLen int) []byte {
	at := len(dst)
	dst = append(neutralise(append(dst, m.Method...), at, tokenHole), ' ')
	at = len(dst)
	dst = append(neutralise(append(dst, pathOf(m)...), at, targetHole), " HTTP/1.1\r\nhost: "...)
	at = len(dst)
	dst = append(neutralise(append(dst, m.Authority...), at, targetHole), "\r\n"...)
	te := false
	for i := range m.Fields {
		f := &m.Fields[i]
		if ofConnection(f.Name) || string(f.Name) == "content-length" || string(f.Name) == "host" {
			continue
		}
		te = te || string(f.Name) == "te"
		at = len(dst)
		dst = neutralise(append(dst, f.Name...), at, tokenHole)
		dst = append(dst, ": "...)
		at = len(dst)
		dst = append(neutralise(append(dst, f.Value...), at, valueHole), "\r\n"...)
	}
	if n, ok := messageLength(m, bodyLen); ok {
		dst = append(strconv.AppendInt(append(dst, "content-length: "...), n, 10), "\r\n"...)
	}
	return append(dst, connectionLines[te][h.keepAlive]...)
}

// connectionLines end a head, by whether te is to be named (RFC 9110 10.1.4) and keepAlive.
var connectionLines = map[bool]map[bool]string{
	false: {true: "\r\n", false: "connection: close\r\n\r\n"},
	true:  {true: "connection: te\r\n\r\n", false: "connection: close, te\r\n\r\n"},
}

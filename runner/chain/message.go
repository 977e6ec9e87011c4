package chain

import (
	"bytes"
	"slices"
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// AppendPath appends the path and query of a step's request to an endpoint, as they are sent.
func (s *Step) AppendPath(dst []byte, inst *Instance, e *rv.Endpoint) []byte {
	at := len(dst)
	if !s.HasAuthority && !s.path.complete() {
		dst = append(dst, e.BasePath...)
	}
	return neutralise(s.path.appendTo(dst, inst), at, inTarget)
}

// RenderMessage sets m to the request of a step to an endpoint, with all fields except content-length. body and cookie
// are already rendered. It appends the octets to buf and returns buf. The slices of m are parts of buf.
func (s *Step) RenderMessage(m *message.Message, buf []byte, inst *Instance, e *rv.Endpoint, body,
	cookie []byte) []byte {
	// If buf grows, the old memory does not change, so slices into it stay valid.
	m.Status, m.Body, m.Fields, m.Unsized = 0, body, m.Fields[:0], len(s.Waits) > 0
	buf, m.Method = part(append(buf, s.method...), len(buf))
	buf, m.Scheme = part(append(buf, e.Scheme...), len(buf))
	buf, m.Authority = part(append(buf, e.Authority...), len(buf))
	buf, m.Path = part(s.AppendPath(buf, inst, e), len(buf))
	for i := range s.fields {
		if f := &s.fields[i]; f.inMessage() {
			buf = f.render(m, buf, inst)
		}
	}
	if len(cookie) > 0 {
		buf = addCookie(m, buf, cookie)
	}
	return buf
}

// part returns buf, and the part of it after at.
func part(buf []byte, at int) (all, appended []byte) { return buf, buf[at:len(buf):len(buf)] }

// inMessage reports whether a field is in Message.Fields. Pseudo-header fields have their own places in a message, and
// the content length depends on the final body.
func (f *fieldSource) inMessage() bool {
	if f.nameText != nil {
		return true
	}
	return f.name[0] != ':' && f.name != "content-length"
}

func (f *fieldSource) render(m *message.Message, buf []byte, inst *Instance) []byte {
	var out message.Field
	if f.nameText != nil {
		buf, out.Name = part(neutraliseName(f.nameText.appendTo(buf, inst), len(buf)), len(buf))
	} else {
		buf, out.Name = part(append(buf, f.name...), len(buf))
	}
	at := len(buf)
	if buf = f.value.appendTo(buf, inst); len(buf) == at && f.omitEmpty {
		return buf
	}
	buf, out.Value = part(neutralise2(buf, at, inValue), at)
	m.Fields = append(m.Fields, out)
	return buf
}

// addCookie appends to the existing cookie field, because a request has only one (RFC 6265 5.4).
func addCookie(m *message.Message, buf, cookie []byte) []byte {
	at := len(buf)
	for i := range m.Fields {
		if f := &m.Fields[i]; string(f.Name) == "cookie" {
			buf = append(append(append(buf, f.Value...), "; "...), cookie...)
			buf, f.Value = part(neutralise2(buf, at, inValue), at)
			return buf
		}
	}
	f := message.Field{Name: cookieName}
	buf, f.Value = part(neutralise2(append(buf, cookie...), at, inValue), at)
	m.Fields = append(m.Fields, f)
	return buf
}

// WithholdSecrets removes the fields of a rendered request in which a user writes secrets, as browsers and curl do if a
// redirect leads to another origin. The credentials of the target stay, because Sources.Withhold decides about them,
// and so does cookie, which is that of the instance for this origin.
func (s *Step) WithholdSecrets(m *message.Message, src *Sources, cookie []byte) {
	m.Fields = slices.DeleteFunc(m.Fields, func(f message.Field) bool {
		return withheld(string(f.Name)) && !slices.ContainsFunc(s.Credentials, func(c Credential) bool {
			return bytes.Equal(src.credential(c), f.Value)
		})
	})
	if len(cookie) > 0 {
		m.Fields = append(m.Fields, message.Field{Name: cookieName, Value: cookie})
	}
}

// withheld returns whether WithholdSecrets removes a field: the secret ones, and those that clients also remove.
func withheld(name string) bool {
	return secret(name) || name == "cookie2" || name == "proxy-authenticate" || name == "www-authenticate"
}

var cookieName = []byte("cookie")

// AppendMessage appends the header block of a request that a script may have changed, whose body has
// bodyLen octets. It does not use the dynamic table, so it is valid in every state. It omits fields of m that the
// engine sets and fields that belong to a connection (RFC 9113 8.2.2).
func (e *Encoder) AppendMessage(dst []byte, m *message.Message, bodyLen int) []byte {
	dst = append(dst, prefix[e.coder]...)
	dst = e.appendField(dst, ":method", m.Method, inToken)
	dst = e.appendField(dst, ":scheme", m.Scheme, inTarget)
	dst = e.appendField(dst, ":authority", m.Authority, inTarget)
	dst = e.appendField(dst, ":path", pathOf(m), inTarget)
	for i := range m.Fields {
		f := &m.Fields[i]
		switch {
		case ofConnection(f.Name) || string(f.Name) == "content-length" || string(f.Name) == "host":
		case string(f.Name) == "te" && string(f.Value) != "trailers":
		default:
			dst = e.appendField(dst, string(f.Name), f.Value, inValue)
		}
	}
	if n, ok := messageLength(m, bodyLen); ok {
		var digits [20]byte
		dst = e.appendField(dst, "content-length", strconv.AppendInt(digits[:0], n, 10), inValue)
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

// messageLength returns the content-length of a request, if the request has one; see appendLength.
func messageLength(m *message.Message, bodyLen int) (int64, bool) {
	return int64(bodyLen), !m.Unsized && (bodyLen > 0 || expectsContent(string(m.Method)))
}

// AppendMessage appends the head of a request that a script may have changed, whose body has bodyLen
// octets, with the empty line that ends it. It omits fields of m that the engine sets and fields that belong to a
// connection (RFC 9110 7.6.1).
func (h *Head) AppendMessage(dst []byte, m *message.Message, bodyLen int) []byte {
	at := len(dst)
	dst = append(neutralise(append(dst, m.Method...), at, inToken), ' ')
	at = len(dst)
	dst = append(neutralise(append(dst, pathOf(m)...), at, inTarget), " HTTP/1.1\r\nhost: "...)
	at = len(dst)
	dst = append(neutralise(append(dst, m.Authority...), at, inTarget), "\r\n"...)
	te := false
	for i := range m.Fields {
		f := &m.Fields[i]
		if ofConnection(f.Name) || string(f.Name) == "content-length" || string(f.Name) == "host" {
			continue
		}
		te = te || string(f.Name) == "te"
		at = len(dst)
		dst = neutralise(append(dst, f.Name...), at, inToken)
		dst = append(dst, ": "...)
		at = len(dst)
		dst = append(neutralise(append(dst, f.Value...), at, inValue), "\r\n"...)
	}
	if n, ok := messageLength(m, bodyLen); ok {
		dst = append(strconv.AppendInt(append(dst, "content-length: "...), n, 10), "\r\n"...)
	}
	return append(dst, connectionLines[te][h.keepAlive]...)
}

// connectionLines are the ends of a head. The keys are whether connection must name te (RFC 9110 10.1.4), and
// keepAlive.
var connectionLines = map[bool]map[bool]string{
	false: {true: "\r\n", false: "connection: close\r\n\r\n"},
	true:  {true: "connection: te\r\n\r\n", false: "connection: close, te\r\n\r\n"},
}

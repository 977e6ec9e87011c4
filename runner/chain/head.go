package chain

import (
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Head renders the heads of HTTP/1.1 requests to one endpoint (RFC 9112 3). The fields are those that Encoder renders
// for HTTP/2. It belongs to one worker.
//
// A head is text, so a value must not end its line: otherwise the peer sees another request than the one of the plan
// (RFC 9112 11.1). The compiler checks the values of the plan, and the sessions refuse responses with such values (RFC
// 9112 2.2, RFC 9113 8.2.1). Head guarantees it for every plan and every capture:
//   - In the path, spaces, "#", control characters and octets above ASCII are percent-encoded (RFC 3986 2.1). "%" is
//     not, so what is already encoded does not change.
//   - In a field value, CR, LF and NUL become spaces (RFC 9110 5.5).
//
// Methods and names of fields are tokens (see requestFields). In names with placeholders, every other octet becomes
// "-".
type Head struct {
	keepAlive bool
	endpoint  *rv.Endpoint
	steps     [][]headOp // by Step.Order; the first request of a step makes its own
}

// headOp appends literal and then the value of the placeholder.
type headOp struct {
	literal []byte
	place   placement
	// plain: the value cannot have an octet that neutralise replaces.
	plain bool
	value *piece
	// whole is the complete name of a field, because the name as a whole must be a token, or the value of optionalField.
	whole text
	// omit is how many octets at the end of literal are removed again if the value of optionalField is empty. cookies: the
	// cookies of the instance are a part of this value.
	omit    int
	cookies bool
}

type placement uint8

const (
	noPlaceholder placement = iota
	inTarget                // a part of the path
	inName                  // the name of a field
	inToken                 // a method, or a name in lower case
	inValue                 // a part of a field value
	bodyLength              // the length of the body
	cookieField             // the field with the instance's cookies, if there are any
	cookieTail              // the instance's cookies after those of the template
	optionalField           // a field value that, if it is empty, removes the name before it
)

// NewHead returns the renderer for the steps of a target and one of its endpoints. Without keepAlive, each request
// announces that it is the last of its connection (RFC 9112 9.6).
func NewHead(g *Program, target int, e *rv.Endpoint, keepAlive bool) *Head {
	return &Head{keepAlive: keepAlive, endpoint: e, steps: make([][]headOp, len(g.stepsTo(target)))}
}

// headOps returns the operations of a head. The pseudo-header fields become the request line and host, which is the
// first field (RFC 9110 7.2).
func headOps(fields []fieldSource, e *rv.Endpoint, keepAlive, hasCookies bool) []headOp {
	var b headBuilder
	connection := ""
	if !keepAlive {
		connection = "close"
	}
	for _, name := range []string{":method", ":path", ":authority"} {
		for i := range fields {
			if fields[i].name == name {
				b.pseudo(name, fields[i].at(e))
			}
		}
	}
	cookies := noPlaceholder
	if hasCookies {
		cookies = cookieField
	}
	for i := range fields {
		f := &fields[i]
		switch {
		case f.nameText == nil && f.name[0] == ':':
			continue
		case f.name == "te": // RFC 9110 10.1.4: named by connection
			connection = join(connection, "te")
		case f.name == "cookie": // RFC 6265 5.4: there is one field
			b.field(f, e, cookies)
			cookies = noPlaceholder
			continue
		}
		b.field(f, e, noPlaceholder)
	}
	if cookies == cookieField {
		b.placeholder(cookieField, nil)
	}
	if connection != "" {
		b.literal = append(append(append(b.literal, "connection: "...), connection...), "\r\n"...)
	}
	return b.end()
}

func join(list, item string) string {
	if list == "" {
		return item
	}
	return list + ", " + item
}

// headBuilder joins literals up to the next placeholder.
type headBuilder struct {
	ops     []headOp
	literal []byte
}

func (b *headBuilder) pseudo(name string, t text) {
	switch name {
	case ":method":
		b.text(t, inValue)
		b.literal = append(b.literal, ' ')
	case ":path":
		b.text(t, inTarget)
		b.literal = append(b.literal, " HTTP/1.1\r\n"...)
	case ":authority":
		b.literal = append(b.literal, "host: "...)
		b.text(t, inValue)
		b.literal = append(b.literal, "\r\n"...)
	}
}

// field adds a line. If cookies is cookieField, the cookies of the instance follow the value.
func (b *headBuilder) field(f *fieldSource, e *rv.Endpoint, cookies placement) {
	if f.nameText != nil {
		b.ops = append(b.ops, headOp{literal: b.literal, place: inName, whole: f.nameText})
		b.literal = nil
	}
	b.literal = append(append(b.literal, f.name...), ": "...)
	if f.omitEmpty {
		b.ops = append(b.ops, headOp{literal: b.literal, place: optionalField, whole: f.value, omit: len(f.name) + len(": "),
			cookies: cookies == cookieField})
		b.literal = nil
		return
	}
	if f.kind == fieldLength {
		b.placeholder(bodyLength, nil)
	} else {
		b.text(f.at(e), inValue)
	}
	if cookies == cookieField {
		b.placeholder(cookieTail, nil)
	}
	b.literal = append(b.literal, "\r\n"...)
}

func (b *headBuilder) text(t text, kind placement) {
	for i := range t {
		if t[i].kind != pieceLiteral {
			b.placeholder(kind, &t[i])
			continue
		}
		at := len(b.literal)
		b.literal = neutralise(append(b.literal, t[i].literal...), at, kind)
	}
}

func (b *headBuilder) placeholder(kind placement, p *piece) {
	b.ops = append(b.ops, headOp{literal: b.literal, place: kind, plain: p != nil && p.plain(), value: p})
	b.literal = nil
}

// end adds the empty line.
func (b *headBuilder) end() []headOp {
	return append(b.ops, headOp{literal: append(b.literal, "\r\n"...)})
}

// AppendHead appends the head of a step's request, with the empty line that ends it. bodyLen is
// the length of the rendered body. A cookie that is not empty makes a field, if the chain keeps
// cookies.
func (h *Head) AppendHead(dst []byte, s *Step, inst *Instance, bodyLen int, cookie []byte) []byte {
	ops := h.steps[s.Order]
	if ops == nil {
		ops = headOps(s.fields, h.endpoint, h.keepAlive, s.Cookies)
		h.steps[s.Order] = ops
	}
	for i := range ops {
		o := &ops[i]
		dst = append(dst, o.literal...)
		switch o.place {
		case noPlaceholder:
		case bodyLength:
			dst = strconv.AppendInt(dst, int64(bodyLen), 10)
		case inName:
			at := len(dst)
			dst = neutraliseName(o.whole.appendTo(dst, inst), at)
		case optionalField:
			dst = o.appendOptional(dst, inst, cookie)
		case cookieField:
			dst = appendLine(dst, "cookie: ", cookie, "\r\n")
		case cookieTail:
			dst = appendLine(dst, "; ", cookie, "")
		default:
			at := len(dst)
			if dst = o.value.appendTo(dst, inst); !o.plain {
				dst = neutralise(dst, at, o.place)
			}
		}
	}
	return dst
}

// appendOptional ends the line of a field, or removes its name if the field has no value.
func (o *headOp) appendOptional(dst []byte, inst *Instance, cookie []byte) []byte {
	at := len(dst)
	dst = neutralise(o.whole.appendTo(dst, inst), at, inValue)
	if o.cookies {
		separator := "; "
		if len(dst) == at {
			separator = ""
		}
		dst = appendLine(dst, separator, cookie, "")
	}
	if len(dst) == at {
		return dst[:at-o.omit]
	}
	return append(dst, "\r\n"...)
}

// appendLine appends a value between two texts. It appends nothing if the value is empty.
func appendLine(dst []byte, before string, value []byte, after string) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, before...)
	at := len(dst)
	dst = neutralise(append(dst, value...), at, inValue)
	return append(dst, after...)
}

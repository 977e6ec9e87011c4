package chain

import (
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Head renders the heads of HTTP/1.1 requests to one endpoint (RFC 9112 3) from the fields that
// Encoder makes HPACK blocks of. It is read-only once made.
//
// A head is text, so a value must not be able to end its line: no CR, LF or NUL in a field value,
// and no space or control character in the path, or the peer would see another request than the
// plan's (RFC 9112 11.1). The plan's own values are checked where it is compiled, and what is
// captured has passed a session, h1 or h2, which refuses a response with such a value (RFC 9112
// 2.2, RFC 9113 8.2.1). The guarantee is nevertheless given here, where the text is made, for any
// plan and any capture:
//   - In the path, space, control characters and what is not ASCII are percent-encoded, as a
//     client is to do with a reference that has them (RFC 3986 2.1). "%" stays: what is encoded
//     already is left alone.
//   - In a field value, CR, LF and NUL become spaces (RFC 9110 5.5).
//
// Methods and names of fields are tokens (see requestFields); in names with holes, everything else
// becomes "-".
type Head struct {
	target    int
	keepAlive bool
	steps     [][]headOp // by Step.Order
}

// headOp appends literal, and then what fills the hole.
type headOp struct {
	literal []byte
	hole    holeKind
	// plain values need no neutralising.
	plain bool
	value *piece
	// name is the whole name of a field: it is a token as a whole.
	name text
}

type holeKind uint8

const (
	noHole            holeKind = iota
	targetHole                 // a part of the path
	nameHole                   // the name of a field
	tokenHole                  // a method, or a name that is in lower case already
	valueHole                  // a part of a field value
	lengthHole                 // the length of the body
	authorizationHole          // the field with the target's authorization, if there is one
	cookieHole                 // the field with the instance's cookies, if there are any
	cookieTailHole             // the same, behind cookies of the template's own
)

// NewHead makes the renderer for the steps that go to an endpoint of a target. Without keepAlive
// each request says that it is the connection's last (RFC 9112 9.6).
func NewHead(g *Program, target int, e *rv.Endpoint, keepAlive bool) *Head {
	h := &Head{target: target, keepAlive: keepAlive}
	for i := range g.Steps {
		if g.Steps[i].Target == target {
			s := &g.Steps[i]
			h.steps = append(h.steps, headOps(s.fields, e, keepAlive, s.Cookies))
		}
	}
	return h
}

// headOps lays out a head: the pseudo-header fields become request line and host, which comes
// first (RFC 9110 7.2).
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
	cookies := noHole
	if hasCookies {
		cookies = cookieHole
	}
	for i := range fields {
		f := &fields[i]
		switch {
		case f.holes == nil && f.name[0] == ':':
			continue
		case f.kind == fieldAuthorization:
			b.hole(authorizationHole, nil)
			continue
		case f.name == "te": // RFC 9110 10.1.4: named by connection
			connection = join(connection, "te")
		case f.name == "cookie": // RFC 6265 5.4: there is one field
			b.field(f, e, cookies)
			cookies = noHole
			continue
		}
		b.field(f, e, noHole)
	}
	if cookies == cookieHole {
		b.hole(cookieHole, nil)
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

// headBuilder gathers literals up to the next hole.
type headBuilder struct {
	ops     []headOp
	literal []byte
}

func (b *headBuilder) pseudo(name string, t text) {
	switch name {
	case ":method":
		b.text(t, valueHole)
		b.literal = append(b.literal, ' ')
	case ":path":
		b.text(t, targetHole)
		b.literal = append(b.literal, " HTTP/1.1\r\n"...)
	case ":authority":
		b.literal = append(b.literal, "host: "...)
		b.text(t, valueHole)
		b.literal = append(b.literal, "\r\n"...)
	}
}

// field adds a line. cookies is cookieHole where those of the instance go behind the value.
func (b *headBuilder) field(f *fieldSource, e *rv.Endpoint, cookies holeKind) {
	if f.holes != nil {
		b.ops = append(b.ops, headOp{literal: b.literal, hole: nameHole, name: f.holes})
		b.literal = nil
	}
	b.literal = append(append(b.literal, f.name...), ": "...)
	if f.kind == fieldLength {
		b.hole(lengthHole, nil)
	} else {
		b.text(f.at(e), valueHole)
	}
	if cookies == cookieHole {
		b.hole(cookieTailHole, nil)
	}
	b.literal = append(b.literal, "\r\n"...)
}

func (b *headBuilder) text(t text, kind holeKind) {
	for i := range t {
		if t[i].kind != pieceLiteral {
			b.hole(kind, &t[i])
			continue
		}
		at := len(b.literal)
		b.literal = neutralise(append(b.literal, t[i].literal...), at, kind)
	}
}

func (b *headBuilder) hole(kind holeKind, p *piece) {
	b.ops = append(b.ops, headOp{literal: b.literal, hole: kind, plain: p != nil && p.plain(), value: p})
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
	for i := range ops {
		o := &ops[i]
		dst = append(dst, o.literal...)
		switch o.hole {
		case noHole:
		case lengthHole:
			dst = strconv.AppendInt(dst, int64(bodyLen), 10)
		case nameHole:
			at := len(dst)
			dst = neutraliseName(o.name.appendTo(dst, inst), at)
		case authorizationHole:
			dst = appendLine(dst, "authorization: ", inst.src.authorization(h.target), "\r\n")
		case cookieHole:
			dst = appendLine(dst, "cookie: ", cookie, "\r\n")
		case cookieTailHole:
			dst = appendLine(dst, "; ", cookie, "")
		default:
			at := len(dst)
			if dst = o.value.appendTo(dst, inst); !o.plain {
				dst = neutralise(dst, at, o.hole)
			}
		}
	}
	return dst
}

// appendLine appends a value between two texts, and nothing for an empty one.
func appendLine(dst []byte, before string, value []byte, after string) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, before...)
	at := len(dst)
	dst = neutralise(append(dst, value...), at, valueHole)
	return append(dst, after...)
}

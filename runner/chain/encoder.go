package chain

import (
	"bytes"
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// Encoder makes the HPACK header blocks of the requests to one endpoint (RFC 7541). It belongs to
// one worker; its connections to the endpoint share it.
//
// A dynamic index counts from the newest entry, so an encoded block is valid only for a table with the same entries. To
// share blocks between requests and connections, the table of each connection grows in one fixed order. The steps of a
// target have an order. In state k, the table has the constant fields of the steps before step k. Only step k inserts
// more fields, and the state becomes k+1. After the last step the table does not change. There is one block for each
// pair of step and state. Values with placeholders are never inserted.
type Encoder struct {
	steps  [][]field // by Step.Order
	needed int       // size of the table that all insertions together need
	blocks [][]block // by Step.Order, then by TableState+1
}

// TableState is the content of the encoder table of a connection, see Encoder. A new connection has 0.
type TableState int32

// Static is the state of a connection whose peer allows only a table that is too small. Nothing is inserted (RFC 7541
// 4.2).
const Static TableState = -1

// field is a request header field at an endpoint.
type field struct {
	name     string
	nameText text // the name, if it has placeholders
	kind     fieldKind
	value    text
	// omitEmpty omits the field from requests in which value is empty.
	omitEmpty bool
}

// block is an encoded header block with placeholders.
type block struct {
	ops  []op
	next TableState
	made bool
}

// op appends literal and then, if it has a placeholder, the string literal of its value.
type op struct {
	literal []byte
	place   placement
	value   text
	// plain: the value cannot have an octet that neutralise replaces (RFC 9113 8.2.1, 8.3.1).
	plain bool
	// omit is how many octets at the end of literal are removed again if value is empty.
	omit int
}

// NewEncoder returns an encoder for the steps of a target and one of its endpoints.
func NewEncoder(g *Program, target int, e *rv.Endpoint) *Encoder {
	enc := &Encoder{}
	for i := range g.Steps {
		if g.Steps[i].Target != target {
			continue
		}
		var fields []field
		for _, f := range g.Steps[i].fields {
			fields = append(fields, field{name: f.name, nameText: f.nameText, kind: f.kind, value: f.at(e).harmless(f.kind), omitEmpty: f.omitEmpty})
		}
		enc.steps = append(enc.steps, fields)
	}
	enc.blocks = make([][]block, len(enc.steps))
	for i := range enc.blocks {
		enc.blocks[i] = make([]block, len(enc.steps)+2)
	}
	for _, f := range enc.inserted(len(enc.steps)) {
		enc.needed += hpack.EntrySize(f.name, f.value.literal())
	}
	return enc
}

// MaxTable bounds the size of all insertions. It is the default that peers allow (RFC 9113 6.5.2).
const MaxTable = 4096

// Begin returns the first state of a connection whose peer allows a table of tableSize octets.
func (e *Encoder) Begin(tableSize uint32) TableState {
	if e.needed > MaxTable || e.needed > int(tableSize) {
		return Static
	}
	return 0
}

// AppendHeaders appends the header block of a step and returns the connection's new state.
// bodyLen is the length of the rendered body. A cookie that is not empty makes a field.
func (e *Encoder) AppendHeaders(dst []byte, s *Step, inst *Instance, bodyLen int, state TableState, cookie []byte) ([]byte, TableState) {
	b := &e.blocks[s.Order][state+1]
	if !b.made {
		*b = e.make(s.Order, state)
	}
	for i := range b.ops {
		o := &b.ops[i]
		dst = append(dst, o.literal...)
		switch o.place {
		case noPlaceholder:
		case bodyLength:
			at := len(dst)
			dst = closeString(strconv.AppendInt(append(dst, 0), int64(bodyLen), 10), at)
		default:
			at := len(dst)
			dst = o.value.appendTo(append(dst, 0), inst)
			if !o.plain {
				dst = neutralise2(dst, at+1, o.place)
			}
			if o.omit > 0 && len(dst) == at+1 {
				dst = dst[:at-o.omit]
				continue
			}
			dst = closeString(dst, at)
		}
	}
	return appendCookie(dst, cookie), b.next
}

var cookiePrefix = func() []byte {
	_, i := hpack.StaticIndex("cookie", "")
	return hpack.AppendLiteralPrefix(nil, hpack.Never, i, "cookie")
}()

// appendCookie appends the cookie field, unless it is empty.
func appendCookie(dst, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, cookiePrefix...)
	at := len(dst)
	dst = append(append(dst, 0), value...)
	return closeString(neutralise2(dst, at+1, inValue), at)
}

// closeString sets the length of the string that begins after dst[at]. One octet is reserved for the length, enough for
// less than 127 (RFC 7541 5.1, 5.2).
func closeString(dst []byte, at int) []byte {
	n := len(dst) - at - 1
	if n < 127 {
		dst[at] = byte(n)
		return dst
	}
	var buf [10]byte
	prefix := hpack.AppendInt(buf[:0], 0, 7, uint64(n))
	dst = append(dst, prefix[1:]...)
	copy(dst[at+len(prefix):], dst[at+1:at+1+n])
	copy(dst[at:], prefix)
	return dst
}

// inserted lists the fields in the table at a state, oldest first.
func (e *Encoder) inserted(state int) []field {
	var table []field
	for _, fields := range e.steps[:state] {
		for _, f := range fields {
			if f.indexable() && find(table, f) < 0 {
				table = append(table, f)
			}
		}
	}
	return table
}

// indexable fields are constant, not secret, and not complete in the static table.
func (f *field) indexable() bool {
	if f.dynamic() || secret(f.name) {
		return false
	}
	full, _ := hpack.StaticIndex(f.name, f.value.literal())
	return full == 0
}

// dynamic fields differ from request to request.
func (f *field) dynamic() bool {
	return f.nameText != nil || f.kind == fieldLength || !f.value.constant()
}

func find(table []field, f field) int {
	for i := range table {
		if table[i].name == f.name && table[i].value.literal() == f.value.literal() {
			return i
		}
	}
	return -1
}

// staticEntries is the size of HPACK's static table (RFC 7541 Appendix A); the newest dynamic
// entry follows it.
const staticEntries = 61

func (e *Encoder) make(order int, state TableState) block {
	b := block{next: state, made: true}
	var table []field
	if state > 0 {
		table = e.inserted(int(state))
	}
	inserting := state == TableState(order)
	if inserting {
		b.next = state + 1
	}
	var lit []byte
	for _, f := range e.steps[order] {
		if f.dynamic() {
			b.ops = append(b.ops, f.ops(lit)...)
			lit = nil
			continue
		}
		value := f.value.literal()
		full, name := hpack.StaticIndex(f.name, value)
		at := find(table, f)
		switch {
		case full > 0:
			lit = hpack.AppendIndexed(lit, full)
		case at >= 0:
			lit = hpack.AppendIndexed(lit, staticEntries+len(table)-at)
		case secret(f.name):
			lit = hpack.AppendLiteral(lit, hpack.Never, name, f.name, value)
		case inserting:
			lit = hpack.AppendLiteral(lit, hpack.Incremental, name, f.name, value)
			table = append(table, f)
		default:
			lit = hpack.AppendLiteral(lit, hpack.Without, name, f.name, value)
		}
	}
	if len(lit) > 0 {
		b.ops = append(b.ops, op{literal: lit})
	}
	return b
}

// ops encodes a dynamic field after literal.
func (f *field) ops(literal []byte) []op {
	value := op{place: inValue, value: f.value, plain: f.value.plain() && !f.value.blankEnds()}
	switch {
	case f.nameText != nil:
		// A literal without indexing whose name is also a string (RFC 7541 6.2.2).
		return []op{{literal: append(literal, 0), place: inName, value: f.nameText}, value}
	case f.kind == fieldLength:
		value.place = bodyLength
	case f.kind == fieldPath:
		value.place = inTarget
	}
	indexing := hpack.Without
	if secret(f.name) {
		indexing = hpack.Never
	}
	_, name := hpack.StaticIndex(f.name, "")
	value.literal = hpack.AppendLiteralPrefix(literal, indexing, name, f.name)
	if f.omitEmpty {
		value.omit = len(value.literal) - len(literal)
	}
	return []op{value}
}

// blankEnds reports whether a literal makes the text begin or end with white space.
func (t text) blankEnds() bool {
	if len(t) == 0 {
		return false
	}
	first, last := t[0].literal, t[len(t)-1].literal
	return len(first) > 0 && octet.IsBlank(first[0]) || len(last) > 0 && octet.IsBlank(last[len(last)-1])
}

// harmless returns the value of a field with its literals neutralised.
func (t text) harmless(kind fieldKind) text {
	place := inValue
	if kind == fieldPath {
		place = inTarget
	}
	var out text
	for _, p := range t {
		if p.kind == pieceLiteral {
			p.literal = neutralise(bytes.Clone(p.literal), 0, place)
		}
		out = append(out, p)
	}
	if out.constant() && len(out) > 0 {
		out[0].literal = neutralise2(out[0].literal, 0, place)
		if len(out[0].literal) == 0 {
			return nil
		}
	}
	return out
}

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
// A dynamic index counts from the newest entry, so a block that was encoded once is right only
// for a table with the same entries. To share encoded blocks over requests and connections, the
// table of each connection grows in one fixed order: the steps to a target have an order, a
// connection's TableState k says that the constant fields of the steps before the k-th have been
// inserted, and only the k-th step itself inserts more, which makes the state k+1. After each
// step has been sent once, in order, the table stays as it is. Blocks are kept per (step,
// state); values with holes are never inserted.
type Encoder struct {
	target int
	steps  [][]field // by Step.Order
	needed int       // size of the table that all insertions together need
	blocks [][]block // by Step.Order, then by TableState+1
}

// TableState is what a connection's encoder table holds; a new connection has 0.
type TableState int32

// Static is the state of a connection whose peer allows too small a table: nothing is ever
// inserted (RFC 7541 4.2).
const Static TableState = -1

// field is a request header field at an endpoint.
type field struct {
	name  string
	holes text // the name, when it has some
	kind  fieldKind
	value text
}

// block is an encoded header block with holes.
type block struct {
	ops  []op
	next TableState
	made bool
}

// op appends literal, and then, when there is a hole, a string literal that is made for it.
type op struct {
	literal []byte
	hole    holeKind
	value   text
	// plain values need no neutralising (RFC 9113 8.2.1, 8.3.1).
	plain bool
}

// NewEncoder makes an encoder for the steps that go to an endpoint of a target.
func NewEncoder(g *Program, target int, e *rv.Endpoint) *Encoder {
	enc := &Encoder{target: target}
	for i := range g.Steps {
		if g.Steps[i].Target != target {
			continue
		}
		var fields []field
		for _, f := range g.Steps[i].fields {
			fields = append(fields, field{name: f.name, holes: f.holes, kind: f.kind, value: f.at(e).harmless(f.kind)})
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

// MaxTable is the most that insertions may need: the size that every peer allows unless it says
// otherwise (RFC 9113 6.5.2).
const MaxTable = 4096

// Begin returns the state of a connection whose peer allows a table of this size.
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
		switch o.hole {
		case noHole:
		case authorizationHole:
			dst = appendSecret(dst, authorizationPrefix, inst.src.authorization(e.target))
		case lengthHole:
			at := len(dst)
			dst = closeString(strconv.AppendInt(append(dst, 0), int64(bodyLen), 10), at)
		default:
			at := len(dst)
			dst = o.value.appendTo(append(dst, 0), inst)
			if !o.plain {
				dst = neutralise2(dst, at+1, o.hole)
			}
			dst = closeString(dst, at)
		}
	}
	return appendSecret(dst, cookiePrefix, cookie), b.next
}

var (
	authorizationPrefix = secretPrefix("authorization")
	cookiePrefix        = secretPrefix("cookie")
)

func secretPrefix(name string) []byte {
	_, i := hpack.StaticIndex(name, "")
	return hpack.AppendLiteralPrefix(nil, hpack.Never, i, name)
}

// appendSecret appends a field that nobody may index, unless it is empty.
func appendSecret(dst, prefix, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, prefix...)
	at := len(dst)
	dst = append(append(dst, 0), value...)
	return closeString(neutralise2(dst, at+1, valueHole), at)
}

// closeString fills in the length of the string that begins behind dst[at]. One byte is reserved
// for it, which does for less than 127 (RFC 7541 5.1, 5.2).
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

// indexable fields are constant, no secrets, and not in the static table whole.
func (f *field) indexable() bool {
	if f.dynamic() || secret(f.name) {
		return false
	}
	full, _ := hpack.StaticIndex(f.name, f.value.literal())
	return full == 0
}

// dynamic fields differ from request to request.
func (f *field) dynamic() bool {
	return f.holes != nil || f.kind == fieldLength || f.kind == fieldAuthorization || !f.value.constant()
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

// ops encodes a dynamic field behind literal.
func (f *field) ops(literal []byte) []op {
	value := op{hole: valueHole, value: f.value, plain: f.value.plain() && !f.value.blankEnds()}
	switch {
	case f.kind == fieldAuthorization:
		return []op{{literal: literal, hole: authorizationHole}}
	case f.holes != nil:
		// A literal without indexing whose name is a string too (RFC 7541 6.2.2).
		return []op{{literal: append(literal, 0), hole: nameHole, value: f.holes}, value}
	case f.kind == fieldLength:
		value.hole = lengthHole
	case f.kind == fieldPath:
		value.hole = targetHole
	}
	indexing := hpack.Without
	if secret(f.name) {
		indexing = hpack.Never
	}
	_, name := hpack.StaticIndex(f.name, "")
	value.literal = hpack.AppendLiteralPrefix(literal, indexing, name, f.name)
	return []op{value}
}

// blankEnds says that the text begins or ends in white space of its own.
func (t text) blankEnds() bool {
	if len(t) == 0 {
		return false
	}
	first, last := t[0].literal, t[len(t)-1].literal
	return len(first) > 0 && octet.IsBlank(first[0]) || len(last) > 0 && octet.IsBlank(last[len(last)-1])
}

// harmless neutralises the literals of a field's value.
func (t text) harmless(kind fieldKind) text {
	place := valueHole
	if kind == fieldPath {
		place = targetHole
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

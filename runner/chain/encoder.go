package chain

import (
	"bytes"
	"strconv"
	"sync"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// Encoder makes the header blocks of the requests to one endpoint, by HPACK or QPACK (RFC 7541, RFC 9204). It belongs
// to one worker; its connections to the endpoint share it. The encoders of all workers for an endpoint share an
// encoding.
type Encoder struct {
	*encoding
	// blocks are those that the worker has used, by Step.Order, then by TableState+1. The first request of a step makes
	// its row.
	blocks [][]block
}

// encoding has the header blocks of the requests to one endpoint. It makes each when a worker needs it for the first
// time.
//
// A dynamic index counts from the newest entry, so an encoded block is valid only for a table with the same entries. To
// share blocks between requests and connections, the table of each connection grows in one fixed order. The steps of a
// target have an order. In state k, the table has the constant fields of the steps before step k. Only step k inserts
// more fields, and the state becomes k+1. After the last step the table does not change. There is one block for each
// pair of step and state. Values with placeholders are never inserted.
type encoding struct {
	coder
	steps             []*Step // by Step.Order
	endpoint          rv.Endpoint
	scheme, authority field
	// table has all insertions, oldest first, and lengths how many of them the table has in each state. Both are empty if
	// they do not fit into MaxTable.
	table   []field
	lengths []int
	needed  int // size of the table that all insertions together need

	mu sync.Mutex // guards made
	// made are the blocks, by Step.Order and TableState.
	made map[blockKey]block
}

type blockKey struct {
	order int
	state TableState
}

// encodings are those of a program, for all workers.
type encodings struct {
	mu  sync.Mutex // guards all
	all map[encodingKey]*encoding
}

type encodingKey struct {
	coder                       coder
	target                      int
	scheme, authority, basePath string
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
	// indexable: it is constant, not secret, and not complete in the static table.
	indexable bool
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

// NewEncoder returns an encoder for the steps of a target and one of its endpoints. It costs little, so that a worker
// can follow an authority while it sends requests.
func NewEncoder(g *Program, target int, e *rv.Endpoint) *Encoder {
	return newEncoder(g, hpackCoder, target, e)
}

// NewQPACKEncoder is NewEncoder for HTTP/3. The state of the table is always Static.
func NewQPACKEncoder(g *Program, target int, e *rv.Endpoint) *Encoder {
	return newEncoder(g, qpackCoder, target, e)
}

func newEncoder(g *Program, c coder, target int, e *rv.Endpoint) *Encoder {
	key := encodingKey{c, target, e.Scheme, e.Authority, e.BasePath}
	g.encodings.mu.Lock()
	defer g.encodings.mu.Unlock()
	shared := g.encodings.all[key]
	if shared == nil {
		shared = newEncoding(c, g.stepsTo(target), e)
		g.encodings.all[key] = shared
	}
	return &Encoder{encoding: shared, blocks: make([][]block, len(shared.steps))}
}

// stepsTo returns the steps to a target, by Step.Order.
func (g *Program) stepsTo(target int) []*Step {
	var steps []*Step
	for i := range g.Steps {
		if g.Steps[i].Target == target {
			steps = append(steps, &g.Steps[i])
		}
	}
	return steps
}

func newEncoding(c coder, steps []*Step, e *rv.Endpoint) *encoding {
	enc := &encoding{
		coder: c, steps: steps, endpoint: *e, made: map[blockKey]block{},
		scheme:    newField(&fieldSource{name: ":scheme", kind: fieldScheme}, e),
		authority: newField(&fieldSource{name: ":authority", kind: fieldAuthority}, e),
	}
	if !c.hasTable() {
		return enc
	}
	for _, s := range steps {
		enc.lengths = append(enc.lengths, len(enc.table))
		for i := range s.fields {
			f := enc.field(s, i)
			if !f.indexable || find(enc.table, f) >= 0 {
				continue
			}
			enc.table = append(enc.table, *f)
			if enc.needed += hpack.EntrySize(f.name, f.value.literal()); enc.needed > MaxTable {
				enc.table, enc.lengths = nil, nil
				return enc
			}
		}
	}
	enc.lengths = append(enc.lengths, len(enc.table))
	return enc
}

// field returns the i-th field of a step at the endpoint.
func (e *encoding) field(s *Step, i int) *field {
	switch f := &s.fields[i]; {
	case f.kind == fieldScheme:
		return &e.scheme
	case f.kind == fieldAuthority:
		return &e.authority
	case f.kind == fieldPath && e.endpoint.BasePath != "":
		at := newField(f, &e.endpoint)
		return &at
	}
	return &s.encoded[i]
}

// newField returns a field at an endpoint.
func newField(f *fieldSource, e *rv.Endpoint) field {
	out := field{name: f.name, nameText: f.nameText, kind: f.kind, value: f.at(e).harmless(f.kind), omitEmpty: f.omitEmpty}
	if !out.dynamic() && !secret(out.name) {
		full, _ := hpack.StaticIndex(out.name, out.value.literal())
		out.indexable = full == 0
	}
	return out
}

// encode returns the fields of a step. Those of the endpoint are in encoding; a path is that without a base path.
func encode(fields []fieldSource) []field {
	out := make([]field, len(fields))
	for i := range fields {
		if k := fields[i].kind; k != fieldScheme && k != fieldAuthority {
			out[i] = newField(&fields[i], &rv.Endpoint{})
		}
	}
	return out
}

// MaxTable bounds the size of all insertions. It is the default that peers allow (RFC 9113 6.5.2).
const MaxTable = 4096

// Begin returns the first state of a connection whose peer allows a table of tableSize octets.
func (e *Encoder) Begin(tableSize uint32) TableState {
	if !e.hasTable() || e.needed > MaxTable || e.needed > int(tableSize) {
		return Static
	}
	return 0
}

// AppendHeaders appends the header block of a step and returns the connection's new state.
// bodyLen is the length of the rendered body. A cookie that is not empty makes a field.
func (e *Encoder) AppendHeaders(dst []byte, s *Step, inst *Instance, bodyLen int, state TableState,
	cookie []byte) ([]byte, TableState) {
	row := e.blocks[s.Order]
	if row == nil {
		row = make([]block, len(e.lengths)+1)
		e.blocks[s.Order] = row
	}
	b := &row[state+1]
	if !b.made {
		*b = e.block(s.Order, state)
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
			if o.place == inName {
				dst = e.closeName(dst, at)
				continue
			}
			dst = closeString(dst, at)
		}
	}
	return e.appendCookie(dst, cookie), b.next
}

// dynamic fields differ from request to request.
func (f *field) dynamic() bool {
	return f.nameText != nil || f.kind == fieldLength || !f.value.constant()
}

func find(table []field, f *field) int {
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

// block returns the block of a step in a state, and makes it if no worker has.
func (e *encoding) block(order int, state TableState) block {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := blockKey{order, state}
	b, ok := e.made[key]
	if !ok {
		b = e.makeBlock(order, state)
		e.made[key] = b
	}
	return b
}

func (e *encoding) makeBlock(order int, state TableState) block {
	b := block{next: state, made: true}
	var table []field
	if state > 0 {
		n := e.lengths[state]
		table = e.table[:n:n]
	}
	inserting := state == TableState(order)
	if inserting {
		b.next = state + 1
	}
	step := e.steps[order]
	lit := []byte(prefix[e.coder])
	for i := range step.fields {
		f := e.field(step, i)
		if f.dynamic() {
			b.ops = append(b.ops, f.ops(e.coder, lit)...)
			lit = nil
			continue
		}
		value := f.value.literal()
		full, name := e.staticIndex(f.name, value)
		at := find(table, f)
		switch {
		case full > 0:
			lit = e.appendIndexed(lit, full)
		case at >= 0:
			lit = e.appendIndexed(lit, staticEntries+len(table)-at)
		case secret(f.name):
			lit = e.appendLiteral(lit, hpack.Never, name, f.name, value)
		case inserting:
			lit = e.appendLiteral(lit, hpack.Incremental, name, f.name, value)
			table = append(table, *f)
		default:
			lit = e.appendLiteral(lit, hpack.Without, name, f.name, value)
		}
	}
	if len(lit) > 0 {
		b.ops = append(b.ops, op{literal: lit})
	}
	return b
}

// ops encodes a dynamic field after literal.
func (f *field) ops(c coder, literal []byte) []op {
	value := op{place: inValue, value: f.value, plain: f.value.plain() && !f.value.blankEnds()}
	switch {
	case f.nameText != nil:
		// A literal without indexing whose name is also a string (RFC 7541 6.2.2, RFC 9204 4.5.6).
		return []op{{literal: append(literal, beforeName[c]...), place: inName, value: f.nameText}, value}
	case f.kind == fieldLength:
		value.place = bodyLength
	case f.kind == fieldPath:
		value.place = inTarget
	}
	indexing := hpack.Without
	if secret(f.name) {
		indexing = hpack.Never
	}
	_, name := c.staticIndex(f.name, "")
	value.literal = c.appendLiteralPrefix(literal, indexing, name, f.name)
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

package chain

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/grpc"
)

// text is a string with placeholders: pieces that are appended one after another.
type text []piece

// piece is a literal or a placeholder.
type piece struct {
	literal []byte
	kind    pieceKind
	// index is the index of a cell, variable, capture slot, global, listener or Credential, depending on kind.
	index int
	// values and column of a variable.
	values values
	column int
	// source is the variable of pieceTrace.
	source    int
	constant  []byte // of pieceConstant
	encoded   *encoded
	functions []function
	// begins: a path begins with the piece, which is a captured value. continued: the value can be empty, because a slash
	// follows it.
	begins, continued bool
}

type pieceKind uint8

const (
	pieceLiteral    pieceKind = iota
	pieceCell                 // drawn for the instance or the step
	pieceTrace                // a traceparent, drawn for the step
	pieceWorker               // drawn once for the worker
	pieceCapture              // captured by the instance
	pieceGlobal               // captured by setup
	pieceListener             // the URL, the host or the port of a listener of the worker
	pieceCredential           // the value of a Credential
	pieceConstant             // literal, with functions whose key is a placeholder
	pieceEncoded              // a text as a value of Protocol Buffers
)

// draw puts a variable's next value into a cell of the instance.
type draw struct{ variable, cell int }

// builder builds a program. It resolves the parts of the texts of one chain after another, and collects what they draw.
type builder struct {
	g     *Program
	res   *Resources
	chain *Chain
	// shards is how many shards have chains of the phase Load.
	shards int
	// captures are the names of the captures of the chain.
	captures []string
	// references has, for each capture, whether a path begins with it.
	references []bool
	// schemas of targets, with nil for those that have a mistake.
	schemas map[int]*grpc.Schema
	// step collects the draws of scope step, which have no value beforeRequest.
	step          *Step
	beforeRequest bool

	mistakes
}

func (b *builder) build(in rv.Text) (out text) {
	for i := range in {
		out = out.add(b.part(&in[i]))
	}
	return out
}

// part builds one piece.
func (b *builder) part(in *rv.Part) piece {
	before := len(b.errs)
	p := b.reference(in)
	if len(in.Functions) == 0 {
		return p
	}
	if p.kind == pieceLiteral {
		p = piece{kind: pieceConstant, constant: p.literal}
	}
	for i := range in.Functions {
		p.functions = append(p.functions, b.function(&in.Functions[i]))
	}
	if len(b.errs) > before {
		return unknown
	}
	return p.fold()
}

// unknown takes the place of a part that has a mistake or depends on one.
var unknown = piece{kind: pieceCell}

func (p *piece) isUnknown() bool { return p.kind == pieceCell && p.values == nil }

func (b *builder) reference(in *rv.Part) piece {
	switch {
	case in.Variable > len(b.g.variables):
		b.failf("there is no variable %d", in.Variable)
	case in.Capture > len(b.captures):
		b.failf("there is no capture %d", in.Capture)
	case in.Global > len(b.g.Globals):
		b.failf("there is no global %d", in.Global)
	case in.Listener > len(b.g.Listeners):
		b.failf("there is no listener %d", in.Listener)
	case in.Variable > 0:
		return b.variable(in.Variable-1, in.Column)
	case in.Capture > 0:
		return piece{kind: pieceCapture, index: in.Capture - 1}
	case in.Global > 0:
		return piece{kind: pieceGlobal, index: in.Global - 1}
	case in.Listener > 0:
		part := slices.Index(listenerParts, in.Column)
		if part < 0 {
			b.failf("a listener has no %s", in.Column)
		}
		return piece{kind: pieceListener, index: (in.Listener-1)*len(listenerParts) + part}
	case in.Content != nil:
		return piece{literal: b.read(in.Content)}
	default:
		return piece{literal: []byte(in.Literal)}
	}
	return unknown
}

// variable returns a piece with the value of a variable. A variable with a mistake has no values, and any column.
func (b *builder) variable(i int, column string) piece {
	v := b.g.variables[i]
	if v.values == nil {
		return unknown
	}
	c, err := v.column(column)
	if err != nil {
		b.fail(err)
		return unknown
	}
	p := piece{kind: pieceCell, values: v.values, column: c}
	switch {
	case v.fixed:
		return piece{literal: v.values.Append(nil, v.value, c)}
	case b.chain == nil:
		b.failf("the value of variable %s is not constant on a runner", v.name)
	case v.scope == rv.ScopeWorker:
		b.chain.settle(i)
		p.kind, p.index = pieceWorker, i
	case v.scope == rv.ScopeStep && b.beforeRequest:
		b.failf("the variable %s has a new value for each request, so it cannot be used here", v.name)
	case v.scope == rv.ScopeStep:
		p.index = b.chain.draw(&b.step.draws, i, v.stop)
		if v.drawing == drawTrace {
			p.kind, p.source = pieceTrace, i
			b.step.addTrace(&p)
		}
	default:
		p.index = b.chain.draw(&b.chain.draws, i, v.stop)
	}
	return p
}

// draw returns the cell of a variable in a list of draws. It adds the variable if the list does not have it.
func (c *Chain) draw(draws *[]draw, variable int, stop bool) (cell int) {
	for _, d := range *draws {
		if d.variable == variable {
			return d.cell
		}
	}
	cell = c.cells
	c.cells++
	*draws = append(*draws, draw{variable, cell})
	if stop {
		c.stops = append(c.stops, variable)
	}
	return cell
}

func (c *Chain) settle(variable int) {
	for _, v := range c.settles {
		if v == variable {
			return
		}
	}
	c.settles = append(c.settles, variable)
}

// constant builds a text without placeholders. It returns false if there is a mistake in the text, or in what it
// depends on.
func (b *builder) constant(in rv.Text) (literal string, ok bool) {
	before := len(b.errs)
	t := b.build(in)
	for i := range t {
		if t[i].isUnknown() {
			return "", false
		}
	}
	if !t.constant() && len(b.errs) == before {
		b.failf("only values that are constant on a runner can be used here")
	}
	return t.literal(), len(b.errs) == before
}

// add appends a piece. Two adjacent literals become one piece.
func (t text) add(p piece) text {
	if p.kind != pieceLiteral {
		return append(t, p)
	}
	return t.join(p.literal)
}

func literalText(s string) text { return text(nil).join([]byte(s)) }

func (t text) join(literal []byte) text {
	if len(literal) == 0 {
		return t
	}
	if n := len(t); n > 0 && t[n-1].kind == pieceLiteral {
		t[n-1].literal = append(t[n-1].literal[:len(t[n-1].literal):len(t[n-1].literal)], literal...)
		return t
	}
	return append(t, piece{literal: literal[:len(literal):len(literal)]})
}

func (t text) constant() bool {
	return len(t) == 0 || len(t) == 1 && t[0].kind == pieceLiteral
}

// plain reports whether no placeholder can have an octet that neutralise replaces. Literals are neutralised already.
func (t text) plain() bool {
	for i := range t {
		if !t[i].plain() {
			return false
		}
	}
	return true
}

func (p *piece) plain() bool {
	return p.kind == pieceLiteral || p.values != nil && p.values.Plain() && len(p.functions) == 0
}

// literal returns a constant text.
func (t text) literal() string {
	if len(t) == 0 {
		return ""
	}
	return string(t[0].literal)
}

// appendTo appends the text with the values of an instance.
func (t text) appendTo(dst []byte, in *Instance) []byte {
	for i := range t {
		p := &t[i]
		if p.kind == pieceLiteral {
			dst = append(dst, p.literal...)
		} else {
			dst = p.appendTo(dst, in)
		}
	}
	return dst
}

func (p *piece) appendTo(dst []byte, in *Instance) []byte {
	if p.begins {
		return p.appendBeginning(dst, in)
	}
	at := len(dst)
	switch p.kind {
	case pieceCell:
		dst = p.values.Append(dst, in.cells[p.index], p.column)
	case pieceTrace:
		dst = p.trace(in).append(dst)
	case pieceCapture:
		dst = append(dst, in.Captured(p.index)...)
	case pieceWorker:
		dst = p.values.Append(dst, in.src.variables[p.index].value, p.column)
	case pieceGlobal:
		dst = append(dst, in.src.globals[p.index]...)
	case pieceListener:
		dst = append(dst, in.src.listeners[p.index]...)
	case pieceCredential:
		dst = append(dst, in.src.credential(Credential(p.index))...)
	case pieceConstant:
		dst = append(dst, p.constant...)
	case pieceEncoded:
		dst = p.encoded.appendTo(dst, in)
	case pieceLiteral:
		dst = append(dst, p.literal...)
	}
	if p.functions == nil {
		return dst
	}
	for i := range p.functions {
		dst = p.functions[i].apply(dst, at, in)
	}
	return dst
}

// ConstantBody returns the step's body if it is the same for all instances. It must not be changed.
func (s *Step) ConstantBody() (body []byte, ok bool) {
	if len(s.body) == 0 || !s.body.constant() {
		return nil, len(s.body) == 0
	}
	return s.body[0].literal, true
}

// AppendBody appends the step's body for an instance. See Sources.Unfit.
func (s *Step) AppendBody(dst []byte, inst *Instance) []byte {
	inst.src.unfit = false
	return s.body.appendTo(dst, inst)
}

package chain

import (
	"fmt"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// text is a string with holes, as pieces to be appended one after another.
type text []piece

// piece is literal bytes, or one of the instance's variables or captures.
type piece struct {
	literal  []byte
	variable int // 1 + index into Chain.Variables
	capture  int // 1 + capture slot
}

// textBuilder resolves the parts of one chain's texts and notes which variables they use.
type textBuilder struct {
	variables int
	captures  int
	used      *[]int
}

func (b *textBuilder) build(in rv.Text) (text, error) {
	var out text
	for i, p := range in {
		switch {
		case p.Variable < 0 || p.Variable > b.variables:
			return nil, fmt.Errorf("[%d]: there is no variable %d", i, p.Variable)
		case p.Capture < 0 || p.Capture > b.captures:
			return nil, fmt.Errorf("[%d]: there is no capture %d", i, p.Capture)
		case p.Variable > 0:
			out = append(out, piece{variable: 1 + b.use(p.Variable-1)})
		case p.Capture > 0:
			out = append(out, piece{capture: p.Capture})
		default:
			out = out.join(p.Literal)
		}
	}
	return out, nil
}

func (b *textBuilder) use(variable int) int {
	i := slices.Index(*b.used, variable)
	if i < 0 {
		i = len(*b.used)
		*b.used = append(*b.used, variable)
	}
	return i
}

// join appends a literal, to the last piece if that is one too.
func (t text) join(literal string) text {
	if literal == "" {
		return t
	}
	if n := len(t); n > 0 && t[n-1].literal != nil {
		t[n-1].literal = append(t[n-1].literal, literal...)
		return t
	}
	return append(t, piece{literal: []byte(literal)})
}

func (t text) constant() bool {
	return len(t) == 0 || len(t) == 1 && t[0].literal != nil
}

// captures says whether something captured is in it.
func (t text) captures() bool {
	return slices.ContainsFunc(t, func(p piece) bool { return p.capture > 0 })
}

// literal is the whole text when it is constant.
func (t text) literal() string {
	if len(t) == 0 {
		return ""
	}
	return string(t[0].literal)
}

// appendTo appends the text with its holes filled from the instance.
func (t text) appendTo(dst []byte, g *Program, inst *Instance) []byte {
	for i := range t {
		p := &t[i]
		switch {
		case p.literal != nil:
			dst = append(dst, p.literal...)
		case p.variable > 0:
			dst = inst.appendVariable(dst, g, p.variable-1)
		default:
			dst = append(dst, inst.Captured(p.capture-1)...)
		}
	}
	return dst
}

// AppendBody appends the step's body for an instance.
func (s *Step) AppendBody(dst []byte, g *Program, inst *Instance) []byte {
	return s.body.appendTo(dst, g, inst)
}

package chain

import (
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Head renders the heads of HTTP/1.1 requests to one endpoint (RFC 9112 3).
type Head struct {
	g     *Program
	steps [][]op // by Step.Order
}

// NewHead makes the renderer for the steps that go to an endpoint of a target.
func NewHead(g *Program, target int, e *rv.Endpoint, keepAlive bool) *Head {
	h := &Head{g: g}
	for i := range g.Steps {
		if g.Steps[i].Target == target {
			h.steps = append(h.steps, headOps(g.Steps[i].fields, e, keepAlive))
		}
	}
	return h
}

func headOps(fields []fieldSource, e *rv.Endpoint, keepAlive bool) []op {
	var ops []op
	add := func(literal string) { ops = append(ops, op{literal: []byte(literal)}) }
	hole := func(t text) { ops = append(ops, op{hole: true, value: t}) }
	byName := map[string]text{}
	for _, f := range fields {
		byName[f.name] = f.at(e)
	}
	add(byName[":method"].literal() + " ")
	hole(byName[":path"])
	add(" HTTP/1.1\r\nhost: " + byName[":authority"].literal() + "\r\n")
	for _, f := range fields {
		if f.name[0] == ':' {
			continue
		}
		add(f.name + ": ")
		if f.kind == fieldLength {
			ops = append(ops, op{hole: true, length: true})
		} else {
			hole(f.value)
		}
		add("\r\n")
	}
	if !keepAlive {
		add("connection: close\r\n")
	}
	add("\r\n")
	return ops
}

// AppendHead appends the head of a step's request, up to and with the empty line.
func (h *Head) AppendHead(dst []byte, s *Step, inst *Instance, bodyLen int) []byte {
	ops := h.steps[s.Order]
	for i := range ops {
		o := &ops[i]
		switch {
		case !o.hole:
			dst = append(dst, o.literal...)
		case o.length:
			dst = strconv.AppendInt(dst, int64(bodyLen), 10)
		default:
			dst = o.value.appendTo(dst, h.g, inst)
		}
	}
	return dst
}

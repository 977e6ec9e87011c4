package jsontext

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/h2surge/h2surge/internal/octet"
)

// passes returns whether an expression is true for a child of the present node.
func (s *search) passes(child int, e *logical) bool {
	s.level++
	yes := s.holds(child, e)
	s.level--
	return yes
}

// holds returns whether an expression is true for a node.
func (s *search) holds(node int, e *logical) bool {
	switch e.kind {
	case isAny, isAll:
		for i := range e.operands {
			if s.holds(node, &e.operands[i]) == (e.kind == isAny) {
				return e.kind == isAny
			}
		}
		return e.kind == isAll
	case isNone:
		return !s.holds(node, &e.operands[0])
	case isThere:
		h := hits{most: 1}
		return s.query(node, &e.query, &h)
	case isMatch:
		v := s.value(node, &e.left)
		return len(v.raw) > 0 && v.raw[0] == '"' && e.regex.Match(Text(nil, v.raw))
	}
	return s.compare(node, e)
}

// query visits what the query of a filter selects from a node, or from the root.
func (s *search) query(node int, q *query, h *hits) (enough bool) {
	if !q.root {
		return s.visit(node, q.segments, h)
	}
	level := s.level
	s.level = 0
	enough = s.visit(s.root, q.segments, h)
	s.level = level
	return enough
}

func (s *search) compare(node int, e *logical) bool {
	left, right := s.value(node, &e.left), s.value(node, &e.right)
	switch e.op {
	case "==":
		return s.equal(left, right)
	case "!=":
		return !s.equal(left, right)
	case "<":
		return less(left, right)
	case ">":
		return less(right, left)
	case "<=":
		return less(left, right) || s.equal(left, right)
	}
	return less(right, left) || s.equal(left, right)
}

// value is JSON text, or a number that a function has counted. Without both, the value is missing.
type value struct {
	raw     []byte
	counted bool
	n       int64
}

func (v *value) missing() bool { return !v.counted && len(v.raw) == 0 }

func (v *value) isNumber() bool {
	return v.counted || len(v.raw) > 0 && (v.raw[0] == '-' || octet.IsDigit(v.raw[0]))
}

func (v *value) isText() bool { return len(v.raw) > 0 && v.raw[0] == '"' }

// value returns the value of an operand.
func (s *search) value(node int, o *operand) value {
	if o.kind == ofLiteral {
		return value{raw: o.literal}
	}
	h := hits{most: 2}
	if o.kind == ofCount {
		h.most = len(s.doc)
	}
	s.query(node, &o.query, &h)
	switch {
	case o.kind == ofCount:
		return value{counted: true, n: int64(h.n)}
	case h.n != 1:
		return value{}
	case o.kind == ofLength:
		return s.length(h.at)
	}
	return value{raw: s.raw(h.at)}
}

// length returns the number of characters of a string, or of children.
func (s *search) length(node int) value {
	switch at(s.doc, node) {
	case '{', '[':
		return value{counted: true, n: int64(s.size(node))}
	case '"':
		n := int64(0)
		for inner := inside(s.raw(node)); len(inner) > 0; n++ {
			_, size := character(inner)
			inner = inner[size:]
		}
		return value{counted: true, n: n}
	}
	return value{}
}

// inside returns a string without its quotes.
func inside(raw []byte) []byte {
	if len(raw) < 2 { // of a string that is not valid
		return nil
	}
	return raw[1 : len(raw)-1]
}

// equal compares two values, each of which can be missing (RFC 9535 2.3.5.2.2).
func (s *search) equal(a, b value) bool {
	switch {
	case a.missing() || b.missing():
		return a.missing() && b.missing()
	case a.isNumber() || b.isNumber():
		return a.isNumber() && b.isNumber() && compareNumbers(a, b) == 0
	case a.raw[0] != b.raw[0]:
		return false
	case a.isText():
		return compareTexts(inside(a.raw), inside(b.raw)) == 0
	case a.raw[0] == '{' || a.raw[0] == '[':
		return s.equalTrees(a.raw, b.raw)
	}
	return true // the same literal name
}

// equalTrees compares objects or arrays.
func (s *search) equalTrees(a, b []byte) bool {
	const cost = 32 // of the values in memory, for each octet
	if s.left < cost*(len(a)+len(b)) {
		s.left = -1
		return false
	}
	s.left -= cost * (len(a) + len(b))
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// less compares two numbers or two strings. Other values have no order.
func less(a, b value) bool {
	switch {
	case a.isNumber() && b.isNumber():
		return compareNumbers(a, b) < 0
	case a.isText() && b.isText():
		return compareTexts(inside(a.raw), inside(b.raw)) < 0
	}
	return false
}

func compareNumbers(a, b value) int {
	x, isInt := a.integer()
	y, areInts := b.integer()
	if isInt && areInts {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a.float(), b.float())
}

// integer returns the value of a number that is an integer of at most 15 digits.
func (v *value) integer() (n int64, ok bool) {
	if v.counted {
		return v.n, true
	}
	digits := v.raw
	if v.raw[0] == '-' {
		digits = v.raw[1:]
	}
	if len(digits) > 15 {
		return 0, false
	}
	for _, c := range digits {
		if !octet.IsDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if v.raw[0] == '-' {
		n = -n
	}
	return n, true
}

// float returns the nearest number of 64 bits. One that is too large is infinite.
func (v *value) float() float64 {
	if v.counted {
		return float64(v.n)
	}
	f, _ := strconv.ParseFloat(string(v.raw), 64)
	return f
}

// compareTexts compares the insides of two strings by their characters.
func compareTexts(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		x, n := character(a)
		y, m := character(b)
		if x != y {
			return cmp.Compare(x, y)
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

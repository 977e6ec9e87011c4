package jsontext

import (
	"fmt"
	"regexp"
)

// Path is a parsed JSONPath query (RFC 9535). Several goroutines may use it at the same time.
//
// A path finds the first node that it selects, in the order of the document, which must be valid as a whole. A name
// selects the first of several members of the name, and not the last as in a pointer: so a path reads less. A pattern
// of match and search must be a literal; it has the syntax of RE2, which includes that of RFC 9485.
type Path struct{ segments []segment }

// PathError is why a text is not a JSONPath query.
type PathError struct {
	// At is the position of the mistake, in octets from 1.
	At      int
	Problem string
}

func (e *PathError) Error() string { return fmt.Sprintf("position %d: %s (RFC 9535)", e.At, e.Problem) }

// segment selects from each node of the segment before it or, if descends, from each of them and all that they contain.
type segment struct {
	descends  bool
	selectors []selector
}

type selectorKind uint8

const (
	selectName     selectorKind = iota
	selectIndex                 // from the end if it is negative
	selectWildcard              // all children
	selectSlice
	selectFilter // the children for which the filter is true
)

type selector struct {
	kind   selectorKind
	name   string
	index  int
	slice  slice
	filter *logical
}

// slice is start:end:step (RFC 9535 2.3.4). Start and end are nil if the text does not have them.
type slice struct {
	start, end *int
	step       int
}

// bounds returns the first index of the slice of an array with n elements, and the index before which it ends.
func (s *slice) bounds(n int) (from, to int) {
	normal := func(at *int, otherwise int) int {
		switch {
		case at == nil:
			return otherwise
		case *at < 0:
			return n + *at
		}
		return *at
	}
	if s.step >= 0 {
		return min(max(normal(s.start, 0), 0), n), min(max(normal(s.end, n), 0), n)
	}
	return min(max(normal(s.start, n-1), -1), n-1), min(max(normal(s.end, -1), -1), n-1)
}

type logicalKind uint8

const (
	isAny     logicalKind = iota // one of the operands is true
	isAll                        // all operands are true
	isNone                       // the operand is false
	isThere                      // the query selects a node
	isCompare                    // the comparison is true
	isMatch                      // the regular expression matches
)

// logical is an expression of a filter that is true or false.
type logical struct {
	kind        logicalKind
	operands    []logical
	query       query
	op          string
	left, right operand
	regex       *regexp.Regexp
}

// query is a path from the root of the document or from the present node.
type query struct {
	root     bool
	segments []segment
}

// isSingular returns whether the query selects at most one node (RFC 9535 2.3.5.1).
func (q *query) isSingular() bool {
	for i := range q.segments {
		s := &q.segments[i]
		if s.descends || len(s.selectors) != 1 || s.selectors[0].kind > selectIndex {
			return false
		}
	}
	return true
}

type comparableKind uint8

const (
	ofLiteral comparableKind = iota
	ofQuery
	ofLength // of a string, an array or an object
	ofCount  // of the nodes of a query
	ofValue  // of the only node of a query
)

// operand is a value in a comparison.
type operand struct {
	kind comparableKind
	// literal is JSON text.
	literal []byte
	query   query
}

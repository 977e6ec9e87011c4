package extract

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/antchfx/xpath"

	"github.com/h2surge/h2surge/internal/xpathtext"
)

// xpathExpression is an expression of XPath 1.0. What a prefix stands for is not known to it: it is compared
// with the one that the document uses, and a name without one matches elements without one only.
// Expressions for documents with namespaces say local-name() and namespace-uri().
//
// The first node of several is the nearest on the axes that go backwards, and comes from the left side of
// a union: the library's order, not the document's. It lacks id(), lang(), the namespace axis and processing
// instructions, and knows some functions of XPath 2.0.
type xpathExpression struct {
	// compiled holds *xpath.Expr: evaluating one changes it.
	compiled sync.Pool
}

func newXPath(text string) (*xpathExpression, error) {
	first, err := xpathtext.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	e := &xpathExpression{}
	e.compiled.Put(first)
	e.compiled.New = func() any {
		again, _ := xpathtext.Compile(text) // it was valid before
		return again
	}
	return e, nil
}

// value appends the string value (XPath 1.0 section 4.2, string()) to dst and returns what it appended. An
// expression that selects no node has none, nor one that takes more steps than maxXPathSteps. The library
// panics at some things that are not possible, such as a function of a wrong type: no value either.
func (e *xpathExpression) value(dst, document []byte) (value []byte, ok bool) {
	defer func() {
		if recover() != nil {
			value, ok = nil, false
		}
	}()
	b := &budget{left: maxXPathSteps}
	root, err := parseXML(document, b)
	if err != nil {
		return nil, false
	}
	compiled := e.compiled.Get().(*xpath.Expr)
	start := len(dst)
	if dst, ok = appendResult(dst, compiled.Evaluate(newNavigator(root, b))); !ok {
		return nil, false
	}
	e.compiled.Put(compiled)
	return dst[start:], true
}

func appendResult(dst []byte, result any) (value []byte, ok bool) {
	switch r := result.(type) {
	case string:
		return append(dst, r...), true
	case bool:
		return strconv.AppendBool(dst, r), true
	case float64:
		return appendXPathNumber(dst, r), true
	case *xpath.NodeIterator:
		if r.MoveNext() {
			return append(dst, r.Current().Value()...), true
		}
	}
	return nil, false
}

// appendXPathNumber writes a number without an exponent, as XPath 1.0 section 4.2 wants it.
func appendXPathNumber(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0: // also minus zero
		return append(dst, '0')
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

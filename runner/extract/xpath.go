package extract

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/antchfx/xmlquery"
	"github.com/antchfx/xpath"
)

const (
	// maxXMLDepth is how deep elements may be nested: the string value is made by recursion.
	maxXMLDepth = 512
	// maxXMLMarkup bounds the octets '<' of a document, each of which may become a node of some 200 octets.
	maxXMLMarkup = 1 << 18
)

// xpathExpression is an expression of XPath 1.0. What a prefix stands for is not known to it: it is compared
// with the one that the document uses, and a name without one matches elements without one only.
// Expressions for documents with namespaces say local-name() and namespace-uri().
type xpathExpression struct {
	// compiled holds *xpath.Expr: evaluating one changes it.
	compiled sync.Pool
}

func newXPath(text string) (*xpathExpression, error) {
	first, err := compileXPath(text)
	if err != nil {
		return nil, err
	}
	e := &xpathExpression{}
	e.compiled.Put(first)
	e.compiled.New = func() any {
		again, _ := compileXPath(text) // it was valid before
		return again
	}
	return e, nil
}

func compileXPath(text string) (compiled *xpath.Expr, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%q: %v", text, p)
		}
	}()
	if compiled, err = xpath.Compile(text); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return compiled, nil
}

// value appends the string value (XPath 1.0 section 4.2, string()) to dst and returns what it appended. An
// expression that selects no node has none. The library panics at some things that are not possible,
// such as a function of a wrong type: no value either.
func (e *xpathExpression) value(dst, document []byte) (value []byte, ok bool) {
	defer func() {
		if recover() != nil {
			value, ok = nil, false
		}
	}()
	root, err := parseXML(document)
	if err != nil {
		return nil, false
	}
	compiled := e.compiled.Get().(*xpath.Expr)
	start := len(dst)
	if dst, ok = appendResult(dst, compiled.Evaluate(xmlquery.CreateXPathNavigator(root))); !ok {
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
			return append(dst, nodeText(r.Current().(*xmlquery.NodeNavigator))...), true
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

func nodeText(n *xmlquery.NodeNavigator) string {
	if n.NodeType() == xpath.AttributeNode {
		return n.Value()
	}
	if c := n.Current(); c.Type == xmlquery.CommentNode {
		return c.Data
	}
	return n.Current().InnerText()
}

var errXMLTooLarge = errors.New("XML document is too deep or has too many elements")

func parseXML(document []byte) (*xmlquery.Node, error) {
	markup := bytes.Count(document, []byte("<"))
	if markup > maxXMLMarkup {
		return nil, errXMLTooLarge
	}
	if markup > maxXMLDepth && xmlDepth(document) > maxXMLDepth {
		return nil, errXMLTooLarge
	}
	root, err := xmlquery.Parse(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	joinText(root)
	return root, nil
}

// xmlDepth is how deep elements are nested, as far as the document can be read.
func xmlDepth(document []byte) int {
	deepest, depth := 0, 0
	for d := xml.NewDecoder(bytes.NewReader(document)); ; {
		token, err := d.RawToken()
		if err != nil {
			return deepest
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
			deepest = max(deepest, depth)
		case xml.EndElement:
			depth--
		}
	}
}

// joinText makes one text node of text and CDATA sections that follow each other, as XPath 1.0 section
// 5.7 sees them.
func joinText(n *xmlquery.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == xmlquery.CharDataNode {
			child.Type = xmlquery.TextNode
		}
		if before := child.PrevSibling; before != nil && before.Type == xmlquery.TextNode && child.Type == xmlquery.TextNode {
			child.Data = before.Data + child.Data
			xmlquery.RemoveFromTree(before)
		}
		joinText(child)
	}
}

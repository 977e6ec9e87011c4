package extract

import (
	"bytes"
	"encoding/xml"
	"errors"
	"slices"
	"strings"

	"github.com/antchfx/xmlquery"
	"golang.org/x/net/html/charset"
)

const (
	// maxXMLDepth is how deep elements may be nested: the string value is made by recursion.
	maxXMLDepth = 512
	// maxXMLMarkup bounds the octets '<' of a document, each of which may become a node of some 200 octets.
	maxXMLMarkup = 1 << 18
)

var (
	errXMLTooLarge = errors.New("XML document is too deep or has too many elements")
	errXMLRoot     = errors.New("XML document must have exactly one root element (XML 1.0 section 2.1)")
)

// parseXML makes the tree that XPath 1.0 section 5 describes. It panics when the budget is used up.
func parseXML(document []byte, b *budget) (*xmlquery.Node, error) {
	markup := bytes.Count(document, []byte("<"))
	if markup > maxXMLMarkup || markup > maxXMLDepth && xmlDepth(document) > maxXMLDepth {
		return nil, errXMLTooLarge
	}
	root, err := xmlquery.Parse(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	adopt(root)
	prune(root, b)
	if !hasOneElement(root) {
		return nil, errXMLRoot
	}
	return root, nil
}

// xmlDepth is how deep elements are nested, as far as the document can be read.
func xmlDepth(document []byte) int {
	deepest, depth := 0, 0
	d := xml.NewDecoder(bytes.NewReader(document))
	d.CharsetReader = charset.NewReaderLabel // as the library
	for {
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

// adopt makes the siblings of the root its children. The library puts comments and text before the first element there.
func adopt(root *xmlquery.Node) {
	first, child := root.NextSibling, root.FirstChild
	if first == nil || child == nil {
		return
	}
	last := first
	for last.Parent = root; last.NextSibling != nil; last.Parent = root {
		last = last.NextSibling
	}
	root.NextSibling, root.FirstChild, first.PrevSibling = nil, first, nil
	last.NextSibling, child.PrevSibling = child, last
}

// prune removes declarations, processing instructions and xmlns attributes, which the library treats as elements, text
// or attributes. It joins adjacent text and CDATA sections to one node.
func prune(n *xmlquery.Node, b *budget) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a xmlquery.Attr) bool {
		return a.NamespaceURI == "xmlns" || a.NamespaceURI == "" && a.Name.Local == "xmlns"
	})
	var next *xmlquery.Node
	for child := n.FirstChild; child != nil; child = next {
		next = child.NextSibling
		switch child.Type {
		case xmlquery.DeclarationNode, xmlquery.NotationNode, xmlquery.ProcessingInstruction:
			xmlquery.RemoveFromTree(child)
		case xmlquery.TextNode, xmlquery.CharDataNode:
			child.Type = xmlquery.TextNode
			if before := child.PrevSibling; before != nil && before.Type == xmlquery.TextNode {
				child.Data = before.Data + child.Data
				b.chargeBytes(len(child.Data))
				xmlquery.RemoveFromTree(before)
			}
		default:
			prune(child, b)
		}
	}
}

func hasOneElement(root *xmlquery.Node) bool {
	elements := 0
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		switch n.Type {
		case xmlquery.ElementNode:
			elements++
		case xmlquery.TextNode:
			if strings.Trim(n.Data, " \t\r\n\ufeff") != "" {
				return false
			}
		}
	}
	return elements == 1
}

package extract

import (
	"errors"
	"strings"

	"github.com/antchfx/xmlquery"
	"github.com/antchfx/xpath"
)

// maxXPathSteps bounds what one evaluation may do. A step is a move to another node, a node of a string value, or
// bytesPerStep of one. It takes some 50 ns, so an evaluation ends within about a tenth of a second: the
// worker sends nothing meanwhile. Counting steps gives the same outcome on every machine.
const (
	maxXPathSteps = 2_000_000
	bytesPerStep  = 256
)

var errBudget = errors.New("the expression needs too many steps")

// budget counts the steps that are left.
type budget struct{ left int }

// charge subtracts steps from the budget. It panics if the budget is used up; xpathExpression.value recovers.
func (b *budget) charge(steps int) {
	if b.left -= steps; b.left < 0 {
		panic(errBudget)
	}
}

func (b *budget) chargeBytes(n int) { b.charge(1 + n/bytesPerStep) }

// navigator charges each move to a budget, and gives the root its string value (XPath 1.0 section 5.1), which
// the library's own lacks.
type navigator struct {
	*xmlquery.NodeNavigator
	budget *budget
}

func newNavigator(root *xmlquery.Node, b *budget) navigator {
	return navigator{xmlquery.CreateXPathNavigator(root), b}
}

// Value is the string value of the node.
func (n navigator) Value() string {
	node := n.Current()
	if t := n.NodeType(); t != xpath.RootNode && t != xpath.ElementNode {
		value := n.NodeNavigator.Value()
		n.budget.chargeBytes(len(value))
		return value
	}
	if text := node.FirstChild; text != nil && text.NextSibling == nil && text.Type == xmlquery.TextNode {
		n.budget.chargeBytes(len(text.Data))
		return text.Data
	}
	var out strings.Builder
	n.budget.appendText(&out, node)
	return out.String()
}

// appendText appends the text nodes below a node.
func (b *budget) appendText(out *strings.Builder, node *xmlquery.Node) {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		b.chargeBytes(len(child.Data))
		switch child.Type {
		case xmlquery.TextNode:
			out.WriteString(child.Data)
		case xmlquery.ElementNode:
			b.appendText(out, child)
		}
	}
}

// Copy returns an independent navigator at the same node.
func (n navigator) Copy() xpath.NodeNavigator {
	n.budget.charge(1)
	return navigator{n.NodeNavigator.Copy().(*xmlquery.NodeNavigator), n.budget}
}

// MoveTo goes where another one is, if it is in the same document.
func (n navigator) MoveTo(other xpath.NodeNavigator) bool {
	n.budget.charge(1)
	to, ok := other.(navigator)
	return ok && n.NodeNavigator.MoveTo(to.NodeNavigator)
}

func (n navigator) MoveToParent() bool {
	n.budget.charge(1)
	return n.NodeNavigator.MoveToParent()
}

func (n navigator) MoveToNextAttribute() bool {
	n.budget.charge(1)
	return n.NodeNavigator.MoveToNextAttribute()
}

func (n navigator) MoveToChild() bool {
	n.budget.charge(1)
	return n.NodeNavigator.MoveToChild()
}

// MoveToFirst is charged by what the library's own does: it walks.
func (n navigator) MoveToFirst() bool {
	for node := n.Current(); node != nil; node = node.PrevSibling {
		n.budget.charge(1)
	}
	return n.NodeNavigator.MoveToFirst()
}

func (n navigator) MoveToNext() bool {
	n.budget.charge(1)
	return n.NodeNavigator.MoveToNext()
}

func (n navigator) MoveToPrevious() bool {
	n.budget.charge(1)
	return n.NodeNavigator.MoveToPrevious()
}

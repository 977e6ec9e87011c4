package compile

import (
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/text"
)

// beginsLikeAPath accepts "/...", a capture, and a variable all of whose values begin with a
// slash. An unknown name, and one that is both, is reported elsewhere.
func (c *compiler) beginsLikeAPath(pieces []syntax.Piece) bool {
	first := pieces[0].Ref
	if first == nil {
		return strings.HasPrefix(pieces[0].Literal, "/")
	}
	i, isVariable := c.variableIndex[first.Name]
	if !isVariable || c.captured[first.Name] {
		return keepsSlash(first.Functions)
	}
	if table := c.tables[i]; table != nil && table.columns != nil && table.index(first.Column) < 0 {
		return true
	}
	values := c.known(i, first.Column)
	for _, v := range values {
		if !strings.HasPrefix(applied(first.Functions, v.value), "/") {
			return false
		}
	}
	return len(values) > 0
}

// keepsSlash is false for functions whose results never begin with a slash.
func keepsSlash(functions []syntax.Function) bool {
	return !slices.ContainsFunc(functions, func(f syntax.Function) bool {
		switch f.Name {
		case rv.FunctionURLEncode, rv.FunctionBase64, rv.FunctionBase64URL, rv.FunctionSHA256, rv.FunctionHMACSHA256:
			return true
		}
		return false
	})
}

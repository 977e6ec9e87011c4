// Package xpathtext compiles expressions of XPath 1.0, for what checks a manifest and for what evaluates them.
package xpathtext

import (
	"errors"
	"fmt"
	"strings"

	"github.com/antchfx/xpath"
)

// ErrInstruction: the expression selects processing instructions. The library would take any node instead.
var ErrInstruction = errors.New("processing instructions cannot be selected")

// Compile compiles an expression. The library panics at some wrong ones.
func Compile(text string) (compiled *xpath.Expr, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	if strings.Contains(text, "processing-instruction(") {
		return nil, ErrInstruction
	}
	return xpath.Compile(text)
}

// Package lazy delays what most runs of a program do not need. Package variables would do it at each start.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles a regular expression in its first call. It panics if the expression is wrong.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

package compile

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// insertion is a use of a variable's values: those of one column, changed by functions, in one kind of place.
type insertion struct {
	variable                 int
	column, functions, place string
}

// maxInsertions bounds the insertions whose values are checked. A LoadTest can have many references to a long table,
// and each check takes all rows.
const maxInsertions = 1000

// judge reports what is wrong with the known values of a variable at a place. It asks problem once for each insertion.
func (c *compiler) judge(path *field.Path, at insertion, problem func([]known) string) {
	found, judged := c.judged[at]
	if !judged && len(c.judged) < maxInsertions {
		if c.judged == nil {
			c.judged = map[insertion]string{}
		}
		found = problem(c.known(at.variable, at.column))
		c.judged[at] = found
	}
	if found != "" {
		c.fail(path, "variable %q: %s", c.plan.Variables[at.variable].Name, found)
	}
}

// signature names functions by all that applied reads of them.
func signature(functions []syntax.Function) string {
	var out strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&out, "%s %d %q,", f.Name, f.Width, f.Fill)
	}
	return out.String()
}

package compile

import (
	"errors"
	"regexp/syntax"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/xpathtext"
)

// regex parses a regular expression; nil: it is not valid. The message does not quote it. Only runners compile it,
// because the program of a{1000} is large.
func (c *checker) regex(at *field.Path, expression string) *syntax.Regexp {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err == nil {
		return re
	}
	var broken *syntax.Error
	if errors.As(err, &broken) {
		c.fail(at, "is not a regular expression (RE2 syntax): %s", broken.Code.String())
	} else {
		c.fail(at, "is not a regular expression (RE2 syntax)")
	}
	return nil
}

// pointer checks the syntax of RFC 6901.
func (c *checker) pointer(at *field.Path, pointer string) string {
	switch rest := strings.NewReplacer("~0", "", "~1", "").Replace(pointer); {
	case pointer != "" && pointer[0] != '/':
		c.fail(at, `must be empty or begin with / (RFC 6901)`)
	case strings.Contains(rest, "~"):
		c.fail(at, "has a ~ that is not followed by 0 or 1; in a name, write ~0 for ~ and ~1 for / (RFC 6901)")
	}
	return pointer
}

// jsonPath checks the syntax of RFC 9535. The message has the position of the mistake.
func (c *checker) jsonPath(at *field.Path, path string) string {
	if err := jsontext.CheckPath(path); err != nil {
		c.fail(at, "is not a JSONPath query: %v", err)
	}
	return path
}

func (c *checker) xpath(at *field.Path, expression string) string {
	switch _, err := xpathtext.Compile(expression); {
	case errors.Is(err, xpathtext.ErrInstruction):
		c.fail(at, "must not select processing instructions")
	case err != nil:
		c.fail(at, "is not an XPath 1.0 expression, such as //item[1]/@id")
	}
	return expression
}

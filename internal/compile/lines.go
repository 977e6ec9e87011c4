package compile

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ErrorLines renders errors for people, one line each: the field's path, a colon, what is wrong.
// The offending value is left out, because it could be a secret.
func ErrorLines(errs field.ErrorList) []string {
	lines := make([]string, 0, len(errs))
	for _, err := range errs {
		lines = append(lines, errorLine(err))
	}
	return lines
}

func errorLine(err *field.Error) string {
	detail := cmp.Or(err.Detail, err.Type.String())
	if err.Field != "" {
		detail = err.Field + ": " + detail
	}
	return strings.Join(strings.Fields(detail), " ")
}

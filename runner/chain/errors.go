package chain

import (
	"errors"
	"fmt"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Errors are all mistakes that Load finds, at least one.
type Errors []*rv.PlanError

// Error returns the first mistakes in one line.
func (all Errors) Error() string {
	const most = 10
	lines := make([]string, 0, most+1)
	for i, e := range all {
		if i == most {
			lines = append(lines, fmt.Sprintf("%d more", len(all)-most))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "; ")
}

// ErrUnset is the mistake of a variable without a default that is not set in the environment.
var ErrUnset = errors.New("is not set in the environment of the runner, and there is no default")

// mistakes has what is wrong with a plan so far, and the place of what is built.
type mistakes struct {
	at   rv.Place
	errs Errors
}

// fail adds a mistake at the present place, or in the field of the place that the mistake names.
func (m *mistakes) fail(err error) {
	at, e := m.at, (*rv.PlanError)(nil)
	if errors.As(err, &e) {
		at.Field, err = e.Field, e.Err
	}
	m.errs = append(m.errs, &rv.PlanError{Place: at, Err: err})
}

func (m *mistakes) failf(format string, args ...any) { m.fail(fmt.Errorf(format, args...)) }

// in moves the place to a field of the target or the step.
func (m *mistakes) in(field string) { m.at = m.at.In(field, -1) }

// item moves the place to an item of a field.
func (m *mistakes) item(field string, i int) { m.at = m.at.In(field, i) }

// read returns the octets of a content, or nil if it cannot be read.
func (b *builder) read(c *rv.Content) []byte {
	content, err := b.res.content(c)
	if err != nil {
		b.fail(err)
	}
	return content
}

// Package match compares values with what a test wants of them: see Match in api/runner/v1alpha1.
package match

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Matcher is a Match made ready. Several goroutines may use it at the same time.
type Matcher struct {
	op  rv.MatchOp
	not bool
	// exists is what MatchExists wants.
	exists  bool
	pattern *regexp.Regexp
}

// New fails when m is not a Match that the API describes. The error names the field.
func New(m rv.Match) (*Matcher, error) {
	out := &Matcher{op: m.Op, not: m.Not}
	if m.Pattern != "" && m.Op != rv.MatchMatches {
		return nil, fmt.Errorf("pattern: %s does not use it", m.Op)
	}
	var err error
	switch m.Op {
	case rv.MatchEquals, rv.MatchStartsWith, rv.MatchEndsWith, rv.MatchContains:
	case rv.MatchExists:
		err = out.setExists(m)
	case rv.MatchMatches:
		if out.pattern, err = regexp.Compile(m.Pattern); err != nil {
			err = fmt.Errorf("pattern: %w", err)
		}
	case rv.MatchLessThan, rv.MatchGreaterThan:
		if text, fixed := literal(m.Want); fixed && !isNumber([]byte(text)) {
			err = fmt.Errorf("want: %q is not a decimal number", text)
		}
	default:
		err = fmt.Errorf("op: unknown comparison %q", m.Op)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (m *Matcher) setExists(from rv.Match) error {
	if from.Not {
		return errors.New("not: cannot be used with exists; set exists to true or false")
	}
	switch text, _ := literal(from.Want); text {
	case "true":
		m.exists = true
	case "false":
	default:
		return fmt.Errorf("want: exists needs true or false, not %q", text)
	}
	return nil
}

// literal is the text, if it has no placeholders.
func literal(t rv.Text) (text string, ok bool) {
	for i := range t {
		if !t[i].IsLiteral() {
			return "", false
		}
		text += t[i].Literal
	}
	return text, true
}

// Holds is true when the comparison with want, which is Match.Want with its placeholders filled, comes out as the test
// wants it. ok says whether there is a value at all: without one only "exists: false" holds, whatever Not
// says. Want of exists is known since New, and ignored here.
//
// Numbers are compared exactly, as decimals; see Match.Op. A value that is not a number is neither less nor greater, so
// the result is true only with Not. If want is not a number, the result is false.
func (m *Matcher) Holds(value []byte, ok bool, want []byte) bool {
	if m.op == rv.MatchExists {
		return ok == m.exists
	}
	return ok && m.compare(value, want)
}

func (m *Matcher) compare(value, want []byte) bool {
	switch m.op {
	case rv.MatchEquals:
		return bytes.Equal(value, want) != m.not
	case rv.MatchStartsWith:
		return bytes.HasPrefix(value, want) != m.not
	case rv.MatchEndsWith:
		return bytes.HasSuffix(value, want) != m.not
	case rv.MatchContains:
		return bytes.Contains(value, want) != m.not
	case rv.MatchMatches:
		return m.pattern.Match(value) != m.not
	}
	return m.compareNumbers(value, want)
}

func (m *Matcher) compareNumbers(value, want []byte) bool {
	limit, ok := parseDecimal(want)
	if !ok {
		return false
	}
	v, ok := parseDecimal(value)
	if !ok {
		return m.not
	}
	if m.op == rv.MatchLessThan {
		return (v.compare(limit) < 0) != m.not
	}
	return (v.compare(limit) > 0) != m.not
}

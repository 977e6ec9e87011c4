package compile

import (
	"errors"
	"fmt"
	"strings"
)

// piece is a part of a text whose name, if it has one, is not resolved yet: whether it is a
// variable or a capture, and which one, may differ from chain to chain.
type piece struct {
	literal string
	name    string
}

// parseText splits a text at its holes. ${name} is a hole and $$ is one dollar sign; a dollar
// sign before anything else stands for itself.
func parseText(s string) ([]piece, error) {
	var pieces []piece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{literal: literal.String()})
			literal.Reset()
		}
	}
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			literal.WriteString(s)
			flush()
			return pieces, nil
		}
		literal.WriteString(s[:i])
		switch s[i+1] {
		case '$':
			literal.WriteByte('$')
			s = s[i+2:]
		case '{':
			name, rest, closed := strings.Cut(s[i+2:], "}")
			if err := holeProblem(name, closed); err != nil {
				return nil, err
			}
			flush()
			pieces = append(pieces, piece{name: name})
			s = rest
		default:
			literal.WriteByte('$')
			s = s[i+1:]
		}
	}
}

func holeProblem(name string, closed bool) error {
	switch {
	case !closed:
		return errors.New("${ without }; write $${ for a literal ${")
	case name == "":
		return errors.New("${} has no name; write $${} for a literal ${}")
	case len(name) > maxName || !identName.MatchString(name):
		return fmt.Errorf("${ is followed by what is no name (letters, digits and _, not beginning with a digit, at most %d characters); write $${ for a literal ${", maxName)
	}
	return nil
}

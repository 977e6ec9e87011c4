// Package placeholder parses texts with placeholders, such as "/sessions/${urlEncode(id)}": those of a manifest,
// and those that a runner finds in files.
//
// A placeholder is ${name}, ${name.column}, ${listener.name.url}, ${traceparent(ratio)} or ${function(placeholder)},
// functions nested at will. $$ is one dollar sign, and a dollar sign before anything else stands for itself. What a
// name means is not known here.
package placeholder

import (
	"errors"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Piece is a part of a text: either Ref is set, or Literal is not empty.
type Piece struct {
	Literal string
	Ref     *Reference
}

// Reference is a placeholder.
type Reference struct {
	Name string
	// Column of a table, or host or port of a listener; empty: none.
	Column string
	// Listener is the name of a listener, whose URL, or host or port, the placeholder is; empty: it is another
	// placeholder. Name is then ListenerName.
	Listener string
	// Traceparent is set for traceparent(ratio), whose Name is Traceparent.Name().
	Traceparent *rv.Traceparent
	// Functions to apply to the value, the first one first.
	Functions []Function
}

// ListenerName is the name of placeholders for the URLs, hosts and ports of listeners.
const ListenerName = "listener"

// Function changes a value.
type Function struct {
	Name rv.FunctionName
	// Width and Fill of pad. Fill is one printable ASCII character.
	Width int
	Fill  string
	// Key of hmacSha256, without functions.
	Key *Reference
	// Arguments are those of resStar and hxresStar after the first one, without functions.
	Arguments []*Reference
}

// Parse splits a text at its placeholders. Two literals never follow each other, and an empty text has no
// pieces. An error says what to do, and quotes nothing of the text but what could be the name of a
// function.
func Parse(s string) ([]Piece, error) {
	var pieces []Piece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, Piece{Literal: literal.String()})
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
			inside, rest, closed := strings.Cut(s[i+2:], "}")
			if !closed {
				return nil, errors.New("${ without }; write $${ for a literal ${")
			}
			ref, err := placeholder(inside)
			if err != nil {
				return nil, err
			}
			flush()
			pieces = append(pieces, Piece{Ref: ref})
			s = rest
		default:
			literal.WriteByte('$')
			s = s[i+1:]
		}
	}
}

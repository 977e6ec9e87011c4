package rules

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/runner/grpc"
)

// text is a string with placeholders: ${name} is one, $$ is a dollar sign, and a dollar sign before
// anything else stands for itself.
type text struct {
	pieces []piece
}

// piece is a literal or a placeholder.
type piece struct {
	kind    pieceKind
	literal string // the literal, or the name in the placeholder
	from    *jsontext.Pointer
	a, b    int64
	place   place
	filters []filter
}

// place is where in a JSON document a placeholder is.
type place uint8

const (
	plain  place = iota // not in JSON
	quoted              // between quotes
	bare                // where a value stands
)

type pieceKind uint8

const (
	literalPiece pieceKind = iota
	pathParam
	requestHeader
	requestMethod
	requestPath
	requestBody
	queryParam
	jsonValue
	uuidPiece
	counterPiece
	randomHex
	randomInt
	timeRFC3339
	timeIMF
	timeEpochMs
	stateID
	stateCount
	stateDocument
	stateDocuments
	stateValue
	eachID
	eachDocument
	eachValue
)

// scope is what a text may refer to.
type scope struct {
	params []string // of the rule's path
	state  bool     // the rule has a resource
	each   bool     // the notification has forEach
	json   bool     // the text is JSON
	// called: the rule is for calls of gRPC. method is the only one, or nil.
	called bool
	method *grpc.Method
	// message: the rule answers each message of a stream.
	message bool
}

// parseText reports everything wrong with a text.
func parseText(s string, sc scope) (text, error) {
	var t text
	var errs []error
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t.pieces = append(t.pieces, piece{literal: literal.String()})
			literal.Reset()
		}
	}
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			literal.WriteString(s)
			break
		}
		literal.WriteString(s[:i])
		switch s[i+1] {
		case '$':
			literal.WriteByte('$')
			s = s[i+2:]
		case '{':
			name, rest, closed := cutPlaceholder(s[i+2:])
			if !closed {
				return text{}, errors.Join(append(errs, errors.New("${ without }; write $${ for a literal ${"))...)
			}
			p, err := parsePlaceholder(name, sc)
			if err != nil {
				errs = append(errs, err)
			}
			flush()
			t.pieces = append(t.pieces, p)
			s = rest
		default:
			literal.WriteByte('$')
			s = s[i+1:]
		}
	}
	flush()
	if sc.json {
		t.findPlaces()
	}
	return t, errors.Join(errs...)
}

// simplePlaceholders have no argument.
var simplePlaceholders = map[string]pieceKind{
	"request.method": requestMethod, "request.path": requestPath, "request.body": requestBody,
	"uuid": uuidPiece, "counter": counterPiece,
	"time.rfc3339": timeRFC3339, "time.imf": timeIMF, "time.epochMs": timeEpochMs,
	"state.id": stateID, "state.count": stateCount, "state.document": stateDocument, "state.documents": stateDocuments,
	"each.id": eachID, "each.document": eachDocument,
}

func parsePlaceholder(inside string, sc scope) (piece, error) {
	source, filters, err := cutFilters(inside)
	if err != nil {
		return piece{}, err
	}
	p, err := parseSource(source, sc)
	p.filters = filters
	return p, err
}

func parseSource(name string, sc scope) (piece, error) {
	if strings.HasPrefix(name, "state") && !sc.state {
		return piece{}, fmt.Errorf("${%s}: the rule has no resource", name)
	}
	if strings.HasPrefix(name, "each") && !sc.each {
		return piece{}, fmt.Errorf("${%s}: is allowed in notifications with forEach only", name)
	}
	if kind, ok := simplePlaceholders[name]; ok {
		return piece{kind: kind, literal: name}, nil
	}
	if at, ok := strings.CutPrefix(name, "json:"); ok {
		return pointerPiece(jsonValue, name, at)
	}
	if at, ok := strings.CutPrefix(name, "state:"); ok {
		return pointerPiece(stateValue, name, at)
	}
	if at, ok := strings.CutPrefix(name, "each:"); ok {
		return pointerPiece(eachValue, name, at)
	}
	if header, ok := strings.CutPrefix(name, "request.header."); ok {
		header = strings.ToLower(header)
		if problem := fieldNameProblem(header); problem != "" {
			return piece{}, fmt.Errorf("${%s}: %s", name, problem)
		}
		return piece{kind: requestHeader, literal: header}, nil
	}
	if param, ok := strings.CutPrefix(name, "path."); ok {
		i := slices.Index(sc.params, param)
		if i < 0 {
			return piece{}, fmt.Errorf("${%s}: match.path has no {%s}", name, param)
		}
		return piece{kind: pathParam, literal: param, a: int64(i)}, nil
	}
	if param, ok := strings.CutPrefix(name, "query."); ok && param != "" {
		return piece{kind: queryParam, literal: param}, nil
	}
	if args, ok := strings.CutPrefix(name, "random."); ok {
		return randomPiece(name, args)
	}
	return piece{}, fmt.Errorf("${%s} is not known; write $${ for a literal ${", name)
}

func pointerPiece(kind pieceKind, name, at string) (piece, error) {
	p, err := jsontext.ParsePointer(at)
	if err != nil {
		return piece{}, fmt.Errorf("${%s}: %w", name, err)
	}
	return piece{kind: kind, literal: name, from: p}, nil
}

// maxHex bounds random.hex, in digits.
const maxHex = 1024

func randomPiece(name, call string) (piece, error) {
	function, args, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	var numbers []int64
	for _, arg := range strings.Split(args, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(arg), 10, 64)
		if err != nil {
			return piece{}, fmt.Errorf("${%s} is not random.hex(DIGITS) or random.int(MIN,MAX)", name)
		}
		numbers = append(numbers, n)
	}
	switch {
	case !strings.HasSuffix(call, ")"):
	case function == "hex" && len(numbers) == 1:
		if n := numbers[0]; n < 1 || n > maxHex {
			return piece{}, fmt.Errorf("${%s}: %d is not between 1 and %d", name, n, maxHex)
		}
		return piece{kind: randomHex, literal: name, a: numbers[0]}, nil
	case function == "int" && len(numbers) == 2:
		a, b := numbers[0], numbers[1]
		if span := b - a; b < a || span < 0 || span+1 <= 0 {
			return piece{}, fmt.Errorf("${%s}: the range from %d to %d is empty or too wide", name, a, b)
		}
		return piece{kind: randomInt, literal: name, a: a, b: b}, nil
	}
	return piece{}, fmt.Errorf("${%s} is not random.hex(DIGITS) or random.int(MIN,MAX)", name)
}

// findPlaces sets for each placeholder whether it is inside a JSON string.
func (t *text) findPlaces() {
	in := false
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.kind != literalPiece {
			p.place = bare
			if in {
				p.place = quoted
			}
			continue
		}
		for j := 0; j < len(p.literal); j++ {
			switch {
			case p.literal[j] == '"':
				in = !in
			case p.literal[j] == '\\' && in:
				j++
			}
		}
	}
}

// constant returns the text when it has no placeholders.
func (t *text) constant() (s string, ok bool) {
	switch {
	case len(t.pieces) == 0:
		return "", true
	case len(t.pieces) == 1 && t.pieces[0].kind == literalPiece:
		return t.pieces[0].literal, true
	}
	return "", false
}

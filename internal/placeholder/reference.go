package placeholder

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
)

const (
	// maxName is the greatest length of a name and of a column's name.
	maxName = 50
	// maxFunctions is how many functions may be nested.
	maxFunctions = 8
	// maxWidth bounds pad: the longest value of a list.
	maxWidth = 1024
)

// functions are all there are, as messages list them.
var functions = []rv.FunctionName{
	rv.FunctionURLEncode, rv.FunctionBase64, rv.FunctionBase64URL, rv.FunctionJSONEscape, rv.FunctionHexDecode,
	rv.FunctionUpper, rv.FunctionLower,
	rv.FunctionPad, rv.FunctionSHA256, rv.FunctionHMACSHA256, rv.FunctionRESStar, rv.FunctionHXRESStar,
	rv.FunctionRoutingBinding,
}

var (
	errEmpty    = errors.New("${} has no name; write $${} for a literal ${}")
	errName     = fmt.Errorf("${ must be followed by a name (letters, digits and _, not beginning with a digit, at most %d characters); write $${ for a literal ${", maxName)
	errColumn   = fmt.Errorf("${name. must be followed by the name of a column (letters, digits, _ and -, not beginning with -, at most %d characters)", maxName)
	errListener = errors.New("a placeholder of a listener is ${listener.NAME.url}, ${listener.NAME.host} or ${listener.NAME.port}")
	errNested   = fmt.Errorf("a ${} can have at most %d nested functions", maxFunctions)
	errWidth    = fmt.Errorf("pad takes a value, a width from 1 to %d and an optional fill character (printable ASCII, default 0): pad(x, 8) or pad(x, 8, c)", maxWidth)
	errRatio    = errors.New("traceparent takes the share of requests that are sampled, a number from 0 to 1: traceparent(0.01)")
	errRESStar  = errors.New("resStar takes RAND and the names of K, OPc and the serving network name, without functions: resStar(rand, ue.k, ue.opc, ue.servingNetwork)")
	errHXRES    = errors.New("hxresStar takes RES* and the name of RAND, without functions: hxresStar(x, rand)")
	errKey      = errors.New("hmacSha256 takes a value and the name of its key, without functions: hmacSha256(x, key)")
)

// placeholder parses what stands between ${ and }.
func placeholder(s string) (*Reference, error) {
	if s == "" {
		return nil, errEmpty
	}
	p := parser{rest: s}
	ref, err := p.reference(0)
	switch {
	case err != nil:
		return nil, err
	case p.rest == "":
		return ref, nil
	case p.rest[0] == ')' || p.rest[0] == ',':
		return nil, errors.New("${ has an unexpected ) or comma")
	}
	return nil, errName
}

// parser has what is still to be read of one placeholder.
type parser struct{ rest string }

func (p *parser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t") }

// take reads c, if it is next.
func (p *parser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// word reads all characters of names, and those of also.
func (p *parser) word(also string) string {
	n := 0
	for n < len(p.rest) && (IsNameOctet(p.rest[n]) || strings.IndexByte(also, p.rest[n]) >= 0) {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

// IsNameOctet reports whether names can contain c. They cannot begin with a digit.
func IsNameOctet(c byte) bool { return c == '_' || octet.IsLetter(c) || octet.IsDigit(c) }

// reference reads a name, a name with a column, or a call. depth is how many calls are around it.
func (p *parser) reference(depth int) (*Reference, error) {
	name := p.word("")
	switch {
	case name == "" || len(name) > maxName || octet.IsDigit(name[0]):
		return nil, errName
	case p.take('('):
		if name == rv.TraceparentFunction {
			return p.traceparent(depth)
		}
		return p.call(name, depth)
	case !p.take('.'):
		return &Reference{Name: name}, nil
	}
	column := p.word("-")
	if column == "" || len(column) > maxName || column[0] == '-' {
		return nil, errColumn
	}
	if strings.HasPrefix(p.rest, ".url") && name != ListenerName {
		return nil, errListener
	}
	if name == ListenerName {
		if !p.take('.') {
			return nil, errListener
		}
		switch part := p.word(""); part {
		case "url":
			return &Reference{Name: name, Listener: column}, nil
		case rv.ListenerHost, rv.ListenerPort:
			return &Reference{Name: name, Listener: column, Column: part}, nil
		}
		return nil, errListener
	}
	return &Reference{Name: name, Column: column}, nil
}

// call reads the arguments of a function and the parenthesis behind them.
func (p *parser) call(name string, depth int) (*Reference, error) {
	f := Function{}
	for _, known := range functions {
		if name == string(known) {
			f.Name = known
		}
	}
	switch {
	case f.Name == "":
		return nil, fmt.Errorf("unknown function %q; allowed: %s", name, names())
	case depth == maxFunctions:
		return nil, errNested
	}
	p.blanks()
	ref, err := p.reference(depth + 1)
	if err != nil {
		return nil, err
	}
	p.blanks()
	switch f.Name {
	case rv.FunctionPad:
		err = p.pad(&f)
	case rv.FunctionHMACSHA256:
		err = p.key(&f)
	case rv.FunctionRESStar:
		f.Arguments, err = p.names(3, errRESStar)
	case rv.FunctionHXRESStar:
		f.Arguments, err = p.names(1, errHXRES)
	default:
		if !p.take(')') {
			err = fmt.Errorf("%s takes one value: %s(x)", name, name)
		}
	}
	if err != nil {
		return nil, err
	}
	ref.Functions = append(ref.Functions, f)
	return ref, nil
}

func names() string {
	all := make([]string, len(functions))
	for i, f := range functions {
		all[i] = string(f)
	}
	return strings.Join(append(all, rv.TraceparentFunction), ", ")
}

// traceparent reads "ratio)". depth is how many calls are around it.
func (p *parser) traceparent(depth int) (*Reference, error) {
	if depth == maxFunctions {
		return nil, errNested
	}
	p.blanks()
	ratio, err := strconv.ParseFloat(p.word("."), 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return nil, errRatio
	}
	p.blanks()
	if !p.take(')') {
		return nil, errRatio
	}
	t := &rv.Traceparent{Ratio: ratio}
	return &Reference{Name: t.Name(), Traceparent: t}, nil
}

// pad reads ", width)" or ", width, c)". A character that is all blanks is a blank.
func (p *parser) pad(f *Function) error {
	if !p.take(',') {
		return errWidth
	}
	p.blanks()
	width, err := strconv.Atoi(p.word(""))
	if err != nil || width < 1 || width > maxWidth {
		return errWidth
	}
	f.Width, f.Fill = width, "0"
	p.blanks()
	if p.take(',') {
		fill, rest, closed := strings.Cut(p.rest, ")")
		if trimmed := strings.Trim(fill, " "); trimmed != "" {
			fill = trimmed
		} else if fill != "" {
			fill = " "
		}
		if !closed || len(fill) != 1 || fill[0] < ' ' || fill[0] > '~' {
			return errWidth
		}
		f.Fill, p.rest = fill, rest
		return nil
	}
	if !p.take(')') {
		return errWidth
	}
	return nil
}

// key reads ", name)" or ", name.column)".
func (p *parser) key(f *Function) error {
	names, err := p.names(1, errKey)
	if err == nil {
		f.Key = names[0]
	}
	return err
}

// names reads n times ", name" or ", name.column", and ")". It returns wrong if something else is next.
func (p *parser) names(n int, wrong error) (names []*Reference, _ error) {
	for range n {
		if !p.take(',') {
			return nil, wrong
		}
		p.blanks()
		name, err := p.reference(maxFunctions) // no function fits in any more
		if err != nil {
			return nil, wrong
		}
		names = append(names, name)
		p.blanks()
	}
	if !p.take(')') {
		return nil, wrong
	}
	return names, nil
}

package jsontext

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/h2surge/h2surge/internal/octet"
)

// ParsePath reads a JSONPath query, such as $.nfInstances[?@.nfType=='UDM'].nfServices[0]. An error is a *PathError.
func ParsePath(s string) (*Path, error) { return (&pathReader{text: s}).read() }

// CheckPath returns the error of ParsePath. It does not compile regular expressions, because the program of a{1000} is
// large.
func CheckPath(s string) error {
	_, err := (&pathReader{text: s, checks: true}).read()
	return err
}

func (r *pathReader) read() (p *Path, err error) {
	defer func() {
		switch mistake := recover().(type) {
		case nil:
		case *PathError:
			p, err = nil, mistake
		default:
			panic(mistake)
		}
	}()
	if !utf8.ValidString(r.text) {
		r.fail("is not UTF-8")
	}
	if !r.take("$") {
		r.fail("a path begins with $")
	}
	segments := r.segments()
	if r.at < len(r.text) {
		r.fail("unexpected %q; a segment begins with . or [", r.text[r.at:r.at+1])
	}
	return &Path{segments}, nil
}

// pathReader reads a path. Its methods panic with a *PathError.
type pathReader struct {
	text  string
	at    int
	depth int
	// checks: nothing evaluates the path.
	checks bool
}

// maxPathDepth is how deep filters and parentheses may be nested.
const maxPathDepth = 32

func (r *pathReader) fail(format string, args ...any) {
	panic(&PathError{At: r.at + 1, Problem: fmt.Sprintf(format, args...)})
}

func (r *pathReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// take skips a token if it is next.
func (r *pathReader) take(token string) bool {
	if !strings.HasPrefix(r.text[r.at:], token) {
		return false
	}
	r.at += len(token)
	return true
}

func (r *pathReader) want(token string) {
	if !r.take(token) {
		r.fail("%s is missing", token)
	}
}

func (r *pathReader) space() {
	for strings.IndexByte(" \t\n\r", r.peek()) >= 0 && r.at < len(r.text) {
		r.at++
	}
}

// segments reads the segments of a query up to what is not one.
func (r *pathReader) segments() (out []segment) {
	for {
		before := r.at
		r.space()
		switch {
		case r.peek() == '[':
			out = append(out, segment{selectors: r.bracketed()})
		case r.take(".."):
			s := segment{descends: true}
			if r.peek() == '[' {
				s.selectors = r.bracketed()
			} else {
				s.selectors = []selector{r.shorthand()}
			}
			out = append(out, s)
		case r.take("."):
			out = append(out, segment{selectors: []selector{r.shorthand()}})
		default:
			r.at = before
			return out
		}
	}
}

// shorthand reads * or a name without quotes.
func (r *pathReader) shorthand() selector {
	if r.take("*") {
		return selector{kind: selectWildcard}
	}
	from := r.at
	for {
		c, n := utf8.DecodeRuneInString(r.text[r.at:])
		isDigit := c < utf8.RuneSelf && octet.IsDigit(byte(c))
		if n == 0 || !isNameFirst(c) && (!isDigit || r.at == from) {
			break
		}
		r.at += n
	}
	if r.at == from {
		r.fail("a name, * or [ is missing")
	}
	return selector{kind: selectName, name: r.text[from:r.at]}
}

func isNameFirst(c rune) bool {
	return c == '_' || c >= utf8.RuneSelf || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func (r *pathReader) bracketed() (out []selector) {
	r.want("[")
	for {
		r.space()
		out = append(out, r.selector())
		r.space()
		if r.take("]") {
			return out
		}
		if !r.take(",") {
			r.fail(", or ] is missing")
		}
	}
}

func (r *pathReader) selector() selector {
	switch c := r.peek(); {
	case c == '\'' || c == '"':
		return selector{kind: selectName, name: r.quoted()}
	case r.take("*"):
		return selector{kind: selectWildcard}
	case r.take("?"):
		r.space()
		filter := r.nested(r.or)
		return selector{kind: selectFilter, filter: &filter}
	case c == '-' || c == ':' || octet.IsDigit(c):
		return r.indices()
	}
	r.fail("a selector is missing: a name in quotes, an index, a slice, * or ?")
	return selector{}
}

// indices reads an index or a slice.
func (r *pathReader) indices() selector {
	var start *int
	if r.peek() != ':' {
		start = r.integer()
		after := r.at
		if r.space(); r.peek() != ':' {
			r.at = after
			return selector{kind: selectIndex, index: *start}
		}
	}
	s := selector{kind: selectSlice, slice: slice{start: start, step: 1}}
	r.want(":")
	r.space()
	s.slice.end = r.optional()
	if r.space(); r.take(":") {
		r.space()
		if step := r.optional(); step != nil {
			s.slice.step = *step
		}
	}
	return s
}

func (r *pathReader) optional() *int {
	if c := r.peek(); c != '-' && !octet.IsDigit(c) {
		return nil
	}
	return r.integer()
}

// integer reads an integer of I-JSON, without leading zeros (RFC 9535 2.3.3.1).
func (r *pathReader) integer() *int {
	const most = 1<<53 - 1
	from := r.at
	r.take("-")
	for octet.IsDigit(r.peek()) {
		r.at++
	}
	text := r.text[from:r.at]
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text || n < -most || n > most {
		r.at = from
		r.fail("an integer without leading zeros is missing")
	}
	return &n
}

// quoted reads a text in single or double quotes.
func (r *pathReader) quoted() string {
	quote, from := r.peek(), r.at
	r.at++
	var out strings.Builder
	for {
		c, n := utf8.DecodeRuneInString(r.text[r.at:])
		switch {
		case n == 0:
			r.at = from
			r.fail("the closing %c is missing", quote)
		case c == rune(quote):
			r.at++
			return out.String()
		case c < ' ':
			r.fail("a control character must be escaped")
		case c == '\\':
			out.WriteRune(r.escaped(quote))
			continue
		}
		out.WriteRune(c)
		r.at += n
	}
}

// escaped reads an escape sequence. The other kind of quote has none.
func (r *pathReader) escaped(quote byte) rune {
	rest := r.text[r.at:]
	if len(rest) > 1 {
		switch c := rest[1]; c {
		case quote, '\\', '/':
			r.at += 2
			return rune(c)
		case 'b', 'f', 'n', 'r', 't':
			r.at += 2
			return map[byte]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c]
		case 'u':
			if len(rest) >= 6 && hex4([]byte(rest[2:6])) >= 0 {
				c, n := utf16Character([]byte(rest))
				if c != utf8.RuneError || !utf16.IsSurrogate(hex4([]byte(rest[2:6]))) {
					r.at += n
					return c
				}
			}
		}
	}
	r.fail("is not an escape sequence")
	return 0
}

// nested reads an expression in a filter or in parentheses.
func (r *pathReader) nested(read func() logical) logical {
	if r.depth++; r.depth > maxPathDepth {
		r.fail("filters and parentheses are nested more than %d deep", maxPathDepth)
	}
	out := read()
	r.depth--
	return out
}

func (r *pathReader) or() logical  { return r.joined(isAny, "||", r.and) }
func (r *pathReader) and() logical { return r.joined(isAll, "&&", r.basic) }

func (r *pathReader) joined(kind logicalKind, operator string, operand func() logical) logical {
	out := logical{kind: kind, operands: []logical{operand()}}
	for {
		before := r.at
		r.space()
		if !r.take(operator) {
			r.at = before
			break
		}
		r.space()
		out.operands = append(out.operands, operand())
	}
	if len(out.operands) == 1 {
		return out.operands[0]
	}
	return out
}

// basic reads an expression in parentheses, a comparison or a test.
func (r *pathReader) basic() logical {
	if r.take("!") {
		r.space()
		from := r.at
		out := r.basic()
		if out.kind == isCompare && r.text[from] != '(' {
			r.at = from
			r.fail("( is missing: ! goes with a test or with parentheses")
		}
		return logical{kind: isNone, operands: []logical{out}}
	}
	if r.take("(") {
		r.space()
		out := r.nested(r.or)
		r.space()
		r.want(")")
		return out
	}
	from := r.at
	if regex, is := r.regex(); is {
		return regex
	}
	left := r.operand()
	after := r.at
	r.space()
	if op := r.operator(); op != "" {
		r.space()
		out := logical{kind: isCompare, op: op, left: left, right: r.operand()}
		r.singular(from, &out.left)
		r.singular(after, &out.right)
		return out
	}
	r.at = after
	if left.kind != ofQuery {
		r.fail("a comparison is missing: == != <= >= < or >")
	}
	return logical{kind: isThere, query: left.query}
}

func (r *pathReader) singular(at int, o *operand) {
	if o.kind == ofQuery && !o.query.isSingular() {
		r.at = at
		r.fail("a query that can select several nodes cannot be compared")
	}
}

func (r *pathReader) operator() string {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if r.take(op) {
			return op
		}
	}
	return ""
}

// operand reads a literal, a query or a function.
func (r *pathReader) operand() operand {
	switch c := r.peek(); {
	case c == '@' || c == '$':
		return operand{kind: ofQuery, query: r.query()}
	case c == '\'' || c == '"':
		text := AppendEscaped([]byte{'"'}, []byte(r.quoted()))
		return operand{literal: append(text, '"')}
	case c == '-' || octet.IsDigit(c):
		end := skipNumber([]byte(r.text), r.at)
		if end < 0 {
			r.fail("is not a number")
		}
		from := r.at
		r.at = end
		return operand{literal: []byte(r.text[from:end])}
	}
	name := r.function()
	switch name {
	case "true", "false", "null":
		return operand{literal: []byte(name)}
	case "length", "count", "value":
		return r.call(name)
	case "":
		r.fail("a value is missing: a literal, a query with @ or $, or a function")
	}
	r.at -= len(name)
	r.fail("there is no function %s; allowed: length, count, value, match, search", name)
	return operand{}
}

func (r *pathReader) query() query {
	root := r.take("$")
	if !root {
		r.want("@")
	}
	return query{root: root, segments: r.segments()}
}

// function reads a name of lower-case letters, digits and _.
func (r *pathReader) function() string {
	from := r.at
	for c := r.peek(); 'a' <= c && c <= 'z' || r.at > from && (c == '_' || octet.IsDigit(c)); c = r.peek() {
		r.at++
	}
	return r.text[from:r.at]
}

// call reads the argument of length, count or value.
func (r *pathReader) call(name string) (out operand) {
	r.want("(")
	r.space()
	if r.peek() != '@' && r.peek() != '$' {
		r.fail("the argument of %s is a query with @ or $", name)
	}
	from := r.at
	out.query = r.query()
	switch name {
	case "length":
		if out.kind = ofLength; !out.query.isSingular() {
			r.at = from
			r.fail("the argument of length must select one node")
		}
	case "count":
		out.kind = ofCount
	case "value":
		out.kind = ofValue
	}
	r.space()
	r.want(")")
	return out
}

// regex reads match or search, if one of them is next.
func (r *pathReader) regex() (out logical, is bool) {
	from := r.at
	name := r.function()
	if name != "match" && name != "search" {
		r.at = from
		return out, false
	}
	r.want("(")
	r.space()
	at := r.at
	out = logical{kind: isMatch, left: r.operand()}
	r.singular(at, &out.left)
	r.space()
	r.want(",")
	r.space()
	if c := r.peek(); c != '\'' && c != '"' {
		r.fail("the pattern of %s must be a text in quotes", name)
	}
	at = r.at
	pattern := "(?:" + r.quoted() + ")"
	if name == "match" {
		pattern = `\A` + pattern + `\z`
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	if err == nil && !r.checks {
		out.regex, err = regexp.Compile(pattern)
	}
	if err != nil {
		r.at = at
		r.fail("is not a regular expression")
	}
	r.space()
	r.want(")")
	return out, true
}

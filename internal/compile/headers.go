package compile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// headerText is a parsed header field.
type headerText struct {
	path *field.Path
	// written is the name as it is written, but in lower case.
	written string
	name    text
	value   text
	// from is the value if it is not in the manifest.
	from *rv.Content
	// omitEmpty omits the field from requests in which the value is empty.
	omitEmpty bool
}

func (c *compiler) headers(path *field.Path, headers []v1alpha1.Header) []headerText {
	var out []headerText
	for i, h := range headers {
		at := path.Index(i)
		next := headerText{path: at, written: strings.ToLower(h.Name), omitEmpty: h.WhenEmpty == v1alpha1.HeaderOmit}
		next.name = c.headerName(at.Child("name"), h.Name, valueOf(h))
		if next.omitEmpty && slices.ContainsFunc(next.name.pieces, func(p syntax.Piece) bool { return p.Ref != nil }) {
			c.fail(at.Child("whenEmpty"), "Omit needs a name without placeholders")
		}
		if h.Value != nil {
			next.value = c.headerValue(at.Child("value"), *h.Value)
		}
		if h.ValueFrom != nil {
			next.from = c.valueFrom(at.Child("valueFrom"), h.ValueFrom)
		}
		out = append(out, next)
	}
	return out
}

// priority returns the priority of a request as a header field (RFC 9218 4), which a template inherits as any other.
func (c *compiler) priority(at *field.Path, t *v1alpha1.Request) []headerText {
	if t.Priority == nil {
		return nil
	}
	const name = "priority"
	if slices.ContainsFunc(t.Headers, func(h v1alpha1.Header) bool { return strings.EqualFold(h.Name, name) }) {
		c.fail(at.Child(name), "is not allowed with the field priority in headers; remove one of them")
	}
	value := fmt.Sprintf("u=%d", *t.Priority.Urgency)
	if t.Priority.Incremental {
		value += ", i"
	}
	return c.headers(at.Child(name), []v1alpha1.Header{{Name: name, Value: &value}})
}

func valueOf(h v1alpha1.Header) string {
	if h.Value == nil {
		return ""
	}
	return *h.Value
}

func (c *compiler) headerValue(path *field.Path, value string) text {
	if octet.TrimBlanks(value) != value {
		c.fail(path, "must not begin or end with white space (RFC 9113 8.2.1)")
	}
	return c.text(path, value, octet.IsFieldText[string], "a header (no CR, LF, NUL or other control character)")
}

// namePlace is the text for messages about placeholders in the name of a header.
const namePlace = "the name of a header (a token: letters, digits and !#$%&'*+-.^_`|~, RFC 9110 5.6.2)"

// headerName parses a name. value is the value as written: the header te can only have one value.
func (c *compiler) headerName(path *field.Path, name, value string) text {
	out := text{path: path, valid: octet.IsToken[string], place: namePlace}
	pieces, err := syntax.Parse(name)
	if err != nil {
		c.fail(path, "%s", err.Error())
		return out
	}
	var possible strings.Builder // a regular expression
	for _, p := range pieces {
		if p.Ref == nil {
			p.Literal = strings.ToLower(p.Literal)
			possible.WriteString(regexp.QuoteMeta(p.Literal))
			out.pieces = append(out.pieces, p)
			continue
		}
		class, ok := c.namePlaceholder(out, p.Ref)
		if !ok {
			continue
		}
		possible.WriteString(class)
		if class != digits || len(p.Ref.Functions) > 0 {
			p.Ref = lowered(p.Ref)
		}
		out.pieces = append(out.pieces, p)
	}
	if len(out.pieces) == 1 && out.pieces[0].Ref == nil {
		if problem := headerProblem(out.pieces[0].Literal, value); problem != "" {
			c.fail(path, "%s", problem)
		}
		return out
	}
	c.variedName(path, out.pieces, possible.String(), value)
	return out
}

// variedName checks whether a name with placeholders can become a refused name.
func (c *checker) variedName(path *field.Path, pieces []syntax.Piece, possible, value string) {
	for _, p := range pieces {
		if p.Ref == nil && !octet.IsToken(p.Literal) {
			c.fail(path, "has a character that is not possible in %s", namePlace)
			return
		}
	}
	whole, err := regexp.Compile("^(?:" + possible + ")$")
	if err != nil {
		return
	}
	for _, name := range refusedNames {
		if problem := headerProblem(name, value); problem != "" && whole.MatchString(name) {
			c.fail(path, "can become %s, which %s", name, problem)
		}
	}
}

// digits matches what numbers and UUIDs consist of.
const digits = "[-0-9a-f]*"

// namePlaceholder checks a placeholder in the name of a header. It returns a regular expression that matches its
// possible values in lower case, as far as they can be part of a refused name.
func (c *compiler) namePlaceholder(t text, ref *syntax.Reference) (class string, ok bool) {
	i, isVariable := c.variableIndex[ref.Name]
	if ref.Traceparent != nil || ref.Listener != "" || isVariable && !namesHeaders(&c.plan.Variables[i]) ||
		c.captured[ref.Name] {
		c.fail(t.path, "%q is not possible in the name of a header, where only range, list, counter, random, uuid, perShard and env are", ref.Name)
		return "", false
	}
	c.reference(t, ref)
	if !isVariable {
		return "", false
	}
	v := &c.plan.Variables[i]
	changed := slices.ContainsFunc(ref.Functions,
		func(f syntax.Function) bool { return f.Name != rv.FunctionUpper && f.Name != rv.FunctionLower })
	if changed || v.Random != nil && v.Random.String != nil {
		return ".*", true
	}
	return c.nameClass(i), true
}

// nameClass returns the regular expression of namePlaceholder for variable i without functions. It is made once: a list
// can be long.
func (c *compiler) nameClass(i int) string {
	class, known := c.nameClasses[i]
	if known {
		return class
	}
	class = digits
	if values := c.known(i, ""); len(values) > 0 || c.plan.Variables[i].Env != nil {
		class = alternatives(values)
	}
	if c.nameClasses == nil {
		c.nameClasses = map[int]string{}
	}
	c.nameClasses[i] = class
	return class
}

// namesHeaders reports whether a variable can be in the name of a header. Values of the other types are not tokens, or
// not known before a request is made.
func namesHeaders(v *rv.Variable) bool {
	return v.CSV == nil && v.Subscribers == nil && v.Timestamp == nil && v.Constant == nil
}

// alternatives returns a regular expression that matches the values that are part of a refused name. Without such a
// value, it matches no name.
func alternatives(values []known) string {
	out := []string{`\x00`}
	for _, v := range values {
		lower := strings.ToLower(v.value)
		possible := slices.ContainsFunc(refusedNames, func(name string) bool { return strings.Contains(name, lower) })
		if quoted := regexp.QuoteMeta(lower); possible && !slices.Contains(out, quoted) {
			out = append(out, quoted)
		}
	}
	return "(?:" + strings.Join(out, "|") + ")"
}

// lowered appends the function lower: names in HTTP/2 are lower-case (RFC 9113 8.2.1).
func lowered(ref *syntax.Reference) *syntax.Reference {
	out := *ref
	out.Functions = append(slices.Clone(ref.Functions), syntax.Function{Name: rv.FunctionLower})
	return &out
}

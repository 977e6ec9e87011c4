package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// vary makes the parameters of a path different for each chain instance.
func (c *converter) vary(path string) {
	for {
		_, after, found := strings.Cut(path, "{")
		name, rest, closed := strings.Cut(after, "}")
		if !found || !closed {
			return
		}
		c.varied[name] = true
		path = rest
	}
}

// schemaOf returns the schema of a parameter.
func (c *converter) schemaOf(parameter value) value {
	out, _ := c.follow(parameter.raw("schema"))
	return out
}

// lastDigits finds the digits of an identifier such as imsi-001010000000001.
var lastDigits = lazy.Regexp(`^(.*?)([0-9]{2,18})$`)

// id returns the variable of a path parameter that chain instances create resources with. example is a value that the
// schema allows.
func (c *converter) id(at, parameter, name string, schema value, example string) v1alpha1.Variable {
	s := (&generator{documents: c.documents}).shapeOf(schema)
	out := v1alpha1.Variable{Name: name}
	digits := lastDigits().FindStringSubmatch(example)
	least, _ := s.keyword("minimum").number()
	most, bounded := s.keyword("maximum").number()
	switch {
	case s.kind() == "integer" && bounded && most > least && most < 1e15:
		out.Range = &v1alpha1.IntegerRange{Start: int64(max(0, least)), End: int64(most) + 1}
	case s.kind() == "integer":
		out.Counter = &v1alpha1.Counter{Start: int64(max(1, least)), Step: 1}
	case s.keyword("format").text() == "uuid" || s.keyword("pattern").text() == "" && s.keyword("enum").text() == "" &&
		digits == nil:
		out.UUID = &v1alpha1.UUID{}
	case digits != nil:
		c.prefixes[name] = digits[1]
		width := len(digits[2])
		end := int64(1)
		for range width {
			end *= 10
		}
		out.Range = &v1alpha1.IntegerRange{End: end, Width: int32(width)} //nolint:gosec // at most 18
		c.WarnAt(at, parameter, "the values are made from the schema; put real ones in their place, as a range, list or csv")
	default:
		out.Constant = &v1alpha1.Constant{Value: new(escape(example))}
		c.WarnAt(at, parameter, "no other values can be made from the schema; put real ones in its place, as a range, list or csv")
	}
	return out
}

// placeholder returns the text that inserts the variable of a path parameter.
func (c *converter) placeholder(op *operation, parameter string) string {
	name := c.variable(op, parameter)
	return escape(c.prefixes[name]) + "${" + name + c.columns[name] + "}"
}

// manySubscribers is how many subscribers a variable has.
const manySubscribers = 1000000

// subscriberColumn returns the column of a variable with subscribers that has values like an example of a pattern, with
// its dot, or an empty text.
func subscriberColumn(example string) string {
	switch {
	case strings.HasPrefix(example, "imsi-"):
		return ".supi"
	case strings.HasPrefix(example, "msisdn-"):
		return ".gpsi"
	}
	return ""
}

// mark replaces the values of members that have the name of a path parameter which differs between chain instances,
// such as nfInstanceId in the profile of an NF, and the URIs of callbacks by markers.
func (c *converter) mark(op *operation, at string, body json.RawMessage) (json.RawMessage, *markers) {
	m := &markers{}
	body = c.listen(op, at, body, m)
	members, isObject := membersOf(body)
	count := len(m.pairs)
	for i := range members {
		member := &members[i]
		for _, name := range slices.Sorted(maps.Keys(c.variables)) {
			if !c.varied[name] && c.columns[c.variables[name]] == "" {
				continue
			}
			if !strings.EqualFold(member.name, name) || !strings.Contains(op.path, "{"+name+"}") || len(member.value) == 0 {
				continue
			}
			placeholder := c.placeholder(op, name)
			if member.value[0] == '"' {
				placeholder = `"` + placeholder + `"`
			}
			marker := m.next()
			m.replace(marker, placeholder)
			member.value = quote(marker)
			break
		}
	}
	if c.created == nil {
		c.created, c.createdMarkers = members, m
	}
	if !isObject || len(m.pairs) == count {
		return body, m
	}
	return join(members), m
}

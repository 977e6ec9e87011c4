package openapi

import (
	"encoding/json"
	"fmt"
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
	case s.keyword("format").text() == "uuid" || s.keyword("pattern").text() == "" && s.keyword("enum").text() == "" && digits == nil:
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
	return escape(c.prefixes[name]) + "${" + name + "}"
}

// mark replaces the values of members that have the name of a varied path parameter, such as nfInstanceId in the profile
// of an NF, by markers. markers replaces these by placeholders, after the text around them has been escaped.
func (c *converter) mark(op *operation, body []byte) (marked []byte, markers *strings.Replacer) {
	members, isObject := membersOf(json.RawMessage(body))
	var pairs []string
	for i := range members {
		m := &members[i]
		for _, name := range slices.Sorted(maps.Keys(c.varied)) {
			if !strings.EqualFold(m.name, name) || !strings.Contains(op.path, "{"+name+"}") || len(m.value) == 0 {
				continue
			}
			marker := fmt.Sprintf("h2surge-marker-%d", len(pairs))
			placeholder := c.placeholder(op, name)
			if m.value[0] == '"' {
				placeholder = `"` + placeholder + `"`
			}
			pairs = append(pairs, `"`+marker+`"`, placeholder)
			m.value = quote(marker)
		}
	}
	if !isObject || len(pairs) == 0 {
		return body, strings.NewReplacer()
	}
	return join(members), strings.NewReplacer(pairs...)
}

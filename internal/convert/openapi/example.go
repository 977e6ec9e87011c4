package openapi

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/internal/lazy"
)

const (
	// maxDepth bounds how deep examples are nested.
	maxDepth = 16
	// maxWork bounds the nodes that are looked at for one example.
	maxWork = 20000
	// maxItems and maxCharacters bound what minItems and minLength may ask for.
	maxItems, maxCharacters = 64, 4096
)

// generator makes values that a schema allows, as well as it can: what patterns, lengths and
// dependencies ask for together it may miss.
type generator struct {
	*documents
	work int
	// wanted has JSON pointers of members that are made although they are optional.
	wanted map[string]bool
	// at is the pointer of the value that is being made.
	at string
}

// spend is false when too much was looked at.
func (g *generator) spend() bool {
	g.work++
	return g.work <= maxWork
}

// example returns a JSON example of a schema, or nil. wanted has the pointers of optional members that it has, too.
func (d *documents) example(schema value, wanted map[string]bool) json.RawMessage {
	g := &generator{documents: d, wanted: wanted}
	out := g.make(schema, nil)
	if g.work > maxWork {
		d.Warn("components.schemas", "one is too large to make all of a value; what is left out may be required")
	}
	return out
}

// make goes down. above are the schemas that the value is in.
func (g *generator) make(schema value, above []*yaml.Node) json.RawMessage {
	isURI := isURI(g.at, schema.raw("$ref").text())
	schema, ok := g.follow(schema)
	if !ok || len(above) > maxDepth || !g.spend() {
		return nil
	}
	for _, n := range above {
		if n == schema.node {
			return nil // a circle
		}
	}
	above = append(above, schema.node)
	s := g.shapeOf(schema)
	if given := g.given(s); given != nil {
		return given
	}
	switch s.kind() {
	case "object":
		return g.object(s, above)
	case "array":
		return g.array(s, above)
	case "string":
		if out := text(s); out != anyText || !isURI {
			return quote(out)
		}
		return quote(formats["uri"])
	case "integer", "number":
		return number(s)
	case "boolean":
		return json.RawMessage("true")
	case "null":
		return json.RawMessage("null")
	}
	return json.RawMessage("{}")
}

// given is what the schema itself says.
func (g *generator) given(s *shape) json.RawMessage {
	if len(s.order) > 0 && len(s.parts) > 1 {
		s = &shape{parts: s.parts[:1]} // the example of a part is not one of the whole
	}
	for _, name := range []string{"example", "const", "default"} {
		if v := s.keyword(name); v.is() && !isNull(v) {
			if out := g.documents.literal(v); out != nil {
				return out
			}
		}
	}
	for _, name := range []string{"examples", "enum"} {
		for _, v := range s.keyword(name).items() {
			if !isNull(v) {
				return g.documents.literal(v)
			}
		}
	}
	return nil
}

// literal is a node as JSON; nil: it has no place in JSON, or is too large.
func (d *documents) literal(v value) json.RawMessage { return (&generator{documents: d}).literal(v, 0) }

func (g *generator) literal(v value, depth int) json.RawMessage {
	if !v.is() || depth > 100 || !g.spend() {
		return nil
	}
	switch v.node.Kind {
	case yaml.MappingNode:
		var members []member
		for i, name := range v.names() {
			members = append(members, member{name, g.literal(v.at(v.node.Content[2*i+1]), depth+1)})
		}
		return join(members)
	case yaml.SequenceNode:
		var items []json.RawMessage
		for _, item := range v.items() {
			items = append(items, g.literal(item, depth+1))
		}
		return list(items)
	}
	return scalar(v.node)
}

// scalar returns numbers and the like as JSON has them; all else, dates too, is a string.
func scalar(n *yaml.Node) json.RawMessage {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		var v any
		if n.Decode(&v) == nil {
			if out, err := json.Marshal(v); err == nil {
				return out
			}
		}
	}
	return quote(n.Value)
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (g *generator) object(s *shape, above []*yaml.Node) json.RawMessage {
	var out []member
	add := func(name string, schema value) {
		if v := g.member(name, schema, above); v != nil {
			out = append(out, member{name, v})
		}
	}
	least, _ := s.keyword("minProperties").number()
	for _, name := range s.order {
		if p := s.properties[name]; (s.required[name] || g.wants(name)) && !g.readOnly(p) {
			add(name, p)
		}
	}
	for _, name := range s.order { // minProperties wants more than required has
		if p := s.properties[name]; float64(len(out)) < least && !s.required[name] && !g.wants(name) && !g.readOnly(p) {
			add(name, p)
		}
	}
	if more := s.keyword("additionalProperties"); float64(len(out)) < least && more.kind(yaml.MappingNode) {
		add("key", more)
	}
	return join(out)
}

// member makes the value of a member, or of an item of an array.
func (g *generator) member(name string, schema value, above []*yaml.Node) json.RawMessage {
	old := g.at
	defer func() { g.at = old }()
	g.at += "/" + escapePointer(name)
	return g.make(schema, above)
}

// wants reports whether the member of the object that is being made is wanted.
func (g *generator) wants(name string) bool { return g.wanted[g.at+"/"+escapePointer(name)] }

// readOnly properties are not sent.
func (g *generator) readOnly(schema value) bool {
	followed, ok := g.follow(schema)
	return ok && followed.raw("readOnly").yes()
}

func (g *generator) array(s *shape, above []*yaml.Node) json.RawMessage {
	least, _ := s.keyword("minItems").number()
	item := g.member("0", s.keyword("items"), above)
	if item == nil {
		return json.RawMessage("[]")
	}
	n := int(max(1, min(least, maxItems)))
	if most, has := s.keyword("maxItems").number(); has && most < 1 {
		n = 0
	}
	items := slices.Repeat([]json.RawMessage{item}, n)
	if s.keyword("uniqueItems").yes() {
		items = g.different(s.keyword("items"), items)
	}
	return list(items)
}

// different puts the values of an enumeration in place of items that must differ from each other.
func (g *generator) different(schema value, items []json.RawMessage) []json.RawMessage {
	values := g.shapeOf(schema).keyword("enum").items()
	for i := 1; i < len(items) && i < len(values); i++ {
		if v := g.documents.literal(values[i]); v != nil {
			items[i] = v
		}
	}
	return items
}

// formats are those of OpenAPI and JSON Schema. Addresses and names are those for documentation.
var formats = map[string]string{
	"date-time": "2030-01-01T00:00:00Z",
	"date":      "2030-01-01",
	"time":      "00:00:00Z",
	"duration":  "PT1M",
	"uuid":      "3f1c2d4e-5a6b-4c7d-8e9f-0a1b2c3d4e5f",
	"ipv4":      "192.0.2.1",
	"ipv6":      "2001:db8::1",
	"uri":       "http://example.com/",
	"url":       "http://example.com/",
	"hostname":  "example.com",
	"email":     "user@example.com",
	"byte":      "AA==",
}

// anyText is what a schema without a format, a pattern and a length gets.
const anyText = "string"

// uriName ends the names of members that are URIs.
var uriName = lazy.Regexp(`(?i)ur[il]s?(/0)?$`)

// isURI reports whether a text is a URI by the name of its member, or of its schema, such as Uri of TS 29.571, which
// has no format.
func isURI(at, ref string) bool {
	return strings.HasSuffix(ref, "/Uri") || strings.HasSuffix(ref, "/UriRm") || uriName().MatchString(at)
}

func text(s *shape) string {
	least, _ := s.keyword("minLength").number()
	if pattern := s.keyword("pattern").text(); pattern != "" {
		if out := matching(pattern); out != "" {
			return out
		}
	}
	if out := formats[s.keyword("format").text()]; out != "" {
		return out
	}
	out := anyText
	if most, has := s.keyword("maxLength").number(); has && most >= 0 && most < float64(len(out)) {
		out = out[:int(most)]
	}
	return out + strings.Repeat("a", max(0, int(min(least, maxCharacters))-len(out)))
}

func number(s *shape) json.RawMessage {
	n := 0.0
	if most, has := s.keyword("maximum").number(); has && most < n {
		n = most
	}
	if least, has := s.keyword("minimum").number(); has {
		n = least
		if s.keyword("exclusiveMinimum").yes() { // 3.0
			n++
		}
	}
	if least, has := s.keyword("exclusiveMinimum").number(); has { // 3.1
		n = least + 1
	}
	if s.kind() == "integer" {
		n = math.Ceil(n)
	}
	out, err := json.Marshal(n)
	if err != nil {
		return json.RawMessage("0")
	}
	return out
}

package openapi

import "go.yaml.in/yaml/v3"

// shape is a schema with all that it is composed of put together.
type shape struct {
	// parts are the schema itself, those of allOf, and one each of oneOf and anyOf; the first part that
	// has a keyword counts.
	parts      []value
	properties map[string]value
	order      []string
	required   map[string]bool
}

// shapeOf puts a schema together. Each part is taken once, so that circles end.
func (g *generator) shapeOf(schema value) *shape {
	s := &shape{properties: map[string]value{}, required: map[string]bool{}}
	g.gather(s, schema, map[*yaml.Node]bool{})
	return s
}

func (g *generator) gather(s *shape, schema value, seen map[*yaml.Node]bool) {
	schema, ok := g.follow(schema)
	if !ok || seen[schema.node] || !g.spend() {
		return
	}
	seen[schema.node] = true
	s.parts = append(s.parts, schema)
	properties := schema.raw("properties")
	for _, name := range properties.names() {
		if _, has := s.properties[name]; !has {
			s.order = append(s.order, name)
			s.properties[name] = properties.raw(name)
		}
	}
	for _, name := range schema.raw("required").items() {
		s.required[name.text()] = true
	}
	for _, part := range schema.raw("allOf").items() {
		g.gather(s, part, seen)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if part := g.alternative(schema.raw(keyword)); part.is() {
			g.gather(s, part, seen)
		}
	}
}

// alternative is the first that is not null.
func (g *generator) alternative(list value) value {
	for _, item := range list.items() {
		part, ok := g.follow(item)
		if !ok || part.raw("type").text() == "null" {
			continue
		}
		if values := part.raw("enum").items(); len(values) == 1 && isNull(values[0]) { // TS 29.571 NullValue
			continue
		}
		return item
	}
	return value{}
}

func isNull(v value) bool { return v.kind(yaml.ScalarNode) && v.node.ShortTag() == "!!null" }

// keyword of the first part that has it.
func (s *shape) keyword(name string) value {
	for _, p := range s.parts {
		if v := p.raw(name); v.is() {
			return v
		}
	}
	return value{}
}

// kind is the type, said or to be guessed.
func (s *shape) kind() string {
	t := s.keyword("type")
	for _, name := range t.items() { // 3.1 has lists
		if name.text() != "null" {
			return name.text()
		}
	}
	switch {
	case t.text() != "":
		return t.text()
	case len(s.order) > 0 || len(s.required) > 0 || s.keyword("additionalProperties").is():
		return "object"
	case s.keyword("items").is():
		return "array"
	case s.keyword("pattern").is() || s.keyword("format").is() || s.keyword("minLength").is():
		return "string"
	}
	return ""
}

package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// parameterValue is the value of a parameter; nil: none can be made. invented: no example says it.
func (c *converter) parameterValue(p value) (v json.RawMessage, invented bool) {
	if v := c.exampleOf(p); v != nil {
		return v, false
	}
	schema := p.raw("schema")
	if content := p.raw("content"); !schema.is() && len(content.names()) > 0 {
		media := content.raw(content.names()[0])
		if v := c.exampleOf(media); v != nil {
			return v, false
		}
		schema = media.raw("schema")
	}
	followed, ok := c.follow(schema)
	if !ok {
		return nil, true
	}
	return c.example(followed, nil), !followed.raw("example").is()
}

// exampleOf returns the value of example or examples of a parameter.
func (c *converter) exampleOf(v value) json.RawMessage {
	if e := v.raw("example"); e.is() && !isNull(e) {
		return c.literal(e)
	}
	examples := v.raw("examples")
	for _, name := range examples.names() {
		one, ok := c.follow(examples.raw(name))
		if e := one.raw("value"); ok && e.is() {
			return c.literal(e)
		}
	}
	return nil
}

// escape makes a text fit for any place of a path or query.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// asIs is for headers.
func asIs(s string) string { return s }

// plainText is a string's characters, and the JSON of anything else.
func plainText(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

func itemsOf(v json.RawMessage) (items []json.RawMessage, is bool) {
	if len(v) == 0 || v[0] != '[' {
		return nil, false
	}
	return items, json.Unmarshal(v, &items) == nil
}

// member is one of an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf are those of an object, in its order.
func membersOf(v json.RawMessage) (out []member, is bool) {
	dec := json.NewDecoder(bytes.NewReader(v))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		m := member{name: fmt.Sprint(name)}
		if err != nil || dec.Decode(&m.value) != nil {
			return nil, false
		}
		out = append(out, m)
	}
	return out, true
}

// join returns an object with the members.
func join(members []member) json.RawMessage {
	var parts []string
	for _, m := range members {
		if m.value == nil {
			return nil
		}
		parts = append(parts, string(quote(m.name))+":"+string(m.value))
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// list is the JSON of an array; nil: an item has none.
func list(items []json.RawMessage) json.RawMessage {
	var parts []string
	for _, item := range items {
		if item == nil {
			return nil
		}
		parts = append(parts, string(item))
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]")
}

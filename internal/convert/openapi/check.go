package openapi

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/convert"
)

// checkName is the name of the check that --check adds.
const checkName = "schema"

// check adds a check to a template: the JSON of a response has the schema of the description. The schemas go into the
// ConfigMap of the manifest.
func (c *converter) check(t *v1alpha1.Template, at string, op *operation) {
	from := place(op.method, op.path)
	b := &bundle{converter: c, from: from, names: map[*yaml.Node]string{}, taken: map[string]bool{}}
	var roots []json.RawMessage
	responses := op.in.raw("responses")
	for _, code := range c.statuses(op) {
		content := c.get(responses, code).raw("content")
		kind := mediaType(content.names())
		schema := content.raw(kind).raw("schema")
		if kind == "" || !isJSON(kind) || !schema.is() {
			if len(c.statuses(op)) > 1 {
				c.WarnAt(at, from, "the response %s has no JSON, so that no response is checked", code)
			}
			return
		}
		if root := b.schema(schema, 0); !slices.ContainsFunc(roots, func(r json.RawMessage) bool {
			return string(r) == string(root)
		}) {
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 || c.Failed() {
		return
	}
	text := b.document(roots)
	if problem := compile.SchemaProblem(string(text)); problem != "" {
		c.WarnAt(at, from, "its responses are not checked: their schema %s", problem)
		return
	}
	source := c.Gather(from, op.name+".json", "", text)
	t.Expect.Checks = append(t.Expect.Checks, v1alpha1.Check{Name: checkName,
		JSONSchema: &v1alpha1.JSONSchema{ConfigMapKeyRef: source.ConfigMapKeyRef, File: source.File}})
}

// bundle is a JSON Schema of draft 2020-12 that has all that it refers to in $defs, whichever file it is from.
type bundle struct {
	*converter
	from string
	// names has the name of each definition, by its node.
	names map[*yaml.Node]string
	taken map[string]bool
	defs  []member
}

// document returns the schema of contents that have one of several schemas.
func (b *bundle) document(roots []json.RawMessage) []byte {
	all := []member{{"anyOf", list(roots)}}
	if len(roots) == 1 {
		all, _ = membersOf(roots[0])
	}
	if len(b.defs) > 0 {
		all = append(all, member{"$defs", join(b.defs)})
	}
	return join(all)
}

// maxSchemaDepth bounds schemas within schemas, which aliases of YAML can make endless.
const maxSchemaDepth = 100

// schema converts a schema of OpenAPI.
func (b *bundle) schema(v value, depth int) json.RawMessage {
	if depth > maxSchemaDepth {
		b.Fail(b.from, "a schema is nested more than %d deep", maxSchemaDepth)
		return json.RawMessage("true")
	}
	if !v.kind(yaml.MappingNode) {
		return b.literal(v)
	}
	if ref := v.raw("$ref"); ref.is() {
		return b.reference(v.file, ref.text(), depth)
	}
	var out []member
	for _, name := range v.names() {
		if m := b.keyword(v, name, depth); m.value != nil {
			out = append(out, m)
		}
	}
	return join(out)
}

// reference returns a reference to a definition, and makes the definition at its first use.
func (b *bundle) reference(file, ref string, depth int) json.RawMessage {
	target, ok := b.resolve(file, ref)
	if !ok {
		b.Fail(b.from, "the schema refers to %s, which cannot be found", ref)
		return json.RawMessage("true")
	}
	name, known := b.names[target.node]
	if !known {
		name = b.definition(ref)
		b.names[target.node] = name
		i := len(b.defs)
		b.defs = append(b.defs, member{name: name})
		b.defs[i].value = b.schema(target, depth+1)
	}
	return join([]member{{"$ref", quote("#/$defs/" + name)}})
}

// definition returns a name for what a reference names.
func (b *bundle) definition(ref string) string {
	base := convert.WordName(ref[strings.LastIndexAny(ref, "/#")+1:])
	name := base
	for n := 2; b.taken[name]; n++ {
		name = base + strings.Repeat("_", n-1)
	}
	b.taken[name] = true
	return name
}

// annotations are keywords that say nothing about values, or that JSON Schema does not have.
var annotations = []string{"nullable", "discriminator", "xml", "example", "examples", "externalDocs", "readOnly",
	"writeOnly", "deprecated", "description", "title", "default"}

// keyword converts a keyword. Its value is nil if the schema is without it.
func (b *bundle) keyword(v value, name string, depth int) member {
	in := v.raw(name)
	switch name {
	case "properties", "patternProperties", "$defs", "dependentSchemas":
		var all []member
		for _, property := range in.names() {
			all = append(all, member{property, b.schema(in.raw(property), depth+1)})
		}
		return member{name, join(all)}
	case "items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else":
		return member{name, b.schema(in, depth+1)}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		var all []json.RawMessage
		for _, item := range in.items() {
			all = append(all, b.schema(item, depth+1))
		}
		return member{name, list(all)}
	case "minimum", "maximum":
		if v.raw("exclusive" + strings.ToUpper(name[:1]) + name[1:]).yes() {
			return member{}
		}
	case "exclusiveMinimum", "exclusiveMaximum": // booleans in OpenAPI 3.0
		if in.text() == "true" || in.text() == "false" {
			in = value{}
			if bound := v.raw(strings.ToLower(name[9:])); v.raw(name).yes() && bound.is() {
				in = bound
			}
		}
	case "type":
		if v.raw("nullable").yes() && in.kind(yaml.ScalarNode) {
			return member{name, list([]json.RawMessage{quote(in.text()), quote("null")})}
		}
	case "enum":
		if items, _ := itemsOf(b.literal(in)); v.raw("nullable").yes() {
			return member{name, list(append(items, json.RawMessage("null")))}
		}
	case "pattern":
		if _, err := regexp.Compile(in.text()); err != nil {
			return member{} // of ECMA 262, such as a lookahead
		}
	}
	if slices.Contains(annotations, name) || strings.HasPrefix(name, "x-") {
		return member{}
	}
	return member{name, b.literal(in)}
}

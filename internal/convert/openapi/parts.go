package openapi

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// maxParts is that of a request.
const maxParts = 8

// parts makes the parts of a multipart/related content from the properties of its schema: the root, which is JSON, and
// the binary parts that the root refers to. It returns false if the schema does not have a root.
func (c *converter) parts(t *v1alpha1.Template, at string, op *operation, media value) bool {
	from := place(op.method, op.path)
	g := &generator{documents: c.documents, wanted: wanted(op.callbacks)}
	s := g.shapeOf(media.raw("schema"))
	encoding := media.raw("encoding")
	root, binaries := "", []string(nil)
	for _, name := range s.order {
		kind := c.get(encoding, name).raw("contentType").text()
		property, _ := c.follow(s.properties[name])
		switch {
		case property.raw("format").text() == "binary" || kind != "" && !isJSON(kind):
			binaries = append(binaries, name)
		case root == "":
			root = name
		}
	}
	if root == "" {
		return false
	}
	references := g.referencesIn(s.properties[root])
	used := assign(binaries, references)
	for _, r := range used {
		if r != nil {
			want(g.wanted, r.pointer)
		}
	}
	made := g.make(s.properties[root], nil)
	if made == nil {
		return false
	}
	t.Parts = []v1alpha1.BodyPart{{ContentType: c.partType(encoding, root, "application/json")}}
	for i, name := range binaries {
		r := used[i]
		if r == nil || len(t.Parts) == maxParts {
			c.WarnAt(at, from, "the part %s is left out, because the JSON part does not refer to it", name)
			continue
		}
		id := r.id(t.Parts)
		if replaced := replace(made, r.pointer+"/contentId", quote(id)); replaced != nil {
			made = replaced
		}
		t.Parts = append(t.Parts, v1alpha1.BodyPart{ContentType: c.partType(encoding, name, "application/octet-stream"),
			ContentID: id, BodyHex: "00"})
		c.WarnAt(at, from, "the part %s is one octet, because a schema does not say more; put a message in its place, as bodyHex or bodyFrom", name)
	}
	for _, r := range references {
		if r.required && !slices.Contains(used, r) {
			c.WarnAt(at, from, "%s refers to a part that the content does not have; add the part, or take the reference out",
				r.pointer)
		}
	}
	body, m := c.mark(op, at, made)
	t.Parts[0].Body = m.text(convert.Literal(string(body)))
	return true
}

// partType returns the content type of a part: the first that encoding has for it, or the default.
func (c *converter) partType(encoding value, name, otherwise string) string {
	kind, _, _ := strings.Cut(c.get(encoding, name).raw("contentType").text(), ",")
	if kind = strings.TrimSpace(kind); kind == "" || strings.ContainsAny(kind, "*\"\\") || !strings.Contains(kind, "/") {
		return otherwise
	}
	return kind
}

// reference is a place of the JSON part that refers to a binary part: a RefToBinaryData (TS 29.571 5.2.4).
type reference struct {
	// pointer is the place, and names are those of the members on the way to it.
	pointer string
	names   []string
	// required: each body has it.
	required bool
}

// id returns a Content-ID that no part has: the name of the member, with a number if it is taken.
func (r *reference) id(parts []v1alpha1.BodyPart) string {
	name := r.names[len(r.names)-1]
	for n := 1; ; n++ {
		id := name
		if n > 1 {
			id = fmt.Sprintf("%s-%d", name, n)
		}
		if !slices.ContainsFunc(parts, func(p v1alpha1.BodyPart) bool { return p.ContentID == id }) {
			return id
		}
	}
}

const (
	// maxReferenceDepth bounds the members on the way to a reference.
	maxReferenceDepth = 6
	// maxReferencesInBody bounds the references of a body.
	maxReferencesInBody = 256
)

// referencesIn returns the references to binary parts in a schema, in the order of the document.
func (g *generator) referencesIn(schema value) (out []*reference) {
	var walk func(schema value, r reference, above []*yaml.Node)
	walk = func(schema value, r reference, above []*yaml.Node) {
		schema, ok := g.follow(schema)
		if !ok || slices.Contains(above, schema.node) || len(r.names) > maxReferenceDepth ||
			len(out) == maxReferencesInBody || !g.spend() {
			return
		}
		above = append(slices.Clone(above), schema.node)
		s := g.shapeOf(schema)
		switch {
		case len(s.order) == 1 && s.order[0] == "contentId":
			out = append(out, &r)
		case s.kind() == "array":
			r.pointer += "/0"
			walk(s.keyword("items"), r, above)
		default:
			for _, name := range s.order {
				walk(s.properties[name], reference{r.pointer + "/" + escapePointer(name), append(slices.Clone(r.names), name),
					r.required && s.required[name]}, above)
			}
		}
	}
	walk(schema, reference{required: true}, nil)
	return out
}

// assign returns the reference of each binary part, or nil. A part belongs to the reference with the most similar
// names. The other parts belong to the required references that are left.
func assign(parts []string, references []*reference) []*reference {
	out := make([]*reference, len(parts))
	take := func(i, at int) {
		out[i] = references[at]
		references = slices.Delete(slices.Clone(references), at, at+1)
	}
	for i, part := range parts {
		if at := closest(part, references); at >= 0 {
			take(i, at)
		}
	}
	for i := range parts {
		if at := slices.IndexFunc(references, func(r *reference) bool { return r.required }); out[i] == nil && at >= 0 {
			take(i, at)
		}
	}
	return out
}

// closest returns the index of the reference with a name that is most like the name of a part, such as n1SmMsg for
// binaryDataN1SmMessage, or -1. Names are alike by the length of their common beginning and end. Of equal ones, a
// required one comes first.
func closest(part string, references []*reference) int {
	part = strings.TrimPrefix(strings.ToLower(part), "binary")
	if after, found := strings.CutPrefix(part, "data"); found {
		part = after
	}
	best, at := 1, -1
	for i, r := range references {
		for _, name := range r.names {
			alike, found := likeness(part, strings.ToLower(name))
			if found && (alike > best || alike == best && at >= 0 && r.required && !references[at].required) {
				best, at = alike, i
			}
		}
	}
	return at
}

// likeness returns the length of the common beginning and end. It is not found if they begin differently.
func likeness(part, name string) (alike int, found bool) {
	begin, end := 0, 0
	for begin < min(len(part), len(name)) && part[begin] == name[begin] {
		begin++
	}
	for end < min(len(part), len(name))-begin && part[len(part)-1-end] == name[len(name)-1-end] {
		end++
	}
	return begin + end, begin > 1
}

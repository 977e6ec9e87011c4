package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// maxParts is that of a request.
const maxParts = 8

// parts makes the parts of a multipart/related content from the properties of its schema: the root, which is JSON, and the
// binary parts that the root refers to. It returns false if the schema does not have a root.
func (c *converter) parts(t *v1alpha1.Template, at string, op *operation, media value) bool {
	from := place(op.method, op.path)
	g := &generator{documents: c.documents, wanted: wanted(op.callbacks), references: &[]string{}}
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
	made := g.make(s.properties[root], nil)
	if made == nil {
		return false
	}
	references := *g.references
	t.Parts = []v1alpha1.BodyPart{{ContentType: c.partType(encoding, root, "application/json")}}
	for _, name := range binaries {
		i := closest(name, references)
		if i < 0 || len(t.Parts) == maxParts {
			c.WarnAt(at, from, "the part %s is left out, because the JSON part does not refer to it", name)
			continue
		}
		t.Parts = append(t.Parts, v1alpha1.BodyPart{ContentType: c.partType(encoding, name, "application/octet-stream"), ContentID: references[i], BodyHex: "00"})
		c.WarnAt(at, from, "the part %s is one octet, because a schema does not say more; put a message in its place, as bodyHex or bodyFrom", name)
		references = slices.Delete(references, i, i+1)
	}
	body, m := c.mark(op, at, without(made, references))
	t.Parts[0].Body = m.text(convert.Literal(string(body)))
	return true
}

// without returns an object without some of its members: references to parts that the content does not have.
func without(object json.RawMessage, names []string) []byte {
	members, _ := membersOf(object)
	if len(names) == 0 || len(members) == 0 {
		return object
	}
	return join(slices.DeleteFunc(members, func(m member) bool { return slices.Contains(names, m.name) }))
}

// partType returns the content type of a part: the first that encoding has for it, or the default.
func (c *converter) partType(encoding value, name, otherwise string) string {
	kind, _, _ := strings.Cut(c.get(encoding, name).raw("contentType").text(), ",")
	if kind = strings.TrimSpace(kind); kind == "" || strings.ContainsAny(kind, "*\"\\") || !strings.Contains(kind, "/") {
		return otherwise
	}
	return kind
}

// refersToPart reports whether a property is a RefToBinaryData (TS 29.571 5.2.4): an object that has the member contentId
// only.
func (g *generator) refersToPart(property value) bool {
	if g.references == nil {
		return false
	}
	s := g.shapeOf(property)
	return len(s.order) == 1 && s.order[0] == "contentId"
}

// closest returns the index of the reference whose name is most like the name of a part, such as n1SmMsg for
// binaryDataN1SmMessage, or -1. Names are alike by the length of their common beginning and end.
func closest(part string, references []string) int {
	part = strings.TrimPrefix(strings.ToLower(part), "binarydata")
	best, at := 1, -1
	for i, name := range references {
		name = strings.ToLower(name)
		begin, end := 0, 0
		for begin < min(len(part), len(name)) && part[begin] == name[begin] {
			begin++
		}
		for end < min(len(part), len(name))-begin && part[len(part)-1-end] == name[len(name)-1-end] {
			end++
		}
		if begin > 1 && begin+end > best {
			best, at = begin+end, i
		}
	}
	return at
}

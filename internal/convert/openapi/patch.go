package openapi

import (
	"encoding/json"
	"slices"
	"strings"
)

// isPatch reports whether a content is a JSON Patch (RFC 6902).
func isPatch(kind string) bool {
	return strings.HasPrefix(strings.ToLower(kind), "application/json-patch+json")
}

// patchValues has the pointers of the values of a JSON Patch: a schema says that they are optional, because remove has
// none.
var patchValues = []string{"/0/value", "/value"}

// patch returns a JSON Patch with valid paths. A path that the schema does not determine becomes that of a member of
// the created resource, and its value the value that the resource has. A path that begins with / stays.
func (c *converter) patch(at, from string, made json.RawMessage) json.RawMessage {
	items, _ := itemsOf(made)
	for i := range items {
		operation, _ := membersOf(items[i])
		index := func(name string) int {
			return slices.IndexFunc(operation, func(m member) bool { return m.name == name })
		}
		path := index("path")
		if path < 0 || index("op") < 0 || strings.HasPrefix(plainText(operation[path].value), "/") {
			continue
		}
		target, known := c.patched()
		if !known {
			c.WarnAt(at, from, "the path of the JSON Patch is not known; put a real change in its place")
			target = member{anyText, quote(anyText)}
		} else {
			c.WarnAt(at, from, "the JSON Patch sets %s to the value that it has; put a real change in its place", target.name)
		}
		operation[path].value = quote("/" + escapePointer(target.name))
		operation[index("op")].value = quote("replace")
		if v := index("value"); v >= 0 {
			operation[v].value = target.value
		} else {
			operation = append(operation, member{"value", target.value})
		}
		items[i] = join(operation)
	}
	if len(items) == 0 {
		return made
	}
	return list(items)
}

// patched returns the member of the created resource that a JSON Patch changes: the last one that is not an object or
// an array. One that is the same in all chain instances is preferred, because it is not an identifier.
func (c *converter) patched() (out member, known bool) {
	for _, sameForAll := range []bool{true, false} {
		for _, m := range slices.Backward(c.created) {
			marked := c.createdMarkers.has(m.value)
			if m.value[0] != '{' && m.value[0] != '[' && marked != sameForAll {
				return m, true
			}
		}
	}
	return member{}, false
}

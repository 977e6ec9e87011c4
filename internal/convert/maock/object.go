package maock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// object is a JSON object whose members are read one by one. Its method end warns about the others.
type object struct {
	c       *converter
	path    string
	members map[string]json.RawMessage
}

func (c *converter) object(path string, raw json.RawMessage) *object {
	o := &object{c: c, path: path}
	if err := json.Unmarshal(raw, &o.members); err != nil {
		c.mistake(path, "is not an object")
	}
	return o
}

func (o *object) at(name string) string { return strings.TrimPrefix(o.path+"."+name, ".") }

func (o *object) has(name string) bool { _, ok := o.members[name]; return ok }

// read decodes a member into v. If the member does not exist, v does not change.
func (o *object) read(name string, v any, want string) {
	raw, ok := o.members[name]
	delete(o.members, name)
	if !ok {
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		o.c.mistake(o.at(name), "must be %s", want)
	}
}

func (o *object) text(name string) (s string) {
	o.read(name, &s, "a string")
	return s
}

func (o *object) number(name string, otherwise float64) float64 {
	o.read(name, &otherwise, "a number")
	return otherwise
}

func (o *object) whole(name string, otherwise int) int {
	o.read(name, &otherwise, "a whole number")
	return otherwise
}

func (o *object) flag(name string) (v bool) {
	o.read(name, &v, "true or false")
	return v
}

func (o *object) object(name string) *object {
	raw, ok := o.members[name]
	delete(o.members, name)
	if !ok {
		raw = json.RawMessage("{}")
	}
	return o.c.object(o.at(name), raw)
}

func (o *object) list(name string) []*object {
	var raw []json.RawMessage
	o.read(name, &raw, "a list")
	var list []*object
	for i, r := range raw {
		list = append(list, o.c.object(fmt.Sprintf("%s[%d]", o.at(name), i), r))
	}
	return list
}

// end warns about the members that were not read.
func (o *object) end() {
	var rest []string
	for name := range o.members {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		o.c.warn(o.at(name), "is not a field of maock; left out")
	}
}

package h2loadrunner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/internal/convert"
)

// object is a JSON object that knows what was read of it.
type object struct {
	draft  *convert.Draft
	path   string
	fields map[string]json.RawMessage
	read   map[string]bool
}

// newObject parses a JSON object. Other JSON is an error in the input and gives an empty object.
func newObject(d *convert.Draft, path string, raw json.RawMessage) *object {
	o := &object{draft: d, path: path, fields: map[string]json.RawMessage{}, read: map[string]bool{}}
	if json.Unmarshal(raw, &o.fields) != nil || o.fields == nil {
		d.Fail(o.at(""), "must be an object")
		o.fields = map[string]json.RawMessage{}
	}
	return o
}

// at is the path of a field.
func (o *object) at(name string) string {
	switch {
	case o.path == "" && name == "":
		return "the configuration"
	case o.path == "":
		return name
	case name == "":
		return o.path
	}
	return o.path + "." + name
}

// take is a field's text; nil: it is not there.
func (o *object) take(name string) json.RawMessage {
	o.read[name] = true
	raw := o.fields[name]
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}

func (o *object) has(name string) bool { return o.take(name) != nil }

// into reads a field. It is false when that is not there or, which is a mistake, not what is wanted.
func (o *object) into(name string, v any, want string) bool {
	raw := o.take(name)
	if raw == nil {
		return false
	}
	if json.Unmarshal(raw, v) != nil {
		o.draft.Fail(o.at(name), "must be %s", want)
		return false
	}
	return true
}

func (o *object) text(name string) (s string) {
	o.into(name, &s, "a string")
	return s
}

func (o *object) flag(name string) (b bool) {
	o.into(name, &b, "true or false")
	return b
}

// number is never negative, because no field of theirs may be.
func (o *object) number(name string, absent float64) float64 {
	var n float64
	if !o.into(name, &n, "a number") {
		return absent
	}
	if n < 0 {
		o.draft.Fail(o.at(name), "must not be negative")
		return absent
	}
	return n
}

// whole is a number up to 2^53.
func (o *object) whole(name string, absent int64) int64 {
	n := o.number(name, float64(absent))
	if n != math.Trunc(n) || n > 1<<53 {
		o.draft.Fail(o.at(name), "must be a whole number up to 2^53")
		return absent
	}
	return int64(n)
}

// list is a field of objects.
func (o *object) list(name string) (out []*object) {
	var items []json.RawMessage
	o.into(name, &items, "an array")
	for i, item := range items {
		out = append(out, newObject(o.draft, fmt.Sprintf("%s[%d]", o.at(name), i), item))
	}
	return out
}

func (o *object) texts(name string) []string {
	var out []string
	if !o.into(name, &out, "an array of strings") {
		return nil
	}
	return out
}

// child is an object in a field; nil: it is not there.
func (o *object) child(name string) *object {
	raw := o.take(name)
	if raw == nil {
		return nil
	}
	return newObject(o.draft, o.at(name), raw)
}

// end warns about the fields that were not read.
func (o *object) end() {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if o.read[name] {
			continue
		}
		if strings.HasPrefix(name, "_") {
			o.draft.Warn(o.at(name), "is taken for a field that was put out of use, and left out")
		} else {
			o.draft.Warn(o.at(name), "is not a field of h2loadrunner; left out, as h2loadrunner does")
		}
	}
}

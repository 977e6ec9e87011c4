package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Object is a JSON object of the input whose fields are read one by one. Its method End warns about the others. A field
// that is null does not exist.
type Object struct {
	// Path is the path of the object in the input; empty: it is the input.
	Path   string
	draft  *Draft
	format *Format
	fields map[string]json.RawMessage
	read   map[string]bool
}

// Format is a format of a tool that consists of Objects.
type Format struct {
	// Unknown is the warning about a field that the format does not have.
	Unknown string
	// Negative: numbers can be negative.
	Negative bool
}

// Parse returns the object that the input is. The error says where it is not JSON.
func (f *Format) Parse(d *Draft, input []byte) (*Object, error) {
	if !json.Valid(input) {
		var v any
		return nil, json.Unmarshal(input, &v)
	}
	return f.object(d, "", input), nil
}

func (f *Format) object(d *Draft, path string, raw json.RawMessage) *Object {
	o := &Object{Path: path, draft: d, format: f, read: map[string]bool{}}
	if json.Unmarshal(raw, &o.fields) != nil || o.fields == nil {
		d.Fail(o.At(""), "must be an object")
	}
	return o
}

// At returns the path of a field.
func (o *Object) At(name string) string {
	if o.Path == "" && name == "" {
		return "the configuration"
	}
	return strings.Trim(o.Path+"."+name, ".")
}

// Take returns a field as it is; nil: it does not exist.
func (o *Object) Take(name string) json.RawMessage {
	o.read[name] = true
	raw := o.fields[name]
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}

// Has returns whether a field exists.
func (o *Object) Has(name string) bool { return o.Take(name) != nil }

// into decodes a field into v. It returns false if the field does not exist or is not what is wanted.
func (o *Object) into(name string, v any, want string) bool {
	raw := o.Take(name)
	if raw == nil {
		return false
	}
	if json.Unmarshal(raw, v) != nil {
		o.draft.Fail(o.At(name), "must be %s", want)
		return false
	}
	return true
}

// Text returns a string.
func (o *Object) Text(name string) (s string) {
	o.into(name, &s, "a string")
	return s
}

// Flag returns a boolean.
func (o *Object) Flag(name string) (b bool) {
	o.into(name, &b, "true or false")
	return b
}

// Number returns a number.
func (o *Object) Number(name string, absent float64) float64 {
	return o.number(name, "a number", absent)
}

func (o *Object) number(name, want string, absent float64) float64 {
	var n float64
	if !o.into(name, &n, want) {
		return absent
	}
	if n < 0 && !o.format.Negative {
		o.draft.Fail(o.At(name), "must not be negative")
		return absent
	}
	return n
}

// Whole returns a whole number.
func (o *Object) Whole(name string, absent int64) int64 {
	n := o.number(name, "a whole number", float64(absent))
	if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		o.draft.Fail(o.At(name), "must be a whole number up to 2^53")
		return absent
	}
	return int64(n)
}

// List returns an array of objects.
func (o *Object) List(name string) (out []*Object) {
	var items []json.RawMessage
	o.into(name, &items, "an array")
	for i, item := range items {
		out = append(out, o.format.object(o.draft, fmt.Sprintf("%s[%d]", o.At(name), i), item))
	}
	return out
}

// Texts returns an array of strings.
func (o *Object) Texts(name string) (out []string) {
	if !o.into(name, &out, "an array of strings") {
		return nil
	}
	return out
}

// Child returns the object in a field. It has no fields if the field does not exist.
func (o *Object) Child(name string) *Object {
	raw := o.Take(name)
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	return o.format.object(o.draft, o.At(name), raw)
}

// End warns about the fields that were not read.
func (o *Object) End() {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		switch {
		case o.read[name]:
		case strings.HasPrefix(name, "_"):
			o.draft.Warn(o.At(name), "is taken for a field that was put out of use, and left out")
		default:
			o.draft.Warn(o.At(name), "%s", o.format.Unknown)
		}
	}
}

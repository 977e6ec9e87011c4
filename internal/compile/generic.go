package compile

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"
)

// generic returns a value as a client sends it: JSON, decoded again. It looks at the fields that are set. encoding/json
// first looks at all types that a spec can have, which takes a millisecond in each run of h2surge.
func generic(v reflect.Value) (any, error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return nil, nil
		}
	}
	if m, is := v.Interface().(json.Marshaler); is {
		var out any
		raw, err := m.MarshalJSON()
		if err == nil {
			err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &out)
		}
		return out, err
	}
	switch v.Kind() {
	case reflect.Pointer:
		return generic(v.Elem())
	case reflect.Struct:
		return genericObject(v)
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			item, err := generic(v.Index(i))
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case reflect.Map:
		out := map[string]any{}
		for key, item := range v.Seq2() {
			value, err := generic(item)
			if err != nil {
				return nil, err
			}
			out[key.String()] = value
		}
		return out, nil
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int32, reflect.Int64:
		return v.Int(), nil
	}
	return nil, fmt.Errorf("%v has no generic form", v.Type())
}

func genericObject(v reflect.Value) (map[string]any, error) {
	out := map[string]any{}
	for f := range jsonFields(v) {
		if f.absent {
			continue
		}
		value, err := generic(f.value)
		if err != nil {
			return nil, err
		}
		out[f.name] = value
	}
	return out, nil
}

// jsonField is a field of a struct. It is absent if its tag and its value leave it out of JSON.
type jsonField struct {
	name   string
	value  reflect.Value
	absent bool
}

// jsonFields ranges over the fields of a struct and of those that it embeds.
func jsonFields(v reflect.Value) iter.Seq[jsonField] {
	return func(yield func(jsonField) bool) { eachJSONField(v, yield) }
}

func eachJSONField(v reflect.Value, yield func(jsonField) bool) bool {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch value := v.Field(i); {
		case field.Anonymous && name == "" && value.Kind() == reflect.Struct:
			if !eachJSONField(value, yield) {
				return false
			}
		case name != "":
			absent := strings.Contains(options, "omitempty") && isEmpty(value) ||
				strings.Contains(options, "omitzero") && value.IsZero()
			if !yield(jsonField{name, value, absent}) {
				return false
			}
		}
	}
	return true
}

// isEmpty reports what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// walker compares a decoded JSON value with the Go type it is meant for, and reports all that
// does not fit: unknown fields, wrong types, malformed values. Decoding proper would stop at the
// first wrong type and would say neither index nor path of a malformed duration.
type walker struct{ errs field.ErrorList }

// place is where the walker is. The pattern is the path with [] for each index.
type place struct {
	path    *field.Path
	pattern string
}

func (p place) child(name string) place {
	pattern := name
	if p.pattern != "" {
		pattern = p.pattern + "." + name
	}
	if p.path == nil {
		return place{field.NewPath(name), pattern}
	}
	return place{p.path.Child(name), pattern}
}

func (p place) index(i int) place     { return place{p.path.Index(i), p.pattern + "[]"} }
func (p place) key(name string) place { return place{p.path.Key(name), p.pattern + "{}"} }
func (w *walker) fail(p place, s string) {
	w.errs = append(w.errs, field.Invalid(p.path, field.OmitValueType{}, s))
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// formats says what the types with a decoder of their own look like.
var formats = map[reflect.Type]string{
	reflect.TypeFor[metav1.Duration]():    "must be a duration such as 500ms or 1m30s",
	reflect.TypeFor[metav1.Time]():        "must be a time such as 2006-01-02T15:04:05Z",
	reflect.TypeFor[resource.Quantity]():  "must be a quantity such as 500m or 1Gi",
	reflect.TypeFor[intstr.IntOrString](): "must be an integer or a string; a number with decimals needs quotes",
}

// value checks a value. b has the bounds of the API, or is nil.
func (w *walker) value(at place, raw any, t reflect.Type, b *bounds) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if raw == nil {
		return // as if omitted
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		w.selfDecoding(at, raw, t, b)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		w.object(at, raw, t)
	case reflect.Map:
		if m, ok := raw.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(m)) {
				w.value(at.key(k), m[k], t.Elem(), nil)
			}
			return
		}
		w.fail(at, "must be an object")
	case reflect.Slice:
		w.slice(at, raw, t)
	default:
		w.scalar(at, raw, t, b)
	}
}

// selfDecoding tries the type's own decoder.
func (w *walker) selfDecoding(at place, raw any, t reflect.Type, b *bounds) {
	encoded, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(encoded, reflect.New(t).Interface())
	}
	written, isString := raw.(string)
	if t == durationType && (!isString || err == nil && b != nil && b.text(written) != "") {
		w.fail(at, formats[t])
		return
	}
	inSpec := strings.HasPrefix(at.pattern, "spec.runner.resources.")
	if number, ok := raw.(json.Number); ok && inSpec && t == reflect.TypeFor[resource.Quantity]() && strings.ContainsAny(number.String(), ".eE") {
		w.fail(at, formats[t]) // the API server accepts an integer or a string
		return
	}
	if err != nil && (strings.HasSuffix(at.pattern, ".thresholds[].max") || strings.HasSuffix(at.pattern, ".thresholds[].min")) {
		w.fail(at, "must be a duration such as 20ms for a time, a percentage such as 0.1% for ErrorRate, a number such as 1000 or \"0.5\" for Rate, or one of 10, 0.1% and 5/s for a count")
		return
	}
	if err != nil {
		message, known := formats[t]
		if !known {
			message = "is malformed"
		}
		w.fail(at, message)
	}
}

func (w *walker) object(at place, raw any, t reflect.Type) {
	m, ok := raw.(map[string]any)
	if !ok {
		w.fail(at, noObject(at, t))
		return
	}
	s := structOf(t)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		f, known := s.fields[k]
		if !known {
			w.fail(at.child(k), "unknown field"+otherName(k, slices.Sorted(maps.Keys(s.fields))))
			continue
		}
		b := f.bounds
		if f.goType.Kind() == reflect.Pointer && f.goType.Elem().Kind() != reflect.Struct {
			b = nil // Compile sees what a pointer points to
		}
		w.value(at.child(k), m[k], f.goType, b)
	}
	for _, k := range slices.Sorted(maps.Keys(s.fields)) {
		// If the zero value is not allowed, Compile reports it.
		if b := s.fields[k].bounds; b != nil && b.required && b.allowsZero() && m[k] == nil {
			w.fail(at.child(k), "is needed")
		}
	}
}

func (w *walker) slice(at place, raw any, t reflect.Type) {
	if t.Elem().Kind() == reflect.Uint8 {
		w.scalar(at, raw, reflect.TypeFor[string](), nil) // base64
		return
	}
	list, ok := raw.([]any)
	if !ok {
		w.fail(at, noList(at, raw, t.Elem()))
		return
	}
	for i, item := range list {
		if item == nil {
			w.fail(at.index(i), "must not be null")
			continue
		}
		w.value(at.index(i), item, t.Elem(), nil)
	}
}

// scalar checks a text, a number or a bool. It reports a zero value that is not allowed, because Compile cannot see
// whether an optional field is set to it. Compile reports all other values that are out of bounds.
func (w *walker) scalar(at place, raw any, t reflect.Type, b *bounds) {
	notZero := b != nil && !b.required && !b.allowsZero()
	switch t.Kind() {
	case reflect.String:
		if s, ok := raw.(string); !ok {
			w.fail(at, noString(at, raw))
		} else if s == "" && notZero {
			w.fail(at, b.text(s))
		}
	case reflect.Bool:
		if _, ok := raw.(bool); !ok {
			w.fail(at, "must be true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := raw.(json.Number)
		if s, quoted := raw.(string); quoted && isInteger(s) {
			w.fail(at, "must be an integer; remove the quotes")
			return
		} else if !ok {
			w.fail(at, "must be an integer")
			return
		}
		i, err := strconv.ParseInt(n.String(), 10, t.Bits())
		switch {
		case errors.Is(err, strconv.ErrRange):
			w.fail(at, "is a number beyond "+strconv.Itoa(t.Bits())+" bits")
		case err != nil && strings.HasSuffix(at.pattern, ".requestsPerSecond"):
			w.fail(at, "must be an integer; write requestsPer: {count: 1, period: 2s} for 0.5 requests a second")
		case err != nil:
			w.fail(at, "must be an integer")
		case i == 0 && notZero:
			w.fail(at, b.integer(i))
		}
	}
}

// noObject is the message about a value that must be an object. It has an example where one is known.
func noObject(at place, t reflect.Type) string {
	name := at.pattern[strings.LastIndex(at.pattern, ".")+1:]
	switch {
	case t.NumField() == 0 || name == "closedLoop":
		return fmt.Sprintf("must be an object; write %s: {}", name)
	case name == "expect":
		return "must be an object; write expect: {status: [201]}"
	case name == "csv":
		return "must be an object; write csv: {file: FILE}"
	}
	return "must be an object"
}

// noList is the message about a value that must be a list.
func noList(at place, raw any, item reflect.Type) string {
	_, isObject := raw.(map[string]any)
	for item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	var fields map[string]jsonField
	if item.Kind() == reflect.Struct {
		fields = structOf(item).fields
	}
	switch {
	case !isObject && strings.HasSuffix(at.pattern, ".status"):
		return "must be a list; write status: [200]"
	case isObject && fields["name"].goType != nil && fields["value"].goType != nil:
		return "must be a list; write each item as - {name: NAME, value: VALUE}"
	}
	return `must be a list; begin each item with "- "`
}

// otherNames are names that other tools use for a field.
var otherNames = map[string]string{"stages": "rates", "jsonPath": "jsonPointer", "jsonpath": "jsonPointer"}

// otherName is the end of the message about an unknown field.
func otherName(name string, names []string) string {
	if other := otherNames[name]; slices.Contains(names, other) {
		return "; did you mean " + other + "?"
	}
	return didYouMean(name, names)
}

// noString is the message about a value that must be a string. YAML reads y, no and on as true and false.
func noString(at place, raw any) string {
	switch raw := raw.(type) {
	case bool:
		return fmt.Sprintf("must be a string; YAML reads the value as %v: put it in quotes", raw)
	case json.Number:
		switch {
		case strings.HasSuffix(at.pattern, ".percentile"):
			return "must be a string such as p" + raw.String()
		case endsWithOne(at.pattern, ".bodyHex", ".aka.k.value", ".aka.op.value", ".aka.opc.value"):
			return "must be a string; put the hexadecimal digits in quotes"
		case endsWithOne(at.pattern, ".supi.mcc", ".supi.mnc", ".gpsi.prefix", ".pei.tac", ".pei.softwareVersion"):
			return "must be a string; put the digits in quotes, with their zeros" // YAML reads 001 as 1
		case strings.ContainsAny(raw.String(), "eE"):
			return "must be a string; put the number in quotes, with all its digits" // YAML rounds long numbers
		}
		return fmt.Sprintf("must be a string; put the number in quotes: %q", raw.String())
	}
	return "must be a string; put quotes around a value that begins with { or ["
}

func endsWithOne(s string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(s, end) })
}

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// decodeGeneric reads JSON with its numbers as they are written.
func decodeGeneric(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

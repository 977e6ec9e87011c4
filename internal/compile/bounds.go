package compile

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

//go:generate go run ../../hack/bounds zz_generated.bounds.go

// apiObject is what the CRD says about a Go type.
type apiObject struct {
	choice *choice
	fields map[string]bounds // by JSON name
}

// choice is a set of fields of which exactly one must be set, or at most one if it is optional.
type choice struct {
	fields   []string
	optional bool
}

// bounds are the default and the bounds of a field, or of an item of a list.
type bounds struct {
	required  bool
	byDefault any        // string, int64 or bool; nil: no default
	number    *[2]int64  // least and greatest value
	length    [2]int     // least and greatest number of characters, if the greatest is not 0
	items     [2]int     // least and greatest number of items, if the greatest is not 0
	duration  *durations // the least and the greatest
	pattern   string
	enum      []string
	set       bool   // the items of the list are different
	key       string // field that is different in each item of the list
	each      *bounds
}

// durations are the least and the greatest duration, and the message about others.
type durations struct {
	low, high time.Duration
	message   string
}

// patternMessages are the messages about texts that do not match a pattern of the CRD.
var patternMessages = map[string]string{
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                             "must be lower-case letters, digits and -, beginning and ending with a letter or digit",
	`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`:                            "must be lower-case letters, digits, - and dots, beginning and ending with a letter or digit",
	`^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$`:                   "must be letters, digits, - and _, beginning and ending with a letter or digit",
	`^[A-Za-z_][A-Za-z0-9_]*$`:                                    "must be letters, digits and _, not beginning with a digit",
	`^[A-Za-z0-9][A-Za-z0-9._-]*$`:                                "must be letters, digits, dots, _ and -, beginning with a letter or digit",
	`^[A-Za-z0-9_][A-Za-z0-9_-]*$`:                                "must be letters, digits, _ and -, not beginning with -",
	`^[-._a-zA-Z][-._a-zA-Z0-9]*$`:                                "must be letters, digits, -, _ and dots, not beginning with a digit",
	`^(\.?[-_A-Za-z0-9][-._A-Za-z0-9]*)$`:                         "must be letters, digits, -, _ and dots, and not begin with two dots",
	`^[^/]+/[^/]+$`:                                               "must be the names of a chain and a step, such as app-session/create",
	`^(50(\.0{1,9})?|[1-4]?[0-9](\.[0-9]{1,9})?)%$`:               "must be a percentage of at most 50%, such as 3%",
	`^[!#-\[\]-~]+$`:                                              "must be printable ASCII characters without spaces, quotation marks and backslashes",
	`^[ -~]+$`:                                                    "must be printable ASCII characters",
	`^TLS_[A-Z0-9_]+$`:                                            "is not known; allowed: IANA names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	`^p(100(\.0+)?|[1-9][0-9]?(\.[0-9]+)?|0\.[0-9]*[1-9][0-9]*)$`: "must be a percentile above p0 and at most p100, such as p99.9",
	`^[^/\s]+$`: "must be the name of a network interface, without / and white space",
	`^(metadata\.(name|namespace|uid|(labels|annotations)\['[-./_A-Za-z0-9]+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$`: "must be a field of the pod, such as metadata.name, metadata.labels['KEY'], spec.nodeName or status.podIP",

	`^[0-9]{3}$`:        "must have 3 digits, in quotes",
	`^[0-9]{2,3}$`:      "must have 2 or 3 digits, in quotes",
	`^[0-9]{2}$`:        "must have 2 digits, in quotes",
	`^[0-9]{8}$`:        "must have 8 digits, in quotes",
	`^[0-9]+$`:          "must consist of digits, in quotes",
	`^[0-9A-Fa-f]{32}$`: "must have 32 hexadecimal digits",
}

// patterns are the compiled patterns.
var patterns sync.Map

func matches(pattern, s string) bool {
	compiled, ok := patterns.Load(pattern)
	if !ok {
		compiled, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return compiled.(*regexp.Regexp).MatchString(s)
}

// limitsOf returns the bounds of a field of the API.
func limitsOf(object, name string) bounds { return apiObjects[object].fields[name] }

// Range returns the least and the greatest value of a number of the API, such as shards of Runner.
func Range(object, name string) (least, greatest int64) {
	b := limitsOf(object, name)
	return b.number[0], b.number[1]
}

// allowsZero reports whether the zero value is within the bounds. The zero value of a list is an empty one.
func (b *bounds) allowsZero() bool {
	switch {
	case b.number != nil:
		return b.number[0] <= 0
	case b.duration != nil:
		return b.duration.low <= 0
	}
	return b.length[0] == 0 && b.items[0] == 0 && b.pattern == "" && len(b.enum) == 0
}

// text returns what is wrong with a text, or "".
func (b *bounds) text(s string) string {
	n := utf8.RuneCountInString(s)
	switch {
	case s == "" && !b.allowsZero():
		return "must not be empty"
	case b.length[1] == 1 && n > 1:
		return "must be one character"
	case b.length[1] > 0 && n > b.length[1]:
		return fmt.Sprintf("has %d characters, at most %d are possible", n, b.length[1])
	case len(b.enum) == 2 && !slices.Contains(b.enum, s):
		return "must be " + strings.Join(b.enum, " or ")
	case len(b.enum) > 0 && !slices.Contains(b.enum, s):
		return "must be one of " + strings.Join(b.enum, ", ")
	case b.pattern != "" && !matches(b.pattern, s):
		return patternMessages[b.pattern]
	}
	return ""
}

// integer returns what is wrong with an integer, or "".
func (b *bounds) integer(n int64) string {
	switch {
	case b.number == nil || n >= b.number[0] && n <= b.number[1]:
		return ""
	case b.number[1] != math.MaxInt64:
		return fmt.Sprintf("must be between %d and %d", b.number[0], b.number[1])
	case b.number[0] == 0:
		return "must not be negative"
	}
	return fmt.Sprintf("must be at least %d", b.number[0])
}

// count returns what is wrong with the number of items of a list, or "".
func (b *bounds) count(n int) string {
	switch low, high := b.items[0], b.items[1]; {
	case n == 0 && low == 1:
		return "at least 1 is needed"
	case n == 0 && low > 1:
		return fmt.Sprintf("at least %d are needed", low)
	case n < low:
		return fmt.Sprintf("has %d entries, at least %d are needed", n, low)
	case high > 0 && n > high:
		return fmt.Sprintf("has %d entries, at most %d are possible", n, high)
	}
	return ""
}

// structType is a struct as JSON has it.
type structType struct {
	fields map[string]jsonField
	order  []string // the names of the fields
	choice *choice
}

// jsonField is a field of a struct, or of a struct that is inlined in it. bounds is nil if the CRD has none.
type jsonField struct {
	index  []int
	goType reflect.Type
	bounds *bounds
}

var (
	structTypes   sync.Map // of *structType by reflect.Type
	packageOfAPI  = reflect.TypeFor[v1alpha1.LoadTest]().PkgPath()
	durationType  = reflect.TypeFor[metav1.Duration]()
	nameOfPackage = "v1alpha1."
)

func structOf(t reflect.Type) *structType {
	if known, ok := structTypes.Load(t); ok {
		return known.(*structType)
	}
	out := &structType{fields: map[string]jsonField{}, choice: apiObjects[strings.TrimPrefix(t.String(), nameOfPackage)].choice}
	out.add(t, nil)
	known, _ := structTypes.LoadOrStore(t, out)
	return known.(*structType)
}

// add collects the fields of a struct, those of inlined structs included.
func (s *structType) add(t reflect.Type, index []int) {
	limits := apiObjects[strings.TrimPrefix(t.String(), nameOfPackage)].fields
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			s.add(f.Type, at)
		case name != "":
			next := jsonField{index: at, goType: f.Type}
			if b, ok := limits[name]; ok {
				next.bounds = &b
			}
			s.fields[name], s.order = next, append(s.order, name)
		}
	}
}

// spot is a place in the spec. It becomes a field.Path only if something is wrong there.
type spot struct {
	up    *spot
	name  string
	index int // in the list up, if name is ""
}

func (s *spot) path() *field.Path {
	switch {
	case s.up == nil:
		return field.NewPath(s.name)
	case s.name == "":
		return s.up.path().Index(s.index)
	}
	return s.up.path().Child(s.name)
}

// bounds reports each value of the spec that the CRD does not allow. Later checks of such a value report nothing.
func (c *compiler) bounds() {
	c.object(&spot{name: "spec"}, reflect.ValueOf(c.spec).Elem())
}

func (c *compiler) object(at *spot, v reflect.Value) {
	s := structOf(v.Type())
	if s.choice != nil {
		c.choice(at, v, s)
	}
	for _, name := range s.order {
		f := s.fields[name]
		c.value(&spot{up: at, name: name}, v.FieldByIndex(f.index), f.bounds, false)
	}
}

func (c *compiler) choice(at *spot, v reflect.Value, s *structType) {
	n := 0
	for _, name := range s.choice.fields {
		if !v.FieldByIndex(s.fields[name].index).IsZero() {
			n++
		}
	}
	if n == 1 || n == 0 && s.choice.optional {
		return
	}
	names, last := strings.Join(s.choice.fields[:len(s.choice.fields)-1], ", "), s.choice.fields[len(s.choice.fields)-1]
	if s.choice.optional {
		c.fail(at.path(), "at most one of %s and %s is possible", names, last)
	} else {
		c.fail(at.path(), "exactly one of %s and %s is needed", names, last)
	}
}

// noBounds are the bounds of a field about which the CRD says nothing.
var noBounds bounds

// value checks a value and all that is below it. If it is not set for sure, the zero value of an optional field means that it is not set.
func (c *compiler) value(at *spot, v reflect.Value, b *bounds, set bool) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			c.value(at, v.Elem(), b, true)
		}
		return
	}
	if b == nil {
		b = &noBounds
	}
	if !set && !b.required && v.IsZero() {
		return
	}
	switch {
	case v.Type() == durationType:
		if d := time.Duration(v.Field(0).Int()); b.duration != nil && (d < b.duration.low || d > b.duration.high) {
			c.outOfBounds(at, b.duration.message)
		}
	case v.Kind() == reflect.String && v.String() == "" && !set && !b.allowsZero():
		c.outOfBounds(at, "is needed")
	case v.Kind() == reflect.String:
		c.outOfBounds(at, b.text(v.String()))
	case v.CanInt():
		c.outOfBounds(at, b.integer(v.Int()))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		c.list(at, v, b)
	case v.Kind() == reflect.Struct && (v.Type().PkgPath() == packageOfAPI || structOf(v.Type()).bounded()):
		c.object(at, v)
	}
}

// bounded reports whether the CRD has bounds for a field of the struct.
func (s *structType) bounded() bool {
	for _, f := range s.fields {
		if f.bounds != nil {
			return true
		}
	}
	return false
}

func (c *compiler) list(at *spot, v reflect.Value, b *bounds) {
	if problem := b.count(v.Len()); problem != "" {
		c.fail(at.path(), "%s", problem)
	}
	first := map[string]int{}
	for i := range v.Len() {
		item := &spot{up: at, index: i}
		c.value(item, v.Index(i), b.each, true)
		switch {
		case b.set:
			c.different(item, first, asText(v.Index(i)), i)
		case b.key != "":
			key := v.Index(i).FieldByIndex(structOf(v.Type().Elem()).fields[b.key].index)
			c.different(&spot{up: item, name: b.key}, first, key.String(), i)
		}
	}
}

// asText returns the text of a string or of an int-or-string.
func asText(v reflect.Value) string {
	if s, ok := v.Addr().Interface().(fmt.Stringer); ok {
		return s.String()
	}
	return v.String()
}

// different reports a value that an earlier item has. first has the indices of the items.
func (c *compiler) different(at *spot, first map[string]int, value string, i int) {
	if value == "" {
		return
	}
	if k, taken := first[value]; taken {
		c.fail(at.path(), "%q is the name of entry %d too", value, k)
		return
	}
	first[value] = i
}

// outOfBounds reports a value, unless the problem is "".
func (c *compiler) outOfBounds(at *spot, problem string) {
	if problem == "" {
		return
	}
	path := at.path()
	c.fail(path, "%s", problem)
	c.reported[path.String()] = true
}

// wrong reports whether a value at or below a path is out of bounds.
func (c *compiler) wrong(path *field.Path) bool {
	for reported := range c.reported {
		if begins(reported, path.String()) > 0 {
			return true
		}
	}
	return false
}

// setDefaults fills each field that is not set and for which the CRD has a default.
func setDefaults(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			setDefaults(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			setDefaults(v.Index(i))
		}
	case reflect.Struct:
		if v.Type().PkgPath() != packageOfAPI {
			return
		}
		s := structOf(v.Type())
		for _, name := range s.order {
			f := s.fields[name]
			field := v.FieldByIndex(f.index)
			if f.bounds == nil || f.bounds.byDefault == nil || !field.IsZero() {
				setDefaults(field)
				continue
			}
			if field.Kind() == reflect.Pointer {
				field.Set(reflect.New(field.Type().Elem()))
				field = field.Elem()
			}
			field.Set(reflect.ValueOf(f.bounds.byDefault).Convert(field.Type()))
		}
	}
}

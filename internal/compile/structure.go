package compile

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// structure compares documents with schemas. It does what the API server does before it runs the rules of the CRD: it
// drops null, refuses unknown fields and values of another type, and checks bounds. It also checks the rules of the two
// forms that schema.go reads.
//
// The API server checks bounds with kube-openapi. That library adds 5 MB to each program and 2 ms to each start, so
// only TestBoundsOfTheLibrary uses it: it compares both for each schema of the CRD.
type structure struct {
	errs field.ErrorList
	// removed are the paths of the fields that are unknown or of another type. The document does not have them any more,
	// so that it can be decoded.
	removed []string
	// marks are what is known about each path that has an error at it or below it.
	marks map[string]mark
}

// mark is a set of facts about a path.
type mark uint8

const (
	isWrong    mark = 1 << iota // the path has an error
	hasWrong                    // the path, or a path below it, has an error
	hasRemoved                  // the same for a field that was removed
)

// mark adds own to a path, and inherited to the path and all paths above it.
func (s *structure) mark(path string, own, inherited mark) {
	if s.marks == nil {
		s.marks = map[string]mark{}
	}
	for n := range elements(path) {
		s.marks[path[:n]] |= inherited
	}
	s.marks[path] |= own
}

func (s *structure) fail(at *field.Path, message string) {
	err := field.Invalid(at, field.OmitValueType{}, message)
	s.errs = append(s.errs, err)
	s.mark(err.Field, isWrong, hasWrong)
}

func (s *structure) remove(at *field.Path, message string) {
	s.fail(at, message)
	s.removed = append(s.removed, at.String())
	s.mark(at.String(), 0, hasRemoved)
}

// value checks a value and all that is in it. It returns the value, or nil if it has another type.
func (s *structure) value(at *field.Path, of *schema, value any) any {
	if problem := of.unreadable(at, value); problem != "" {
		s.remove(at, problem)
		return nil
	}
	removed := len(s.removed)
	switch v := value.(type) {
	case map[string]any:
		s.object(at, of, v)
		if len(s.removed) > removed {
			return value // what was removed can be the field that the object needs
		}
	case []any:
		s.list(at, of, v)
	}
	if problem := of.bounds(value); problem != "" {
		s.fail(at, problem)
		return value
	}
	for i := range of.Rules {
		if of.Rules[i].broken(value) {
			s.fail(at, of.Rules[i].message)
		}
	}
	return value
}

// object checks the fields of an object. A field that is null is a field that is not set.
func (s *structure) object(at *field.Path, of *schema, object map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		path, field := at.Child(name), of.Properties.field(name)
		if field == nil && of.Values != nil {
			path, field = at.Key(name), of.Values
		}
		if of.Keys != nil {
			if problem := of.Keys.bounds(name); problem != "" {
				s.fail(path, problem)
			}
		}
		switch {
		case field == nil && of.Open:
		case field == nil:
			s.remove(path, "unknown field"+otherName(name, object[name], of.Properties.names()))
			delete(object, name)
		case object[name] == nil || s.value(path, field, object[name]) == nil:
			delete(object, name)
		}
	}
	for _, name := range of.Required {
		if _, set := object[name]; !set && of.Properties.field(name).Default == nil && !s.explains(at.Child(name).String()) {
			s.fail(at.Child(name), "is needed")
		}
	}
}

func (s *structure) list(at *field.Path, of *schema, list []any) {
	first := map[any]int{}
	for i := range list {
		path := at.Index(i)
		list[i] = s.value(path, of.Items, list[i])
		key := list[i]
		switch of.ListType {
		case "map":
			item, _ := key.(map[string]any)
			key, path = item[of.ListKeys[0]], path.Child(of.ListKeys[0])
		case "set":
		default:
			continue
		}
		if k, taken := first[key]; taken {
			s.fail(path, fmt.Sprintf("%q is the name of entry %d too", fmt.Sprint(key), k))
		} else if key != nil && key != "" {
			first[key] = i
		}
	}
}

// explains reports whether an error at a path follows from one of the structure: one at the path, one above it, or one
// below it for which a field was removed.
func (s *structure) explains(path string) bool {
	for n := range elements(path) {
		if s.marks[path[:n]]&isWrong != 0 {
			return true
		}
	}
	return s.marks[path]&hasRemoved != 0
}

// wrong reports whether a value at or below a path is wrong.
func (s *structure) wrong(path string) bool { return s.marks[path]&hasWrong != 0 }

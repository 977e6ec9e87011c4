package grpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/h2surge/h2surge/internal/lazy"
)

// FieldError is a mistake in a message that is JSON.
type FieldError struct {
	// Message is the index of the message in its call.
	Message int
	// Path is the path of the field, such as lines[0].count. Empty: the mistake is in the message itself.
	Path string
	Err  error
}

func (e *FieldError) Error() string {
	text := e.Err.Error()
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Message > 0 {
		text = fmt.Sprintf("message %d: %s", e.Message, text)
	}
	return text
}

func (e *FieldError) Unwrap() error { return e.Err }

// within returns a mistake in a field of a message, or in an element, whose name is an index in brackets.
func within(name string, err error) error {
	inner := &FieldError{Err: err}
	if errors.As(err, &inner); inner.Path != "" && inner.Path[0] != '[' {
		name += "."
	}
	return &FieldError{Path: name + inner.Path, Err: inner.Err}
}

// fieldOf returns the field with a name in JSON, or nil.
func fieldOf(d protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if f := d.Fields().ByJSONName(name); f != nil {
		return f
	}
	return d.Fields().ByTextName(name)
}

// mistake returns the innermost mistake in a message that cannot be encoded because of err.
func (s *Schema) mistake(d protoreflect.MessageDescriptor, text []byte, err error) error {
	object, bad := decode(text)
	if bad != nil || isWellKnown(d) {
		return fmt.Errorf("is not a %s: %w", d.FullName(), tidy(err))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		f := fieldOf(d, name)
		if f == nil {
			return within(name, fmt.Errorf("%s has no such field", d.FullName()))
		}
		if err := s.fits(f, object[name]); err != nil {
			return within(name, s.mistakeIn(f, object[name], err))
		}
	}
	return fmt.Errorf("is not a %s: %w", d.FullName(), tidy(err))
}

func isWellKnown(d protoreflect.MessageDescriptor) bool {
	return strings.HasPrefix(string(d.FullName()), "google.protobuf.")
}

// fits returns why a value is not one of a field.
func (s *Schema) fits(f protoreflect.FieldDescriptor, value any) error {
	text, err := json.Marshal(map[string]any{f.JSONName(): value})
	if err == nil {
		_, err = s.constant(f.ContainingMessage(), text, part)
	}
	return err
}

// mistakeIn returns the innermost mistake in a value of a field, which does not fit because of err.
func (s *Schema) mistakeIn(f protoreflect.FieldDescriptor, value any, err error) error {
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			if err := s.fits(f, []any{element}); f.IsList() && err != nil {
				return within(fmt.Sprintf("[%d]", i), s.mistakeOf(f, element, err))
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := s.fits(f, map[string]any{key: v[key]}); f.IsMap() && err != nil {
				return within("["+key+"]", s.mistakeOf(f.MapValue(), v[key], err))
			}
		}
	}
	return s.mistakeOf(f, value, err)
}

// mistakeOf is mistakeIn for one value, which is not a list or a map.
func (s *Schema) mistakeOf(f protoreflect.FieldDescriptor, value any, err error) error {
	if f.Kind() != protoreflect.MessageKind || f.IsMap() {
		return tidy(err)
	}
	text, bad := json.Marshal(value)
	if bad != nil {
		return bad
	}
	return s.mistake(f.Message(), text, err)
}

// position is the position of a mistake in a text that the user did not write.
var position = lazy.Regexp(`^(?:syntax error )?\(line \d+:\d+\): `)

// tidy is an error of the library without what the path of the field says.
func tidy(err error) error { return errors.New(position().ReplaceAllString(bare(err).Error(), "")) }

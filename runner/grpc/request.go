package grpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Mark returns what stands for placeholder i in the text of a message: a code point for private use.
func Mark(i int) string { return string(rune(firstMark + i)) }

// Marks are the code points that Mark returns. A text must not have them otherwise.
const (
	firstMark = 0xF0000
	lastMark  = 0xFFFFD
)

// Marked splits a text: the literals before, between and after its marks, and the placeholders that they stand for.
func Marked(text string) (literals []string, placeholders []int) {
	from := 0
	for i, c := range text {
		if isMark(c) {
			literals, placeholders = append(literals, text[from:i]), append(placeholders, int(c-firstMark))
			from = i + len(Mark(0))
		}
	}
	return append(literals, text[from:]), placeholders
}

func isMark(c rune) bool { return c >= firstMark && c <= lastMark }

// HasMarks returns whether a text has a code point that Mark uses.
func HasMarks(text string) bool { return strings.ContainsFunc(text, isMark) }

// Path is the path of a request.
func (m *Method) Path() string {
	return "/" + string(m.method.Parent().FullName()) + "/" + string(m.method.Name())
}

// Timeout is the value of grpc-timeout for a deadline: a number of at most 8 digits and a unit, rounded down to what
// the unit allows.
func Timeout(d time.Duration) string {
	const most = 99_999_999
	units := []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}
	i := slices.IndexFunc(units, func(u time.Duration) bool { return d%u == 0 })
	for d/units[i] > most {
		i--
	}
	return strconv.FormatInt(int64(d/units[i]), 10) + "Smun"[i:i+1]
}

// Streams returns whether the response is a stream.
func (m *Method) Streams() bool { return m.method.IsStreamingServer() }

// SendsStream returns whether the request is a stream.
func (m *Method) SendsStream() bool { return m.method.IsStreamingClient() }

// Request encodes the messages of a call, compressed with gzip if compressed is true. Each is in the JSON mapping of
// Protocol Buffers, with marks in strings. Errors begin with the path of the field.
func (m *Method) Request(messages [][]byte, compressed bool) (out []Piece, err error) {
	frame := &Encoding{kind: kindFrame}
	if compressed {
		frame.kind = kindGzip
	}
	if len(messages) != 1 && !m.method.IsStreamingClient() {
		return nil, fmt.Errorf("%s takes exactly one message", m.method.FullName())
	}
	for i, text := range messages {
		inner, err := m.schema.message(m.method.Input(), text)
		if err != nil {
			mistake := &FieldError{Err: err}
			errors.As(err, &mistake)
			mistake.Message = i
			return nil, mistake
		}
		out = append(out, Piece{Inner: inner, As: frame})
	}
	return out, nil
}

// message encodes a message: whole if it has no marks.
func (s *Schema) message(d protoreflect.MessageDescriptor, text []byte) ([]Piece, error) {
	if !HasMarks(string(text)) {
		octets, err := s.constant(d, text, whole)
		if err != nil {
			err = s.mistake(d, text, err)
		}
		return []Piece{{Octets: octets}}, err
	}
	object, err := decode(text)
	if err != nil {
		return nil, err
	}
	return s.fields(d, object)
}

// A part of a message need not have its required fields: others can be in the parts with marks.
const (
	whole = false
	part  = true
)

// constant encodes a message without marks, or a part of one.
func (s *Schema) constant(d protoreflect.MessageDescriptor, text []byte, partial bool) ([]byte, error) {
	m := dynamicpb.NewMessage(d)
	if err := (protojson.UnmarshalOptions{Resolver: s.types, AllowPartial: partial}).Unmarshal(text, m); err != nil {
		return nil, err
	}
	if err := checkFields(m); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true, AllowPartial: partial}.Marshal(m)
}

// checkFields returns an error if a message in a field of m lacks a required field. m itself may lack some.
func checkFields(m protoreflect.Message) (err error) {
	complete := func(v protoreflect.Value) bool {
		err = proto.CheckInitialized(v.Message().Interface())
		return err == nil
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { return complete(v) })
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				if !complete(v.List().Get(i)) {
					break
				}
			}
		default:
			complete(v)
		}
		return err == nil
	})
	return err
}

// bare is an error of the library without its name, and without the spaces that the library varies.
func bare(err error) error {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(text, "proto:"), " "))
}

// decode reads a JSON object. Numbers keep their digits.
func decode(text []byte) (object map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("is not a JSON object; placeholders stand in strings, also those of numbers: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one JSON value")
	}
	return object, nil
}

// fields encodes the fields of a message that has marks, in the order of their names.
func (s *Schema) fields(d protoreflect.MessageDescriptor, object map[string]any) (out []Piece, err error) {
	if isWellKnown(d) {
		return nil, fmt.Errorf("a %s has no placeholders", d.FullName())
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		f := fieldOf(d, name)
		if f == nil {
			return nil, within(name, fmt.Errorf("%s has no such field", d.FullName()))
		}
		pieces, err := s.field(d, f, object[name])
		if err != nil {
			return nil, within(name, err)
		}
		out = append(out, pieces...)
	}
	return out, nil
}

// field encodes a field. What has no marks is encoded as a message that has only this field, or this element: octets of
// messages can be joined.
func (s *Schema) field(d protoreflect.MessageDescriptor, f protoreflect.FieldDescriptor, value any) (out []Piece,
	err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	switch elements, isList := value.([]any); {
	case !HasMarks(string(text)):
		octets, err := s.constant(d, fmt.Appendf(nil, "{%q:%s}", f.JSONName(), text), part)
		if err != nil {
			err = s.mistakeIn(f, value, err)
		}
		return []Piece{{Octets: octets}}, err
	case f.IsMap():
		return s.entries(f, value)
	case f.IsList() != isList:
		return nil, fmt.Errorf("is a list: %v; the field is one: %v", isList, f.IsList())
	case isList:
		for i, element := range elements {
			pieces, err := s.element(d, f, element)
			if err != nil {
				return nil, within(fmt.Sprintf("[%d]", i), err)
			}
			out = append(out, pieces...)
		}
		return out, nil
	}
	return s.value(f, value)
}

// element encodes an element of a list.
func (s *Schema) element(d protoreflect.MessageDescriptor, f protoreflect.FieldDescriptor, element any) ([]Piece,
	error) {
	text, err := json.Marshal(element)
	if err != nil || HasMarks(string(text)) {
		return s.value(f, element)
	}
	octets, err := s.constant(d, fmt.Appendf(nil, "{%q:[%s]}", f.JSONName(), text), part)
	if err != nil {
		err = s.mistakeOf(f, element, err)
	}
	return []Piece{{Octets: octets}}, err
}

// entries encodes a map: a list of messages with a key and a value.
func (s *Schema) entries(f protoreflect.FieldDescriptor, value any) (out []Piece, err error) {
	object, isObject := value.(map[string]any)
	if !isObject {
		return nil, errors.New("is not an object")
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		inner, err := s.scalar(f.MapKey(), key)
		if err != nil {
			return nil, err
		}
		of, err := s.field(f.Message(), f.MapValue(), object[key])
		if err != nil {
			return nil, within("["+key+"]", err)
		}
		out = append(out, nested(f, append(inner, of...))...)
	}
	return out, nil
}

// value encodes a value with marks.
func (s *Schema) value(f protoreflect.FieldDescriptor, value any) ([]Piece, error) {
	switch v := value.(type) {
	case string:
		return s.scalar(f, v)
	case map[string]any:
		if f.Kind() != protoreflect.MessageKind {
			return nil, fmt.Errorf("is an object; the field is of type %s", f.Kind())
		}
		inner, err := s.fields(f.Message(), v)
		return nested(f, inner), err
	}
	return nil, errors.New("has a list where the field has none")
}

// scalar encodes a text as the value of a field.
func (s *Schema) scalar(f protoreflect.FieldDescriptor, text string) ([]Piece, error) {
	if _, possible := kinds[f.Kind()]; !possible {
		return nil, fmt.Errorf("is a string; the field is of type %s, and fields of this type have no placeholders", f.Kind())
	}
	e := encodingOf(f)
	tag := protowire.AppendTag(nil, f.Number(), wireType(f.Kind()))
	if HasMarks(text) {
		return []Piece{{Octets: tag}, {Text: text, As: e}}, nil
	}
	octets, ok := e.Encode(append(tag, text...), len(tag), nil)
	if !ok {
		return nil, fmt.Errorf("%q is not of type %s", text, f.Kind())
	}
	return []Piece{{Octets: octets}}, nil
}

func nested(f protoreflect.FieldDescriptor, inner []Piece) []Piece {
	return []Piece{{Octets: protowire.AppendTag(nil, f.Number(), protowire.BytesType)},
		{Inner: inner, As: &Encoding{kind: kindMessage}}}
}

func wireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

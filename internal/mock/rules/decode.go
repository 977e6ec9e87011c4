package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/runner/script"
)

// Mistake is something wrong at a place of a file.
type Mistake struct {
	Path string // such as rules[2].match.path
	Line int    // 0: not known
	Text string
}

// Mistakes are all that is wrong with a file, in its order.
type Mistakes []Mistake

// Error has a line for each mistake.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		at := one.Path
		if one.Line > 0 {
			at = strings.TrimPrefix(fmt.Sprintf("%s (line %d)", one.Path, one.Line), " ")
		}
		lines[i] = strings.TrimPrefix(at+": "+one.Text, ": ")
	}
	return strings.Join(lines, "\n")
}

// source is a file being read: its mistakes so far, and where each path is.
type source struct {
	lines    map[string]int
	mistakes Mistakes
	// unread are the paths whose values could not be read: what is wrong with them was said.
	unread map[string]bool
	// scripts are those compiled so far.
	scripts []*script.Script
}

func newSource() *source { return &source{lines: map[string]int{}, unread: map[string]bool{}} }

// add notes a mistake at a path, whose line is that of the nearest one that the file has. It says
// nothing of what could not be read.
func (s *source) add(path, format string, args ...any) {
	line := 0
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if s.unread[at] {
			return
		}
		if n, ok := s.lines[at]; ok && line == 0 {
			line = n
		}
	}
	s.mistakes = append(s.mistakes, Mistake{path, line, fmt.Sprintf(format, args...)})
}

// misread notes that the value at a path cannot be read.
func (s *source) misread(path, format string, args ...any) {
	s.add(path, format, args...)
	s.unread[path] = true
}

// isRead reports that all below a path could be read.
func (s *source) isRead(path string) bool {
	for at := range s.unread {
		if strings.HasPrefix(at, path) {
			return false
		}
	}
	return true
}

// parse decodes YAML strictly: a field that is unknown or given twice, or a value of another type,
// is a mistake.
func (s *source) parse(data []byte, into *File) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		s.add("", "the file is empty")
		return
	} else if err != nil {
		s.add("", "%v", err)
		return
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		s.add("", "the file has more than one document")
		return
	}
	s.decode(doc.Content[0], reflect.ValueOf(into).Elem(), "")
}

// parser is a scalar with a notation of its own.
type parser interface{ parse(string) error }

func (s *source) decode(n *yaml.Node, v reflect.Value, path string) {
	s.lines[path] = n.Line
	if n.Kind == yaml.AliasNode {
		s.misread(path, "aliases are not supported")
		return
	}
	if p, ok := v.Addr().Interface().(parser); ok {
		s.decodeScalar(n, path, "a text or a number", p.parse, "!!str", "!!int", "!!float")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if n.Tag == "!!null" {
			s.misread(path, "has no value")
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		s.decode(n, v.Elem(), path)
	case reflect.Struct:
		s.decodeStruct(n, v, path)
	case reflect.Slice:
		s.decodeSlice(n, v, path)
	case reflect.String:
		s.decodeScalar(n, path, "a text; put it in quotes", func(text string) error { v.SetString(text); return nil },
			"!!str")
	case reflect.Bool:
		s.decodeScalar(n, path, "true or false",
			func(text string) error { v.SetBool(strings.EqualFold(text, "true")); return nil }, "!!bool")
	case reflect.Int:
		s.decodeScalar(n, path, "a whole number", func(text string) error {
			x, err := strconv.ParseInt(text, 0, 64)
			v.SetInt(x)
			return numberError(text, err)
		}, "!!int")
	case reflect.Uint64:
		s.decodeScalar(n, path, "a whole number", func(text string) error {
			x, err := strconv.ParseUint(text, 0, 64)
			v.SetUint(x)
			return numberError(text, err)
		}, "!!int")
	default:
		panic("rules: no way to decode " + v.Type().String())
	}
}

func numberError(text string, err error) error {
	if err != nil {
		return fmt.Errorf("%q is out of range", text)
	}
	return nil
}

func (s *source) decodeScalar(n *yaml.Node, path, want string, set func(string) error, tags ...string) {
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.Tag) {
		s.misread(path, "must be %s", want)
		return
	}
	if err := set(n.Value); err != nil {
		s.misread(path, "%v", err)
	}
}

func (s *source) decodeSlice(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		s.misread(path, "must be a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		s.decode(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (s *source) decodeStruct(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		s.misread(path, "must be a mapping")
		return
	}
	fields := fieldsOf(v.Type())
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		index, known := fields[key.Value]
		first, twice := seen[key.Value]
		seen[key.Value] = key.Line
		switch {
		case !known:
			s.lines[at] = key.Line
			s.misread(at, "unknown field; allowed: %s", strings.Join(names(v.Type()), ", "))
		case twice:
			s.add(at, "is a duplicate in line %d; first in line %d", key.Line, first)
		default:
			s.decode(value, v.Field(index), at)
		}
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if name := fieldName(f); seen[name] == 0 && !optional(f) {
			s.misread(strings.TrimPrefix(path+"."+name, "."), "is missing")
		}
	}
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// optional fields are those that are left out of the text when empty.
func optional(f reflect.StructField) bool { return strings.HasSuffix(f.Tag.Get("yaml"), ",omitempty") }

func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		fields[fieldName(t.Field(i))] = i
	}
	return fields
}

func names(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		all = append(all, fieldName(t.Field(i)))
	}
	return all
}

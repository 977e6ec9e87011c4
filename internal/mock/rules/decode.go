package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/runner/grpc"
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
	// methods are those of protoFiles, by path.
	methods map[string]*grpc.Method
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

// readable is what a value must be.
type readable struct {
	want string
	kind yaml.Kind
	tags []string // of a scalar
}

var (
	// readables are what the values of Go's kinds must be.
	readables = map[reflect.Kind]readable{
		reflect.Struct: {"a mapping", yaml.MappingNode, []string{"!!map"}},
		reflect.Slice:  {"a list", yaml.SequenceNode, []string{"!!seq"}},
		reflect.String: {"a text; put it in quotes", yaml.ScalarNode, []string{"!!str"}},
		reflect.Bool:   {"true or false", yaml.ScalarNode, []string{"!!bool"}},
		reflect.Int:    {"a whole number", yaml.ScalarNode, []string{"!!int"}},
		reflect.Uint64: {"a whole number", yaml.ScalarNode, []string{"!!int"}},
	}
	// notation is that of a scalar with a notation of its own.
	notation = readable{"a text or a number", yaml.ScalarNode, []string{"!!str", "!!int", "!!float"}}
)

func (s *source) decode(n *yaml.Node, v reflect.Value, path string) {
	s.lines[path] = n.Line
	of := readables[v.Kind()]
	if _, ok := v.Addr().Interface().(yaml.Unmarshaler); ok {
		of = notation
	}
	switch {
	case n.Kind == yaml.AliasNode:
		s.misread(path, "aliases are not supported")
	case v.Kind() == reflect.Pointer && n.Tag == "!!null":
		s.misread(path, "has no value")
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.decode(n, v.Elem(), path)
	case n.Kind != of.kind || !slices.Contains(of.tags, n.Tag):
		s.misread(path, "must be %s", of.want)
	case n.Kind == yaml.MappingNode:
		s.decodeStruct(n, v, path)
	case n.Kind == yaml.SequenceNode:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, item := range n.Content {
			s.decode(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		s.decodeScalar(n, v, path)
	}
}

func (s *source) decodeScalar(n *yaml.Node, v reflect.Value, path string) {
	err := n.Decode(v.Addr().Interface())
	var large *yaml.TypeError
	switch {
	case errors.As(err, &large):
		s.misread(path, "%q is out of range", n.Value)
	case err != nil:
		s.misread(path, "%v", err)
	}
}

func (s *source) decodeStruct(n *yaml.Node, v reflect.Value, path string) {
	fields := fieldsOf(v.Type())
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		index := slices.Index(fields, key.Value)
		first, twice := seen[key.Value]
		seen[key.Value] = key.Line
		switch {
		case index < 0:
			s.lines[at] = key.Line
			s.misread(at, "unknown field; allowed: %s", strings.Join(fields, ", "))
		case twice:
			s.add(at, "is a duplicate in line %d; first in line %d", key.Line, first)
		default:
			s.decode(value, v.Field(index), at)
		}
	}
	for i, name := range fields {
		if seen[name] == 0 && !strings.HasSuffix(v.Type().Field(i).Tag.Get("yaml"), ",omitempty") {
			s.misread(strings.TrimPrefix(path+"."+name, "."), "is missing")
		}
	}
}

// fieldsOf returns the names of the fields of a type.
func fieldsOf(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		names = append(names, name)
	}
	return names
}

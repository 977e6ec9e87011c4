package h2loadrunner

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/lazy"
)

// value is what a name of a scenario means: a placeholder for each request of the chain.
type value func(request int) string

// placeholder is the same in every request.
func placeholder(name string) value {
	return func(int) string { return "${" + name + "}" }
}

// define gives a name its first meaning; later ones are ignored, as theirs are.
func (s *scenario) define(from, name string, v value) {
	if s.free(from, name) {
		s.values[name] = v
	}
}

// free says whether a name has no meaning yet.
func (s *scenario) free(from, name string) bool {
	if name == "" {
		s.Fail(from, "is needed")
		return false
	}
	_, has := s.values[name]
	if has {
		s.Warn(from, "%s is defined already; this definition is left out, as h2loadrunner itself does", name)
	}
	return !has
}

// variables reads all that defines one.
func (s *scenario) variables() {
	in := s.in
	s.deprecated()
	for _, v := range in.List("range-based-variables") {
		name := v.Text("variable-name")
		start, end := v.Whole("variable-range-start", 0), v.Whole("variable-range-end", 0)
		v.End()
		s.rangeOf(v.Path, name, start, end)
	}
	for _, v := range in.List("two-dimensional-variables") {
		name, file := v.Text("variable-name"), v.Text("file-name")
		v.End()
		if !s.free(v.At("variable-name"), name) {
			continue
		}
		if t := s.table(v.At("file-name"), name, file); t != nil {
			s.values[name] = t.diagonal()
		}
	}
	if file := in.Text("user-variables-input-file"); file != "" {
		at := in.At("user-variables-input-file")
		if t := s.table(at, "users", file); t != nil {
			for i, name := range t.names {
				s.define(at, name, t.column(i))
			}
		}
	}
	explicit := in.Has("user-id-range-slicing")
	if sliced := in.Flag("user-id-range-slicing"); !sliced && len(s.values) > 0 {
		if explicit {
			s.WarnAt("spec.variables", in.At("user-id-range-slicing"),
				"false starts at a random value on each connection; here the values are used in order, and each is used once before a value repeats")
		} else {
			s.WarnAt("spec.variables", in.At("user-id-range-slicing"),
				"is not there; here each worker has a part of the values to itself, whatever its connections")
		}
	}
}

func (s *scenario) rangeOf(from, name string, start, end int64) {
	if !s.free(from, name) {
		return
	}
	our := s.Unique("variable", convert.WordName(name))
	s.values[name] = placeholder(our)
	s.Origin(fmt.Sprintf("spec.variables[%d]", len(s.Spec().Variables)), from)
	s.Spec().Variables = append(s.Spec().Variables, v1alpha1.Variable{
		Name: our, Range: &v1alpha1.IntegerRange{Start: start, End: end, Width: int32(len(strconv.FormatInt(end, 10)))},
	})
}

// deprecated reads the fields of one variable that stand for itself in path and payload.
func (s *scenario) deprecated() {
	in := s.in
	s.token = in.Text("user-id-variable-in-path-and-data")
	file := in.Text("user-id-list-file")
	start, end := in.Whole("user-id-range-start", 0), in.Whole("user-id-range-end", 0)
	if s.token == "" {
		if file != "" || end > 0 {
			s.Warn(in.At("user-id-variable-in-path-and-data"), "is not there, so the user-id fields are left out")
		}
		return
	}
	from := in.At("user-id-variable-in-path-and-data")
	if file == "" {
		s.rangeOf(from, s.token, start, end)
		return
	}
	if t := s.table(in.At("user-id-list-file"), s.token, file); t != nil {
		s.define(from, s.token, t.diagonal())
	}
}

// table is a csv variable.
type table struct {
	variable string
	// names are theirs, columns ours.
	names, columns []string
}

func (t *table) column(i int) value { return placeholder(t.variable + "." + t.columns[i]) }

// diagonal is another column for each request.
func (t *table) diagonal() value {
	return func(request int) string { return "${" + t.variable + "." + t.columns[request%len(t.columns)] + "}" }
}

var columnName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,49}$`)

// table makes a variable of a file without quotes and escapes, whose first row has names.
func (s *scenario) table(from, name, file string) *table {
	content, ok := s.Read(from, file)
	if !ok {
		return nil
	}
	rows := rowsOf(content)
	if len(rows) < 2 {
		s.Fail(from, "%s has no row below that of the names", file)
		return nil
	}
	t := &table{variable: s.Unique("variable", convert.WordName(name)), names: rows[0]}
	asIs := !bytes.ContainsAny(content, "\"\r") && !strings.Contains(string(content), "\n\n")
	seen := map[string]bool{}
	for i, column := range rows[0] {
		if !columnName().MatchString(column) || seen[column] {
			column, asIs = "c"+strconv.Itoa(i+1), false
		}
		seen[column] = true
		t.columns = append(t.columns, column)
	}
	if !s.even(from, rows) {
		asIs = false
	}
	if !asIs {
		content, file = rewritten(t.columns, rows[1:]), ""
	}
	source := s.Gather(from, baseName(file, t.variable+".csv"), file, content)
	s.Origin(fmt.Sprintf("spec.variables[%d]", len(s.Spec().Variables)), from)
	s.Spec().Variables = append(s.Spec().Variables, v1alpha1.Variable{
		Name: t.variable, CSV: &v1alpha1.CSV{ConfigMapKeyRef: source.ConfigMapKeyRef, File: source.File},
	})
	return t
}

func rowsOf(content []byte) (rows [][]string) {
	text := strings.TrimPrefix(string(content), "\ufeff")
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			rows = append(rows, strings.Split(line, ","))
		}
	}
	return rows
}

// even makes all rows as long as the first. It is false when one was not.
func (s *scenario) even(from string, rows [][]string) bool {
	even, width := true, len(rows[0])
	for i, row := range rows {
		if len(row) != width {
			even = false
			rows[i] = append(row, make([]string, max(0, width-len(row)))...)[:width]
		}
	}
	if !even {
		s.Warn(from, "has rows of different lengths; short ones are filled up with empty fields, and long ones cut")
	}
	return even
}

// rewritten is the table as RFC 4180 has it.
func rewritten(columns []string, rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(columns) // a buffer takes all
	_ = w.WriteAll(rows)
	return b.Bytes()
}

func baseName(file, otherwise string) string {
	if file == "" {
		return otherwise
	}
	return file[strings.LastIndexAny(file, `/\`)+1:]
}

// their placeholders.
var placeholders = lazy.Regexp(`\$\{([^{}]*)\}`)

// text puts our placeholders in place of theirs.
func (s *scenario) text(from string, request int, text string) string {
	var b strings.Builder
	end := 0
	for _, m := range placeholders().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(convert.Literal(text[end:m[0]]))
		end = m[1]
		name := text[m[2]:m[3]]
		v, known := s.values[name]
		if !known {
			s.Fail(from, "variable %q is not defined, or not yet picked up, in scenario %q", name, s.name)
			continue
		}
		b.WriteString(v(request))
	}
	b.WriteString(convert.Literal(text[end:]))
	return b.String()
}

// withToken is text for path and payload, where the deprecated variable stands for itself.
func (s *scenario) withToken(from string, request int, text string) string {
	if s.token != "" {
		own := "${" + s.token + "}"
		text = strings.ReplaceAll(strings.ReplaceAll(text, own, s.token), s.token, own)
	}
	return s.text(from, request, text)
}

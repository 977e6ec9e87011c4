package cli

import (
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/placeholder"
)

// sent is the request of a step: a template, or the request that the step has itself.
type sent struct {
	at      string // its path; empty if no template has the name
	request *v1alpha1.Request
}

// stepRequests returns the requests of chain i, in the order that its steps have in a plan.
func stepRequests(spec *v1alpha1.LoadTestSpec, i int) (out []sent) {
	for j := range spec.Chains[i].Steps {
		switch s := &spec.Chains[i].Steps[j]; {
		case s.Request != nil:
			out = append(out, sent{field.NewPath("spec", "chains").Index(i).Child("steps").Index(j).Child("request").String(), s.Request})
		case s.Await != nil:
			out = append(out, sent{at: field.NewPath("spec", "chains").Index(i).Child("steps").Index(j).Child("await").String()})
		case s.Parallel == nil:
			out = append(out, template(spec, s.Template))
		default:
			for k := range s.Parallel {
				out = append(out, template(spec, s.Parallel[k].Template))
			}
		}
	}
	return out
}

func template(spec *v1alpha1.LoadTestSpec, name string) sent {
	for i := range spec.Templates {
		if t := &spec.Templates[i]; t.Name == name {
			return sent{field.NewPath("spec", "templates").Index(i).String(), &t.Request}
		}
	}
	return sent{}
}

// fieldOf returns the field that a place in the plan comes from: one of the request itself, or one of a
// template that it extends.
func fieldOf(spec *v1alpha1.LoadTestSpec, from sent, place string, s *rv.Step) string {
	kind, _, _ := strings.Cut(place, ".")
	kind, index, _ := strings.Cut(kind, "[")
	for range len(spec.Templates) + 1 {
		if from.request == nil {
			break
		}
		if below := own(from.request, kind, strings.TrimSuffix(index, "]"), place, s); below != "" {
			return from.at + "." + below
		}
		if from.request.Extends == "" {
			return from.at
		}
		from = template(spec, from.request.Extends)
	}
	return "spec.templates"
}

// own returns the field of a request that a place in the plan comes from, or nothing if the request does
// not set it.
func own(t *v1alpha1.Request, kind, index, place string, s *rv.Step) string {
	switch {
	case kind == "path" && t.Path != "", kind == "body" && t.Body != "":
		return kind
	case kind == "bodyFrom" && t.BodyFrom != nil:
		return kind
	case kind == "bodyFrom" && t.BodyBase64 != "":
		return "bodyBase64"
	case kind == "script" && t.Script != nil && t.Script.LuaFrom != nil:
		return "script.luaFrom"
	case kind == "script" && t.Script != nil:
		return "script.lua"
	case kind == "expect" && t.Expect != nil:
		return strings.TrimSuffix(strings.Replace(place, ".schema", ".jsonSchema", 1), ".content")
	case kind == "parts" && t.Parts != nil:
		return ownPart(t, index, place)
	case kind == "headers":
		return ownHeader(t, index, s)
	}
	return ""
}

func ownPart(t *v1alpha1.Request, index, place string) string {
	n, err := strconv.Atoi(index)
	if err != nil || n >= len(t.Parts) {
		return ""
	}
	if t.Parts[n].BodyBase64 != "" {
		place = strings.Replace(place, ".bodyFrom", ".bodyBase64", 1)
	}
	return strings.TrimSuffix(place, ".content")
}

func ownHeader(t *v1alpha1.Request, index string, s *rv.Step) string {
	n, err := strconv.Atoi(index)
	if err != nil || n >= len(s.Headers) || len(s.Headers[n].Name) != 1 {
		return ""
	}
	name := s.Headers[n].Name[0].Literal
	for i := range t.Headers {
		if strings.EqualFold(t.Headers[i].Name, name) {
			return "headers[" + strconv.Itoa(i) + "]"
		}
	}
	return ""
}

// firstRow is the row with the names of the columns.
func firstRow(c *rv.CSV) []string {
	var content io.Reader = strings.NewReader(c.Content.Text)
	if c.Content.File != "" {
		f, err := os.Open(c.Content.File)
		if err != nil {
			return nil
		}
		defer f.Close() //nolint:errcheck // it was only read
		content = f
	}
	r := csv.NewReader(withoutMark(content))
	if c.Delimiter != "" {
		r.Comma, _ = utf8.DecodeRuneInString(c.Delimiter)
	}
	names, err := r.Read()
	if err != nil {
		return nil
	}
	return names
}

// withoutMark takes a byte order mark away.
func withoutMark(r io.Reader) io.Reader {
	begin := make([]byte, 3)
	n, _ := io.ReadFull(r, begin)
	return io.MultiReader(bytes.NewReader(bytes.TrimPrefix(begin[:n], []byte("\uFEFF"))), r)
}

// columnsRead are the columns of a variable that anything in the plan reads. There is at least one.
func (p *programLint) columnsRead(v *rv.Variable) []string {
	out := []string{"x"}
	add := func(column string) {
		if column != "" && !slices.Contains(out, column) {
			out = append(out, column)
		}
	}
	number := 1 + slices.IndexFunc(p.plan.Variables, func(o rv.Variable) bool { return o.Name == v.Name })
	eachPart(reflect.ValueOf(p.plan), func(part *rv.Part) {
		if part.Variable == number {
			add(part.Column)
		}
	})
	for i := range p.plan.Chains {
		for j := range p.plan.Chains[i].Steps {
			s := &p.plan.Chains[i].Steps[j]
			texts := []*rv.BodyFrom{s.BodyFrom}
			for k := range s.Parts {
				texts = append(texts, s.Parts[k].BodyFrom)
			}
			for _, from := range texts {
				if from != nil && !from.Raw && from.Content.File != "" {
					inFile(from.Content.File, v.Name, add)
				}
			}
		}
	}
	return out
}

// inFile adds the columns of a variable that the placeholders of a body use.
func inFile(file, variable string, add func(string)) {
	content, err := os.ReadFile(file)
	if err != nil {
		return // already reported
	}
	pieces, err := placeholder.Parse(string(content))
	if err != nil {
		return // reported at the step
	}
	for _, piece := range pieces {
		if piece.Ref == nil {
			continue
		}
		if piece.Ref.Name == variable {
			add(piece.Ref.Column)
		}
		for _, f := range piece.Ref.Functions {
			if f.Key != nil && f.Key.Name == variable {
				add(f.Key.Column)
			}
		}
	}
}

var partType = reflect.TypeFor[rv.Part]()

// eachPart visits all parts of texts in a plan, those in functions too.
func eachPart(v reflect.Value, visit func(*rv.Part)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachPart(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachPart(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.Type() == partType {
			visit(v.Addr().Interface().(*rv.Part))
		}
		for i := range v.NumField() {
			eachPart(v.Field(i), visit)
		}
	}
}

// Command targetschema writes the schema of the files of h2surge target, from the Go types of the format and their
// comments, in the form that CRDs have.
//
//	go run ./hack/targetschema internal/mock/rules/file.go > internal/mock/rules/schema.json
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
)

func main() {
	out, err := schemaOf(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "targetschema:", err)
		os.Exit(1)
	}
	if _, err := os.Stdout.Write(out); err != nil {
		os.Exit(1)
	}
}

// schema is what the generator knows of a type.
type schema struct {
	Description    string             `json:"description,omitempty"`
	Type           string             `json:"type,omitempty"`
	Enum           []string           `json:"enum,omitempty"`
	Properties     map[string]*schema `json:"properties,omitempty"`
	Required       []string           `json:"required,omitempty"`
	Items          *schema            `json:"items,omitempty"`
	NumberOrString bool               `json:"x-h2surge-number-or-string,omitempty"`
}

// scalars are the types that are not structs.
var scalars = map[string]schema{
	"string": {Type: "string"}, "bool": {Type: "boolean"}, "int": {Type: "integer"}, "uint64": {Type: "integer"},
	"Duration": {Type: "string"}, "Ratio": {NumberOrString: true},
}

// schemaOf returns the schema of the type File in a Go file.
func schemaOf(file string) ([]byte, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	g := generator{structs: map[string]*ast.StructType{}}
	description := ""
	for _, d := range f.Decls {
		decl, _ := d.(*ast.GenDecl)
		if decl == nil || decl.Tok != token.TYPE {
			continue
		}
		spec := decl.Specs[0].(*ast.TypeSpec)
		g.structs[spec.Name.Name], _ = spec.Type.(*ast.StructType)
		if spec.Name.Name == "File" {
			description, _, _ = strings.Cut(decl.Doc.Text(), "\n\n") // the rest is for developers
		}
	}
	root, err := g.of(ast.NewIdent("File"))
	if err != nil {
		return nil, err
	}
	root.Description = "Target" + strings.TrimPrefix(strings.Join(strings.Fields(description), " "), "File")
	out, err := json.MarshalIndent(root, "", "") // a line for each field
	return append(out, '\n'), err
}

type generator struct{ structs map[string]*ast.StructType }

func (g *generator) of(e ast.Expr) (*schema, error) {
	switch t := e.(type) {
	case *ast.StarExpr:
		return g.of(t.X)
	case *ast.ArrayType:
		items, err := g.of(t.Elt)
		return &schema{Type: "array", Items: items}, err
	case *ast.Ident:
		if s, is := scalars[t.Name]; is {
			return &s, nil
		}
		if s := g.structs[t.Name]; s != nil {
			return g.object(s)
		}
	}
	return nil, fmt.Errorf("no schema for the type %v", e)
}

func (g *generator) object(s *ast.StructType) (*schema, error) {
	out := &schema{Type: "object", Properties: map[string]*schema{}}
	for _, f := range s.Fields.List {
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, err
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
		field, err := g.of(f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := field.document(name, f.Doc.Text()); err != nil {
			return nil, err
		}
		if options != "omitempty" {
			out.Required = append(out.Required, name)
		}
		out.Properties[name] = field
	}
	return out, nil
}

// document takes the description and the allowed values from the comment of a field.
func (s *schema) document(name, comment string) error {
	for line := range strings.Lines(comment) {
		if values, is := strings.CutPrefix(strings.TrimSpace(line), "+kubebuilder:validation:Enum="); is {
			s.Enum = strings.Split(values, ";")
			continue
		}
		s.Description += line
	}
	s.Description = strings.Join(strings.Fields(s.Description), " ")
	if first, _, _ := strings.Cut(s.Description, " "); first != name {
		return fmt.Errorf("%s: the comment must begin with the name", name)
	}
	return nil
}

package loop

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"testing"
)

// TestReadsRecords checks that this package writes no field of requests and counters: packages book and tally do.
func TestReadsRecords(t *testing.T) {
	of := &imports{fset: token.NewFileSet(), known: map[string]*types.Package{}}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	_, files, err := of.check(".", info)
	if err != nil {
		t.Fatal(err)
	}
	owned := map[types.Object]string{}
	for _, of := range []*types.Package{of.known[runner+"book"], of.known[runner+"measure"]} {
		for _, name := range of.Scope().Names() {
			if s, ok := of.Scope().Lookup(name).Type().Underlying().(*types.Struct); ok {
				for i := range s.NumFields() {
					owned[s.Field(i)] = of.Name() + "." + name
				}
			}
		}
	}
	write := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.ParenExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				if field := owned[info.Uses[x.Sel]]; field != "" {
					t.Errorf("%s: writes %s.%s", of.fset.Position(x.Pos()), field, x.Sel.Name)
				}
			}
			return
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					write(e)
				}
			case *ast.IncDecStmt:
				write(n.X)
			}
			return true
		})
	}
}

const runner = "github.com/h2surge/h2surge/runner/"

// imports imports packages book and measure from their sources. All other packages are empty, so that uses of them are errors that it ignores.
type imports struct {
	fset  *token.FileSet
	known map[string]*types.Package
}

func (i *imports) Import(path string) (p *types.Package, err error) {
	if p, ok := i.known[path]; ok {
		return p, nil
	}
	switch path {
	case runner + "book", runner + "measure":
		p, _, err = i.check("../"+filepath.Base(path), nil)
	default:
		p = types.NewPackage(path, filepath.Base(path))
		p.MarkComplete()
	}
	i.known[path] = p
	return p, err
}

func (i *imports) check(dir string, info *types.Info) (*types.Package, []*ast.File, error) {
	list, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, nil, err
	}
	var files []*ast.File
	for _, name := range list.GoFiles {
		f, err := parser.ParseFile(i.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: i, Error: func(error) {}}
	p, _ := conf.Check(list.Name, i.fset, files, info)
	return p, files, nil
}

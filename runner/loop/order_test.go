package loop

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// order lists the files of the package. A function calls functions of its own file and of later files only.
var order = []string{
	// The worker: what a turn does, what other goroutines ask for, and the phases from connecting to the end.
	"worker.go", "wait.go", "control.go", "phases.go", "live.go",
	// Which request is sent next, and on which connection.
	"stall.go", "choose.go", "send.go", "instances.go",
	// Outcomes of requests.
	"outcomes.go",
	// What all of them use.
	"messages.go", "authorization.go", "script.go", "inbox.go", "clock.go",
	"doc.go",
}

// TestCallsGoDown checks that a reader who knows a file needs to read later files only.
func TestCallsGoDown(t *testing.T) {
	p := checkPackage(t, ".")
	for id, obj := range p.info.Uses {
		f, ok := obj.(*types.Func)
		if !ok || f.Pkg() != p.pkg {
			continue
		}
		from, to := p.file(id.Pos()), p.file(f.Origin().Pos())
		i, j := slices.Index(order, from), slices.Index(order, to)
		if i > j && j >= 0 {
			t.Errorf("%s calls %s of the earlier file %s", p.fset.Position(id.Pos()), f.Name(), to)
		}
	}
	for _, f := range p.files {
		if name := p.file(f.Pos()); !slices.Contains(order, name) {
			t.Errorf("%s has no place in the order", name)
		}
	}
}

// checked is the package without its tests. Types of other packages are unknown, but for those of book and measure.
type checked struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	pkg   *types.Package
	// records are the packages whose fields this one only reads.
	records []*types.Package
}

func (p *checked) file(pos token.Pos) string { return filepath.Base(p.fset.Position(pos).Filename) }

func checkPackage(t *testing.T, dir string) *checked {
	t.Helper()
	p := &checked{
		fset: token.NewFileSet(),
		info: &types.Info{
			Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
	}
	of := &imports{fset: p.fset, known: map[string]*types.Package{}}
	var err error
	if p.pkg, p.files, err = of.check(dir, p.info); err != nil {
		t.Fatal(err)
	}
	p.records = []*types.Package{of.known[runner+"book"], of.known[runner+"measure"]}
	return p
}

const runner = "github.com/h2surge/h2surge/runner/"

// imports imports packages book and measure from their sources. All other packages are empty.
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

// owners are the parts of a worker. Only methods of a part write its fields. The fields of requests and of counters are written in
// packages book and tally.
var owners = []string{"run", "clock", "stall", "scripts", "authorizations", "credential"}

func TestOnlyTheOwnerWrites(t *testing.T) {
	p := checkPackage(t, ".")
	owned, fileOf := map[types.Object]string{}, map[string]string{}
	for _, name := range owners {
		o := p.pkg.Scope().Lookup(name)
		if o == nil {
			t.Errorf("no type %s", name)
			continue
		}
		fileOf[name] = p.file(o.Pos())
		s := o.Type().Underlying().(*types.Struct)
		for i := range s.NumFields() {
			owned[s.Field(i)] = name
		}
	}
	for _, of := range p.records {
		for _, name := range of.Scope().Names() {
			if s, ok := of.Scope().Lookup(name).Type().Underlying().(*types.Struct); ok {
				for i := range s.NumFields() {
					owned[s.Field(i)] = of.Name() + "." + name
				}
			}
		}
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			receiver := receiverOf(fn)
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
						owner := owned[p.info.Uses[x.Sel]]
						if owner != "" && owner != receiver && p.file(x.Pos()) != fileOf[owner] {
							t.Errorf("%s: %s writes %s.%s", p.fset.Position(x.Pos()), fn.Name.Name, owner, x.Sel.Name)
						}
					}
					return
				}
			}
			ast.Inspect(fn, func(n ast.Node) bool {
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
}

func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// TestWalkNamesExist checks that the page that follows a request names the files and functions as they are.
func TestWalkNamesExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/design/engine.md")
	if err != nil {
		t.Fatal(err)
	}
	fileOf := map[string]string{}
	for dir, prefix := range map[string]string{".": "", "../conns": "conns/"} {
		p := checkPackage(t, dir)
		for _, f := range p.files {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					fileOf[strings.TrimPrefix(receiverOf(d)+"."+d.Name.Name, ".")] = prefix + p.file(d.Pos())
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							fileOf[s.Name.Name] = prefix + p.file(s.Pos())
						}
					}
				}
			}
		}
	}
	_, walk, _ := strings.Cut(string(page), "<!-- walk: checked by TestWalkNamesExist -->")
	walk, _, ok := strings.Cut(walk, "<!-- walk: end -->")
	rows := strings.Split(strings.TrimSpace(walk), "\n")
	if !ok || len(rows) < 3 || len(rows) > 2+7 {
		t.Fatalf("the walk has %d rows, want a header and at most seven files", len(rows))
	}
	for _, row := range rows[2:] {
		columns := strings.Split(row, "|")
		file := strings.Trim(columns[1], " `")
		for name := range strings.SplitSeq(columns[2], ",") {
			if name = strings.Trim(name, " `"); fileOf[name] != file {
				t.Errorf("%s is in %q, the page says %s", name, fileOf[name], file)
			}
		}
	}
	_, parts, _ := strings.Cut(string(page), "## The parts of a worker")
	parts, _, _ = strings.Cut(parts, "\n## ")
	for row := range strings.Lines(parts) {
		if columns := strings.Split(row, "|"); len(columns) == 5 && strings.Contains(columns[1], "`") {
			if name, file := strings.Trim(columns[1], " `"), strings.Trim(columns[2], " `"); fileOf[name] != file {
				t.Errorf("%s is in %q, the page says %s", name, fileOf[name], file)
			}
		}
	}
}

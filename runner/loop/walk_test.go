package loop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWalkNamesExist checks that the page that follows a request names the files and functions as they are.
func TestWalkNamesExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/project/design/engine.md")
	if err != nil {
		t.Fatal(err)
	}
	fileOf := map[string]string{}
	for dir, prefix := range map[string]string{".": "", "../conns": "conns/"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			in := prefix + filepath.Base(path)
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					fileOf[strings.TrimPrefix(receiverOf(d)+"."+d.Name.Name, ".")] = in
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							fileOf[s.Name.Name] = in
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

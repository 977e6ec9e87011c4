package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// text is one text to check: a page, a comment, a string, an identifier.
type text struct {
	file       string
	content    string
	lines      []mark
	visible    bool // Users see it.
	identifier bool
}

// mark says on which line of the file the content from offset on stands.
type mark struct{ offset, line int }

func (t text) lineOf(offset int) int {
	line := 0
	for _, m := range t.lines {
		if m.offset > offset {
			break
		}
		line = m.line
	}
	return line
}

type kind int

const (
	skipped kind = iota
	visiblePage
	script    // Comments are for developers, other lines are for users.
	goAPI     // Comments are for users: they become the CRD's descriptions.
	goProgram // String literals are for users.
	goRest    // Nothing is for users: tests, and programs that only developers run.
)

// generated lists files whose sources are checked instead.
var generated = []string{
	"docs/reference/api.md", "docs/reference/schema", "config/crd/bases",
	"config/crd/loadtest.json",
	"config/crd/loadtestschedule.json",
	"internal/mock/rules/schema.json", "config/rbac/role.yaml", "charts/h2surge/templates/crd.yaml",
	"charts/h2surge/templates/_rules.tpl",
}

func classify(file string) kind {
	for _, g := range generated {
		if within(file, g) {
			return skipped
		}
	}
	base := path.Base(file)
	in := func(folders ...string) bool {
		for _, f := range folders {
			if within(file, f) {
				return true
			}
		}
		return false
	}
	switch {
	case in("hack/prose"), strings.HasPrefix(base, "zz_generated"), in("hack/cluster/src"):
		return skipped // The rules name the words.
	case strings.HasSuffix(base, "_test.go"), strings.HasSuffix(base, ".go") && in("test", "internal/cli/clitest",
		"internal/convert/converttest", "controllers/internal/runnertest"):
		return goRest
	case strings.HasSuffix(base, ".go") && in("api", "internal/mock/rules/file.go"):
		return goAPI
	case strings.HasSuffix(base, ".go"):
		return goProgram
	case strings.HasSuffix(base, ".md"), in("charts", "config"), in("internal/cli/testdata/help",
		"internal/cli/testdata/messages.txt", "cmd/kubectl-h2surge/testdata"):
		return visiblePage
	case base == "Makefile", strings.HasSuffix(base, ".sh"), in("hack/cluster") && !strings.Contains(base, "."):
		return script
	}
	return skipped
}

func extract(file string, k kind, content []byte) ([]text, error) {
	switch k {
	case visiblePage:
		return []text{page(file, off.ReplaceAllStringFunc(string(content), keepLines), true)}, nil
	case script:
		return scriptTexts(file, string(content)), nil
	}
	return goTexts(file, k, content)
}

// off matches the part of a page that shows what not to write.
var off = regexp.MustCompile(`(?s)<!-- prose off: .*?<!-- prose on -->`)

// keepLines returns as many empty lines as s has lines.
func keepLines(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

func page(file, content string, visible bool) text {
	t := text{file: file, content: content, visible: visible}
	offset := 0
	for i, l := range strings.SplitAfter(content, "\n") {
		t.lines = append(t.lines, mark{offset, i + 1})
		offset += len(l)
	}
	return t
}

// scriptTexts returns the lines of a script that are comments as one text, and the others as another.
func scriptTexts(file, content string) []text {
	comments, rest := text{file: file}, text{file: file, visible: true}
	for i, l := range strings.Split(content, "\n") {
		t := &rest
		if strings.HasPrefix(strings.TrimSpace(l), "#") && !strings.HasPrefix(l, "##@") {
			t = &comments
			l = strings.TrimLeft(strings.TrimSpace(l), "# ")
		} else if code, comment, ok := strings.Cut(l, " # "); ok {
			comments.add(comment+"\n", i+1)
			l = code
		}
		t.add(l+"\n", i+1)
	}
	return []text{comments, rest}
}

func (t *text) add(s string, line int) {
	t.lines = append(t.lines, mark{len(t.content), line})
	t.content += s
}

func goTexts(file string, k kind, content []byte) ([]text, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	line := func(p token.Pos) int { return files.Position(p).Line }
	var out []text
	for _, group := range parsed.Comments {
		t := text{file: file, visible: k == goAPI}
		for _, c := range group.List {
			s := strings.TrimSuffix(strings.TrimPrefix(c.Text, "//"), "*/")
			for i, l := range strings.Split(strings.TrimPrefix(s, "/*"), "\n") {
				t.add(l+"\n", line(c.Slash)+i)
			}
		}
		out = append(out, t)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				for _, name := range n.Names {
					out = append(out, text{file: file, content: name.Name, identifier: true, lines: []mark{{0, line(name.Pos())}}})
				}
				return false
			}
			for _, name := range n.Names {
				out = append(out, text{file: file, content: name.Name, identifier: true, lines: []mark{{0, line(name.Pos())}}})
			}
		case *ast.FuncDecl:
			out = append(out, text{file: file, content: n.Name.Name, identifier: true, lines: []mark{{0, line(n.Name.Pos())}}})
		case *ast.TypeSpec:
			out = append(out, text{file: file, content: n.Name.Name, identifier: true, lines: []mark{{0, line(n.Name.Pos())}}})
		case *ast.ValueSpec:
			for _, name := range n.Names {
				out = append(out, text{file: file, content: name.Name, identifier: true, lines: []mark{{0, line(name.Pos())}}})
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if name, ok := e.(*ast.Ident); ok {
						out = append(out, text{file: file, content: name.Name, identifier: true, lines: []mark{{0, line(name.Pos())}}})
					}
				}
			}
		case *ast.BasicLit, *ast.BinaryExpr:
			t := text{file: file, visible: k == goAPI || k == goProgram}
			if t.literal(n.(ast.Expr), line) {
				out = append(out, t)
				return false
			}
		}
		return true
	})
	return out, nil
}

// literal appends a string, or strings that are added up, with "..." for what is not constant. It reports false for
// other expressions, which may have strings inside.
func (t *text) literal(e ast.Expr, line func(token.Pos) int) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return false
		}
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			return false
		}
		raw := strings.HasPrefix(e.Value, "`")
		for i, l := range strings.SplitAfter(s, "\n") {
			n := line(e.Pos())
			if raw {
				n += i
			}
			t.add(l, n)
		}
		return true
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return false
		}
		var left, right text
		x, y := left.literal(e.X, line), right.literal(e.Y, line)
		if !x && !y || !x && hasString(e.X) || !y && hasString(e.Y) {
			return false
		}
		for _, side := range []text{left, right} {
			if side.content == "" {
				t.add("...", line(e.OpPos))
			}
			for i, m := range side.lines {
				end := len(side.content)
				if i+1 < len(side.lines) {
					end = side.lines[i+1].offset
				}
				t.add(side.content[m.offset:end], m.line)
			}
		}
		return true
	case *ast.ParenExpr:
		return t.literal(e.X, line)
	}
	return false
}

// hasString reports whether a string literal is inside of an expression.
func hasString(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			found = true
		}
		return !found
	})
	return found
}

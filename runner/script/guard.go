package script

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// Two things that the interpreter does by itself allocate without a bound in one instruction: a concatenation, and an
// assignment to an array index far beyond the end. The guard replaces both in the syntax tree by calls of functions of
// the host, which check first. They come to the chunk as arguments and live in locals whose names no script can write.
const (
	guardConcat = "(concat)"
	guardSet    = "(set)"
	guardKey    = "(key)"
)

// maxDepth bounds recursion over a syntax tree, here and in the compiler.
const maxDepth = 500

// smallIndex is an array index that costs little, whatever the array.
const smallIndex = 64

var errTooDeep = errors.New("nested too deeply")

type guard struct{ depth int }

// rewrite puts the guard into a chunk.
func rewrite(chunk []ast.Stmt) (out []ast.Stmt, err error) {
	g := &guard{}
	out, err = g.block(chunk)
	if err != nil {
		return nil, err
	}
	locals := &ast.LocalAssignStmt{Names: []string{guardConcat, guardSet, guardKey}, Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	at(locals, 1)
	at(locals.Exprs[0], 1)
	return append([]ast.Stmt{locals}, out...), nil
}

func at(n ast.PositionHolder, line int) {
	n.SetLine(line)
	n.SetLastLine(line)
}

func (g *guard) enter(n ast.PositionHolder) error {
	if g.depth++; g.depth > maxDepth {
		return fmt.Errorf("%d: %w", n.Line(), errTooDeep)
	}
	return nil
}

func (g *guard) block(stmts []ast.Stmt) ([]ast.Stmt, error) {
	for i, s := range stmts {
		if err := g.enter(s); err != nil {
			return nil, err
		}
		changed, err := g.stmt(s)
		if err != nil {
			return nil, err
		}
		g.depth--
		stmts[i] = changed
	}
	return stmts, nil
}

func (g *guard) blocks(blocks ...*[]ast.Stmt) error {
	for _, b := range blocks {
		changed, err := g.block(*b)
		if err != nil {
			return err
		}
		*b = changed
	}
	return nil
}

func (g *guard) stmt(s ast.Stmt) (ast.Stmt, error) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return g.assign(s)
	case *ast.LocalAssignStmt:
		return s, g.list(s.Exprs)
	case *ast.FuncCallStmt:
		return s, g.exprs(&s.Expr)
	case *ast.DoBlockStmt:
		return s, g.blocks(&s.Stmts)
	case *ast.WhileStmt:
		return s, cmp.Or(g.exprs(&s.Condition), g.blocks(&s.Stmts))
	case *ast.RepeatStmt:
		return s, cmp.Or(g.exprs(&s.Condition), g.blocks(&s.Stmts))
	case *ast.IfStmt:
		return s, g.ifs(s)
	case *ast.NumberForStmt:
		return s, cmp.Or(g.exprs(&s.Init, &s.Limit, &s.Step), g.blocks(&s.Stmts))
	case *ast.GenericForStmt:
		return s, cmp.Or(g.list(s.Exprs), g.blocks(&s.Stmts))
	case *ast.FuncDefStmt:
		return s, g.blocks(&s.Func.Stmts)
	case *ast.ReturnStmt:
		return s, g.list(s.Exprs)
	}
	return s, nil // break, label and goto have nothing inside
}

// ifs goes along a chain of elseif, which the parser nests, without going deeper.
func (g *guard) ifs(s *ast.IfStmt) error {
	for {
		if err := cmp.Or(g.exprs(&s.Condition), g.blocks(&s.Then)); err != nil {
			return err
		}
		next, ok := (*ast.IfStmt)(nil), false
		if len(s.Else) == 1 {
			next, ok = s.Else[0].(*ast.IfStmt)
		}
		if !ok {
			return g.blocks(&s.Else)
		}
		// The compiler does recurse here, so a chain is bounded as well, if more generously.
		if g.depth++; g.depth > 4*maxDepth {
			return fmt.Errorf("%d: %w", s.Line(), errTooDeep)
		}
		defer func() { g.depth-- }()
		s = next
	}
}

func (g *guard) list(exprs []ast.Expr) error {
	for i := range exprs {
		if err := g.exprs(&exprs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (g *guard) exprs(exprs ...*ast.Expr) error {
	for _, e := range exprs {
		if *e == nil {
			continue
		}
		if err := g.enter(*e); err != nil {
			return err
		}
		if err := g.expr(e); err != nil {
			return err
		}
		g.depth--
	}
	return nil
}

func (g *guard) expr(e *ast.Expr) error {
	switch x := (*e).(type) {
	case *ast.StringConcatOpExpr:
		return g.concat(e, x)
	case *ast.AttrGetExpr:
		return g.exprs(&x.Object, &x.Key)
	case *ast.TableExpr:
		return g.table(x)
	case *ast.FuncCallExpr:
		return cmp.Or(g.exprs(&x.Func, &x.Receiver), g.list(x.Args))
	case *ast.LogicalOpExpr:
		return g.exprs(&x.Lhs, &x.Rhs)
	case *ast.RelationalOpExpr:
		return g.exprs(&x.Lhs, &x.Rhs)
	case *ast.ArithmeticOpExpr:
		return g.exprs(&x.Lhs, &x.Rhs)
	case *ast.UnaryMinusOpExpr:
		return g.exprs(&x.Expr)
	case *ast.UnaryNotOpExpr:
		return g.exprs(&x.Expr)
	case *ast.UnaryLenOpExpr:
		return g.exprs(&x.Expr)
	case *ast.FunctionExpr:
		return g.blocks(&x.Stmts)
	}
	return nil
}

// concat flattens a .. b .. c, which is right associative, into one call: one result is allocated instead of two.
func (g *guard) concat(e *ast.Expr, x *ast.StringConcatOpExpr) error {
	args := []ast.Expr{x.Lhs}
	rest := x.Rhs
	for {
		next, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		args, rest = append(args, next.Lhs), next.Rhs
	}
	args = append(args, rest)
	if err := g.list(args); err != nil {
		return err
	}
	// The last operand's further results are not part of the concatenation.
	adjust(args[len(args)-1])
	*e = call(guardConcat, x.Line(), args)
	return nil
}

// adjust cuts an expression to one value, as parentheses do.
func adjust(e ast.Expr) {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		x.AdjustRet = true
	case *ast.Comma3Expr:
		x.AdjustRet = true
	}
}

func call(name string, line int, args []ast.Expr) *ast.FuncCallExpr {
	fn := &ast.IdentExpr{Value: name}
	c := &ast.FuncCallExpr{Func: fn, Args: args, AdjustRet: true}
	at(fn, line)
	at(c, line)
	return c
}

// table guards {[key] = value}: the table is new, so the key says it all.
func (g *guard) table(x *ast.TableExpr) error {
	for _, f := range x.Fields {
		if err := g.exprs(&f.Key, &f.Value); err != nil {
			return err
		}
		if f.Key != nil && !harmless(f.Key) {
			f.Key = call(guardKey, f.Key.Line(), []ast.Expr{f.Key})
		}
	}
	return nil
}

// harmless keys are written in the source, and strings or small numbers.
func harmless(key ast.Expr) bool {
	switch k := key.(type) {
	case *ast.StringExpr:
		return true
	case *ast.NumberExpr:
		n, err := strconv.ParseFloat(k.Value, 64)
		return err == nil && n <= smallIndex
	}
	return false
}

func guarded(target ast.Expr) (*ast.AttrGetExpr, bool) {
	x, ok := target.(*ast.AttrGetExpr)
	return x, ok && !harmless(x.Key)
}

func (g *guard) assign(s *ast.AssignStmt) (ast.Stmt, error) {
	if err := cmp.Or(g.list(s.Lhs), g.list(s.Rhs)); err != nil {
		return nil, err
	}
	found := false
	for _, l := range s.Lhs {
		_, ok := guarded(l)
		found = found || ok
	}
	if !found {
		return s, nil
	}
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		x, _ := guarded(s.Lhs[0])
		adjust(s.Rhs[0])
		return g.set(s.Line(), x.Object, x.Key, s.Rhs[0]), nil
	}
	return g.multiple(s), nil
}

func (g *guard) set(line int, object, key, value ast.Expr) ast.Stmt {
	st := &ast.FuncCallStmt{Expr: call(guardSet, line, []ast.Expr{object, key, value})}
	at(st, line)
	return st
}

// multiple keeps the meaning of a, t[i] = x, y: everything is evaluated before anything is assigned.
func (g *guard) multiple(s *ast.AssignStmt) ast.Stmt {
	line := s.Line()
	ident := func(kind string, i int) *ast.IdentExpr {
		id := &ast.IdentExpr{Value: "(" + kind + strconv.Itoa(i) + ")"}
		at(id, line)
		return id
	}
	places := &ast.LocalAssignStmt{}
	values := &ast.LocalAssignStmt{Exprs: s.Rhs}
	var sets []ast.Stmt
	for i, l := range s.Lhs {
		value := ident("value", i)
		values.Names = append(values.Names, value.Value)
		x, ok := l.(*ast.AttrGetExpr)
		if !ok {
			plain := &ast.AssignStmt{Lhs: []ast.Expr{l}, Rhs: []ast.Expr{value}}
			at(plain, line)
			sets = append(sets, plain)
			continue
		}
		object, key := ident("object", i), ident("key", i)
		places.Names = append(places.Names, object.Value, key.Value)
		places.Exprs = append(places.Exprs, x.Object, x.Key)
		sets = append(sets, g.set(line, object, key, value))
	}
	at(places, line)
	at(values, line)
	do := &ast.DoBlockStmt{Stmts: append([]ast.Stmt{places, values}, sets...)}
	at(do, line)
	return do
}

package script

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// Three operations of the interpreter allocate much in one instruction: a concatenation, an assignment to an array index
// far beyond the end, and a list of all results of a call. For a tail call, the trace of an error has a line. The guard
// changes the syntax tree: functions of the state check first, or replace the operation. The chunk gets these functions as
// arguments, in locals whose names a script cannot write.
const (
	guardConcat = "(concat)" // (concat)(a, b, c) is a .. b .. c
	guardSet    = "(set)"    // (set)(t, k, v) is t[k] = v
	guardKey    = "(key)"    // (key)(k) is k, in constructors and in assignments to several targets
	guardAll    = "(all)"    // {(all)(f())} is {f()}
	guardTail   = "(tail)"   // (tail)() comes before return f()
)

// maxDepth bounds recursion over a syntax tree, here and in the compiler.
const maxDepth = 500

// smallIndex is an array index that costs at most 1 KiB.
const smallIndex = 64

var errTooDeep = errors.New("nested too deeply")

type guard struct{ depth int }

// rewrite puts the guard into a chunk.
func rewrite(chunk []ast.Stmt) ([]ast.Stmt, error) {
	g := &guard{}
	if err := g.blocks(chunk); err != nil {
		return nil, err
	}
	locals := &ast.LocalAssignStmt{Names: []string{guardConcat, guardSet, guardKey, guardAll, guardTail}, Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	at(locals, 1)
	at(locals.Exprs[0], 1)
	return append([]ast.Stmt{locals}, chunk...), nil
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

func (g *guard) blocks(blocks ...[]ast.Stmt) error {
	for _, stmts := range blocks {
		for i := range stmts {
			if err := g.enter(stmts[i]); err != nil {
				return err
			}
			if err := g.stmt(&stmts[i]); err != nil {
				return err
			}
			g.depth--
		}
	}
	return nil
}

func (g *guard) stmt(p *ast.Stmt) error {
	switch s := (*p).(type) {
	case *ast.AssignStmt:
		return g.assign(p, s)
	case *ast.LocalAssignStmt:
		return g.list(s.Exprs)
	case *ast.FuncCallStmt:
		return g.exprs(&s.Expr)
	case *ast.DoBlockStmt:
		return g.blocks(s.Stmts)
	case *ast.WhileStmt:
		return cmp.Or(g.exprs(&s.Condition), g.blocks(s.Stmts))
	case *ast.RepeatStmt:
		return cmp.Or(g.exprs(&s.Condition), g.blocks(s.Stmts))
	case *ast.IfStmt:
		return g.ifs(s)
	case *ast.NumberForStmt:
		return cmp.Or(g.exprs(&s.Init, &s.Limit, &s.Step), g.blocks(s.Stmts))
	case *ast.GenericForStmt:
		return cmp.Or(g.list(s.Exprs), g.blocks(s.Stmts))
	case *ast.FuncDefStmt:
		return g.blocks(s.Func.Stmts)
	case *ast.ReturnStmt:
		*p = tail(s)
		return g.list(s.Exprs)
	}
	return nil // break, label and goto contain nothing
}

// tail guards a tail call.
func tail(s *ast.ReturnStmt) ast.Stmt {
	if len(s.Exprs) != 1 {
		return s
	}
	if f, ok := s.Exprs[0].(*ast.FuncCallExpr); !ok || f.AdjustRet {
		return s
	}
	do := &ast.DoBlockStmt{Stmts: []ast.Stmt{callStmt(guardTail, s.Line(), nil), s}}
	at(do, s.Line())
	return do
}

// ifs follows a chain of elseif, which the parser nests, without recursion.
func (g *guard) ifs(s *ast.IfStmt) error {
	for {
		if err := cmp.Or(g.exprs(&s.Condition), g.blocks(s.Then)); err != nil {
			return err
		}
		next, ok := (*ast.IfStmt)(nil), false
		if len(s.Else) == 1 {
			next, ok = s.Else[0].(*ast.IfStmt)
		}
		if !ok {
			return g.blocks(s.Else)
		}
		// The compiler recurses here, with less stack.
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
		return g.blocks(x.Stmts)
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

func callStmt(name string, line int, args []ast.Expr) ast.Stmt {
	s := &ast.FuncCallStmt{Expr: call(name, line, args)}
	at(s, line)
	return s
}

// table guards {[key] = value} and {f()}.
func (g *guard) table(x *ast.TableExpr) error {
	for i, f := range x.Fields {
		if i == len(x.Fields)-1 && f.Key == nil {
			g.all(&f.Value)
		}
		if err := g.exprs(&f.Key, &f.Value); err != nil {
			return err
		}
		if f.Key != nil {
			f.Key = guarded(f.Key)
		}
	}
	return nil
}

// all guards an expression with many results.
func (g *guard) all(e *ast.Expr) {
	switch x := (*e).(type) {
	case *ast.FuncCallExpr:
		if x.AdjustRet {
			return
		}
	case *ast.Comma3Expr:
		if x.AdjustRet {
			return
		}
	default:
		return
	}
	c := call(guardAll, (*e).Line(), []ast.Expr{*e})
	c.AdjustRet = false
	*e = c
}

// harmless keys are strings or small numbers in the source.
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

func guarded(key ast.Expr) ast.Expr {
	if harmless(key) {
		return key
	}
	return call(guardKey, key.Line(), []ast.Expr{key})
}

func (g *guard) assign(p *ast.Stmt, s *ast.AssignStmt) error {
	if err := cmp.Or(g.list(s.Lhs), g.list(s.Rhs)); err != nil {
		return err
	}
	for _, l := range s.Lhs {
		x, ok := l.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		if len(s.Lhs) == 1 && len(s.Rhs) == 1 && !harmless(x.Key) {
			adjust(s.Rhs[0])
			*p = callStmt(guardSet, s.Line(), []ast.Expr{x.Object, x.Key, s.Rhs[0]})
			return nil
		}
		x.Key = guarded(x.Key)
	}
	return nil
}

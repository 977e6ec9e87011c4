package script

import (
	"errors"
	"fmt"
	"reflect"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// Three operations of the interpreter allocate much in one instruction: a concatenation, an assignment to an array
// index far beyond the end, and a list of all results of a call. For a tail call, the trace of an error has a line. The
// guard changes the syntax tree: functions of the budget check first, or replace the operation. The chunk gets these
// functions as arguments, in locals whose names a script cannot write.
const (
	guardConcat = "(concat)" // (concat)(a, b, c) is a .. b .. c
	guardSet    = "(set)"    // (set)(t, k, v) is t[k] = v
	guardKey    = "(key)"    // (key)(k) is k, in constructors and in assignments to several targets
	guardAll    = "(all)"    // {(all)(f())} is {f()}
	guardTail   = "(tail)"   // (tail)() comes before return f()
)

// guards returns the functions of the guard, in the order of the names in guard.
func (b *budget) guards() []lua.LGFunction {
	return []lua.LGFunction{b.concat, b.setIndex, b.newKey, b.all, b.tailCall}
}

// maxDepth bounds the nodes of a syntax tree that contain each other: recursion here and in the compiler.
const maxDepth = 2000

// smallIndex is an array index that costs less than 2 KiB. It has two digits.
const smallIndex = 99

var errTooDeep = errors.New("nested too deeply")

// guard puts the guard into a chunk.
func guard(chunk []ast.Stmt) ([]ast.Stmt, error) {
	w := &walker{}
	if w.walk(reflect.ValueOf(chunk)); w.err != nil {
		return nil, w.err
	}
	locals := at(1, &ast.LocalAssignStmt{
		Names: []string{guardConcat, guardSet, guardKey, guardAll, guardTail}, Exprs: []ast.Expr{at(1, &ast.Comma3Expr{})},
	})
	return append([]ast.Stmt{locals}, chunk...), nil
}

func at[N ast.PositionHolder](line int, n N) N {
	n.SetLine(line)
	n.SetLastLine(line)
	return n
}

// walker guards the nodes of a syntax tree, inner ones first.
type walker struct {
	depth int
	err   error
}

// walk looks for nodes in a part of a tree. A node is the value of an interface.
func (w *walker) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			w.walk(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.node(v)
		}
	}
}

func (w *walker) node(v reflect.Value) {
	n := v.Interface().(ast.PositionHolder)
	if w.depth++; w.depth > maxDepth && w.err == nil {
		w.err = fmt.Errorf("%d: %w", n.Line(), errTooDeep)
	}
	if w.err != nil {
		return
	}
	w.walk(v.Elem())
	w.depth--
	v.Set(reflect.ValueOf(guarded(n)))
}

// guarded returns a node, or what replaces it. The guard is in its parts already.
func guarded(n ast.PositionHolder) ast.PositionHolder {
	switch n := n.(type) {
	case *ast.StringConcatOpExpr:
		return guardedConcat(n)
	case *ast.AssignStmt:
		return guardedAssign(n)
	case *ast.TableExpr:
		guardTable(n)
	case *ast.ReturnStmt:
		return guardedReturn(n)
	}
	return n
}

// guardedConcat makes one call of a .. b .. c, which is right associative: one result is allocated instead of two.
func guardedConcat(x *ast.StringConcatOpExpr) ast.Expr {
	args := []ast.Expr{x.Lhs, x.Rhs}
	if hasMany(x.Rhs) {
		*adjusted(x.Rhs) = true
	}
	if rest, ok := x.Rhs.(*ast.FuncCallExpr); ok {
		if fn, ok := rest.Func.(*ast.IdentExpr); ok && fn.Value == guardConcat {
			args = append(args[:1], rest.Args...)
		}
	}
	return call(guardConcat, x.Line(), args...)
}

// guardedAssign guards computed keys.
func guardedAssign(s *ast.AssignStmt) ast.Stmt {
	for _, l := range s.Lhs {
		x, ok := l.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		if len(s.Lhs) == 1 && len(s.Rhs) == 1 && !harmless(x.Key) {
			return callStmt(guardSet, s.Line(), x.Object, x.Key, s.Rhs[0])
		}
		x.Key = guardedKey(x.Key)
	}
	return s
}

// guardedReturn guards a tail call.
func guardedReturn(s *ast.ReturnStmt) ast.Stmt {
	if len(s.Exprs) != 1 || !hasMany(s.Exprs[0]) {
		return s
	}
	return at(s.Line(), &ast.DoBlockStmt{Stmts: []ast.Stmt{callStmt(guardTail, s.Line()), s}})
}

// guardTable guards {[key] = value} and {f()}.
func guardTable(x *ast.TableExpr) {
	for i, f := range x.Fields {
		if f.Key != nil {
			f.Key = guardedKey(f.Key)
		} else if i == len(x.Fields)-1 && hasMany(f.Value) {
			all := call(guardAll, f.Value.Line(), f.Value)
			all.AdjustRet = false
			f.Value = all
		}
	}
}

func guardedKey(key ast.Expr) ast.Expr {
	if harmless(key) {
		return key
	}
	return call(guardKey, key.Line(), key)
}

// harmless keys are strings or small numbers in the source.
func harmless(key ast.Expr) bool {
	_, isString := key.(*ast.StringExpr)
	n, isNumber := key.(*ast.NumberExpr)
	return isString || isNumber && len(n.Value) <= 2
}

// adjusted returns the field that cuts an expression to one value, as parentheses do, or nil if it has one value only.
func adjusted(e ast.Expr) *bool {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		return &x.AdjustRet
	case *ast.Comma3Expr:
		return &x.AdjustRet
	}
	return nil
}

func hasMany(e ast.Expr) bool {
	a := adjusted(e)
	return a != nil && !*a
}

func call(name string, line int, args ...ast.Expr) *ast.FuncCallExpr {
	return at(line, &ast.FuncCallExpr{Func: at(line, &ast.IdentExpr{Value: name}), Args: args, AdjustRet: true})
}

func callStmt(name string, line int, args ...ast.Expr) ast.Stmt {
	return at(line, &ast.FuncCallStmt{Expr: call(name, line, args...)})
}

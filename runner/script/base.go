package script

import (
	"math"
	"math/rand/v2"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Scripts have these functions of the interpreter. All others are of this package.
const (
	keptBase = "_G _VERSION assert error getmetatable ipairs next pairs pcall rawequal rawget select type xpcall"
	keptMath = "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp ldexp log log10 max min mod modf pi pow rad sin sinh " +
		"sqrt tan tanh"
)

// maxPushed is the most values that a function returns.
const maxPushed = 8000

func (s *state) openLibraries() {
	L, globals := s.L, s.L.G.Global
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenMath, lua.OpenOs} {
		open(L)
		L.SetTop(0)
	}
	numbers, os := globals.RawGetString("math").(*lua.LTable), globals.RawGetString("os").(*lua.LTable)
	keep(globals, keptBase)
	for _, name := range []string{"pcall", "xpcall"} {
		replace(L, globals, name, s.budget.protect)
	}
	for _, name := range []string{"next", "pairs", "rawget"} {
		replace(L, globals, name, s.filled)
	}
	define(L, globals, map[string]lua.LGFunction{
		"collectgarbage": func(L *lua.LState) int { return pushNumber(L, 0, true) },
		"print":          func(*lua.LState) int { return 0 },
		"rawset":         s.rawSet, "require": s.require, "setmetatable": setMetatable, "tonumber": toNumber,
		"tostring": toString,
		"unpack":   unpack,
	})
	keep(numbers, keptMath)
	numbers.RawSetString("huge", lua.LNumber(math.Inf(1)))
	r := random{newRandom(s.budget.limits.Seed, uint64(s.number))}
	define(L, numbers, map[string]lua.LGFunction{"random": r.next, "randomseed": r.seed})
	keep(os, "time clock date")
	replace(L, os, "date", shortFormat)
	s.json.open(s)
	texts := &stringLibrary{budget: s.budget}
	for name, library := range map[string]lua.LValue{
		"json": s.json.table, "math": numbers, "os": os, "rapidjson": s.json.table, "string": texts.open(L),
		"table": tableLibrary{s.budget}.open(&s.objects), "vars": s.vars,
	} {
		globals.RawSetString(name, library)
	}
	// Scripts cannot reach what the interpreter's libraries have registered.
	keep(L.G.Registry, "")
}

// keep removes all other names from a table.
func keep(t *lua.LTable, names string) {
	kept := map[string]lua.LValue{}
	for _, n := range strings.Fields(names) {
		kept[n] = t.RawGetString(n)
	}
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(lua.LNil) {
		t.RawSet(k, lua.LNil)
	}
	for n, v := range kept {
		t.RawSetString(n, v)
	}
}

func define(L *lua.LState, t *lua.LTable, functions map[string]lua.LGFunction) *lua.LTable {
	for name, fn := range functions {
		t.RawSetString(name, L.NewFunction(fn))
	}
	return t
}

// replace puts a function around one of the interpreter. The function can use the upvalues of the other one.
func replace(L *lua.LState, t *lua.LTable, name string, around func(lua.LGFunction) lua.LGFunction) {
	inner := t.RawGetString(name).(*lua.LFunction)
	outer := L.NewFunction(around(inner.GFunction))
	outer.Upvalues = inner.Upvalues
	t.RawSetString(name, outer)
}

// protect counts what a caught error costs: the interpreter writes a trace of the stack, and the message can be as long
// as a string.
func (b *budget) protect(call lua.LGFunction) lua.LGFunction {
	const perFrame = 16 * bytesPerInstruction
	return func(L *lua.LState) int {
		n := call(L)
		if n > 0 && L.Get(-n) == lua.LFalse {
			frames := 8
			for _, deeper := L.GetStack(frames); deeper && frames < callStack; _, deeper = L.GetStack(frames) {
				frames *= 2
			}
			b.charge(L, frames*perFrame)
			b.need(L, maxString)
		}
		return n
	}
}

// shortFormat bounds what os.date writes.
func shortFormat(date lua.LGFunction) lua.LGFunction {
	return func(L *lua.LState) int {
		if len(L.OptString(1, "")) > 1024 {
			L.ArgError(1, "the format is too long")
		}
		return date(L)
	}
}

func (s *state) require(L *lua.LState) int {
	name := arg(L, 1)
	if name != "json" && name != "rapidjson" {
		L.RaiseError("module %q not found; available: json and rapidjson", shorten(name))
	}
	L.Push(s.json.table)
	return 1
}

// setMetatable is for tables only.
func setMetatable(L *lua.LState) int {
	t := L.CheckTable(1)
	L.CheckTypes(2, lua.LTNil, lua.LTTable)
	if L.GetMetaField(t, "__metatable") != lua.LNil {
		L.RaiseError("cannot change a protected metatable")
	}
	t.Metatable = L.Get(2)
	L.SetTop(1)
	return 1
}

func (s *state) rawSet(L *lua.LState) int {
	t, key, value := L.CheckTable(1), L.CheckAny(2), L.CheckAny(3)
	L.SetTop(1)
	s.fill(L, t)
	if n, ok := key.(lua.LNumber); ok {
		s.budget.stretch(L, t, n)
	}
	L.RawSet(t, key, value)
	return 1
}

func toNumber(L *lua.LState) int {
	base := optInt(L, 2, 10)
	if base < 2 || base > 36 {
		L.ArgError(2, "base out of range")
	}
	var f float64
	var ok bool
	if base == 10 {
		f, ok = number(L.CheckAny(1))
	} else {
		f, ok = parseInBase(arg(L, 1), base)
	}
	return pushNumber(L, f, ok)
}

func toString(L *lua.LState) int {
	L.Push(display(L, L.CheckAny(1)))
	return 1
}

// display returns what tostring returns.
func display(L *lua.LState, v lua.LValue) lua.LValue {
	switch v := v.(type) {
	case lua.LString:
		return v
	case lua.LNumber:
		return lua.LString(numberText(v))
	}
	op := L.GetMetaField(v, "__tostring")
	if op == lua.LNil {
		return lua.LString(v.String())
	}
	out := invoke(L, op, v)
	if out.Type() != lua.LTString {
		L.RaiseError("'tostring' must return a string")
	}
	return out
}

func unpack(L *lua.LState) int {
	t := L.CheckTable(1)
	from, to := optInt(L, 2, 1), optInt(L, 3, t.Len())
	if to-from >= maxPushed {
		L.RaiseError("too many results to unpack")
	}
	for i := from; i <= to; i++ {
		L.Push(t.RawGet(lua.LNumber(i)))
	}
	return max(to-from+1, 0)
}

// random has the sequence of a script.
type random struct{ *rand.Rand }

func newRandom(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func (r random) next(L *lua.LState) int {
	if L.GetTop() == 0 {
		return pushNumber(L, r.Float64(), true)
	}
	low, high := 1, intArg(L, 1)
	if L.GetTop() > 1 {
		low, high = high, intArg(L, 2)
	}
	if low > high {
		L.ArgError(L.GetTop(), "interval is empty")
	}
	return pushNumber(L, float64(low+int(r.Uint64N(uint64(high-low)+1))), true)
}

// seed starts a sequence again.
func (r random) seed(L *lua.LState) int {
	*r.Rand = *newRandom(uint64(intArg(L, 1)), 0)
	return 0
}

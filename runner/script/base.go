package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// Scripts have these functions of the interpreter. All others are of this package.
var (
	keptBase = []string{"_G", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "select", "type", "xpcall"}
	keptMath = []string{
		"abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod", "frexp", "ldexp", "log",
		"log10", "max", "min", "mod", "modf", "pi", "pow", "rad", "sin", "sinh", "sqrt", "tan", "tanh",
	}
)

func (s *state) openLibraries() {
	L := s.L
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenMath, lua.OpenOs} {
		open(L)
		L.SetTop(0)
	}
	globals := L.G.Global
	math, os := globals.RawGetString("math").(*lua.LTable), globals.RawGetString("os").(*lua.LTable)
	keep(globals, keptBase)
	for _, name := range []string{"pcall", "xpcall"} {
		protected := globals.RawGetString(name).(*lua.LFunction).GFunction
		globals.RawSetString(name, L.NewFunction(s.protect(protected)))
	}
	for _, name := range []string{"next", "pairs", "rawget"} {
		globals.RawSetString(name, s.filled(globals.RawGetString(name).(*lua.LFunction)))
	}
	globals.RawSetString("vars", s.vars)
	globals.RawSetString("_VERSION", lua.LString(lua.LuaVersion))
	define(s.L, globals, map[string]lua.LGFunction{
		"collectgarbage": s.collectGarbage,
		"print":          func(*lua.LState) int { return 0 }, "rawset": s.rawSet, "require": s.require,
		"setmetatable": s.setMetatable, "tonumber": s.toNumber, "tostring": s.toString, "unpack": s.unpack,
	})
	globals.RawSetString("math", s.mathLibrary(math))
	globals.RawSetString("os", s.clockLibrary(os))
	globals.RawSetString("string", s.stringLibrary())
	globals.RawSetString("table", s.tableLibrary())
	s.json.open(s)
	globals.RawSetString("json", s.json.table)
	globals.RawSetString("rapidjson", s.json.table)
	// Scripts cannot reach what the interpreter's libraries have registered.
	keep(L.G.Registry, nil)
}

// keep removes all other names from a table.
func keep(t *lua.LTable, names []string) {
	values := make([]lua.LValue, len(names))
	for i, n := range names {
		values[i] = t.RawGetString(n)
	}
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(lua.LNil) {
		t.RawSet(k, lua.LNil)
	}
	for i, n := range names {
		t.RawSetString(n, values[i])
	}
}

func define(L *lua.LState, t *lua.LTable, functions map[string]lua.LGFunction) *lua.LTable {
	for name, fn := range functions {
		t.RawSetString(name, L.NewFunction(fn))
	}
	return t
}

// protect counts what a caught error costs: the interpreter writes a trace of the stack, and the message can be as long
// as a string.
func (s *state) protect(call lua.LGFunction) lua.LGFunction {
	const perFrame = 16 * bytesPerInstruction
	return func(L *lua.LState) int {
		n := call(L)
		if n > 0 && L.Get(-n) == lua.LFalse {
			frames := 8
			for _, deeper := L.GetStack(frames); deeper && frames < callStack; _, deeper = L.GetStack(frames) {
				frames *= 2
			}
			s.budget.charge(L, frames*perFrame)
			s.budget.need(L, maxString)
		}
		return n
	}
}

func (s *state) collectGarbage(L *lua.LState) int {
	L.Push(lua.LNumber(0))
	return 1
}

func (s *state) require(L *lua.LState) int {
	name := arg(L, 1)
	if name != "json" && name != "rapidjson" {
		L.RaiseError("module %q not found; available: json and rapidjson", shorten(name))
	}
	L.Push(s.json.table)
	return 1
}

func (s *state) setMetatable(L *lua.LState) int {
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

func (s *state) toNumber(L *lua.LState) int {
	v := L.CheckAny(1)
	if base := optInt(L, 2, 10); base != 10 {
		if base < 2 || base > 36 {
			L.ArgError(2, "base out of range")
		}
		return pushNumber(L, func() (float64, bool) { return parseInBase(arg(L, 1), base) })
	}
	if n, ok := v.(lua.LString); ok {
		s.budget.charge(L, len(n))
	}
	return pushNumber(L, func() (float64, bool) { return number(v) })
}

func pushNumber(L *lua.LState, parse func() (float64, bool)) int {
	if f, ok := parse(); ok {
		L.Push(lua.LNumber(f))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

func (s *state) toString(L *lua.LState) int {
	L.Push(s.display(L, L.CheckAny(1)))
	return 1
}

// display returns what tostring returns.
func (s *state) display(L *lua.LState, v lua.LValue) lua.LValue {
	switch v := v.(type) {
	case lua.LString:
		return v
	case lua.LNumber:
		return lua.LString(numberText(v))
	}
	if op := L.GetMetaField(v, "__tostring"); op != lua.LNil {
		L.Push(op)
		L.Push(v)
		L.Call(1, 1)
		out := L.Get(-1)
		L.Pop(1)
		if out.Type() != lua.LTString {
			L.RaiseError("'tostring' must return a string")
		}
		return out
	}
	return lua.LString(v.String())
}

func (s *state) unpack(L *lua.LState) int {
	t := L.CheckTable(1)
	from, to := optInt(L, 2, 1), optInt(L, 3, t.Len())
	if from > to {
		return 0
	}
	if to-from >= maxPushed {
		L.RaiseError("too many results to unpack")
	}
	for i := from; i <= to; i++ {
		L.Push(t.RawGet(lua.LNumber(i)))
	}
	return to - from + 1
}

// maxPushed is the most values that a function returns.
const maxPushed = 8000

func (s *state) mathLibrary(t *lua.LTable) *lua.LTable {
	keep(t, keptMath)
	t.RawSetString("huge", lua.LNumber(math.Inf(1)))
	return define(s.L, t, map[string]lua.LGFunction{"random": s.random, "randomseed": s.randomSeed})
}

func (s *state) random(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.Push(lua.LNumber(s.rng.Float64()))
		return 1
	}
	low, high := 1, intArg(L, 1)
	if L.GetTop() > 1 {
		low, high = high, intArg(L, 2)
	}
	if low > high {
		L.ArgError(L.GetTop(), "interval is empty")
	}
	L.Push(lua.LNumber(low + int(s.rng.Uint64N(uint64(high-low)+1))))
	return 1
}

// randomSeed starts the script's sequence again.
func (s *state) randomSeed(L *lua.LState) int {
	s.rng = newRandom(uint64(intArg(L, 1)), 0)
	return 0
}

// clockLibrary has the functions of os for the time.
func (s *state) clockLibrary(t *lua.LTable) *lua.LTable {
	date := t.RawGetString("date").(*lua.LFunction).GFunction
	keep(t, []string{"time", "clock"})
	return define(s.L, t, map[string]lua.LGFunction{"date": func(L *lua.LState) int {
		const most = 1024
		if len(L.OptString(1, "")) > most {
			L.ArgError(1, "the format is too long")
		}
		return date(L)
	}})
}

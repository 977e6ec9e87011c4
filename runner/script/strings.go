package script

import (
	"bytes"
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/octet"
)

// stringLibrary makes the global string, which also has the methods of strings.
func (s *state) stringLibrary() *lua.LTable {
	t := define(s.L, s.L.NewTable(), map[string]lua.LGFunction{
		"byte": s.strByte, "char": s.strChar, "find": s.strFind, "format": s.strFormat, "gmatch": s.strGmatch, "gsub": s.strGsub,
		"len": s.strLen, "lower": s.strLower, "match": s.strMatch, "rep": s.strRep, "reverse": s.strReverse, "sub": s.strSub,
		"upper": s.strUpper,
	})
	meta := s.L.NewTable()
	meta.RawSetString("__index", t)
	meta.RawSetString("__metatable", lua.LString("string"))
	s.L.SetMetatable(lua.LString(""), meta)
	return t
}

// place returns the offset of an index of Lua. The first index is 1, and negative ones count from the end.
func place(i, length int) int {
	switch {
	case i > 0:
		return i - 1
	case i == 0:
		return 0
	}
	return max(length+i, 0)
}

// span returns the part of a string between two indices of Lua.
func span(str string, i, j int) string {
	from := place(i, len(str))
	to := j
	if j < 0 {
		to = len(str) + j + 1
	}
	to = min(to, len(str))
	if from >= to {
		return ""
	}
	return str[from:to]
}

func (s *state) strByte(L *lua.LState) int {
	i := optInt(L, 2, 1)
	part := span(arg(L, 1), i, optInt(L, 3, i))
	if len(part) > maxPushed {
		L.RaiseError("string slice too long")
	}
	for i := range len(part) {
		L.Push(integer(int(part[i])))
	}
	return len(part)
}

func (s *state) strChar(L *lua.LState) int {
	out := make([]byte, L.GetTop())
	for i := range out {
		n := intArg(L, i+1)
		if n < 0 || n > 255 {
			L.ArgError(i+1, "invalid value")
		}
		out[i] = byte(n)
	}
	L.Push(lua.LString(out))
	return 1
}

func (s *state) strLen(L *lua.LState) int {
	L.Push(lua.LNumber(len(arg(L, 1))))
	return 1
}

func (s *state) strSub(L *lua.LState) int {
	L.Push(lua.LString(span(arg(L, 1), intArg(L, 2), optInt(L, 3, -1))))
	return 1
}

func (s *state) strLower(L *lua.LState) int { return s.mapBytes(L, octet.Lower) }
func (s *state) strUpper(L *lua.LState) int { return s.mapBytes(L, octet.Upper) }

// mapBytes changes ASCII letters only, as Lua does in the C locale.
func (s *state) mapBytes(L *lua.LState, change func(byte) byte) int {
	str := arg(L, 1)
	s.budget.reserve(L, len(str))
	out := []byte(str)
	for i, c := range out {
		out[i] = change(c)
	}
	L.Push(lua.LString(out))
	return 1
}

func (s *state) strReverse(L *lua.LState) int {
	str := arg(L, 1)
	s.budget.reserve(L, len(str))
	out := make([]byte, len(str))
	for i := range len(str) {
		out[len(str)-1-i] = str[i]
	}
	L.Push(lua.LString(out))
	return 1
}

func (s *state) strRep(L *lua.LState) int {
	str, n := arg(L, 1), intArg(L, 2)
	if n <= 0 || str == "" {
		L.Push(lua.LString(""))
		return 1
	}
	n = min(n, maxString+1) // so that the product fits
	s.budget.reserveString(L, len(str)*n)
	L.Push(lua.LString(strings.Repeat(str, n)))
	return 1
}

// lookFor matches a pattern from an offset on, under the budget.
func (s *state) lookFor(L *lua.LState, str, pat string, from int) (start, end int) {
	const stepsPerInstruction = 4
	steps := (s.budget.total + max(s.budget.left, 0)) * stepsPerInstruction
	start, end = s.match.find(str, pat, from, steps)
	used := steps - s.match.steps
	s.budget.charge(L, int(min(used, 1<<40))*(bytesPerInstruction/stepsPerInstruction))
	switch err := s.match.err; {
	case errors.Is(err, errPatternSteps):
		s.budget.exhaust(L)
	case err != nil:
		L.RaiseError("%s", err.Error())
	}
	return start, end
}

func (s *state) strFind(L *lua.LState) int {
	str, pat := arg(L, 1), arg(L, 2)
	from := place(optInt(L, 3, 1), len(str))
	if from > len(str) {
		L.Push(lua.LNil)
		return 1
	}
	if lua.LVAsBool(L.Get(4)) || plain(pat) {
		return s.findPlain(L, str, pat, from)
	}
	start, end := s.lookFor(L, str, pat, from)
	if start < 0 {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(integer(start + 1))
	L.Push(integer(end))
	return 2 + s.pushCaptures(L, start, end, false)
}

func (s *state) findPlain(L *lua.LState, str, pat string, from int) int {
	i := strings.Index(str[from:], pat)
	went := i
	if i < 0 {
		went = len(str) - from
	}
	s.budget.charge(L, went)
	if i < 0 {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(integer(from + i + 1))
	L.Push(integer(from + i + len(pat)))
	return 2
}

// pushCaptures pushes the captures of the last match. If whole and it has no captures, it pushes the match itself.
func (s *state) pushCaptures(L *lua.LState, start, end int, whole bool) int {
	n := s.match.n
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		str, place, err := s.match.captured(i, start, end)
		switch {
		case err != nil:
			L.RaiseError("%s", err.Error())
		case place > 0:
			L.Push(integer(place))
		default:
			L.Push(lua.LString(str))
		}
	}
	return n
}

func (s *state) strMatch(L *lua.LState) int {
	str, pat := arg(L, 1), arg(L, 2)
	from := place(optInt(L, 3, 1), len(str))
	start, end := -1, -1
	if from <= len(str) {
		start, end = s.lookFor(L, str, pat, from)
	}
	if start < 0 {
		L.Push(lua.LNil)
		return 1
	}
	return s.pushCaptures(L, start, end, true)
}

// strGmatch keeps the string, the pattern and the position in upvalues.
func (s *state) strGmatch(L *lua.LState) int {
	L.Push(L.NewClosure(s.gmatchStep, lua.LString(arg(L, 1)), lua.LString(arg(L, 2)), lua.LNumber(0)))
	return 1
}

func (s *state) gmatchStep(L *lua.LState) int {
	str, _ := text(L.Get(lua.UpvalueIndex(1)))
	pat, _ := text(L.Get(lua.UpvalueIndex(2)))
	at, _ := L.Get(lua.UpvalueIndex(3)).(lua.LNumber)
	if int(at) > len(str) {
		L.Push(lua.LNil)
		return 1
	}
	if strings.HasPrefix(pat, "^") {
		pat = "%" + pat // gmatch has no anchor
	}
	start, end := s.lookFor(L, str, pat, int(at))
	if start < 0 {
		L.Replace(lua.UpvalueIndex(3), lua.LNumber(len(str)+1))
		L.Push(lua.LNil)
		return 1
	}
	next := end
	if end == start {
		next++
	}
	L.Replace(lua.UpvalueIndex(3), lua.LNumber(next))
	return s.pushCaptures(L, start, end, true)
}

func (s *state) strGsub(L *lua.LState) int {
	str, pat := arg(L, 1), arg(L, 2)
	repl := L.Get(3)
	if _, ok := text(repl); !ok && repl.Type() != lua.LTTable && repl.Type() != lua.LTFunction {
		L.ArgError(3, "string, table or function expected, got "+repl.Type().String())
	}
	most := optInt(L, 4, len(str)+1)
	out := s.takeBuffer()
	n, done := 0, 0
	for at := 0; n < most && at <= len(str); {
		start, end := s.lookFor(L, str, pat, at)
		if start < 0 {
			break
		}
		n++
		s.grow(L, out, start-done)
		out.WriteString(str[done:start])
		s.replace(L, out, repl, start, end)
		if done, at = end, end; start == end {
			at++
		}
		if strings.HasPrefix(pat, "^") {
			break
		}
	}
	if n == 0 {
		L.Push(lua.LString(str))
	} else {
		s.grow(L, out, len(str)-done)
		out.WriteString(str[done:])
		L.Push(lua.LString(out.String()))
	}
	s.spare = out
	L.Push(integer(n))
	return 2
}

// takeBuffer returns the buffer of the last gsub. A gsub within a gsub gets a new one.
func (s *state) takeBuffer() *bytes.Buffer {
	out := s.spare
	s.spare = nil
	if out == nil || out.Cap() > 64<<10 {
		return &bytes.Buffer{}
	}
	out.Reset()
	return out
}

// grow checks a result that gets n bytes longer.
func (s *state) grow(L *lua.LState, out *bytes.Buffer, n int) {
	checkString(L, out.Len()+n)
	s.budget.reserve(L, 2*n)
}

// replace adds what replaces the last match. The function that it calls can use the matcher, too.
func (s *state) replace(L *lua.LState, out *bytes.Buffer, repl lua.LValue, start, end int) {
	m := &s.match
	whole := m.src[start:end]
	if r, ok := text(repl); ok {
		if err := m.expand(out, r, start, end, func(n int) { s.grow(L, out, n) }); err != nil {
			L.RaiseError("%s in replacement string", err.Error())
		}
		return
	}
	var v lua.LValue
	if fn, ok := repl.(*lua.LFunction); ok {
		L.Push(fn)
		L.Call(s.pushCaptures(L, start, end, true), 1)
		v = L.Get(-1)
		L.Pop(1)
	} else {
		s.pushCaptures(L, start, end, true)
		key := L.Get(-max(m.n, 1))
		L.Pop(max(m.n, 1))
		v = L.GetTable(repl, key)
	}
	r, ok := text(v)
	switch {
	case lua.LVIsFalse(v):
		r = whole
	case !ok:
		L.RaiseError("invalid replacement value (a %s)", v.Type())
	}
	s.grow(L, out, len(r))
	out.WriteString(r)
}

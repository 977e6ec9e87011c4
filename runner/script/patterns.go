package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/octet"
)

// lookFor matches a pattern from an offset on, under the budget.
func (s *stringLibrary) lookFor(L *lua.LState, str, pat string, from int) (start, end int) {
	const stepsPerInstruction = 4
	steps := (s.limits.Instructions - s.used) * stepsPerInstruction
	start, end = s.match.find(str, pat, from, steps)
	// more than the budget has if the steps did not suffice
	used := int(min(steps-s.match.steps, 1<<40)) + stepsPerInstruction
	s.charge(L, used*(bytesPerInstruction/stepsPerInstruction))
	raise(L, s.match.err)
	return start, end
}

func (s *stringLibrary) find(L *lua.LState) int {
	str, pat := arg(L, 1), arg(L, 2)
	from := place(optInt(L, 3, 1), len(str))
	start, end := -1, -1
	switch {
	case from > len(str):
	case lua.LVAsBool(L.Get(4)) || plain(pat):
		s.charge(L, len(str)-from)
		s.match.n = 0
		if i := strings.Index(str[from:], pat); i >= 0 {
			start, end = from+i, from+i+len(pat)
		}
	default:
		start, end = s.lookFor(L, str, pat, from)
	}
	if start < 0 {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(integer(start + 1))
	L.Push(integer(end))
	return 2 + s.pushCaptures(L, start, end, s.match.n)
}

func (s *stringLibrary) matchText(L *lua.LState) int {
	str, pat := arg(L, 1), arg(L, 2)
	start, end := s.lookFor(L, str, pat, place(optInt(L, 3, 1), len(str)))
	if start < 0 {
		L.Push(lua.LNil)
		return 1
	}
	return s.pushCaptures(L, start, end, max(s.match.n, 1))
}

// pushCaptures pushes the first n captures of the last match.
func (s *stringLibrary) pushCaptures(L *lua.LState, start, end, n int) int {
	for i := range n {
		L.Push(s.captured(L, i, start, end))
	}
	return n
}

func (s *stringLibrary) captured(L *lua.LState, i, start, end int) lua.LValue {
	str, place, err := s.match.captured(i, start, end)
	raise(L, err)
	if place > 0 {
		return integer(place)
	}
	return lua.LString(str)
}

func (s *stringLibrary) gmatch(L *lua.LState) int {
	str, pat, at := arg(L, 1), arg(L, 2), 0
	if strings.HasPrefix(pat, "^") {
		pat = "%" + pat // gmatch has no anchor
	}
	L.Push(L.NewFunction(func(L *lua.LState) int {
		start, end := s.lookFor(L, str, pat, at)
		if start < 0 {
			at = len(str) + 1
			L.Push(lua.LNil)
			return 1
		}
		at = max(end, start+1)
		return s.pushCaptures(L, start, end, max(s.match.n, 1))
	}))
	return 1
}

func (s *stringLibrary) gsub(L *lua.LState) int {
	str, pat, repl := arg(L, 1), arg(L, 2), L.Get(3)
	if !lua.LVCanConvToString(repl) && repl.Type() != lua.LTTable && repl.Type() != lua.LTFunction {
		L.ArgError(3, "string, table or function expected, got "+repl.Type().String())
	}
	var out strings.Builder
	n, done := 0, 0
	for most, at := optInt(L, 4, len(str)+1), 0; n < most && at <= len(str); n++ {
		start, end := s.lookFor(L, str, pat, at)
		if start < 0 {
			break
		}
		if n == 0 {
			s.reserve(L, len(str))
			out.Grow(len(str) + bytesPerInstruction)
		}
		s.add(L, &out, str[done:start])
		s.replace(L, &out, repl, start, end)
		done, at = end, max(end, start+1)
		if strings.HasPrefix(pat, "^") {
			at = len(str) + 1
		}
	}
	if n > 0 {
		s.add(L, &out, str[done:])
		str = out.String()
	}
	L.Push(lua.LString(str))
	L.Push(integer(n))
	return 2
}

// add adds a text to a result. The result can grow by a copy.
func (s *stringLibrary) add(L *lua.LState, out *strings.Builder, text string) {
	checkString(L, out.Len()+len(text))
	s.reserve(L, 2*len(text))
	out.WriteString(text)
}

// replace adds what replaces the last match. The function that it calls can use the matcher, too.
func (s *stringLibrary) replace(L *lua.LState, out *strings.Builder, repl lua.LValue, start, end int) {
	whole := s.match.src[start:end]
	var v lua.LValue
	switch repl := repl.(type) {
	case *lua.LFunction:
		L.Push(repl)
		L.Call(s.pushCaptures(L, start, end, max(s.match.n, 1)), 1)
		v = L.Get(-1)
		L.Pop(1)
	case *lua.LTable:
		v = L.GetTable(repl, s.captured(L, 0, start, end))
	default:
		s.expand(L, out, repl, start, end)
		return
	}
	r, ok := text(v)
	switch {
	case lua.LVIsFalse(v):
		r = whole
	case !ok:
		L.RaiseError("invalid replacement value (a %s)", v.Type())
	}
	s.add(L, out, r)
}

// expand adds a replacement: %0 to %9 are the match and its captures.
func (s *stringLibrary) expand(L *lua.LState, out *strings.Builder, replacement lua.LValue, start, end int) {
	repl, _ := text(replacement)
	for {
		before, rest, found := strings.Cut(repl, "%")
		s.add(L, out, before)
		if !found {
			return
		}
		switch {
		case rest == "":
			s.add(L, out, "%")
			return
		case rest[0] == '0':
			s.add(L, out, s.match.src[start:end])
		case octet.IsDigit(rest[0]):
			if int(rest[0]-'1') >= max(s.match.n, 1) {
				L.RaiseError("%s in replacement string", captureIndex)
			}
			part, _ := text(s.captured(L, int(rest[0]-'1'), start, end))
			s.add(L, out, part)
		default:
			s.add(L, out, rest[:1])
		}
		repl = rest[1:]
	}
}

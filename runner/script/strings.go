package script

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/octet"
)

// stringLibrary is the global string, which also has the methods of strings. The functions with patterns are in
// patterns.go.
type stringLibrary struct {
	*budget
	match matcher
}

// open returns the library.
func (s *stringLibrary) open(L *lua.LState) *lua.LTable {
	t := define(L, L.NewTable(), map[string]lua.LGFunction{
		"byte": toBytes, "char": fromBytes, "find": s.find, "format": s.format, "gmatch": s.gmatch, "gsub": s.gsub,
		"len":   length,
		"lower": s.lower, "match": s.matchText, "rep": s.repeat, "reverse": s.reverse, "sub": part, "upper": s.upper,
	})
	meta := L.NewTable()
	meta.RawSetString("__index", t)
	meta.RawSetString("__metatable", lua.LString("string"))
	L.SetMetatable(lua.LString(""), meta)
	return t
}

// place returns the offset of an index of Lua. The first index is 1, and negative ones count from the end.
func place(i, length int) int {
	if i < 0 {
		return max(length+i, 0)
	}
	return max(i-1, 0)
}

// span returns the part of a string between two indices of Lua.
func span(str string, i, j int) string {
	from, to := place(i, len(str)), min(j, len(str))
	if j < 0 {
		to = len(str) + j + 1
	}
	if from >= to {
		return ""
	}
	return str[from:to]
}

func pushString(L *lua.LState, s string) int {
	L.Push(lua.LString(s))
	return 1
}

func toBytes(L *lua.LState) int {
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

func fromBytes(L *lua.LState) int {
	out := make([]byte, L.GetTop())
	for i := range out {
		n := intArg(L, i+1)
		if n < 0 || n > 255 {
			L.ArgError(i+1, "invalid value")
		}
		out[i] = byte(n)
	}
	return pushString(L, string(out))
}

func length(L *lua.LState) int {
	L.Push(integer(len(arg(L, 1))))
	return 1
}

func part(L *lua.LState) int { return pushString(L, span(arg(L, 1), intArg(L, 2), optInt(L, 3, -1))) }

func (s *stringLibrary) lower(L *lua.LState) int { return s.mapBytes(L, octet.Lower) }
func (s *stringLibrary) upper(L *lua.LState) int { return s.mapBytes(L, octet.Upper) }

// mapBytes changes ASCII letters only, as Lua does in the C locale.
func (s *stringLibrary) mapBytes(L *lua.LState, change func(byte) byte) int {
	str := arg(L, 1)
	s.reserve(L, len(str))
	out := []byte(str)
	for i, c := range out {
		out[i] = change(c)
	}
	return pushString(L, string(out))
}

func (s *stringLibrary) reverse(L *lua.LState) int {
	str := arg(L, 1)
	s.reserve(L, len(str))
	out := []byte(str)
	slices.Reverse(out)
	return pushString(L, string(out))
}

func (s *stringLibrary) repeat(L *lua.LState) int {
	str, n := arg(L, 1), max(intArg(L, 2), 0)
	if str == "" {
		n = 0
	}
	n = min(n, maxString+1) // so that the product fits
	s.reserveString(L, len(str)*n)
	return pushString(L, strings.Repeat(str, n))
}

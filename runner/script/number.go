package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// numberText writes a number as Lua 5.1 does: "%.14g".
func numberText(n lua.LNumber) string {
	var buf [32]byte
	return string(appendNumber(buf[:0], float64(n)))
}

func appendNumber(buf []byte, f float64) []byte {
	const exact = 1e14 // "%.14g" has an exponent from here on
	switch {
	case f == math.Trunc(f) && math.Abs(f) < exact:
		return strconv.AppendInt(buf, int64(f), 10)
	case math.IsNaN(f):
		return append(buf, "nan"...)
	case math.IsInf(f, 1):
		return append(buf, "inf"...)
	case math.IsInf(f, -1):
		return append(buf, "-inf"...)
	}
	return strconv.AppendFloat(buf, f, 'g', 14, 64)
}

// text returns a string or a number as a string.
func text(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return numberText(v), true
	}
	return "", false
}

const blanks = " \t\n\v\f\r"

// parseNumber reads a number as Lua writes them: decimal, or hexadecimal with 0x.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(s, blanks)
	digits := strings.TrimLeft(s, "+-")
	if strings.ContainsAny(digits, "_pPiInN") {
		return 0, false
	}
	if strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// parseInBase reads an integer in a base of 2 to 36.
func parseInBase(s string, base int) (float64, bool) {
	s = strings.ToLower(strings.Trim(s, blanks))
	if base == 16 {
		s = strings.TrimPrefix(s, "0x")
	}
	if strings.ContainsRune(s, '_') {
		return 0, false
	}
	n, err := strconv.ParseInt(s, base, 64)
	return float64(n), err == nil
}

// integers are Lua values made once. Most positions and counts are small.
var integers = func() (t [1024]lua.LValue) {
	for i := range t {
		t[i] = lua.LNumber(i)
	}
	return t
}()

func integer(i int) lua.LValue {
	if i >= 0 && i < len(integers) {
		return integers[i]
	}
	return lua.LNumber(i)
}

// textSize returns at least the length of a string or a number as text.
func textSize(v lua.LValue) int {
	if s, ok := v.(lua.LString); ok {
		return len(s)
	}
	return 24
}

// writeText adds a string or a number.
func writeText(out *strings.Builder, v lua.LValue) {
	switch v := v.(type) {
	case lua.LString:
		out.WriteString(string(v))
	case lua.LNumber:
		var buf [32]byte
		out.Write(appendNumber(buf[:0], float64(v)))
	}
}

// arg returns an argument that is a string or a number.
func arg(L *lua.LState, n int) string {
	v, ok := text(L.Get(n))
	if !ok {
		L.TypeError(n, lua.LTString)
	}
	return v
}

// intArg returns an argument that is a number or the text of one, as an integer of at most +-2^53.
func intArg(L *lua.LState, n int) int {
	const most = 1 << 53
	f := floatArg(L, n)
	if math.IsNaN(f) {
		return 0
	}
	return int(max(-most, min(f, most)))
}

func optInt(L *lua.LState, n, def int) int {
	if L.Get(n) == lua.LNil {
		return def
	}
	return intArg(L, n)
}

func number(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

func floatArg(L *lua.LState, n int) float64 {
	f, ok := number(L.Get(n))
	if !ok {
		L.TypeError(n, lua.LTNumber)
	}
	return f
}

// pushNumber returns a number to a script, or nil.
func pushNumber(L *lua.LState, f float64, ok bool) int {
	if !ok {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(f))
	return 1
}

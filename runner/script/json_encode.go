package script

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// encode raises an error for values that JSON does not have: functions, NaN, tables that are neither list nor object.
func (j *jsonLibrary) encode(L *lua.LState) int {
	e := encoder{j: j, L: L}
	if err := e.value(L.CheckAny(1)); err != nil {
		L.RaiseError("json: %s", err.Error())
	}
	j.s.budget.reserveString(L, len(e.out))
	L.Push(lua.LString(e.out))
	return 1
}

type encoder struct {
	j     *jsonLibrary
	L     *lua.LState
	out   []byte
	depth int
}

func (e *encoder) value(v lua.LValue) error {
	e.j.s.budget.charge(e.L, bytesPerInstruction)
	checkString(e.L, len(e.out))
	switch v := v.(type) {
	case *lua.LNilType:
		e.out = append(e.out, "null"...)
	case lua.LBool:
		e.out = strconv.AppendBool(e.out, bool(v))
	case lua.LNumber:
		return e.number(float64(v))
	case lua.LString:
		e.text(string(v))
	case *lua.LTable:
		return e.nested(v)
	default:
		if v != lua.LValue(e.j.null) {
			return fmt.Errorf("cannot encode a %s", v.Type())
		}
		e.out = append(e.out, "null"...)
	}
	return nil
}

func (e *encoder) number(f float64) error {
	const exact = 1 << 53
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return fmt.Errorf("cannot encode %s", numberText(lua.LNumber(f)))
	case f == math.Trunc(f) && math.Abs(f) < exact:
		e.out = strconv.AppendInt(e.out, int64(f), 10)
	default:
		e.out = strconv.AppendFloat(e.out, f, 'g', -1, 64)
	}
	return nil
}

// text writes bytes that are not UTF-8 unchanged.
func (e *encoder) text(s string) {
	checkString(e.L, len(e.out)+len(s))
	e.out = append(e.out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			e.out = append(e.out, '\\', c)
		case c == '\n':
			e.out = append(e.out, '\\', 'n')
		case c == '\r':
			e.out = append(e.out, '\\', 'r')
		case c == '\t':
			e.out = append(e.out, '\\', 't')
		case c < ' ' || c == 0x7f:
			e.out = fmt.Appendf(e.out, `\u%04x`, c)
		default:
			e.out = append(e.out, c)
		}
	}
	e.out = append(e.out, '"')
}

func (e *encoder) nested(t *lua.LTable) error {
	if e.depth++; e.depth > maxJSONDepth {
		return errJSONDepth
	}
	defer func() { e.depth-- }()
	if h := e.j.s.headersOf(e.L, t); h != nil {
		return e.members(h.asMembers())
	}
	n := t.Len()
	if t.Metatable == e.j.array || t.Metatable != e.j.object && n > 0 {
		return e.list(t, n)
	}
	members := map[string]lua.LValue{}
	var bad lua.LValue
	t.ForEach(func(k, v lua.LValue) {
		e.j.s.budget.reserve(e.L, memberBytes)
		s, ok := text(k)
		if !ok {
			bad = k
		}
		members[s] = v
	})
	if bad != nil {
		return fmt.Errorf("cannot encode a %s as the name of a member", bad.Type())
	}
	return e.members(members)
}

func (e *encoder) list(t *lua.LTable, n int) error {
	extra := 0
	t.ForEach(func(lua.LValue, lua.LValue) { extra++ })
	e.out = append(e.out, '[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.out = append(e.out, ',')
		}
		v := t.RawGetInt(i)
		if v != lua.LNil {
			extra--
		}
		if err := e.value(v); err != nil {
			return err
		}
	}
	if extra > 0 {
		return fmt.Errorf("cannot encode a table that has both a list and %d other keys", extra)
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) members(m map[string]lua.LValue) error {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	sort.Strings(names)
	e.out = append(e.out, '{')
	for i, k := range names {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.text(k)
		e.out = append(e.out, ':')
		if err := e.value(m[k]); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

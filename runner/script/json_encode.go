package script

import (
	"math"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/jsontext"
)

// encode raises an error for values that JSON does not have: functions, NaN, tables that are neither list nor object.
func (j *jsonLibrary) encode(L *lua.LState) int {
	e := encoder{jsonLibrary: j, L: L}
	e.value(L.CheckAny(1))
	j.s.budget.reserveString(L, len(e.out))
	L.Push(lua.LString(e.out))
	return 1
}

type encoder struct {
	*jsonLibrary
	L     *lua.LState
	out   []byte
	depth int
}

// member is an element of a list, which has no name, or a member of an object.
type member struct {
	name  string
	value lua.LValue
}

func (e *encoder) value(v lua.LValue) {
	e.s.budget.charge(e.L, bytesPerInstruction)
	checkString(e.L, len(e.out))
	switch v := v.(type) {
	case lua.LBool:
		e.out = strconv.AppendBool(e.out, bool(v))
	case lua.LNumber:
		e.number(float64(v))
	case lua.LString:
		e.text(string(v))
	case *lua.LTable:
		e.nested(v)
	case nil, *lua.LNilType: // a gap of a list
		e.out = append(e.out, "null"...)
	default:
		if v != lua.LValue(e.null) {
			e.fail("cannot encode a %s", v.Type())
		}
		e.out = append(e.out, "null"...)
	}
}

func (e *encoder) fail(format string, args ...any) { e.L.RaiseError("json: "+format, args...) }

func (e *encoder) number(f float64) {
	const exact = 1 << 53
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		e.fail("cannot encode %s", numberText(lua.LNumber(f)))
	case f == math.Trunc(f) && math.Abs(f) < exact:
		e.out = strconv.AppendInt(e.out, int64(f), 10)
	default:
		e.out = strconv.AppendFloat(e.out, f, 'g', -1, 64)
	}
}

func (e *encoder) text(s string) {
	checkString(e.L, len(e.out)+len(s))
	e.out = jsontext.AppendEscaped(append(e.out, '"'), []byte(s))
	e.out = append(e.out, '"')
}

func (e *encoder) nested(t *lua.LTable) {
	if e.depth++; e.depth > maxJSONDepth {
		e.fail("%s", errJSONDepth.Error())
	}
	e.s.fill(e.L, t)
	list := t.Metatable == e.array || t.Metatable != e.object && t.Len() > 0
	brackets := "{}"
	if list {
		brackets = "[]"
	}
	e.out = append(e.out, brackets[0])
	for i, m := range e.members(t, list) {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if !list {
			e.text(m.name)
			e.out = append(e.out, ':')
		}
		e.value(m.value)
	}
	e.out = append(e.out, brackets[1])
	e.depth--
}

// members returns the elements of a list, or the members of an object, sorted by name.
func (e *encoder) members(t *lua.LTable, list bool) []member {
	n, others := 0, 0
	if list {
		n = t.Len()
		e.s.budget.reserve(e.L, 2*n*slotBytes)
	}
	members := make([]member, n, max(n, 8))
	t.ForEach(func(k, v lua.LValue) {
		i, isNumber := k.(lua.LNumber)
		switch {
		case isNumber && 1 <= i && i <= lua.LNumber(n) && i == lua.LNumber(int(i)):
			members[int(i)-1].value = v
		case !isNumber && k.Type() != lua.LTString:
			e.fail("cannot encode a %s as the name of a member", k.Type())
		case list:
			others++
		default:
			e.s.budget.reserve(e.L, memberBytes)
			name, _ := text(k)
			members = append(members, member{name, v})
		}
	})
	if others > 0 {
		e.fail("cannot encode a table that has both a list and %d other keys", others)
	}
	if !list {
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	return members
}

package script

import (
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// slotBytes is the size of an element of a table's array.
const slotBytes = 16

// tableLibrary is the global table.
type tableLibrary struct{ *budget }

func (b tableLibrary) open(o *objects) *lua.LTable {
	t := o.L.NewTable()
	for name, fn := range map[string]lua.LGFunction{
		"concat": b.concat, "getn": tableLen, "insert": b.insert, "maxn": b.maxN, "remove": b.remove, "sort": b.sort,
	} {
		t.RawSetString(name, o.L.NewFunction(o.filled(fn)))
	}
	return t
}

func tableLen(L *lua.LState) int {
	L.Push(integer(L.CheckTable(1).Len()))
	return 1
}

func (b tableLibrary) maxN(L *lua.LState) int {
	t := L.CheckTable(1)
	most := lua.LNumber(t.MaxN())
	t.ForEach(func(k, _ lua.LValue) {
		b.charge(L, bytesPerInstruction)
		if n, ok := k.(lua.LNumber); ok {
			most = max(most, n)
		}
	})
	L.Push(most)
	return 1
}

func (b tableLibrary) insert(L *lua.LState) int {
	t := L.CheckTable(1)
	n := t.Len()
	at, v := n+1, L.Get(2)
	if top := L.GetTop(); top == 3 {
		at, v = intArg(L, 2), L.Get(3)
	} else if top != 2 {
		L.RaiseError("wrong number of arguments to 'insert'")
	}
	if 0 < at && at <= n {
		b.charge(L, (n-at)*slotBytes)
		t.Insert(at, v)
		return 0
	}
	b.stretch(L, t, lua.LNumber(at))
	t.RawSet(lua.LNumber(at), v)
	return 0
}

// remove differs from the interpreter's at the end of a list: nil elements there do not count.
func (b tableLibrary) remove(L *lua.LState) int {
	t := L.CheckTable(1)
	n := t.Len()
	at := optInt(L, 2, n)
	if at < 1 || at > n {
		L.Push(lua.LNil)
		return 1
	}
	b.charge(L, (n-at)*slotBytes)
	L.Push(t.Remove(at))
	return 1
}

// concat has no limit for the length of a list, unlike the interpreter's.
func (b tableLibrary) concat(L *lua.LState) int {
	t, sep := L.CheckTable(1), ""
	if L.Get(2) != lua.LNil {
		sep = arg(L, 2)
	}
	from, to := optInt(L, 3, 1), optInt(L, 4, t.Len())
	var out strings.Builder
	out.Grow(min(16*max(to-from+1, 0), 4096))
	for i := from; i <= to; i++ {
		v := t.RawGet(lua.LNumber(i))
		if !lua.LVCanConvToString(v) {
			L.RaiseError("invalid value (a %s) at index %d in table for 'concat'", v.Type(), i)
		}
		if i > from {
			out.WriteString(sep)
		}
		b.charge(L, bytesPerInstruction)
		checkString(L, out.Len()+textSize(v))
		writeText(&out, v)
	}
	b.reserveString(L, out.Len())
	return pushString(L, out.String())
}

// sort sorts a copy, so that the comparison function can change the table.
func (b tableLibrary) sort(L *lua.LState) int {
	t := L.CheckTable(1)
	b.reserve(L, t.Len()*slotBytes)
	values := make([]lua.LValue, t.Len())
	for i := range values {
		values[i] = t.RawGetInt(i + 1)
	}
	less := func(x, y lua.LValue) bool {
		b.charge(L, bytesPerInstruction+min(textSize(x), textSize(y)))
		return L.LessThan(x, y)
	}
	if L.Get(2) != lua.LNil {
		fn := L.CheckFunction(2)
		less = func(x, y lua.LValue) bool { return lua.LVAsBool(invoke(L, fn, x, y)) }
	}
	sort.Slice(values, func(i, j int) bool { return less(values[i], values[j]) })
	for i, v := range values {
		t.RawSetInt(i+1, v)
	}
	return 0
}

// invoke calls a function and returns its first result.
func invoke(L *lua.LState, fn lua.LValue, args ...lua.LValue) lua.LValue {
	L.Push(fn)
	for _, a := range args {
		L.Push(a)
	}
	L.Call(len(args), 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}

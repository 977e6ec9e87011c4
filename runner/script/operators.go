package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// concat is the operator "..", see guard.go. It joins the strings and numbers at the end of its arguments, or calls
// __concat with the last two, until one value is left.
func (b *budget) concat(L *lua.LState) int {
	for n := L.GetTop(); n > 1; n = L.GetTop() {
		from, size := n, 0
		for ; from > 0 && lua.LVCanConvToString(L.Get(from)); from-- {
			size += textSize(L.Get(from))
		}
		if n-from < 2 {
			concatMeta(L, n)
			continue
		}
		b.reserveString(L, size)
		var out strings.Builder
		out.Grow(size)
		for i := from + 1; i <= n; i++ {
			writeText(&out, L.Get(i))
		}
		L.SetTop(from)
		L.Push(lua.LString(out.String()))
	}
	return 1
}

func concatMeta(L *lua.LState, n int) {
	lhs, rhs := L.Get(n-1), L.Get(n)
	op := L.GetMetaField(lhs, "__concat")
	if op == lua.LNil {
		op = L.GetMetaField(rhs, "__concat")
	}
	if op == lua.LNil {
		bad := lhs
		if lua.LVCanConvToString(lhs) {
			bad = rhs
		}
		L.RaiseError("attempt to concatenate a %s value", bad.Type())
	}
	L.SetTop(n - 2)
	L.Push(invoke(L, op, lhs, rhs))
}

// setIndex is t[k] = v. See guard.go.
func (b *budget) setIndex(L *lua.LState) int {
	t, key, value := L.Get(1), L.Get(2), L.Get(3)
	if n, ok := key.(lua.LNumber); ok && n > smallIndex {
		b.stretch(L, t, n)
	}
	L.SetTable(t, key, value)
	return 0
}

// stretch reserves what an assignment to t[n] adds to the array: twice the gap, as the array grows by copies.
func (b *budget) stretch(L *lua.LState, t lua.LValue, n lua.LNumber) {
	table, ok := t.(*lua.LTable)
	if !ok || n >= lua.LNumber(lua.MaxArrayIndex) {
		return
	}
	if gap := int(n) - table.Len(); gap > smallIndex {
		b.reserve(L, 2*gap*slotBytes)
	}
}

// newKey returns a key after a check that an empty table can have it, see guard.go.
func (b *budget) newKey(L *lua.LState) int {
	if n, ok := L.Get(1).(lua.LNumber); ok && n > smallIndex && n < lua.LNumber(lua.MaxArrayIndex) {
		b.need(L, 2*int(n)*slotBytes)
	}
	L.SetTop(1)
	return 1
}

// all returns its arguments, after a check that they fit into a new list. See guard.go.
func (b *budget) all(L *lua.LState) int {
	b.reserve(L, 2*L.GetTop()*slotBytes)
	return L.GetTop()
}

// tailCall counts instructions for the line that a tail call has in the trace of an error.
func (b *budget) tailCall(L *lua.LState) int {
	b.charge(L, 16*bytesPerInstruction)
	return 0
}

package script

import (
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (s *state) tableLibrary() *lua.LTable {
	return define(s.L, s.L.NewTable(), map[string]lua.LGFunction{
		"concat": s.tableConcat, "getn": s.tableLen, "insert": s.tableInsert, "maxn": s.tableMaxN, "remove": s.tableRemove,
		"sort": s.tableSort,
	})
}

// slotBytes is the size of an element of a table's array.
const slotBytes = 16

// list returns the first argument, a table. It raises an error for a header table.
func (s *state) list(L *lua.LState) *lua.LTable {
	t := L.CheckTable(1)
	if s.viewOf(L, t) != nil {
		L.ArgError(1, "headers are not a list")
	}
	return t
}

// length is #t. It counts the time that the interpreter needs to search the end of the list.
func (s *state) length(L *lua.LState, t *lua.LTable) int {
	n := t.Len()
	s.budget.charge(L, (t.MaxN()-n)*slotBytes)
	return n
}

func (s *state) tableLen(L *lua.LState) int {
	L.Push(lua.LNumber(s.length(L, s.list(L))))
	return 1
}

func (s *state) tableMaxN(L *lua.LState) int {
	t := s.list(L)
	most := lua.LNumber(t.MaxN())
	t.ForEach(func(k, _ lua.LValue) {
		s.budget.charge(L, bytesPerInstruction)
		if n, ok := k.(lua.LNumber); ok {
			most = max(most, n)
		}
	})
	L.Push(most)
	return 1
}

func (s *state) tableInsert(L *lua.LState) int {
	t := s.list(L)
	n := s.length(L, t)
	switch L.GetTop() {
	case 2:
		s.put(L, t, n+1, L.Get(2))
	case 3:
		at := intArg(L, 2)
		if at > 0 && at <= n {
			s.budget.charge(L, (n-at)*slotBytes)
			t.Insert(at, L.Get(3))
			return 0
		}
		s.put(L, t, at, L.Get(3))
	default:
		L.RaiseError("wrong number of arguments to 'insert'")
	}
	return 0
}

func (s *state) put(L *lua.LState, t *lua.LTable, i int, v lua.LValue) {
	s.budget.stretch(L, t, lua.LNumber(i))
	t.RawSet(lua.LNumber(i), v)
}

func (s *state) tableRemove(L *lua.LState) int {
	t := s.list(L)
	n := s.length(L, t)
	at := optInt(L, 2, n)
	if at < 1 || at > n {
		L.Push(lua.LNil)
		return 1
	}
	s.budget.charge(L, (n-at)*slotBytes)
	L.Push(t.Remove(at))
	return 1
}

func (s *state) tableConcat(L *lua.LState) int {
	t := s.list(L)
	sep := ""
	if L.Get(2) != lua.LNil {
		sep = arg(L, 2)
	}
	from, to := optInt(L, 3, 1), optInt(L, 4, s.length(L, t))
	size := 0
	for i := from; i <= to; i++ {
		switch v := t.RawGet(lua.LNumber(i)).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += len(numberText(v))
		default:
			L.RaiseError("invalid value (a %s) at index %d in table for 'concat'", v.Type(), i)
		}
		size += len(sep)
		s.budget.charge(L, bytesPerInstruction)
		if size > maxString+len(sep) {
			break
		}
	}
	s.budget.reserveString(L, max(size-len(sep), 0))
	var b strings.Builder
	b.Grow(size)
	for i := from; i <= to; i++ {
		v, _ := text(t.RawGet(lua.LNumber(i)))
		b.WriteString(v)
		if i < to {
			b.WriteString(sep)
		}
	}
	L.Push(lua.LString(b.String()))
	return 1
}

// tableSort sorts a copy, so that the comparison function can change the table.
func (s *state) tableSort(L *lua.LState) int {
	t := s.list(L)
	n := s.length(L, t)
	s.budget.reserve(L, n*slotBytes)
	values := make([]lua.LValue, n)
	for i := range values {
		values[i] = t.RawGetInt(i + 1)
	}
	var fn *lua.LFunction
	if L.Get(2) != lua.LNil {
		fn = L.CheckFunction(2)
	}
	sort.Slice(values, func(i, j int) bool {
		a, b := values[i], values[j]
		if fn == nil {
			s.budget.charge(L, bytesPerInstruction+min(textLen(a), textLen(b)))
			return L.LessThan(a, b)
		}
		L.Push(fn)
		L.Push(a)
		L.Push(b)
		L.Call(2, 1)
		less := lua.LVAsBool(L.Get(-1))
		L.Pop(1)
		return less
	})
	for i, v := range values {
		t.RawSetInt(i+1, v)
	}
	return 0
}

func textLen(v lua.LValue) int {
	s, _ := v.(lua.LString)
	return len(s)
}

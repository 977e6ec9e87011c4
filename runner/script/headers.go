package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// A header table of the compatible form is an empty Lua table whose metatable reads and changes a message. To fill a
// table costs four times as much as a script that reads three headers and writes one. A function that goes through a
// header table makes an ordinary one of it first. Each call makes new tables, so tables of an earlier call are noticed.

// headerTable makes the header table of a view.
func (v *view) headerTable() *lua.LTable {
	v.table = v.L.CreateTable(0, 0)
	v.table.Metatable = v.meta
	return v.table
}

// viewOf returns the view of a header table, nil for any other table.
func (o *objects) viewOf(L *lua.LState, t *lua.LTable) *view {
	if t.Metatable != lua.LValue(o.meta) {
		return nil
	}
	for _, v := range []*view{&o.req, &o.prev, &o.res} {
		if v.table == t {
			return v
		}
	}
	L.RaiseError("a header table was used after its call: copy the values that you need later")
	return nil
}

// fill makes an ordinary table of a header table.
func (o *objects) fill(L *lua.LState, t *lua.LTable) {
	v := o.viewOf(L, t)
	if v == nil {
		return
	}
	o.budget.reserve(L, (len(v.m.Fields)+len(pseudoNames))*memberBytes)
	v.table, t.Metatable = nil, lua.LNil
	for _, name := range pseudoNames {
		t.RawSetString(":"+name, v.tableHeader(":"+name))
	}
	for _, f := range v.m.Fields {
		t.RawSetString(string(f.Name), v.header(string(f.Name)))
	}
}

// filled gives a function an ordinary table if its first argument is a header table.
func (o *objects) filled(fn lua.LGFunction) lua.LGFunction {
	return func(L *lua.LState) int {
		if t, ok := L.Get(1).(*lua.LTable); ok {
			o.fill(L, t)
		}
		return fn(L)
	}
}

// tableHeader returns a header of a header table.
func (v *view) tableHeader(name string) lua.LValue {
	name, isPseudo := strings.CutPrefix(name, ":")
	if !isPseudo {
		return v.header(name)
	}
	if value := v.pseudo(name); value != lua.LString("") {
		return value
	}
	return lua.LNil
}

func (o *objects) readHeader(L *lua.LState) int {
	v := o.viewOf(L, L.CheckTable(1))
	name, ok := L.Get(2).(lua.LString)
	if !ok {
		return 0
	}
	L.Push(v.tableHeader(strings.ToLower(string(name))))
	return 1
}

// writeHeader changes the message, or an ordinary table if the script cannot change the message.
func (o *objects) writeHeader(L *lua.LState) int {
	t := L.CheckTable(1)
	v := o.viewOf(L, t)
	if v.made == nil {
		o.fill(L, t)
		L.RawSet(t, L.Get(2), L.Get(3))
		return 0
	}
	o.budget.charge(L, textSize(L.Get(3)))
	raise(L, v.setHeader(L.Get(2), L.Get(3)))
	return 0
}

package script

import (
	lua "github.com/yuin/gopher-lua"
)

// boxed caches a string as a Lua value. To make one costs two allocations, and most texts of a message are the same as in
// the message before.
type boxed struct {
	s string
	v lua.LValue
}

func (b *boxed) of(text []byte) lua.LValue {
	if b.v == nil || b.s != string(text) {
		b.s = string(text)
		b.v = lua.LString(b.s)
	}
	return b.v
}

// headers are the contents of a header table of the compatible form. The Lua table itself is always empty: its metatable
// reads and writes headers. To fill real tables costs four times as much as a script that reads three headers and writes
// one, and a table that is cleared still has its keys. Each call makes a new Lua table, so headersOf can reject the table
// of an earlier call.
type headers struct {
	table *lua.LTable
	slots []slot
	// changed is true after the script wrote a header.
	changed bool
}

type slot struct {
	name, value []byte
	key, val    boxed
	// set is what the script wrote: nil if it wrote nothing, LNil if it removed the header.
	set lua.LValue
}

// begin empties the headers. The slots keep their cached values.
func (h *headers) begin(L *lua.LState, meta *lua.LTable) {
	h.table = L.CreateTable(0, 0)
	h.table.Metatable = meta
	h.slots = h.slots[:0]
	h.changed = false
}

func (h *headers) add(name, value []byte) {
	n := len(h.slots)
	if n == cap(h.slots) {
		h.slots = append(h.slots, slot{})
	}
	h.slots = h.slots[:n+1]
	s := &h.slots[n]
	s.name, s.value, s.set = name, value, nil
}

// join adds the fields of a message. It joins fields of one name with "; ".
func (h *headers) join(m *made, fields []Field) {
	for _, f := range fields {
		s := h.find(string(f.Name))
		if s == nil {
			h.add(f.Name, f.Value)
			continue
		}
		joined := m.add(string(s.value))
		m.bytes = append(append(m.bytes, "; "...), f.Value...)
		s.value = m.bytes[len(m.bytes)-len(joined)-2-len(f.Value) : len(m.bytes) : len(m.bytes)]
	}
}

func (h *headers) find(name string) *slot {
	for i := range h.slots {
		if s := &h.slots[i]; string(s.name) == name {
			return s
		}
	}
	return nil
}

func (s *slot) now() lua.LValue {
	if s.set != nil {
		return s.set
	}
	return s.val.of(s.value)
}

func (h *headers) get(key lua.LValue) lua.LValue {
	if name, ok := key.(lua.LString); ok {
		if s := h.find(string(name)); s != nil {
			return s.now()
		}
	}
	return lua.LNil
}

func (h *headers) set(L *lua.LState, key, v lua.LValue) {
	name, ok := key.(lua.LString)
	if !ok {
		L.RaiseError("the name of a header is a string, not a %s", key.Type())
	}
	s := h.find(string(name))
	if s == nil {
		if v == lua.LNil {
			return
		}
		const most = 4096
		if len(h.slots) == most {
			L.RaiseError("more than %d headers", most)
		}
		h.add([]byte(name), nil)
		s = &h.slots[len(h.slots)-1]
	}
	s.set = v
	h.changed = true
}

// next returns the header after a key: first those of the message, then those that the script added.
func (h *headers) next(L *lua.LState, key lua.LValue) (k, v lua.LValue) {
	i := 0
	if key != lua.LNil {
		name, _ := key.(lua.LString)
		s := h.find(string(name))
		if s == nil {
			L.RaiseError("invalid key to 'next'")
		}
		for &h.slots[i] != s {
			i++
		}
		i++
	}
	for ; i < len(h.slots); i++ {
		s := &h.slots[i]
		if v := s.now(); v != lua.LNil {
			return s.key.of(s.name), v
		}
	}
	return lua.LNil, lua.LNil
}

// asTable returns a copy of the headers for json.encode.
func (h *headers) asTable() *lua.LTable {
	m := &lua.LTable{Metatable: lua.LNil}
	for i := range h.slots {
		if v := h.slots[i].now(); v != lua.LNil {
			m.RawSetString(string(h.slots[i].name), v)
		}
	}
	return m
}

// headersOf returns the contents of a header table, nil for any other table.
func (s *state) headersOf(L *lua.LState, t *lua.LTable) *headers {
	c := &s.compat
	switch {
	case t.Metatable != lua.LValue(c.meta):
		return nil
	case t == c.request.table:
		return &c.request
	case t == c.response.table:
		return &c.response
	}
	L.RaiseError("a header table was used after its call: copy the values that you need later")
	return nil
}

// headersMeta makes the metatable of header tables.
func (s *state) headersMeta() *lua.LTable {
	meta := s.define(s.L.NewTable(), map[string]lua.LGFunction{
		"__index": func(L *lua.LState) int {
			L.Push(s.headersOf(L, L.CheckTable(1)).get(L.Get(2)))
			return 1
		},
		"__newindex": func(L *lua.LState) int {
			s.headersOf(L, L.CheckTable(1)).set(L, L.Get(2), L.Get(3))
			return 0
		},
	})
	meta.RawSetString("__metatable", lua.LString("headers"))
	return meta
}

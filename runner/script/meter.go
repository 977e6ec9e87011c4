package script

import (
	"fmt"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// meter adds up what can be reached from Lua states. The interpreter does not export what a table has reserved, nor its
// stack, so both are read by reflection; TestMeter fails when a new version names them differently.
type meter struct {
	seen  map[unsafe.Pointer]struct{}
	todo  []lua.LValue
	bytes int64
}

// Bytes of a table's parts: a slice's element, a map's entry with its share of free places, and the fixed parts.
const (
	slotBytes    = 16
	entryBytes   = 64
	tableBytes   = 112
	closureBytes = 80
	upvalueBytes = 64
	// shareable strings are worth remembering: a long string that is referred to often is one string.
	shareable = 64
)

func newMeter() *meter { return &meter{seen: map[unsafe.Pointer]struct{}{}} }

func (m *meter) state(L *lua.LState) {
	m.add(L.G.Global)
	m.add(L.G.Registry)
	m.add(L.Env)
	stack := reflect.ValueOf(L).Elem().FieldByName("reg").Elem().FieldByName("array")
	m.bytes += int64(stack.Cap()) * slotBytes
	for i := range stack.Len() {
		m.slot(stack.Index(i))
	}
}

// slot adds a value that reflection shows but does not hand out.
func (m *meter) slot(v reflect.Value) {
	v = v.Elem()
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.String:
		m.text(v.String())
	case v.Type() == reflect.TypeFor[*lua.LTable]():
		m.add((*lua.LTable)(v.UnsafePointer()))
	case v.Type() == reflect.TypeFor[*lua.LFunction]():
		m.add((*lua.LFunction)(v.UnsafePointer()))
	case v.Type() == reflect.TypeFor[*lua.LUserData]():
		m.add((*lua.LUserData)(v.UnsafePointer()))
	}
}

// sum goes through what was added, until it is more than most.
func (m *meter) sum(most int64) int64 {
	for len(m.todo) > 0 && m.bytes <= most {
		v := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		switch v := v.(type) {
		case *lua.LTable:
			m.table(v)
		case *lua.LFunction:
			m.function(v)
		case *lua.LUserData:
			m.add(v.Metatable)
		}
	}
	return m.bytes
}

func (m *meter) add(v lua.LValue) {
	switch v := v.(type) {
	case lua.LString:
		m.text(string(v))
	case *lua.LTable:
		m.later(unsafe.Pointer(v), v)
	case *lua.LFunction:
		m.later(unsafe.Pointer(v), v)
	case *lua.LUserData:
		m.later(unsafe.Pointer(v), v)
	}
}

func (m *meter) later(p unsafe.Pointer, v lua.LValue) {
	if p != nil && m.first(p) {
		m.todo = append(m.todo, v)
	}
}

func (m *meter) first(p unsafe.Pointer) bool {
	_, old := m.seen[p]
	m.seen[p] = struct{}{}
	return !old
}

func (m *meter) text(s string) {
	m.bytes += slotBytes
	if len(s) < shareable || m.first(unsafe.Pointer(unsafe.StringData(s))) {
		m.bytes += int64(len(s))
	}
}

func (m *meter) table(t *lua.LTable) {
	m.bytes += tableBytes + reserved(t)
	m.add(t.Metatable)
	// The table remembers each key it ever had, so ForEach does not show all that it holds.
	keys := reflect.ValueOf(t).Elem().Field(keysField)
	for i := range keys.Len() {
		m.slot(keys.Index(i))
	}
	t.ForEach(func(_, v lua.LValue) { m.add(v) })
}

func (m *meter) function(f *lua.LFunction) {
	m.bytes += closureBytes
	m.add(f.Env)
	for _, u := range f.Upvalues {
		m.bytes += upvalueBytes
		if u != nil && m.first(unsafe.Pointer(u)) {
			m.add(u.Value())
		}
	}
}

// reserved are the bytes of a table's array and maps, also of places that hold nothing any more.
func reserved(t *lua.LTable) int64 {
	v := reflect.ValueOf(t).Elem()
	slots := v.Field(arrayField).Cap() + v.Field(keysField).Cap()
	entries := v.Field(dictField).Len() + v.Field(strdictField).Len() + v.Field(k2iField).Len()
	return int64(slots)*slotBytes + int64(entries)*entryBytes
}

var (
	arrayField   = tableField("array")
	keysField    = tableField("keys")
	dictField    = tableField("dict")
	strdictField = tableField("strdict")
	k2iField     = tableField("k2i")
)

func tableField(name string) int {
	f, ok := reflect.TypeFor[lua.LTable]().FieldByName(name)
	if !ok {
		panic(fmt.Sprintf("gopher-lua's tables have no %s: meter.go belongs to another version", name))
	}
	return f.Index[0]
}

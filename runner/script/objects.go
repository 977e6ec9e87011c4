package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// objects are what a script reads and changes during a call: messages and variables. Lua's values for them are made
// once.
type objects struct {
	budget         *budget
	L              *lua.LState
	req, prev, res view
	// work is the message while a script changes it.
	work Message
	// values are those of the chain instance, nil outside of a call.
	values Values
	vars   *lua.LUserData
	// meta is the metatable of header tables.
	meta *lua.LTable
	// methods are those of messages.
	methods map[string]*lua.LFunction
}

func (o *objects) open(L *lua.LState, b *budget) {
	o.L, o.budget = L, b
	o.meta = o.metatable("headers", o.readHeader, o.writeHeader)
	o.methods = map[string]*lua.LFunction{
		"header": L.NewFunction(getHeader), "set_header": L.NewFunction(setHeader), "add_header": L.NewFunction(addHeader),
		"remove_header": L.NewFunction(removeHeader),
	}
	for name, v := range map[string]*view{"req": &o.req, "prev": &o.prev, "res": &o.res} {
		v.objects, v.name, v.response = o, name, name != "req"
		v.object = L.NewUserData()
		v.object.Value = v
		v.object.Metatable = o.metatable(name, readObject, writeObject)
	}
	o.vars = L.NewUserData()
	o.vars.Metatable = o.metatable("vars", o.readVariable, o.writeVariable)
}

// metatable makes a metatable that scripts cannot change.
func (o *objects) metatable(name string, read, write lua.LGFunction) *lua.LTable {
	meta := define(o.L, o.L.NewTable(), map[string]lua.LGFunction{"__index": read, "__newindex": write})
	meta.RawSetString("__metatable", lua.LString(name))
	return meta
}

// close ends a call. After it, scripts cannot reach its messages and variables.
func (o *objects) close() {
	o.values = nil
	for _, v := range []*view{&o.req, &o.prev, &o.res} {
		v.open(nil, nil)
	}
}

func raise(L *lua.LState, err error) {
	if err != nil {
		L.RaiseError("%s", err.Error())
	}
}

// self returns the message that is the first argument. It raises an error outside of a call.
func self(L *lua.LState) *view {
	var v *view
	if ud, ok := L.Get(1).(*lua.LUserData); ok {
		v, _ = ud.Value.(*view)
	}
	switch {
	case v == nil: // RaiseError does not return
		L.RaiseError("want a request or response as the first argument: write req:header(name), with a colon")
	case v.m == nil:
		L.RaiseError("%s was used after its call: copy the values that you need later", v.name)
	}
	return v
}

// writable is self for a message that the script can change.
func writable(L *lua.LState) *view {
	v := self(L)
	if v.made == nil {
		L.RaiseError("%s is read-only here", v.name)
	}
	return v
}

func readObject(L *lua.LState) int {
	v := self(L)
	key, _ := L.Get(2).(lua.LString)
	L.Push(v.member(string(key)))
	return 1
}

func (v *view) member(key string) lua.LValue {
	switch {
	case key == "body":
		return v.bodyText()
	case key == "status" && v.response:
		return integer(v.m.Status)
	}
	if fn, ok := v.methods[key]; ok && (key == "header" || !v.response) {
		return fn
	}
	if v.response {
		return lua.LNil
	}
	return v.pseudo(key)
}

func writeObject(L *lua.LState) int {
	v := writable(L)
	key, _ := L.Get(2).(lua.LString)
	value, ok := text(L.Get(3))
	if !ok {
		L.RaiseError("req.%s is a string or a number, not a %s", string(key), L.Get(3).Type())
	}
	v.budget.charge(L, len(value))
	switch {
	case key == "body":
		raise(L, v.setBody(value))
	case pseudoOf(v.m, string(key)) != nil:
		raise(L, v.setPseudo(string(key), value))
	default:
		L.RaiseError("req.%s cannot be set; allowed: method, scheme, authority, path and body", shorten(string(key)))
	}
	return 0
}

// getHeader is p:header(name).
func getHeader(L *lua.LState) int {
	L.Push(self(L).header(strings.ToLower(arg(L, 2))))
	return 1
}

func setHeader(L *lua.LState) int { return changeHeader(L, true) }
func addHeader(L *lua.LState) int { return changeHeader(L, false) }

func changeHeader(L *lua.LState, replace bool) int {
	v := writable(L)
	name, value := arg(L, 2), arg(L, 3)
	if strings.EqualFold(name, contentLength) {
		L.RaiseError("content-length cannot be set: it is computed from the body")
	}
	v.budget.charge(L, len(name)+len(value))
	raise(L, v.setField(name, value, replace))
	return 0
}

func removeHeader(L *lua.LState) int {
	v := writable(L)
	v.removeField(strings.ToLower(arg(L, 2)))
	return 0
}

// variable returns the name in vars.name. It raises an error outside of a call.
func (o *objects) variable(L *lua.LState) string {
	if o.values == nil {
		L.RaiseError("vars can be used only during a call")
	}
	name, ok := L.Get(2).(lua.LString)
	if !ok {
		L.RaiseError("the name of a variable is a string, not a %s", L.Get(2).Type())
	}
	return string(name)
}

func (o *objects) readVariable(L *lua.LState) int {
	name := o.variable(L)
	if v, ok := o.values.Value(name); ok {
		L.Push(lua.LString(v))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

func (o *objects) writeVariable(L *lua.LState) int {
	name := o.variable(L)
	value, ok := text(L.Get(3))
	if !ok {
		L.RaiseError("vars.%s is a string or a number, not a %s", shorten(name), L.Get(3).Type())
	}
	raise(L, o.values.SetValue(name, []byte(value)))
	return 0
}

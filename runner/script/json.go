package script

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// maxJSONDepth is the deepest nesting of a value that is decoded or encoded.
const maxJSONDepth = 128

// A table with its first element or member takes tableBytes, each further member memberBytes.
const tableBytes, memberBytes = 704, 192

var errJSONDepth = fmt.Errorf("nested more than %d deep", maxJSONDepth)

// jsonLibrary is the global json. decode returns the userdata null for null. Tables from arrays and objects get the
// metatable array or object, from which encode chooses the form.
type jsonLibrary struct {
	s             *state
	table         *lua.LTable
	null          *lua.LUserData
	array, object *lua.LTable
}

func (j *jsonLibrary) open(s *state) {
	j.s = s
	L := s.L
	j.array, j.object = L.NewTable(), L.NewTable()
	j.array.RawSetString("__jsontype", lua.LString("array"))
	j.object.RawSetString("__jsontype", lua.LString("object"))
	j.null = L.NewUserData()
	meta := define(L, L.NewTable(), map[string]lua.LGFunction{"__tostring": func(L *lua.LState) int {
		return pushString(L, "null")
	}})
	meta.RawSetString("__metatable", lua.LString("null"))
	j.null.Metatable = meta
	j.table = define(L, L.NewTable(), map[string]lua.LGFunction{
		"decode": j.decode, "encode": j.encode, "array": s.filled(mark(j.array)), "object": s.filled(mark(j.object)),
	})
	j.table.RawSetString("null", j.null)
}

// mark makes json.array or json.object: it sets the metatable of its argument, or of a new table.
func mark(meta *lua.LTable) lua.LGFunction {
	return func(L *lua.LState) int {
		if L.GetTop() == 0 {
			L.Push(L.CreateTable(0, 0))
		}
		L.SetTop(1)
		L.Push(meta)
		return setMetatable(L)
	}
}

package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/octet"
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
	meta := s.define(L.NewTable(), map[string]lua.LGFunction{"__tostring": func(L *lua.LState) int {
		L.Push(lua.LString("null"))
		return 1
	}})
	meta.RawSetString("__metatable", lua.LString("null"))
	j.null.Metatable = meta
	j.table = s.define(L.NewTable(), map[string]lua.LGFunction{
		"decode": j.decode, "encode": j.encode, "array": j.mark(j.array), "object": j.mark(j.object),
	})
	j.table.RawSetString("null", j.null)
}

// mark makes json.array or json.object: it sets the metatable of its argument, or of a new table.
func (j *jsonLibrary) mark(meta *lua.LTable) lua.LGFunction {
	return func(L *lua.LState) int {
		if L.GetTop() == 0 {
			L.Push(L.CreateTable(0, 0))
		}
		t := j.s.list(L)
		if L.GetMetaField(t, "__metatable") != lua.LNil {
			L.RaiseError("cannot change a protected metatable")
		}
		t.Metatable = meta
		L.SetTop(1)
		return 1
	}
}

// decode returns nil and a message if the text is not JSON.
func (j *jsonLibrary) decode(L *lua.LState) int {
	d := decoder{j: j, L: L, text: arg(L, 1)}
	j.s.budget.charge(L, 4*len(d.text))
	v, err := d.document()
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString("json: " + err.Error()))
		return 2
	}
	L.Push(v)
	return 1
}

// decoder reads RFC 8259.
type decoder struct {
	j     *jsonLibrary
	L     *lua.LState
	text  string
	at    int
	depth int
}

func (d *decoder) document() (lua.LValue, error) {
	v, err := d.value()
	if err == nil {
		d.blanks()
		if d.at < len(d.text) {
			err = d.bad("something follows the value")
		}
	}
	return v, err
}

func (d *decoder) bad(what string) error { return fmt.Errorf("%s at byte %d", what, d.at+1) }

func (d *decoder) blanks() {
	for d.at < len(d.text) {
		switch d.text[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// take skips blanks and then c. It returns false if another byte is next.
func (d *decoder) take(c byte) bool {
	d.blanks()
	if d.at < len(d.text) && d.text[d.at] == c {
		d.at++
		return true
	}
	return false
}

func (d *decoder) value() (lua.LValue, error) {
	d.blanks()
	if d.at == len(d.text) {
		return nil, d.bad("the text ends")
	}
	switch c := d.text[d.at]; {
	case c == '{':
		return d.nested(d.objectValue)
	case c == '[':
		return d.nested(d.arrayValue)
	case c == '"':
		s, err := d.stringValue()
		return lua.LString(s), err
	case c == '-' || octet.IsDigit(c):
		return d.numberValue()
	}
	for _, w := range []struct {
		word string
		v    lua.LValue
	}{{"true", lua.LTrue}, {"false", lua.LFalse}, {"null", d.j.null}} {
		if strings.HasPrefix(d.text[d.at:], w.word) {
			d.at += len(w.word)
			return w.v, nil
		}
	}
	return nil, d.bad("not a value")
}

func (d *decoder) nested(read func() (lua.LValue, error)) (lua.LValue, error) {
	if d.depth++; d.depth > maxJSONDepth {
		return nil, d.bad(errJSONDepth.Error())
	}
	d.at++
	d.j.s.budget.reserve(d.L, tableBytes)
	v, err := read()
	d.depth--
	return v, err
}

func (d *decoder) arrayValue() (lua.LValue, error) {
	t := d.L.CreateTable(0, 0)
	t.Metatable = d.j.array
	if d.take(']') {
		return t, nil
	}
	for i := 1; ; i++ {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		d.j.s.budget.reserve(d.L, 2*slotBytes)
		t.RawSetInt(i, v)
		if d.take(']') {
			return t, nil
		}
		if !d.take(',') {
			return nil, d.bad(`want "," or "]"`)
		}
	}
}

func (d *decoder) objectValue() (lua.LValue, error) {
	t := d.L.CreateTable(0, 4)
	t.Metatable = d.j.object
	if d.take('}') {
		return t, nil
	}
	for {
		if d.blanks(); d.at == len(d.text) || d.text[d.at] != '"' {
			return nil, d.bad("want a string as the name of a member")
		}
		k, err := d.stringValue()
		if err != nil {
			return nil, err
		}
		if !d.take(':') {
			return nil, d.bad(`want ":"`)
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		d.j.s.budget.reserve(d.L, memberBytes)
		t.RawSetString(k, v)
		if d.take('}') {
			return t, nil
		}
		if !d.take(',') {
			return nil, d.bad(`want "," or "}"`)
		}
	}
}

func (d *decoder) digits() bool {
	from := d.at
	for d.at < len(d.text) && octet.IsDigit(d.text[d.at]) {
		d.at++
	}
	return d.at > from
}

func (d *decoder) numberValue() (lua.LValue, error) {
	from := d.at
	if d.text[d.at] == '-' {
		d.at++
	}
	zero := d.at < len(d.text) && d.text[d.at] == '0'
	first := d.at
	ok := d.digits() && (!zero || d.at == first+1)
	if ok && d.at < len(d.text) && d.text[d.at] == '.' {
		d.at++
		ok = d.digits()
	}
	if ok && d.at < len(d.text) && d.text[d.at]|0x20 == 'e' {
		d.at++
		if d.at < len(d.text) && (d.text[d.at] == '+' || d.text[d.at] == '-') {
			d.at++
		}
		ok = d.digits()
	}
	if !ok {
		return nil, d.bad("bad number")
	}
	f, err := strconv.ParseFloat(d.text[from:d.at], 64)
	if err != nil {
		return nil, d.bad("number out of range")
	}
	return lua.LNumber(f), nil
}

var errEscape = errors.New("bad escape")

// stringValue returns a part of the text if the string has no escapes.
func (d *decoder) stringValue() (string, error) {
	d.at++
	from := d.at
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			return d.text[from : d.at-1], nil
		case c == '\\':
			return d.escaped(from)
		case c < ' ':
			return "", d.bad("control character in a string")
		}
	}
	return "", d.bad("the string does not end")
}

func (d *decoder) escaped(from int) (string, error) {
	out := append(make([]byte, 0, 2*(d.at-from)+16), d.text[from:d.at]...)
	for d.at < len(d.text) {
		c := d.text[d.at]
		switch {
		case c == '"':
			d.at++
			return string(out), nil
		case c < ' ':
			return "", d.bad("control character in a string")
		case c != '\\':
			out = append(out, c)
			d.at++
		default:
			var err error
			if out, err = d.escape(out); err != nil {
				return "", d.bad(err.Error())
			}
		}
	}
	return "", d.bad("the string does not end")
}

func (d *decoder) escape(out []byte) ([]byte, error) {
	if d.at+1 >= len(d.text) {
		return nil, errEscape
	}
	c := d.text[d.at+1]
	if c == 'u' {
		return d.unicode(out)
	}
	d.at += 2
	switch c {
	case '"', '\\', '/':
		return append(out, c), nil
	case 'b':
		return append(out, '\b'), nil
	case 'f':
		return append(out, '\f'), nil
	case 'n':
		return append(out, '\n'), nil
	case 'r':
		return append(out, '\r'), nil
	case 't':
		return append(out, '\t'), nil
	}
	return nil, errEscape
}

// unicode reads \uXXXX. A half of a surrogate pair becomes U+FFFD.
func (d *decoder) unicode(out []byte) ([]byte, error) {
	r, ok := d.hex(d.at)
	if !ok {
		return nil, errEscape
	}
	d.at += 6
	if utf16.IsSurrogate(r) {
		if low, ok := d.hex(d.at); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				d.at += 6
				return utf8.AppendRune(out, pair), nil
			}
		}
		r = utf8.RuneError
	}
	return utf8.AppendRune(out, r), nil
}

func (d *decoder) hex(at int) (rune, bool) {
	if at+6 > len(d.text) || d.text[at:at+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(d.text[at+2:at+6], 16, 32)
	return rune(n), err == nil
}

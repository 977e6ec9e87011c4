package script

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/h2surge/h2surge/internal/jsontext"
)

// wholeText is a document.
var wholeText jsontext.Pointer

// decode returns nil and a message if the text is not JSON.
func (j *jsonLibrary) decode(L *lua.LState) int {
	d := decoder{jsonLibrary: j, L: L, text: arg(L, 1)}
	j.s.budget.reserve(L, 4*len(d.text))
	text := []byte(d.text)
	if _, ok := wholeText.Raw(text); !ok {
		d.err = cmp.Or(json.Unmarshal(text, new(json.RawMessage)), errJSONDepth)
	}
	L.Push(d.value())
	if d.err == nil {
		return 1
	}
	L.Push(lua.LNil)
	L.Push(lua.LString("json: " + d.err.Error()))
	return 2
}

// decoder makes Lua values of a text that is valid JSON.
type decoder struct {
	*jsonLibrary
	L         *lua.LState
	text      string
	at, depth int
	// err ends the decoder.
	err error
}

// next skips what does not begin or end a value, and returns the byte after it.
func (d *decoder) next() byte {
	for {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			d.at++
		default:
			return c
		}
	}
}

func (d *decoder) value() lua.LValue {
	if d.err != nil {
		return lua.LNil
	}
	switch d.next() {
	case '{', '[':
		return d.nested()
	case '"':
		return lua.LString(d.string())
	case 't':
		d.at += len("true")
		return lua.LTrue
	case 'f':
		d.at += len("false")
		return lua.LFalse
	case 'n':
		d.at += len("null")
		return d.null
	}
	return d.number()
}

// nested makes a table of an array or object.
func (d *decoder) nested() lua.LValue {
	b := d.s.budget
	b.reserve(d.L, tableBytes)
	if d.depth++; d.depth > maxJSONDepth {
		d.err = errJSONDepth
	}
	meta, end, members := d.array, byte(']'), 0
	if d.text[d.at] == '{' {
		meta, end, members = d.object, '}', 4
	}
	t := d.L.CreateTable(0, members)
	t.Metatable = meta
	d.at++
	for i := 1; d.err == nil; i++ {
		if d.next() == end {
			d.at++
			break
		}
		if end == ']' {
			b.reserve(d.L, 2*slotBytes)
			t.RawSetInt(i, d.value())
			continue
		}
		b.reserve(d.L, memberBytes)
		name := d.string()
		t.RawSetString(name, d.value())
	}
	d.depth--
	return t
}

// string returns a part of the text if the string has no escapes.
func (d *decoder) string() string {
	from := d.at
	d.at += 2 + strings.IndexByte(d.text[from+1:], '"')
	if inner := d.text[from+1 : d.at-1]; strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	for d.at = from + 1; d.text[d.at] != '"'; d.at++ {
		if d.text[d.at] == '\\' {
			d.at++
		}
	}
	d.at++
	return string(jsontext.Text(nil, []byte(d.text[from:d.at])))
}

func (d *decoder) number() lua.LValue {
	from := d.at
	for d.at < len(d.text) && strings.IndexByte("+-.0123456789Ee", d.text[d.at]) >= 0 {
		d.at++
	}
	f, err := strconv.ParseFloat(d.text[from:d.at], 64)
	if err != nil {
		d.err = errors.New("number out of range")
	}
	return lua.LNumber(f)
}

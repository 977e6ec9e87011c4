package script

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// view is a message in a script: an object of the native form, and a header table of the compatible form. Both read and
// change the message itself.
type view struct {
	*objects
	// name is req, prev or res.
	name     string
	response bool
	object   *lua.LUserData
	// table is the header table of the current call, nil if the script has none or it is an ordinary table.
	table *lua.LTable
	// m is nil outside of a call. made is nil if the script cannot change the message.
	m    *Message
	made *made
	// own is true if the fields are a copy in made.
	own bool
	// asked is the request that m responds to, if its pseudo-headers are in the header table of m.
	asked *Message
	// status is the status of a response as text.
	status    []byte
	statusBuf [8]byte
	cache     []boxed
}

const contentLength = "content-length"

var pseudoNames = [...]string{"status", "method", "scheme", "authority", "path"}

// boxed caches a string as a Lua value. To make one costs two allocations, and most texts of a message are the same as
// in the message before.
type boxed struct {
	s string
	v lua.LValue
}

// The entries of cache: the body, the pseudo-headers, and the fields.
const cachedBody, cachedPseudo, cachedFields = 0, 1, 1 + len(pseudoNames)

// cached returns a text that is entry i of the cache.
func (v *view) cached(i int, text []byte) lua.LValue {
	for len(v.cache) <= i {
		v.cache = append(v.cache, boxed{v: lua.LString("")})
	}
	b := &v.cache[i]
	if b.s != string(text) {
		b.s = string(text)
		b.v = lua.LString(b.s)
	}
	return b.v
}

func (v *view) bodyText() lua.LValue { return v.cached(cachedBody, v.m.Body) }

func (v *view) open(m *Message, w *made) {
	v.m, v.made, v.own, v.asked, v.table, v.status = m, w, false, nil, nil, nil
	if m != nil && m.Status != 0 {
		v.status = strconv.AppendInt(v.statusBuf[:0], int64(m.Status), 10)
	}
}

// part returns the value of a pseudo-header, or nil. name has no colon.
func (v *view) part(name string) *[]byte {
	switch {
	case !v.response:
		return pseudoOf(v.m, name)
	case name == "status":
		return &v.status
	case v.asked != nil:
		return pseudoOf(v.asked, name)
	}
	return nil
}

// pseudo returns a pseudo-header. name has no colon.
func (v *view) pseudo(name string) lua.LValue {
	if part := v.part(name); part != nil {
		return v.cached(cachedPseudo+slices.Index(pseudoNames[:], name), *part)
	}
	return lua.LNil
}

// header returns a header by its name in lower case. Several fields of one name are joined with "; ".
func (v *view) header(name string) lua.LValue {
	at, more := -1, false
	for i := range v.m.Fields {
		if string(v.m.Fields[i].Name) != name {
			continue
		}
		if more = at >= 0; more {
			break
		}
		at = i
	}
	switch {
	case at < 0:
		return lua.LNil
	case more:
		return lua.LString(v.joined(name))
	}
	return v.cached(cachedFields+at, v.m.Fields[at].Value)
}

func (v *view) joined(name string) string {
	var values []string
	for _, f := range v.m.Fields {
		if string(f.Name) == name {
			values = append(values, string(f.Value))
		}
	}
	return strings.Join(values, "; ")
}

// hold copies what a script sets. Replaced texts count until the call ends.
func (v *view) hold(text string) ([]byte, error) {
	const changes = 4 // of the whole message
	l := &v.budget.limits
	if len(v.made.bytes)+len(text) > changes*(l.Body+l.Fields) {
		return nil, fmt.Errorf("%w: %s is changed too often", ErrLimit, v.name)
	}
	return v.made.add(text), nil
}

func (v *view) setBody(text string) (err error) {
	if most := v.budget.limits.Body; len(text) > most {
		return fmt.Errorf("%w: a body of %d bytes, more than %d", ErrLimit, len(text), most)
	}
	v.m.Body, err = v.hold(text)
	return err
}

// checkSize returns an error if the headers and n more bytes exceed Limits.Fields. A field has a size as HPACK computes
// it (RFC 7541 section 4.1).
func (v *view) checkSize(n int) error {
	const perField = 32
	n += perField
	for _, name := range pseudoNames {
		if part := v.part(name); part != nil {
			n += len(":") + len(name) + len(*part) + perField
		}
	}
	for _, f := range v.m.Fields {
		n += len(f.Name) + len(f.Value) + perField
	}
	if most := v.budget.limits.Fields; n > most {
		return fmt.Errorf("%w: headers of more than %d bytes", ErrLimit, most)
	}
	return nil
}

// setPseudo sets a pseudo-header. name has no colon.
func (v *view) setPseudo(name, text string) (err error) {
	part := v.part(name)
	if part == nil {
		return fmt.Errorf("unknown pseudo-header %q", ":"+shorten(name))
	}
	if err := cmp.Or(checkPseudo(name, text), v.checkSize(len(text))); err != nil {
		return err
	}
	*part, err = v.hold(text)
	return err
}

// setField adds a field. If replace, it removes all others of the name.
func (v *view) setField(name, text string, replace bool) error {
	name = strings.ToLower(name)
	if err := cmp.Or(checkName(name), checkValue(name, text), v.checkSize(len(name)+len(text))); err != nil {
		return err
	}
	value, err := v.hold(text)
	if err != nil {
		return err
	}
	fields := v.ownFields()
	is := func(f Field) bool { return string(f.Name) == name }
	if i := slices.IndexFunc(fields, is); i >= 0 && replace {
		fields[i].Value = value
		v.setFields(append(fields[:i+1], slices.DeleteFunc(fields[i+1:], is)...))
		return nil
	}
	v.setFields(append(fields, Field{Name: v.made.add(name), Value: value}))
	return nil
}

func (v *view) removeField(name string) {
	v.setFields(slices.DeleteFunc(v.ownFields(), func(f Field) bool { return string(f.Name) == name }))
}

// ownFields returns a copy of the fields, which can be changed.
func (v *view) ownFields() []Field {
	if !v.own {
		v.setFields(append(v.made.fields[:0], v.m.Fields...))
	}
	return v.made.fields
}

func (v *view) setFields(f []Field) { v.made.fields, v.m.Fields, v.own = f, f, true }

// setHeader sets a header of a header table. nil removes it.
func (v *view) setHeader(key, value lua.LValue) error {
	k, ok := key.(lua.LString)
	if !ok {
		return fmt.Errorf("the name of a header is a string, not a %s", key.Type())
	}
	name, isPseudo := strings.CutPrefix(strings.ToLower(string(k)), ":")
	str, ok := text(value)
	switch {
	case value == lua.LNil && isPseudo:
		if part := v.part(name); part != nil {
			*part = nil
		}
	case value == lua.LNil:
		v.removeField(name)
	case !ok:
		return fmt.Errorf("header %q is a %s, want a string or a number", shorten(string(k)), value.Type())
	case isPseudo:
		return v.setPseudo(name, str)
	case name != contentLength:
		return v.setField(name, str, true)
	}
	return nil
}

// replaceHeaders sets all headers to those of a table.
func (v *view) replaceHeaders(t *lua.LTable) error {
	for _, name := range pseudoNames {
		if part := v.part(name); part != nil {
			*part = nil
		}
	}
	v.setFields(v.made.fields[:0])
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if err := v.setHeader(key, value); err != nil {
			return err
		}
	}
	return nil
}

// takeHeaders sets the headers to what a script returned: the header table, which has changed the message, or another
// one. before is the message before the call.
func (v *view) takeHeaders(result lua.LValue, before *Message) error {
	t, ok := result.(*lua.LTable)
	switch {
	case !ok:
		return fmt.Errorf("the first result is a %s, want a table of headers", result.Type())
	case t == v.table:
		if _, ok := v.m.Header(contentLength); ok {
			v.removeField(contentLength)
		}
	case t.Metatable == lua.LValue(v.meta):
		return errors.New("the first result is the header table of another message")
	default:
		if err := v.replaceHeaders(t); err != nil {
			return err
		}
	}
	for _, name := range pseudoNames {
		old, now := pseudoOf(before, name), v.part(name)
		if now != nil && len(*now) == 0 && (old == nil || len(*old) > 0) {
			return fmt.Errorf("the returned headers have no %q", ":"+name)
		}
	}
	if v.response {
		v.m.Status, _ = strconv.Atoi(string(v.status))
	}
	return nil
}

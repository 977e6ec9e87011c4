package script

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// compat has what calls of the compatible form use.
type compat struct {
	meta                      *lua.LTable
	request, response         headers
	requestBody, responseBody boxed
	// work is the request while takeRequest fills it.
	work Message
}

var (
	pseudoNames = [...]string{":method", ":scheme", ":authority", ":path"}
	pseudoBytes = [...][]byte{[]byte(":method"), []byte(":scheme"), []byte(":authority"), []byte(":path")}
	statusName  = []byte(":status")
)

const contentLength = "content-length"

func (h *headers) addPseudo(m *Message) {
	for i, name := range pseudoNames {
		if v := *pseudoOf(m, name[1:]); len(v) > 0 {
			h.add(pseudoBytes[i], v)
		}
	}
}

func (h *headers) addStatus(m *made, status int) {
	from := len(m.bytes)
	m.bytes = strconv.AppendInt(m.bytes, int64(status), 10)
	h.add(statusName, m.bytes[from:len(m.bytes):len(m.bytes)])
}

func (s *state) makeRequest(m *made, prevReq, prevRes, req *Message) error {
	fn, err := s.function(makeRequest)
	if err != nil {
		return err
	}
	c := &s.compat
	c.response.begin(s.L, c.meta)
	payload := lua.LValue(lua.LString(""))
	if prevRes != nil && prevRes.Status != 0 {
		c.response.addStatus(m, prevRes.Status)
		if prevReq != nil {
			c.response.addPseudo(prevReq)
		}
		c.response.join(m, prevRes.Fields)
		payload = c.responseBody.of(prevRes.Body)
	}
	c.request.begin(s.L, c.meta)
	c.request.addPseudo(req)
	c.request.join(m, req.Fields)
	s.L.Push(fn)
	s.L.Push(c.response.table)
	s.L.Push(payload)
	s.L.Push(c.request.table)
	s.L.Push(c.requestBody.of(req.Body))
	if err := s.run(4, 2); err != nil {
		return err
	}
	err = s.takeRequest(m, s.L.Get(-2), s.L.Get(-1), req)
	s.L.SetTop(0)
	return err
}

// takeRequest sets the request to what make_request returned. After an error it is unchanged.
func (s *state) takeRequest(m *made, table, payload lua.LValue, req *Message) error {
	t, ok := table.(*lua.LTable)
	if !ok {
		return s.fail(makeRequest, "the first result is a %s, want a table of headers", table.Type())
	}
	body, ok := text(payload)
	if !ok {
		return s.fail(makeRequest, "the second result is a %s, want the payload, a string", payload.Type())
	}
	out := &s.compat.work
	*out = *req
	if err := s.takeHeaders(m, t, out); err != nil {
		return s.fail(makeRequest, "%w", err)
	}
	if body != s.compat.requestBody.s {
		if err := checkBody(s, len(body)); err != nil {
			return s.fail(makeRequest, "%w", err)
		}
		out.Body = m.add(body)
	}
	*req = *out
	return nil
}

func checkBody(s *state, n int) error {
	if most := s.budget.limits.Body; n > most {
		return fmt.Errorf("%w: a body of %d bytes, more than %d", ErrLimit, n, most)
	}
	return nil
}

func (s *state) takeHeaders(m *made, t *lua.LTable, out *Message) error {
	c := &s.compat
	given := *out
	h := taker{made: m, out: out, most: s.budget.limits.Fields}
	switch {
	case t == c.request.table:
		if !c.request.changed && c.request.find(contentLength) == nil {
			return nil
		}
		h.clear()
		h.slots(&c.request)
	case t == c.response.table:
		h.clear()
		h.slots(&c.response)
	case t.Metatable == lua.LValue(c.meta):
		return errors.New("the first result is a header table of an earlier call")
	default:
		h.clear()
		h.table(t)
	}
	if h.err != nil {
		return h.err
	}
	for _, name := range pseudoNames {
		if len(*pseudoOf(&given, name[1:])) > 0 && len(*pseudoOf(out, name[1:])) == 0 {
			return fmt.Errorf("the returned headers have no %q", name)
		}
	}
	return nil
}

// taker sets a message from the headers that a script returned.
type taker struct {
	made       *made
	out        *Message
	size, most int
	err        error
}

func (h *taker) clear() {
	for _, name := range pseudoNames {
		*pseudoOf(h.out, name[1:]) = nil
	}
}

func (h *taker) slots(from *headers) {
	for i := 0; i < len(from.slots) && h.err == nil; i++ {
		switch s := &from.slots[i]; {
		case s.set == nil:
			h.same(s)
		case s.set != lua.LNil:
			h.one(lua.LString(s.name), s.set)
		}
	}
	h.out.Fields = h.made.fields
}

func (h *taker) table(t *lua.LTable) {
	for k, v := t.Next(lua.LNil); k != lua.LNil && h.err == nil; k, v = t.Next(k) {
		h.one(k, v)
	}
	h.out.Fields = h.made.fields
}

// same takes a header that the script did not change.
func (h *taker) same(s *slot) {
	if s.name[0] != ':' {
		h.field(s.name, s.value)
		return
	}
	if p := pseudoOf(h.out, string(s.name[1:])); p != nil {
		*p = s.value
	} else {
		h.fail(fmt.Errorf("unknown pseudo-header %q", s.name))
	}
}

func (h *taker) fail(err error) {
	if h.err == nil {
		h.err = err
	}
}

func (h *taker) one(key, v lua.LValue) {
	name, ok := key.(lua.LString)
	if !ok {
		h.fail(fmt.Errorf("the name of a header is a string, not a %s", key.Type()))
		return
	}
	value, ok := text(v)
	if !ok {
		h.fail(fmt.Errorf("header %q is a %s, want a string or a number", shorten(string(name)), v.Type()))
		return
	}
	if strings.HasPrefix(string(name), ":") {
		h.pseudo(string(name), value)
		return
	}
	if err := cmp.Or(checkName(name), checkValue(string(name), value)); err != nil {
		h.fail(err)
		return
	}
	h.field(h.made.add(strings.ToLower(string(name))), h.made.add(value))
}

func (h *taker) pseudo(name, value string) {
	p := pseudoOf(h.out, name[1:])
	if p == nil {
		h.fail(fmt.Errorf("unknown pseudo-header %q", shorten(name)))
		return
	}
	if err := checkPseudo(name[1:], value); err != nil {
		h.fail(err)
		return
	}
	h.grow(len(name) + len(value))
	*p = h.made.add(value)
}

// field adds a field. If two names differ by case only, the last one counts.
func (h *taker) field(name, value []byte) {
	if string(name) == contentLength {
		return
	}
	h.grow(len(name) + len(value))
	for i := range h.made.fields {
		if f := &h.made.fields[i]; string(f.Name) == string(name) {
			f.Value = value
			return
		}
	}
	h.made.fields = append(h.made.fields, Field{Name: name, Value: value})
}

// grow adds a size as HPACK computes it (RFC 7541 section 4.1).
func (h *taker) grow(n int) {
	const perField = 32
	if h.size += n + perField; h.size > h.most {
		h.fail(fmt.Errorf("%w: headers of more than %d bytes", ErrLimit, h.most))
	}
}

func (s *state) validateResponse(m *made, res *Message) (bool, error) {
	fn, err := s.function(validateResponse)
	if err != nil {
		return false, err
	}
	c := &s.compat
	c.response.begin(s.L, c.meta)
	c.response.addStatus(m, res.Status)
	c.response.join(m, res.Fields)
	s.L.Push(fn)
	s.L.Push(c.response.table)
	s.L.Push(c.responseBody.of(res.Body))
	if err := s.run(2, 1); err != nil {
		return false, err
	}
	v := s.L.Get(-1)
	s.L.SetTop(0)
	ok, isBool := v.(lua.LBool)
	if !isBool {
		return false, s.fail(validateResponse, "the result is a %s, want a boolean", v.Type())
	}
	return bool(ok), nil
}

package script

import (
	"fmt"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// customizeResponse is the function of scripts that a server runs: customize_response(request_headers, request_body,
// response_headers, response_body) -> table, string. The headers are as in the compatible form. The script can change
// ":status" of the response.
const customizeResponse = "customize_response"

// CompileCustomizer is Compile for a script that defines customize_response.
func CompileCustomizer(name, source string) (*Script, error) {
	proto, err := compile(name, source)
	if err != nil {
		return nil, err
	}
	s := &Script{name: name, proto: proto, defines: map[string]bool{customizeResponse: true}, wantsBody: true}
	h, err := NewHost([]*Script{s}, Limits{})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if _, ok := h.states[0].L.G.Global.RawGetString(customizeResponse).(*lua.LFunction); !ok {
		return nil, fmt.Errorf("%s: the script does not define %s", name, customizeResponse)
	}
	return s, nil
}

// Customize lets script i change res, the response to req. After an error res is unchanged.
func (h *Host) Customize(i int, req, res *Message) error {
	s, err := h.begin(i, nil)
	if err != nil {
		return err
	}
	defer s.close()
	m := &h.made[h.turn]
	fn, err := s.function(customizeResponse)
	if err != nil {
		return err
	}
	c := &s.compat
	c.request.begin(s.L, c.meta)
	c.request.addPseudo(req)
	c.request.join(m, req.Fields)
	c.response.begin(s.L, c.meta)
	c.response.addStatus(m, res.Status)
	c.response.join(m, res.Fields)
	s.L.Push(fn)
	s.L.Push(c.request.table)
	s.L.Push(c.requestBody.of(req.Body))
	s.L.Push(c.response.table)
	s.L.Push(c.responseBody.of(res.Body))
	if err := s.run(4, 2); err != nil {
		return err
	}
	err = s.takeResponse(m, s.L.Get(-2), s.L.Get(-1), res)
	s.L.SetTop(0)
	return err
}

// takeResponse sets the response to what customize_response returned. After an error it is unchanged.
func (s *state) takeResponse(m *made, table, payload lua.LValue, res *Message) error {
	t, ok := table.(*lua.LTable)
	if !ok {
		return s.fail(customizeResponse, "the first result is a %s, want a table of headers", table.Type())
	}
	if t == s.compat.request.table {
		return s.fail(customizeResponse, "the first result is the request's headers, want the response's")
	}
	body, ok := text(payload)
	if !ok {
		return s.fail(customizeResponse, "the second result is a %s, want the body, a string", payload.Type())
	}
	if err := checkBody(s, len(body)); err != nil {
		return s.fail(customizeResponse, "%w", err)
	}
	out := *res
	status, err := s.takeStatus(t)
	if err != nil {
		return s.fail(customizeResponse, "%w", err)
	}
	if err := s.takeHeaders(m, t, &out); err != nil {
		return s.fail(customizeResponse, "%w", err)
	}
	for _, name := range pseudoNames {
		if len(*pseudoOf(&out, name[1:])) > 0 {
			return s.fail(customizeResponse, "a response has no %q", name)
		}
	}
	out.Status, out.Body = status, m.add(body)
	*res = out
	return nil
}

// takeStatus removes ":status" from the returned headers and returns it.
func (s *state) takeStatus(t *lua.LTable) (int, error) {
	const name = ":status"
	v := t.RawGetString(name)
	if t == s.compat.response.table {
		slot := s.compat.response.find(name)
		v, slot.set = slot.now(), lua.LNil
	} else {
		t.RawSetString(name, lua.LNil)
	}
	digits, _ := text(v)
	status, err := strconv.Atoi(digits)
	if err != nil || status < 200 || status > 599 {
		return 0, fmt.Errorf("%s is %q, want 200 to 599", name, shorten(digits))
	}
	return status, nil
}

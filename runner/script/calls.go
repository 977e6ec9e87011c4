package script

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// The functions that a script may define.
const (
	makeRequest       = "make_request"
	validateResponse  = "validate_response"
	customizeResponse = "customize_response"
	onRequest         = "on_request"
	onResponse        = "on_response"
)

// none is the response before the first request.
var none Message

// begin prepares a call of script i. A script that has lost its state starts again.
func (h *Host) begin(i int, v Values) (*state, *made, error) {
	h.turn ^= 1
	m := &h.made[h.turn]
	m.bytes, m.fields = m.bytes[:0], m.fields[:0]
	h.reason = ""
	s := h.states[i]
	if s.L == nil {
		if err := s.open(); err != nil {
			return nil, nil, err
		}
	}
	s.values = v
	return s, m, nil
}

// Request lets script i change req. prevReq and prevRes are the previous request and response of the chain instance,
// nil or empty for the first. After an error req is unchanged. An error names the script and, if possible, the line.
func (h *Host) Request(i int, prevReq, prevRes, req *Message, v Values) error {
	s, m, err := h.begin(i, v)
	if err != nil {
		return err
	}
	defer s.close()
	s.work = *req
	s.req.open(&s.work, m)
	if prevRes != nil && prevRes.Status != 0 {
		s.prev.open(prevRes, nil)
		s.prev.asked = prevReq
	}
	switch {
	case s.script.defines[makeRequest]:
		err = s.change(makeRequest, &s.prev, &s.req, req)
	case s.script.defines[onRequest]:
		err = s.onRequest()
	default:
		err = fmt.Errorf("%s: requests: %w", s.script.name, errNoFunction)
	}
	if err == nil {
		*req = s.work
	}
	return err
}

// Customize lets script i change res, the response to req. After an error res is unchanged.
func (h *Host) Customize(i int, req, res *Message) error {
	s, m, err := h.begin(i, nil)
	if err != nil {
		return err
	}
	defer s.close()
	s.work = *res
	s.res.open(&s.work, m)
	s.req.open(req, nil)
	if err = s.change(customizeResponse, &s.req, &s.res, res); err == nil {
		*res = s.work
	}
	return err
}

// change calls a function of the compatible form that gets a message to read and one to change. before is the second
// one before the call.
func (s *state) change(function string, read, changed *view, before *Message) error {
	if read.m == nil {
		read.open(&none, nil)
	}
	body := changed.bodyText()
	headers, payload, err := s.call(function, read.headerTable(), read.bodyText(), changed.headerTable(), body)
	if err != nil {
		return err
	}
	if err := changed.takeHeaders(headers, before); err != nil {
		return s.fail(function, "%w", err)
	}
	str, ok := text(payload)
	if !ok {
		return s.fail(function, "the second result is a %s, want the payload, a string", payload.Type())
	}
	if payload == body {
		return nil
	}
	if err := changed.setBody(str); err != nil {
		return s.fail(function, "%w", err)
	}
	return nil
}

func (s *state) onRequest() error {
	prev := lua.LNil
	if s.prev.m != nil {
		prev = s.prev.object
	}
	result, _, err := s.call(onRequest, s.req.object, prev)
	if err == nil && result != lua.LNil {
		err = s.fail(onRequest, "the result is a %s, want no result: change req instead", result.Type())
	}
	return err
}

// Response lets script i judge res, the response to req. It changes neither.
func (h *Host) Response(i int, req, res *Message, v Values) (ok bool, err error) {
	s, _, err := h.begin(i, v)
	if err != nil {
		return false, err
	}
	defer s.close()
	s.res.open(res, nil)
	switch {
	case s.script.defines[validateResponse]:
		return s.validateResponse()
	case s.script.defines[onResponse]:
		ok, h.reason, err = s.onResponse(req)
		h.reason = clip(h.reason)
		return ok, err
	}
	return false, fmt.Errorf("%s: responses: %w", s.script.name, errNoFunction)
}

func (s *state) validateResponse() (bool, error) {
	result, _, err := s.call(validateResponse, s.res.headerTable(), s.res.bodyText())
	if err != nil {
		return false, err
	}
	ok, isBool := result.(lua.LBool)
	if !isBool {
		return false, s.fail(validateResponse, "the result is a %s, want a boolean", result.Type())
	}
	return bool(ok), nil
}

func (s *state) onResponse(req *Message) (ok bool, reason string, err error) {
	asked := lua.LNil
	if req != nil {
		s.req.open(req, nil)
		asked = s.req.object
	}
	first, second, err := s.call(onResponse, s.res.object, asked)
	if err != nil {
		return false, "", err
	}
	reason, hasReason := text(second)
	switch {
	case second != lua.LNil && !hasReason:
		err = s.fail(onResponse, "the second result is a %s, want a string", second.Type())
	case first == lua.LTrue, first == lua.LNil && !hasReason:
		return true, "", nil
	case first == lua.LFalse, first == lua.LNil:
		return false, reason, nil
	default:
		err = s.fail(onResponse, "the first result is a %s, want a boolean or nothing", first.Type())
	}
	return false, "", err
}

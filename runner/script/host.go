package script

import (
	"errors"
	"fmt"
)

// Host runs the scripts of one worker. It belongs to one goroutine at a time.
type Host struct {
	budget *budget
	states []*state
	reason string
	// made holds what the current call sets in messages; the other half is of the call before, whose slices may be what
	// this call reads.
	made [2]made
	turn int
}

// made is memory that is used again two calls later.
type made struct {
	bytes  []byte
	fields []Field
}

// add copies a string to where it stays until the call after the next.
func (m *made) add(s string) []byte {
	from := len(m.bytes)
	m.bytes = append(m.bytes, s...)
	return m.bytes[from:len(m.bytes):len(m.bytes)]
}

// NewHost runs the top level of each script, each in a Lua state of its own.
func NewHost(scripts []*Script, l Limits) (*Host, error) {
	h := &Host{budget: newBudget(l.withDefaults())}
	for i, sc := range scripts {
		s := &state{script: sc, number: i, budget: h.budget}
		h.states = append(h.states, s)
		if err := s.open(); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

// Close frees what the Lua states hold. The Host cannot be used after that.
func (h *Host) Close() {
	for _, s := range h.states {
		s.drop()
	}
	h.states = nil
}

var errNoFunction = errors.New("the script does not define this function")

// begin prepares a call of script i. A script that has lost its state starts again.
func (h *Host) begin(i int, v Values) (*state, error) {
	h.turn ^= 1
	m := &h.made[h.turn]
	m.bytes, m.fields = m.bytes[:0], m.fields[:0]
	h.reason = ""
	s := h.states[i]
	if s.L == nil {
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	s.values = v
	return s, nil
}

// Request lets script i change req. prevReq and prevRes are the chain instance's previous request and response, nil or
// empty for the first. After an error req is as it was. An error names the script and mostly the line.
func (h *Host) Request(i int, prevReq, prevRes, req *Message, v Values) error {
	s, err := h.begin(i, v)
	if err != nil {
		return err
	}
	defer s.close()
	switch {
	case s.script.defines[makeRequest]:
		return s.makeRequest(&h.made[h.turn], prevReq, prevRes, req)
	case s.script.defines[onRequest]:
		return s.onRequest(&h.made[h.turn], prevRes, req)
	}
	return fmt.Errorf("%s: requests: %w", s.script.name, errNoFunction)
}

// Response lets script i judge res, the answer to req. Neither is changed.
func (h *Host) Response(i int, req, res *Message, v Values) (ok bool, err error) {
	s, err := h.begin(i, v)
	if err != nil {
		return false, err
	}
	defer s.close()
	switch {
	case s.script.defines[validateResponse]:
		return s.validateResponse(&h.made[h.turn], res)
	case s.script.defines[onResponse]:
		ok, h.reason, err = s.onResponse(req, res)
		h.reason = clip(h.reason)
		return ok, err
	}
	return false, fmt.Errorf("%s: responses: %w", s.script.name, errNoFunction)
}

// Reason is what the script gave as the reason when the last call of Response was false; often "".
func (h *Host) Reason() string { return h.reason }

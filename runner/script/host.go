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
	// made[turn] has the bytes that the current call sets in messages. The other one belongs to the call before: this call
	// can read messages with its bytes.
	made [2]made
	turn int
}

// made has bytes and fields that stay valid until the call after the next.
type made struct {
	bytes  []byte
	fields []Field
}

// add copies a string.
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

// Request lets script i change req. prevReq and prevRes are the previous request and response of the chain instance, nil
// or empty for the first. After an error req is unchanged. An error names the script and, if possible, the line.
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

// Response lets script i judge res, the response to req. It changes neither.
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

// Reason returns the reason that the script gave when the last call of Response returned false. It can be "".
func (h *Host) Reason() string { return h.reason }

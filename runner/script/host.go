package script

import (
	"errors"
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
		s := &state{script: sc, number: i, objects: objects{budget: h.budget}}
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

// Reason returns the reason that the script gave when the last call of Response returned false. It can be "".
func (h *Host) Reason() string { return h.reason }

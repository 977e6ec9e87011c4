package loop

import (
	"slices"

	"github.com/h2surge/h2surge/runner/message"
)

// exchange stores a response and its request, for steps that need more than the status and single header fields. The
// worker reuses it with its buffers.
type exchange struct {
	message.Exchange
	request  message.Message
	response message.Message
	// rendered has the octets of the request as rendered, kept those after a script changed them.
	rendered, kept []byte
	parts          []*[]byte
	// fields are the positions of names and values in octets.
	fields []fieldSpan
	octets []byte
	body   []byte
	// limit is the largest size of body. Octets beyond it are counted, not stored.
	limit int

	_ [16]byte // whole cache lines
}

type fieldSpan struct{ name, value, end int }

// exchanges is the pool of exchanges.
type exchanges struct {
	idle []*exchange
	// unused is how many of them, at the beginning of idle, were not used since shrink was called.
	unused int
}

// releaseMemory drops what was not used since the last call.
func (s *exchanges) shrink() {
	if s.unused > 0 {
		s.idle = slices.Delete(s.idle, 0, s.unused)
	}
	s.unused = len(s.idle)
}

func (s *exchanges) alloc(limit int) *exchange {
	var x *exchange
	if n := len(s.idle); n > 0 {
		x = s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.unused = min(s.unused, n-1)
	} else {
		x = &exchange{}
	}
	x.limit = limit
	x.Request = nil
	x.clear()
	return x
}

// largestIdleBody is the largest buffer that is kept for the next response.
const largestIdleBody = 1 << 20

func (s *exchanges) release(x *exchange) {
	if x == nil {
		return
	}
	if cap(x.body) > largestIdleBody {
		x.body = nil
	}
	s.idle = append(s.idle, x)
}

// keepRequest copies the request into kept. A script may have put octets into the request that are valid during its
// call only.
func (x *exchange) keepRequest() {
	m, kept := &x.request, x.kept[:0]
	parts := x.parts[:0]
	parts = append(parts, &m.Method, &m.Scheme, &m.Authority, &m.Path, &m.Body)
	for i := range m.Fields {
		parts = append(parts, &m.Fields[i].Name, &m.Fields[i].Value)
	}
	for _, p := range parts {
		kept = append(kept, *p...)
	}
	at := 0
	for _, p := range parts {
		end := at + len(*p)
		*p, at = kept[at:end:end], end
	}
	x.kept, x.parts, x.Request = kept, parts, m
}

// clear removes the response, not the request.
func (x *exchange) clear() {
	x.fields, x.octets, x.body = x.fields[:0], x.octets[:0], x.body[:0]
	x.BodySize, x.Cut, x.ResponseTime = 0, false, 0
}

func (x *exchange) field(name, value []byte) {
	f := fieldSpan{name: len(x.octets)}
	x.octets = append(x.octets, name...)
	f.value = len(x.octets)
	x.octets = append(x.octets, value...)
	f.end = len(x.octets)
	x.fields = append(x.fields, f)
}

func (x *exchange) data(p []byte) {
	x.BodySize += int64(len(p))
	if free := x.limit - len(x.body); len(p) > free {
		x.Cut = true
		p = p[:free]
	}
	x.body = append(x.body, p...)
}

// size returns the octets that the exchange keeps.
func (x *exchange) size() int { return len(x.kept) + len(x.octets) + len(x.body) }

// complete returns the exchange with the response that was received.
func (x *exchange) complete(status int, responseTime int64) *message.Exchange {
	r := &x.response
	r.Status, r.Body, r.Fields = status, x.body, r.Fields[:0]
	for _, f := range x.fields {
		r.Fields = append(r.Fields, message.Field{Name: x.octets[f.name:f.value], Value: x.octets[f.value:f.end]})
	}
	x.Response, x.ResponseTime = r, responseTime
	return &x.Exchange
}

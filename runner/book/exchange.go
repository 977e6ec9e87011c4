package book

import (
	"slices"
	"unsafe"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/message"
)

// Exchange stores a response and its request, for steps that need more than the status and single header fields. The
// worker reuses it with its buffers.
type Exchange struct {
	message.Exchange
	request  message.Message
	response message.Message
	// endpoint is the one that the request is rendered for.
	endpoint *rv.Endpoint
	// rendered has the octets of the request as rendered, kept those after a script changed them.
	rendered, kept []byte
	parts          []*[]byte
	// fields are the positions of names and values in octets. A value ends where the next name begins.
	fields []fieldSpan
	octets []byte
	body   []byte
	// early is how many of fields were there when a call of gRPC had no status yet.
	early int
	// limit is the largest size of body. Octets beyond it are counted, not stored.
	limit int
	// memory is its part of Exchanges.memory.
	memory int
	// stream is the state of a call of gRPC with a stream; nil: the exchange was never used for one.
	stream *grpc.Stream
}

type fieldSpan struct{ name, value uint32 }

// smallFree is the most that an exchange takes that is used again while more than half of the limit is in use.
const smallFree = 4 << 10

// Exchanges is a pool of exchanges.
type Exchanges struct {
	// limit bounds memory, which is what the exchanges take, in octets. Free ones count, too.
	limit, memory int
	// bodiesOnly: memory is what the bodies take, not the header fields and the records.
	bodiesOnly bool
	// largestFree is the most that an exchange takes that is used again.
	largestFree int
	free        []*Exchange
	// unused is how many of them, at the beginning of free, were not used since Shrink was called.
	unused int
}

// NewExchanges returns a pool that takes so much memory at most, and keeps no exchange for further use that takes more
// than largestFree.
func NewExchanges(limit, largestFree int) Exchanges {
	return Exchanges{limit: limit, largestFree: largestFree}
}

// InUse returns how much memory the exchanges take that are in use.
func (s *Exchanges) InUse() int {
	n := s.memory
	for _, x := range s.free {
		n -= x.memory
	}
	return n
}

// Shrink drops what was not used since the last call.
func (s *Exchanges) Shrink() {
	if s.unused > 0 {
		s.drop(s.unused)
	}
	s.unused = len(s.free)
}

// drop forgets the first n free exchanges.
func (s *Exchanges) drop(n int) {
	for _, x := range s.free[:n] {
		s.memory -= x.memory
	}
	s.free = slices.Delete(s.free, 0, n)
}

// Alloc returns an exchange for a response with a body of at most limit octets.
func (s *Exchanges) Alloc(limit int) *Exchange {
	var x *Exchange
	if n := len(s.free); n > 0 {
		x = s.free[n-1]
		s.free = s.free[:n-1]
		s.unused = min(s.unused, n-1)
	} else {
		x = &Exchange{}
		s.settle(x)
	}
	x.limit = limit
	x.Request = nil
	if x.stream != nil {
		x.stream.Begin(nil, nil)
	}
	x.clear()
	return x
}

// Release frees an exchange, or nil.
func (s *Exchanges) Release(x *Exchange) {
	if x == nil {
		return
	}
	largest := s.largestFree
	switch { // a small response in a large buffer would keep memory from others
	case s.memory > s.limit:
		largest = 0
	case s.memory > s.limit/2:
		largest = min(largest, smallFree)
	}
	if max(x.memory, cap(x.kept), cap(x.rendered)) > largest {
		s.memory -= x.memory
		return
	}
	s.free = append(s.free, x)
}

// Full returns whether the exchanges in use take all that they may. It drops free ones if that helps.
func (s *Exchanges) Full() bool {
	if s.memory >= s.limit {
		s.drop(len(s.free))
		s.unused = 0
	}
	return s.memory >= s.limit
}

// settle counts what an exchange takes now.
func (s *Exchanges) settle(x *Exchange) {
	s.memory -= x.memory
	if x.memory = cap(x.body); !s.bodiesOnly {
		x.memory = x.takes()
	}
	s.memory += x.memory
}

// Lend stops counting an exchange, which another owner counts until it gives it back. It frees what is spare, and the
// messages, which Complete makes again, if the buffers were made for a much larger one.
func (s *Exchanges) Lend(x *Exchange) {
	if x.isSpacious() {
		x.octets, x.body, x.fields = slices.Clone(x.octets), slices.Clone(x.body), slices.Clone(x.fields)
		x.request, x.response = message.Message{}, message.Message{}
		s.settle(x)
	}
	s.memory -= x.memory
}

// TakeBack counts an exchange again.
func (s *Exchanges) TakeBack(x *Exchange) { s.memory += x.memory }

// Memory returns how much memory an exchange takes, as its pool counts it.
func (x *Exchange) Memory() int { return x.memory }

// LentSize returns how much memory an exchange takes after Lend.
func (x *Exchange) LentSize() int {
	if x.isSpacious() {
		return x.needs()
	}
	return x.memory
}

// isSpacious returns whether the buffers of an exchange were made for a much larger one.
func (x *Exchange) isSpacious() bool { return x.memory > 2*x.needs() }

// takes returns how much memory an exchange takes, without its request.
func (x *Exchange) takes() int {
	return int(unsafe.Sizeof(*x)) + cap(x.octets) + cap(x.body) + cap(x.fields)*int(unsafe.Sizeof(fieldSpan{})) +
		cap(x.response.Fields)*int(unsafe.Sizeof(message.Field{}))
}

// needs is what takes would return if no memory was spare.
func (x *Exchange) needs() int {
	return int(unsafe.Sizeof(*x)) + len(x.octets) + len(x.body) + len(x.fields)*int(unsafe.Sizeof(fieldSpan{}))
}

// IsFor returns whether the exchange has a request that was rendered for an endpoint.
func (x *Exchange) IsFor(e *rv.Endpoint) bool { return x.Request != nil && x.endpoint == e }

// Render renders a request for an endpoint. The exchange has it after KeepRequest.
func (x *Exchange) Render(s *chain.Step, in *chain.Instance, e *rv.Endpoint, body, cookie []byte) {
	x.endpoint = e
	x.rendered = s.RenderMessage(&x.request, x.rendered[:0], in, e, body, cookie)
}

// Rendered returns the request that was rendered, so that it can be changed before KeepRequest.
func (x *Exchange) Rendered() *message.Message { return &x.request }

// SetPath replaces the path of the request that was rendered.
func (x *Exchange) SetPath(path []byte) {
	at := len(x.rendered)
	x.rendered = append(x.rendered, path...)
	x.request.Path = x.rendered[at:]
}

// KeepRequest copies the request into kept. A script may have put octets into the request that are valid during its
// call only.
func (x *Exchange) KeepRequest() {
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
func (x *Exchange) clear() {
	x.fields, x.octets, x.body = x.fields[:0], x.octets[:0], x.body[:0]
	x.BodySize, x.Cut, x.ResponseTime, x.early = 0, false, 0, 0
}

// Head says where an exchange has the parts of a request that was received and that come before its header fields.
// Pseudo-header fields come in any order.
type Head struct{ Method, Scheme, Authority, Path Span }

// Span is a part of the octets of an exchange, valid until it is used for another one.
type Span struct{ begin, end uint32 }

// HeadPart keeps a part of a Head. Parts come before the header fields.
func (s *Exchanges) HeadPart(x *Exchange, p []byte) Span {
	at := uint32(len(x.octets))
	x.octets = append(x.octets, p...)
	s.settle(x)
	return Span{at, uint32(len(x.octets))}
}

// Field keeps a header field. A session has checked the size of the header, so this memory has no other bound.
func (s *Exchanges) Field(x *Exchange, name, value []byte) {
	grows := len(x.fields) == cap(x.fields) || len(name)+len(value) > cap(x.octets)-len(x.octets)
	at := len(x.octets)
	x.fields = append(x.fields, fieldSpan{name: uint32(at), value: uint32(at + len(name))})
	x.octets = append(append(x.octets, name...), value...)
	if grows {
		s.settle(x)
	}
}

// header returns the name and the value of field i.
func (x *Exchange) header(i int) (name, value []byte) {
	f, end := x.fields[i], uint32(len(x.octets))
	if i+1 < len(x.fields) {
		end = x.fields[i+1].name
	}
	return x.octets[f.name:f.value], x.octets[f.value:end]
}

// cutKept is what is kept of a body that was cut for its memory, so that samples show how it begins, and others get the
// memory.
const cutKept = 4 << 10

// Data keeps a piece of the body. It cuts a body that is above its limit, and one that needs memory beyond that of the
// pool: ok is then false.
func (s *Exchanges) Data(x *Exchange, p []byte) (ok bool) {
	x.BodySize += int64(len(p))
	if x.Cut {
		return true
	}
	if free := x.limit - len(x.body); len(p) > free {
		x.Cut = true
		p = p[:free]
	}
	if len(p) <= cap(x.body)-len(x.body) {
		x.body = append(x.body, p...)
		return true
	}
	if s.Full() {
		x.Cut = true
		x.body = slices.Clone(x.body[:min(len(x.body), cutKept)])
		s.settle(x)
		return false
	}
	x.body = append(x.body, p...)
	s.settle(x)
	return true
}

// Complete returns the exchange with the response that was received.
func (s *Exchanges) Complete(x *Exchange, status int, responseTime int64) *message.Exchange {
	r := &x.response
	if len(x.fields) > cap(r.Fields) {
		r.Fields = make([]message.Field, len(x.fields))
		s.settle(x)
	}
	r.Status, r.Body, r.Fields = status, x.body, r.Fields[:0]
	for i := range x.fields {
		if name, value := x.header(i); i >= x.early || !grpc.IsStatus(name) {
			r.Fields = append(r.Fields, message.Field{Name: name, Value: value})
		}
	}
	x.Response, x.ResponseTime = r, responseTime
	return &x.Exchange
}

// CompleteRequest makes the exchange have the request that was received, and a response with this status and the same
// fields and body.
func (s *Exchanges) CompleteRequest(x *Exchange, head Head, status int) {
	r := s.Complete(x, status, 0).Response
	x.request = message.Message{
		Method: x.at(head.Method), Scheme: x.at(head.Scheme), Authority: x.at(head.Authority), Path: x.at(head.Path),
		Fields: r.Fields, Body: r.Body,
	}
	x.Request = &x.request
}

func (x *Exchange) at(s Span) []byte { return x.octets[s.begin:s.end] }

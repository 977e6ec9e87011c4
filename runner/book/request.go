package book

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/fiveg"
	"github.com/h2surge/h2surge/runner/grpc"
)

// Request is one request from the moment its slot was picked up until its outcome. Other packages read its fields. They
// change them by methods of Request and Book only.
type Request struct {
	// Instants of the worker's clock: the slot's, when it was picked up, when the request was
	// sent, when response headers came (0: not yet).
	Due, Picked, Sent, First int64

	chain.Activation
	// Stream and Conn are where the request is in flight, or was last.
	Stream uint32
	Conn   int32
	// Target is the index of the target: that of the step, or one that was followed.
	Target int32
	// next and prev link the timeout list.
	next, prev ID
	// Status is that of the response; 0: not yet.
	Status int16
	// Stage is the rate stage of its slot, or one of the constants Stage..., which are below all of them.
	Stage int16
	// InFlight is true while the request is on a connection, and false while it waits for a stream.
	InFlight bool
	// captures has a bit for each of the step's captures that the response has filled.
	captures uint32
	// code is 1 + the code of a call of gRPC; 0: the response has none yet.
	code uint8
	// continues: content or trailers have followed the header of the response to a call.
	continues bool
	// retryAfter is the pause that a failed response asks for, in milliseconds.
	retryAfter int32
	// Retried: the peer has given it back once already.
	Retried bool
	// refused: the peer has refused it once already.
	refused bool
	// Located is true if the response is a redirect with a Location.
	Located bool
	// Rooted is true if the response is a redirect with Step.RedirectField.
	Rooted bool
	// Control is the information about load that the response has, if the step counts it.
	Control fiveg.Control
	// Admitted: it has a token of the request limit.
	Admitted bool
	// Starts is true for the request that counts for a slot of a stage of chainsPerSecond: the first of its instance.
	Starts bool
	// Sampled: the header is gathered for a sample.
	Sampled bool
	// GivenBackBy is the address of the connection that did not process the request, if it is retried.
	GivenBackBy string
	// Exchange gathers what the step looks at; nil when that is the status and header fields only.
	Exchange *Exchange
}

// The stages of requests outside of all rate stages. Those of setup and teardown run once for the whole test.
const (
	StageSetup    int16 = -1
	StageTeardown int16 = -2
	// StageGraceful is for requests of load chains after the load.
	StageGraceful int16 = -3
)

// Captured returns whether the response has filled a capture of the step, which has at most 16.
func (r *Request) Captured(i int) bool { return r.captures&(1<<i) != 0 }

// MarkCaptured notes that the response has filled a capture of the step.
func (r *Request) MarkCaptured(i int) { r.captures |= 1 << i }

// SetStarts makes the request the one that counts for the slot of its instance.
func (r *Request) SetStarts() { r.Starts = true }

// Admit notes whether the request has a token of the request limit.
func (r *Request) Admit(token bool) { r.Admitted = token }

// DueNow makes the request due now, because the request limit has held it back.
func (r *Request) DueNow(now int64) { r.Due = now }

// SetSampled sets whether the header is gathered for a sample.
func (r *Request) SetSampled(wanted bool) { r.Sampled = wanted }

// SetCode notes the field grpc-status of a call. The first one counts.
func (r *Request) SetCode(status []byte) {
	if r.code == 0 {
		r.code = 1 + uint8(grpc.Number(status))
	}
}

// Continue notes that content or trailers follow the header of the response to a call. Then the status is in the
// trailers, and what the header says of it does not count (PROTOCOL-HTTP2.md of gRPC).
func (r *Request) Continue() {
	if r.continues {
		return
	}
	r.continues, r.code = true, 0
	if r.Exchange != nil {
		r.Exchange.early = len(r.Exchange.fields)
	}
}

// Code returns the name of the code of a call.
func (r *Request) Code() string {
	if r.code == 0 {
		return grpc.Code(nil)
	}
	return grpc.Name(int(r.code - 1))
}

// Respond notes the status of the response, whose header has come.
func (r *Request) Respond(status int, now int64) { r.Status, r.First = int16(status), now }

// SetPause notes the pause that the response asks for.
func (r *Request) SetPause(d time.Duration) { r.retryAfter = int32(d / time.Millisecond) }

// Pause returns the pause that the response asks for.
func (r *Request) Pause() time.Duration { return time.Duration(r.retryAfter) * time.Millisecond }

// NoteLoad notes a header field of the response if it has information about load.
func (r *Request) NoteLoad(name []byte) { r.Control |= fiveg.ControlOf(name) }

// AppendPath appends the path that the request was sent with to an endpoint.
func (r *Request) AppendPath(dst []byte, s *chain.Step, in *chain.Instance, e *rv.Endpoint) []byte {
	if r.Exchange != nil && r.Exchange.Request != nil {
		return append(dst, r.Exchange.Request.Path...)
	}
	return s.AppendPath(dst, in, e)
}

// SetLocated notes that the response has a Location.
func (r *Request) SetLocated() { r.Located = true }

// SetRooted notes that the response has Step.RedirectField.
func (r *Request) SetRooted() { r.Rooted = true }

// Refuse notes that the peer has refused the request. It returns true the first time.
func (r *Request) Refuse() (first bool) {
	first = !r.refused
	r.refused = true
	return first
}

// BeginCall makes the request a call with streams, of which nothing was sent and nothing has arrived.
func (r *Request) BeginCall(body []byte, waits []rv.Wait) {
	if r.Exchange.stream == nil {
		r.Exchange.stream = new(grpc.Stream)
	}
	r.Exchange.stream.Begin(body, waits)
}

// Call returns the state of a request that is a call with streams. It is nil if BeginCall was never called for its
// exchange.
func (r *Request) Call() *grpc.Stream {
	if r.Exchange == nil {
		return nil
	}
	return r.Exchange.stream
}

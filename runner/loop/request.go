package loop

import (
	"time"

	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/fiveg"
)

// request is one request from the moment its slot was picked up until its outcome.
type request struct {
	// Instants of the worker's clock: the slot's, when it was picked up, when the request was
	// sent, when response headers came (0: not yet).
	due, picked, sent, first int64

	chain.Activation
	stream uint32
	conn   int32
	// target is an index into targets.all: the step's, or one that was followed.
	target int32
	// next and prev link the timeout list.
	next, prev int32
	status     int16
	// stage is the rate stage of its slot; setupStage and teardownStage are below all of them.
	stage int16
	state requestState
	// captures has a bit for each of the step's captures that the response has filled.
	captures uint32
	// retryAfter is the pause that a failed response asks for, in milliseconds.
	retryAfter int32
	// retried: the peer has given it back once already.
	retried bool
	// refused: the peer has refused it once already.
	refused bool
	// located is true if the response is a redirect with a Location. See redirect.
	located bool
	// rooted is true if the response is a redirect with Step.RedirectField. See redirect.
	rooted bool
	// control is the information about load that the response has, if the step counts it.
	control fiveg.Control
	// admitted: it has a token of the request limit.
	admitted bool
	// starts is true for the request that counts for a slot of a stage of chainsPerSecond: the first of its instance.
	starts bool
	// sampled: the header is gathered for a sample.
	sampled bool
	// givenBackBy is the address of the connection that did not process the request, if it is retried.
	givenBackBy string
	// exchange gathers what the step looks at; nil when that is the status and header fields only.
	exchange *exchange
}

type requestState uint8

const (
	// The zero state is a free record's.
	_ requestState = iota
	// waiting for a free stream.
	waiting
	// inFlight on a connection.
	inFlight
)

// captured and markCaptured note which of the step's captures this response has filled; a step
// has at most 16.
func (r *request) captured(i int) bool { return r.captures&(1<<i) != 0 }

func (r *request) markCaptured(i int) { r.captures |= 1 << i }

// start makes the request the one that counts for the slot of its instance.
func (r *request) start() { r.starts = true }

// admit notes whether the request has a token of the request limit, and dueNow that its slot was held back until now.
func (r *request) admit(token bool) { r.admitted = token }
func (r *request) dueNow(now int64) { r.due = now }

// sample lets the response be gathered for a sample, or not.
func (r *request) sample(wanted bool) { r.sampled = wanted }

// respond notes the status of the response, whose header has come.
func (r *request) respond(status int, now int64) { r.status, r.first = int16(status), now }

// pauseAfter notes the pause that the response asks for.
func (r *request) pauseAfter(d time.Duration) { r.retryAfter = int32(d / time.Millisecond) }

// pause returns the pause that the response asks for.
func (r *request) pause() time.Duration { return time.Duration(r.retryAfter) * time.Millisecond }

// noteLoad notes a header field of the response if it has information about load.
func (r *request) noteLoad(name []byte) {
	r.control |= fiveg.ControlOf(name)
}

// locate notes that the response has a Location, and root that it has Step.RedirectField.
func (r *request) locate() { r.located = true }
func (r *request) root()   { r.rooted = true }

// refuse notes that the peer has refused the request. It returns true the first time.
func (r *request) refuse() (first bool) {
	first = !r.refused
	r.refused = true
	return first
}

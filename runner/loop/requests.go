package loop

// request is one request from the moment its slot was picked up until its outcome.
type request struct {
	// Instants of the worker's clock: the slot's, when it was picked up, when the request was
	// sent, when response headers came (0: not yet).
	due, picked, sent, first int64

	activation
	stream uint32
	conn   int32
	// target is an index into Worker.targets: the step's, or one that was followed.
	target int32
	// next and prev link the timeout list.
	next, prev int32
	status     int16
	// stage is the rate stage of its slot; setupStage and teardownStage are below all of them.
	stage int16
	state requestState
	// captures has a bit for each of the step's captures that the response has filled.
	captures uint16
	// retried: the peer has given it back once already.
	retried bool
	// refused: the peer has refused it once already.
	refused bool
	// sampled: the header is gathered for a sample.
	sampled bool
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
	// counted: its outcome is in the counters, and the record is about to be released.
	counted
)

const none int32 = -1

// expiry is the requests in flight of one timeout, in the order in which they were sent, so that
// the next one to expire is the first.
type expiry struct {
	timeout     int64
	first, last int32
}

func (e *expiry) append(s *slab, i int32) {
	r := &s.all[i]
	r.next, r.prev = none, e.last
	if e.last == none {
		e.first = i
	} else {
		s.all[e.last].next = i
	}
	e.last = i
}

func (e *expiry) remove(s *slab, i int32) {
	r := &s.all[i]
	if r.prev == none {
		e.first = r.next
	} else {
		s.all[r.prev].next = r.next
	}
	if r.next == none {
		e.last = r.prev
	} else {
		s.all[r.next].prev = r.prev
	}
}

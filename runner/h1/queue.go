package h1

import "github.com/h2surge/h2surge/runner/protocol"

// request is a request in flight.
type request struct {
	start uint64 // offset of its first octet on the connection
	id    uint32
	tok   uint32
	want  protocol.Want
	state requestState
}

type requestState uint8

const (
	idempotent requestState = 1 << iota // by its method (RFC 9110 9.2.2)
	cancelled                           // it gets no OnDone
)

// queue has the requests in the order of their responses (RFC 9112 9.3.2). It is a ring whose length is 0 or a power of
// two.
type queue struct {
	ring  []request
	first uint32
	count int
}

func (q *queue) at(i int) *request {
	return &q.ring[(q.first+uint32(i))&uint32(len(q.ring)-1)]
}

func (q *queue) push(r request) {
	if q.count == len(q.ring) {
		q.grow()
	}
	*q.at(q.count) = r
	q.count++
}

func (q *queue) grow() {
	ring := make([]request, max(1, 2*len(q.ring)))
	for i := range q.count {
		ring[i] = *q.at(i)
	}
	q.ring, q.first = ring, 0
}

// ringKept is the length up to which a ring is kept for another connection.
const ringKept = 64

// emptied returns a queue for another connection in the same memory.
func (q *queue) emptied() queue {
	if len(q.ring) > ringKept {
		return queue{}
	}
	return queue{ring: q.ring}
}

func (q *queue) pop() request {
	r := *q.at(0)
	q.first++
	q.count--
	return r
}

// isIdempotent reads the method off a request's head (RFC 9110 9.2.2).
func isIdempotent(head []byte) bool {
	for i, b := range head {
		if b != ' ' {
			continue
		}
		switch string(head[:i]) {
		case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE":
			return true
		}
		break
	}
	return false
}

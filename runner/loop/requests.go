package loop

import (
	"math/bits"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/chain"
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
	// overloadControl and loadControl are true if the response has 3gpp-Sbi-Oci or 3gpp-Sbi-Lci.
	overloadControl, loadControl bool
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
	// counted: its outcome is in the counters, and the record is about to be released.
	counted
)

const none int32 = -1

// requests are the worker's requests from slot to outcome.
type requests struct {
	slab
	// waiting requests have no stream yet, by target, oldest first.
	waiting []ring.Ring[int32]
	// expiries are the requests in flight, by timeout.
	expiries  []expiry
	exchanges exchanges
	// serviceTime is a moving average, doneInTurn how many responses this turn has completed; see idle.go.
	serviceTime int64
	doneInTurn  int
	// cut: a body that was cut because of maxBodies was logged.
	cut bool
	// progressAt is when a request was last answered, timed out or was reset.
	progressAt int64
	// ending is why a connection ends, valid while its session is closed.
	ending failure.Cause
}

const (
	// maxBodies bounds the memory for the bodies that a worker keeps, because checks, captures or scripts read them. It is several times
	// the largest body.
	maxBodies = 256 << 20
	// largestIdleResponse is the most that an exchange takes that is used for the next response.
	largestIdleResponse = 1 << 20
)

func newRequests(p *chain.Program) requests {
	s := requests{
		slab:      slab{used: cacheline.Make[uint64](0), full: cacheline.Make[uint64](0)},
		waiting:   make([]ring.Ring[int32], len(p.Targets)+maxFollowed),
		expiries:  cacheline.Make[expiry](len(p.Timeouts)),
		exchanges: exchanges{limit: maxBodies, bodiesOnly: true, largestIdle: largestIdleResponse},
	}
	for i, t := range p.Timeouts {
		s.expiries[i] = expiry{timeout: t, first: none, last: none}
	}
	return s
}

// beginTurn forgets what the turn before has completed.
func (s *requests) beginTurn() { s.doneInTurn = 0 }

// progress notes that requests get outcomes.
func (s *requests) progress(now int64) { s.progressAt = now }

// anyInFlight returns whether a request is in flight.
func (s *requests) anyInFlight() bool {
	return slices.ContainsFunc(s.expiries, func(e expiry) bool { return e.first != none })
}

// firstCut returns true if no body was cut before because of maxBodies.
func (s *requests) firstCut() bool {
	before := s.cut
	s.cut = true
	return !before
}

// closing sets the cause of the outcomes of requests whose connection ends. The zero cause ends its validity.
func (s *requests) closing(why failure.Cause) { s.ending = why }

// outstanding calls f with each request that is in flight, or was until the peer gave it back. Those are at the head of
// their queue.
func (s *requests) outstanding(f func(*request)) {
	for i := range s.expiries {
		for tok := s.expiries[i].first; tok != none; tok = s.all[tok].next {
			f(&s.all[tok])
		}
	}
	for i := range s.waiting {
		q := &s.waiting[i]
		for k := 0; k < q.Len() && s.all[q.At(k)].retried; k++ {
			f(&s.all[q.At(k)])
		}
	}
}

// wait puts a request at the end of its target's queue, waitFirst at the head.
func (s *requests) wait(tok int32)      { s.waiting[s.all[tok].target].Push(tok) }
func (s *requests) waitFirst(tok int32) { s.waiting[s.all[tok].target].PushFront(tok) }

// waitingFor returns how many requests wait for a stream to a target.
func (s *requests) waitingFor(target int32) int { return s.waiting[target].Len() }

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

// slab keeps requests; an index into it is the token the session carries. The lowest free index is used first,
// so that the end of the slab comes free after a burst and can be given back.
type slab struct {
	all []request
	// used has a bit for each request in use, and full one for each word of used without a free bit.
	used, full []uint64
	inUse      int
}

func (s *slab) alloc() int32 {
	s.inUse++
	word := s.notFull()
	if word == len(s.used) {
		s.used = append(s.used, 0)
	}
	if word/64 == len(s.full) {
		s.full = append(s.full, 0)
	}
	bit := bits.TrailingZeros64(^s.used[word])
	s.used[word] |= 1 << bit
	if s.used[word] == ^uint64(0) {
		s.full[word/64] |= 1 << (word % 64)
	}
	i := 64*word + bit
	if i == len(s.all) {
		s.all = append(s.all, request{})
	}
	return int32(i)
}

// notFull is the first word of used with a free bit, or the one behind the last.
func (s *slab) notFull() int {
	for i, f := range s.full {
		if f != ^uint64(0) {
			return 64*i + bits.TrailingZeros64(^f)
		}
	}
	return 64 * len(s.full)
}

func (s *slab) release(i int32) {
	s.all[i] = request{}
	word := i / 64
	s.used[word] &^= 1 << (i % 64)
	s.full[word/64] &^= 1 << (word % 64)
	s.inUse--
}

// smallSlab is how many records are kept whatever is in use.
const smallSlab = 4096

// shrink gives memory back when less than an eighth is used, and none of it in the second half. Pointers to
// records become stale.
func (s *slab) shrink() {
	if len(s.all) <= smallSlab || s.inUse > len(s.all)/8 {
		return
	}
	words := len(s.used)
	for words > 0 && s.used[words-1] == 0 {
		words--
	}
	if 64*words > len(s.all)/2 {
		return
	}
	n := max(64*words, smallSlab/64)
	s.all = append(make([]request, 0, n), s.all[:64*words]...)
	s.used = append([]uint64(nil), s.used[:words]...)
	s.full = append([]uint64(nil), s.full[:(words+63)/64]...)
}

// captured and markCaptured note which of the step's captures this response has filled; a step
// has at most 16.
func (r *request) captured(i int) bool { return r.captures&(1<<i) != 0 }

func (r *request) markCaptured(i int) { r.captures |= 1 << i }

// answered notes a whole response. It keeps a moving average of the service time, over some 64 responses.
func (s *requests) answered(now, service int64) {
	s.progressAt = now
	s.doneInTurn++
	s.serviceTime += (service - s.serviceTime) / 64
}

// maxGathered bounds what is kept of a header for a sample.
const maxGathered = 4 * rv.MaxSampleOctets

// gather keeps a header field of a response that a sample may be made of.
func (s *requests) gather(r *request, name, value []byte) {
	if r.exchange == nil {
		r.exchange = s.exchanges.alloc(causeLimit)
	}
	if len(r.exchange.octets)+len(name)+len(value) <= maxGathered {
		s.exchanges.field(r.exchange, name, value)
	}
}

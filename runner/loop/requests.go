package loop

import (
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/message"
)

const none int32 = -1

// requests are the worker's requests from slot to outcome. Only its methods and those of request write the fields of a
// request.
type requests struct {
	slab
	program *chain.Program
	// maxWait is how long a request waits for a stream.
	maxWait int64
	// waiting requests have no stream yet, by target, oldest first.
	waiting []ring.Ring[int32]
	// expiries are the requests in flight, by timeout.
	expiries  []expiry
	exchanges exchanges
	// serviceTime is a moving average, doneInTurn how many responses this turn has completed; see idle.go.
	serviceTime int64
	doneInTurn  int
	// cut: a body that a step needs was cut because of maxBodies.
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

func newRequests(p *chain.Program, maxWait time.Duration) requests {
	s := requests{
		slab:      slab{used: cacheline.Make[uint64](0), full: cacheline.Make[uint64](0)},
		program:   p,
		maxWait:   int64(maxWait),
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

// add makes the record of a request whose slot was picked up now, and returns its token.
func (s *requests) add(a chain.Activation, target int32, due, now int64, stage int16) (tok int32) {
	tok = s.alloc()
	s.all[tok] = request{Activation: a, target: target, due: due, picked: now, stage: stage, state: waiting}
	return tok
}

// at returns the record of a request. It is valid until the next call of add or shrink.
func (s *requests) at(tok int32) *request { return &s.all[tok] }

// wait puts a request at the end of its target's queue.
func (s *requests) wait(tok int32) { s.waiting[s.all[tok].target].Push(tok) }

// waitingFor returns how many requests wait for a stream to a target.
func (s *requests) waitingFor(target int32) int { return s.waiting[target].Len() }

// pop removes and returns the oldest request that waits for a stream to a target.
func (s *requests) pop(target int32) (tok int32) { return s.waiting[target].Pop() }

// popOverdue removes and returns the oldest request that waits for a stream to a target, if it has waited too long at an
// instant. If not, it returns none. At never, each request has waited too long.
func (s *requests) popOverdue(target int32, at int64) (tok int32) {
	q := &s.waiting[target]
	if q.Len() == 0 || at != never && s.all[q.Front()].due+s.maxWait > at {
		return none
	}
	return q.Pop()
}

// nextOverdue returns when the first request has waited too long for a stream to one of the first targets.
func (s *requests) nextOverdue(targets int) int64 {
	next := int64(never)
	for i := range s.waiting[:targets] {
		if q := &s.waiting[i]; q.Len() > 0 {
			next = min(next, s.all[q.Front()].due+s.maxWait)
		}
	}
	return next
}

// sent notes that a request is in flight on a stream of a connection.
func (s *requests) sent(tok int32, stream uint32, conn int32, now int64) {
	r := &s.all[tok]
	r.stream, r.conn, r.state, r.sent = stream, conn, inFlight, now
	s.expiryOf(r).append(&s.slab, tok)
}

// expired returns a request whose timeout has passed, or none. Each list is in the order of sending, so it looks at the heads
// only.
func (s *requests) expired(now int64) (tok int32) {
	for i := range s.expiries {
		if e := &s.expiries[i]; e.first != none && s.all[e.first].sent+e.timeout <= now {
			return e.first
		}
	}
	return none
}

// nextExpiry returns when the next timeout passes.
func (s *requests) nextExpiry() int64 {
	next := int64(never)
	for i := range s.expiries {
		if e := &s.expiries[i]; e.first != none {
			next = min(next, s.all[e.first].sent+e.timeout)
		}
	}
	return next
}

// mayRetry returns whether a request that the peer has not processed has not waited too long to be sent again.
func (s *requests) mayRetry(r *request, now int64) bool { return now-r.picked < s.maxWait }

// giveBack puts a request that the peer has not processed at the head of its target's queue. Address is that of its
// connection.
func (s *requests) giveBack(tok int32, address string) {
	r := &s.all[tok]
	s.expiryOf(r).remove(&s.slab, tok)
	r.givenBackBy = address
	r.retried, r.state, r.first, r.status, r.captures, r.retryAfter, r.located = true, waiting, 0, 0, 0, 0, false
	r.rooted, r.control = false, 0
	if r.exchange != nil {
		r.exchange.clear()
	}
	s.waiting[r.target].PushFront(tok)
}

// end frees the record of a request, which has its outcome and is in no queue.
func (s *requests) end(tok int32) {
	r := &s.all[tok]
	if r.state == inFlight {
		s.expiryOf(r).remove(&s.slab, tok)
	}
	s.exchanges.release(r.exchange)
	s.release(tok)
}

func (s *requests) expiryOf(r *request) *expiry {
	return &s.expiries[s.program.Steps[r.Step].TimeoutClass]
}

// exchangeOf returns the exchange of a request, which has a body of at most limit octets. If it has none yet, it gets one.
func (s *requests) exchangeOf(r *request, limit int) *exchange {
	if r.exchange == nil {
		r.exchange = s.exchanges.alloc(limit)
	}
	return r.exchange
}

// keep returns the exchange of a request in place of an earlier one, which it frees. The caller owns it from now on.
func (s *requests) keep(r *request, earlier *exchange) *exchange {
	s.exchanges.release(earlier)
	x := r.exchange
	r.exchange = nil
	return x
}

// complete returns the exchange of a request with its response, or nil if it has none.
func (s *requests) complete(r *request, now int64) *message.Exchange {
	if r.exchange == nil {
		return nil
	}
	return s.exchanges.complete(r.exchange, int(r.status), now-r.due)
}

// causeLimit is how many octets of an error body are kept if no check or capture needs it and it is read for its cause only.
const causeLimit = 8 << 10

// data keeps a piece of the body of a response. It returns true at the first body that a step needs and that is cut because of
// maxBodies.
func (s *requests) data(r *request, p []byte) (firstCut bool) {
	if s.exchanges.data(s.exchangeOf(r, causeLimit), p) || s.cut || !s.program.Steps[r.Step].WantBody {
		return false
	}
	s.cut = true
	return true
}

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
	if x := s.exchangeOf(r, causeLimit); len(x.octets)+len(name)+len(value) <= maxGathered {
		s.exchanges.field(x, name, value)
	}
}

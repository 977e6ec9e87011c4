package book

import (
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/bitmap"
	"github.com/h2surge/h2surge/runner/cacheline"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/pace"
)

// ID is the token of a request: the index of its record.
type ID int32

// None is the ID of no request.
const None ID = -1

// Book has the requests of a worker.
type Book struct {
	slab
	program *chain.Program
	// maxWait is how long a request waits for a stream.
	maxWait int64
	// waiting requests have no stream yet, by target, oldest first.
	waiting []ring.Ring[ID]
	// reserved requests wait for a stream of the connection of their chain instance.
	reserved ring.Ring[ID]
	// expiries are the requests in flight, by timeout.
	expiries  []expiry
	exchanges Exchanges
	// serviceTime is a moving average, doneInTurn how many responses this turn has completed.
	serviceTime int64
	doneInTurn  int
	// cut: a body that a step needs was cut because of MaxBodies.
	cut bool
	// progressAt is when a request was last answered, timed out or was reset.
	progressAt int64
}

const (
	// MaxBodies bounds the memory for the bodies that a worker keeps, because checks, captures or scripts read them. It is
	// several times the largest body.
	MaxBodies = 256 << 20
	// largestFreeResponse is the most that an exchange takes that is used for the next response.
	largestFreeResponse = 1 << 20
)

// New returns a book without requests, which waits for streams to so many targets at most.
func New(p *chain.Program, targets int, maxWait time.Duration) Book {
	s := Book{
		slab:      slab{ids: bitmap.New()},
		program:   p,
		maxWait:   int64(maxWait),
		waiting:   make([]ring.Ring[ID], targets),
		expiries:  cacheline.Make[expiry](len(p.Timeouts)),
		exchanges: Exchanges{limit: MaxBodies, bodiesOnly: true, largestFree: largestFreeResponse},
	}
	for i, t := range p.Timeouts {
		s.expiries[i] = expiry{timeout: t, first: None, last: None}
	}
	return s
}

// BeginTurn forgets what the turn before has completed.
func (b *Book) BeginTurn() { b.doneInTurn = 0 }

// InUse returns how many requests have no outcome.
func (b *Book) InUse() int { return b.ids.Len() }

// DoneInTurn returns how many responses this turn has completed.
func (b *Book) DoneInTurn() int { return b.doneInTurn }

// ServiceTime returns a moving average of the service time, in nanoseconds.
func (b *Book) ServiceTime() int64 { return b.serviceTime }

// ProgressAt returns when a request was last answered, timed out or was reset.
func (b *Book) ProgressAt() int64 { return b.progressAt }

// Memory returns how much memory the bodies of responses take that are in use.
func (b *Book) Memory() int { return b.exchanges.InUse() }

// Progress notes that requests get outcomes.
func (b *Book) Progress(now int64) { b.progressAt = now }

// Shrink gives memory back that is not used. Pointers to records become stale. Exchanges that no request has used since
// the last call are not used.
func (b *Book) Shrink() {
	b.slab.shrink()
	b.exchanges.Shrink()
}

// Len returns the number of records, in use or free. The free ones are zero.
func (b *Book) Len() int { return len(b.all) }

// AnyInFlight returns whether a request is in flight.
func (b *Book) AnyInFlight() bool {
	return slices.ContainsFunc(b.expiries, func(e expiry) bool { return e.first != None })
}

// Outstanding calls f with each request that is in flight, or was until the peer gave it back. The latter are reserved,
// or at the head of their queue.
func (b *Book) Outstanding(f func(*Request)) {
	for i := range b.expiries {
		for id := b.expiries[i].first; id != None; id = b.all[id].next {
			f(&b.all[id])
		}
	}
	for i := range b.waiting {
		q := &b.waiting[i]
		for k := 0; k < q.Len() && b.all[q.At(k)].Retried; k++ {
			f(&b.all[q.At(k)])
		}
	}
	for k := range b.reserved.Len() {
		if r := &b.all[b.reserved.At(k)]; r.Retried {
			f(r)
		}
	}
}

// Add makes the record of a request whose slot was picked up now.
func (b *Book) Add(a chain.Activation, target int32, due, now int64, stage int16) (id ID) {
	id = b.alloc()
	r := &b.all[id] // a free record is zero; a copy of a literal would wait for the stores of its narrow fields
	r.Activation, r.Target, r.Due, r.Picked, r.Stage = a, target, due, now, stage
	return id
}

// At returns the record of a request. It is valid until the next call of Add or Shrink.
func (b *Book) At(id ID) *Request { return &b.all[id] }

// Wait puts a request at the end of its target's queue, or at the head if the peer has given it back.
func (b *Book) Wait(id ID) {
	r := &b.all[id]
	if q := &b.waiting[r.Target]; r.Retried {
		q.PushFront(id)
	} else {
		q.Push(id)
	}
}

// WaitAgain puts a request that was reserved into its target's queue, before those that are scheduled later:
// PopOverdue looks at the head only. It looks for the place from there, because such a request is among the oldest.
func (b *Book) WaitAgain(id ID) {
	r := &b.all[id]
	q := &b.waiting[r.Target]
	q.PushFront(id)
	for k := 1; k < q.Len() && !r.Retried; k++ {
		if next := &b.all[q.At(k)]; !next.Retried && next.Due > r.Due {
			return
		}
		q.Swap(k-1, k)
	}
}

// Waiting returns how many requests wait for a stream to a target.
func (b *Book) Waiting(target int32) int { return b.waiting[target].Len() }

// Oldest returns the oldest request that waits for a stream to a target. There must be one.
func (b *Book) Oldest(target int32) *Request { return &b.all[b.waiting[target].Front()] }

// Pop removes and returns the oldest request that waits for a stream to a target.
func (b *Book) Pop(target int32) (id ID) { return b.waiting[target].Pop() }

// PopOverdue removes and returns the oldest request that waits for a stream to a target, if it has waited too long at
// an instant. If not, it returns None. At pace.Never, each request has waited too long.
func (b *Book) PopOverdue(target int32, at int64) (id ID) {
	q := &b.waiting[target]
	if q.Len() == 0 || !b.IsOverdue(q.Front(), at) {
		return None
	}
	return q.Pop()
}

// IsOverdue returns whether a request has waited too long for a stream at an instant.
func (b *Book) IsOverdue(id ID, at int64) bool {
	return at == pace.Never || b.all[id].Due+b.maxWait <= at
}

// Reserve lets a request, which is in no queue, wait for the connection of its chain instance.
func (b *Book) Reserve(id ID) { b.reserved.Push(id) }

// Reserved returns how many requests wait for the connections of their chain instances.
func (b *Book) Reserved() int { return b.reserved.Len() }

// PopReserved removes and returns the request that was reserved first.
func (b *Book) PopReserved() (id ID) { return b.reserved.Pop() }

// ReserveAll reserves the requests of a chain instance in the queue of a target.
func (b *Book) ReserveAll(instance, target int32) {
	q := &b.waiting[target]
	for range q.Len() {
		id := q.Pop()
		if b.all[id].Instance == instance {
			b.Reserve(id)
		} else {
			q.Push(id)
		}
	}
}

// NextOverdue returns when the first request has waited too long for a stream to one of the first targets.
func (b *Book) NextOverdue(targets int) int64 {
	next := int64(pace.Never)
	for i := range b.waiting[:targets] {
		if q := &b.waiting[i]; q.Len() > 0 {
			next = min(next, b.all[q.Front()].Due+b.maxWait)
		}
	}
	return next
}

// Sent notes that a request is in flight on a stream of a connection.
func (b *Book) Sent(id ID, stream uint32, conn int32, now int64) {
	r := &b.all[id]
	r.Stream, r.Conn, r.InFlight, r.Sent = stream, conn, true, now
	b.expiryOf(r).append(&b.slab, id)
}

// Expired returns a request whose timeout has passed, or None. Each list is in the order of sending, so it looks at the
// heads only.
func (b *Book) Expired(now int64) (id ID) {
	for i := range b.expiries {
		if e := &b.expiries[i]; e.first != None && b.all[e.first].Sent+e.timeout <= now {
			return e.first
		}
	}
	return None
}

// NextExpiry returns when the next timeout passes.
func (b *Book) NextExpiry() int64 {
	next := int64(pace.Never)
	for i := range b.expiries {
		if e := &b.expiries[i]; e.first != None {
			next = min(next, b.all[e.first].Sent+e.timeout)
		}
	}
	return next
}

// MayRetry returns whether a request that the peer has not processed has not waited too long to be sent again.
func (b *Book) MayRetry(r *Request, now int64) bool { return now-r.Picked < b.maxWait }

// GiveBack puts a request that the peer has not processed at the head of its target's queue. Address is that of its
// connection.
func (b *Book) GiveBack(id ID, address string) {
	r := &b.all[id]
	b.expiryOf(r).remove(&b.slab, id)
	r.GivenBackBy = address
	r.Retried, r.InFlight, r.First, r.Status, r.captures, r.retryAfter, r.Located = true, false, 0, 0, 0, 0, false
	r.Rooted, r.Control, r.code, r.continues = false, 0, 0, false
	if r.Exchange != nil {
		r.Exchange.clear()
	}
	b.Wait(id)
}

// End frees the record of a request, which has its outcome and is in no queue.
func (b *Book) End(id ID) {
	r := &b.all[id]
	if r.InFlight {
		b.expiryOf(r).remove(&b.slab, id)
	}
	b.exchanges.Release(r.Exchange)
	b.release(id)
}

func (b *Book) expiryOf(r *Request) *expiry {
	return &b.expiries[b.program.Steps[r.Step].TimeoutClass]
}

// ExchangeOf returns the exchange of a request, which has a body of at most limit octets. If it has none yet, it gets
// one.
func (b *Book) ExchangeOf(r *Request, limit int) *Exchange {
	if r.Exchange == nil {
		r.Exchange = b.exchanges.Alloc(limit)
	}
	return r.Exchange
}

// Keep returns the exchange of a request in place of an earlier one, which it frees. The caller owns it until Forget.
func (b *Book) Keep(r *Request, earlier *Exchange) *Exchange {
	b.Forget(earlier)
	x := r.Exchange
	r.Exchange = nil
	return x
}

// Forget frees an exchange that Keep has returned, or nil.
func (b *Book) Forget(x *Exchange) { b.exchanges.Release(x) }

// Complete returns the exchange of a request with its response, or nil if it has none.
func (b *Book) Complete(r *Request, now int64) *message.Exchange {
	if r.Exchange == nil {
		return nil
	}
	return b.exchanges.Complete(r.Exchange, int(r.Status), now-r.Due)
}

// causeLimit is how many octets of an error body are kept if no check or capture needs it and it is read for its cause
// only.
const causeLimit = 8 << 10

// Data keeps a piece of the body of a response. It returns true at the first body that a step needs and that is cut
// because of MaxBodies.
func (b *Book) Data(r *Request, p []byte) (firstCut bool) {
	if b.exchanges.Data(b.ExchangeOf(r, causeLimit), p) || b.cut || !b.program.Steps[r.Step].WantBody {
		return false
	}
	b.cut = true
	return true
}

// Answered notes a whole response. It keeps a moving average of the service time, over some 64 responses.
func (b *Book) Answered(r *Request, now int64) {
	b.progressAt = now
	b.doneInTurn++
	b.serviceTime += (now - r.Sent - b.serviceTime) / 64
}

// maxGathered bounds what is kept of a header for a sample.
const maxGathered = 4 * rv.MaxSampleOctets

// Field keeps a header field of a response of a step that looks at all of them.
func (b *Book) Field(r *Request, name, value []byte) { b.exchanges.Field(r.Exchange, name, value) }

// Gather keeps a header field of a response that a sample may be made of.
func (b *Book) Gather(r *Request, name, value []byte) {
	if x := b.ExchangeOf(r, causeLimit); len(x.octets)+len(name)+len(value) <= maxGathered {
		b.exchanges.Field(x, name, value)
	}
}

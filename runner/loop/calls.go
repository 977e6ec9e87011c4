package loop

import (
	"github.com/h2surge/h2surge/internal/dueheap"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/protocol"
)

// calls are the calls of gRPC whose messages wait. A call can end before its wait: then nothing is sent for it, and its
// ID may already be that of another request.
type calls struct {
	*clock
	requests *book.Book
	conns    *conns.Connections
	// answered calls have got the messages that they waited for, in this turn.
	answered []book.ID
	delayed  dueheap.Heap[book.ID]
}

// begin returns what is sent of the body of a call at first.
func (c *calls) begin(id book.ID, r *book.Request, s *chain.Step, body []byte, want protocol.Want) ([]byte,
	protocol.Want) {
	if r.BeginCall(body, s.Waits); s.Waits == nil {
		return body, want
	}
	first, end := c.next(id, r)
	if want &^= protocol.StableBody; !end {
		want |= protocol.Unfinished
	}
	return first, want
}

// next returns what can be sent of a call, and remembers its delay.
func (c *calls) next(id book.ID, r *book.Request) (p []byte, end bool) {
	before := r.Call().Due()
	p, end = r.Call().Next(c.now)
	if due := r.Call().Due(); due != 0 && due != before {
		c.delayed.Push(id, due)
	}
	return p, end
}

// resume sends what no longer waits.
func (c *calls) resume() {
	for _, id := range c.answered {
		c.send(id)
	}
	c.answered = c.answered[:0]
	for id, ok := c.delayed.Take(c.now); ok; id, ok = c.delayed.Take(c.now) {
		c.send(id)
	}
}

// send sends what no longer waits of a call, if the request with this ID is one.
func (c *calls) send(id book.ID) {
	if int(id) >= c.requests.Len() {
		return
	}
	r := c.requests.At(id)
	if !r.InFlight || r.Call() == nil || !r.Call().Waits() {
		return
	}
	if p, end := c.next(id, r); len(p) > 0 || end {
		c.conns.Continue(c.conns.At(r.Conn), r.Stream, p, end)
	}
}

// due returns when the first delay ends.
func (c *calls) due() int64 { return c.delayed.Next() }

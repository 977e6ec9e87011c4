package rules

import (
	"math/rand/v2"
	"time"

	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/internal/target/documents"
	"github.com/h2surge/h2surge/runner/script"
)

// Engine answers by a Set. It belongs to one goroutine at a time.
type Engine struct {
	set      *Set
	store    *documents.Store
	rng      *rand.Rand
	counters []uint64     // of requests, by rule
	host     *script.Host // nil: no response has a script
}

// maxAnswer bounds what a text or a list makes, in bytes.
const maxAnswer = 16 << 20

// NewEngine returns an engine with no documents. The same seed draws the same for the same
// requests in the same order; 0 takes a random one. The error is that of a script whose top level
// fails.
func NewEngine(set *Set, seed uint64) (*Engine, error) {
	if seed == 0 {
		seed = rand.Uint64()
	}
	host, err := newHost(set.scripts, seed)
	if err != nil {
		return nil, err
	}
	return &Engine{
		set:      set,
		store:    documents.New(set.maxDocuments),
		rng:      rand.New(rand.NewPCG(seed, 1)),
		counters: make([]uint64, len(set.names)),
		host:     host,
	}, nil
}

// Close frees what scripts hold. The engine cannot be used any more.
func (e *Engine) Close() {
	if e.host != nil {
		e.host.Close()
	}
}

// Documents is the number of documents stored.
func (e *Engine) Documents() int { return e.store.Len() }

// Answer decides what becomes of a complete request, and makes the answer. now is the time that
// texts show. Documents change at once, whatever the delay.
func (e *Engine) Answer(c *Call, now time.Time) {
	c.now = now
	r := e.set.find(c)
	if r == nil {
		e.renderProblem(c, noMatch)
		return
	}
	c.Rule = r.index
	e.counters[r.index]++
	c.counter = e.counters[r.index]
	resp := r.draw(e.rng)
	c.Delay = resp.delay.draw(e.rng)
	if c.Fate = e.fate(resp); c.Fate != Answered {
		return
	}
	if resp.problem != nil {
		e.renderProblem(c, resp.problem)
		return
	}
	status := resp.status
	if r.resource != nil && resp.changes() {
		if p := e.perform(r.resource, c); p != nil {
			e.renderProblem(c, p)
			return
		}
		if status == 0 {
			status = actionStatus[r.resource.action]
			if c.created {
				status = 201
			}
		}
	}
	e.render(c, r, resp, status)
}

// NotFound makes a 404 for a request that the target's own faults hit.
func (e *Engine) NotFound(c *Call, now time.Time) {
	c.now = now
	e.renderProblem(c, drawnNotFound)
}

// TooLarge makes a 413.
func (e *Engine) TooLarge(c *Call, now time.Time) {
	c.now = now
	e.renderProblem(c, tooLarge)
}

func (e *Engine) fate(r *response) Fate {
	if r.close == 0 {
		return Answered
	}
	switch x := e.rng.Float64(); {
	case x < r.unanswered:
		return Unanswered
	case x < r.reset:
		return Reset
	case x < r.close:
		return Close
	}
	return Answered
}

// uuid is a random one (RFC 9562 section 5.4), the same throughout an answer.
func (e *Engine) uuid(c *Call) []byte {
	if !c.hasUUID {
		c.hasUUID = true
		hi, lo := e.rng.Uint64(), e.rng.Uint64()
		hi = hi&^(0xf<<12) | 4<<12
		lo = lo&^(3<<62) | 2<<62
		out := append(octet.AppendHex(c.uuid[:0], hi>>32, 8), '-')
		out = append(octet.AppendHex(out, hi>>16, 4), '-')
		out = append(octet.AppendHex(out, hi, 4), '-')
		out = append(octet.AppendHex(out, lo>>48, 4), '-')
		octet.AppendHex(out, lo, 12)
	}
	return c.uuid[:]
}

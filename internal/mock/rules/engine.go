package rules

import (
	"math/rand/v2"
	"time"

	"github.com/h2surge/h2surge/internal/mock/documents"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/internal/reflection"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/script"
)

// Engine answers by a Set. Only one goroutine at a time may use it.
type Engine struct {
	set      *Set
	store    *documents.Store
	rng      *rand.Rand
	counters []uint64     // of requests, by rule
	host     *script.Host // nil: no response has a script
	gzip     grpc.Gzip
}

// maxAnswer is the largest body of a text or a list, in bytes.
const maxAnswer = 16 << 20

// NewEngine returns an engine without documents. The same seed and the same requests in the same order give the same
// answers; seed 0 takes a random seed. NewEngine returns an error if the top level of a script fails.
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

// Close frees the memory of scripts. The engine must not be used afterwards.
func (e *Engine) Close() {
	if e.host != nil {
		e.host.Close()
	}
}

// Documents is the number of documents stored.
func (e *Engine) Documents() int { return e.store.Len() }

// Answer sets the outcome and the answer of a complete request. now is the time for placeholders. Documents change at
// once, even if the answer has a delay.
func (e *Engine) Answer(c *Call, now time.Time) {
	c.now = now
	defer e.finishCall(c)
	e.identify(c)
	if c.called && c.rpc == nil && reflection.Serves(string(c.path)) {
		c.streamed()
		return
	}
	if c.called && !e.decode(c) {
		return
	}
	r := e.set.find(c)
	if r == nil && c.rpc != nil && c.rpc.SendsStream() && e.AnswersEach(c) {
		c.streamed()
		return
	}
	if r == nil {
		e.renderProblem(c, noMatch())
		return
	}
	e.follow(c, r)
}

// follow answers by a rule.
func (e *Engine) follow(c *Call, r *rule) {
	c.Rule = r.index
	e.counters[r.index]++
	c.counter = e.counters[r.index]
	e.respond(c, r)
	if c.encode(); c.Fate != Answered || c.Status >= 400 {
		e.store.Undo()
		return
	}
	e.store.Commit()
	e.notify(c, r)
}

// respond sets the outcome and the answer of a request that matches r.
func (e *Engine) respond(c *Call, r *rule) {
	resp := r.draw(e.rng)
	c.Delay = resp.delay.draw(e.rng)
	if resp.pause != (distribution{}) {
		c.Pause = func() time.Duration { return resp.pause.draw(e.rng) }
	}
	if c.Fate = e.fate(resp); c.Fate != Answered {
		return
	}
	if resp.problem != nil {
		e.renderProblem(c, resp.problem)
		return
	}
	if resp.grpc != nil {
		c.fail(resp.grpc.code, e.appendText(nil, &resp.grpc.message, c))
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

// NotFound makes a 404 for a request with a fault of the target's options.
func (e *Engine) NotFound(c *Call, now time.Time) {
	c.now = now
	defer e.finishCall(c)
	e.identify(c)
	e.renderProblem(c, drawnNotFound())
}

// TooLarge makes a 413.
func (e *Engine) TooLarge(c *Call, now time.Time) {
	c.now = now
	defer e.finishCall(c)
	e.identify(c)
	e.renderProblem(c, tooLarge())
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

// uuid returns a random UUID (RFC 9562 section 5.4). It does not change within an answer.
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

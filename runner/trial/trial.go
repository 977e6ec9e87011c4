package trial

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/h3/qpack"
	"github.com/h2surge/h2surge/runner/message"
)

// Config makes a worker run one instance of each chain and show every exchange. The worker's share has no slots,
// so that the rates send nothing: after the setup chains it runs the load chains of the trial in the place of the
// load, then the teardown chains, all one after another. The program was prepared by chain.Program.InspectAll.
//
// The functions are called on the worker's goroutine. What they are given is theirs to keep.
type Config struct {
	// Chains are the load chains to run, in this order, as indices into Program.Chains.
	Chains []int
	// Exchange is called with the outcome of each request, and with each step that made no request.
	Exchange func(*Exchange)
	// Ended is called when the instance of a chain has ended. Why is the reason of its abort; "": it completed.
	Ended func(chain int, why string)
}

// Exchange is a request of a trial and its outcome.
type Exchange struct {
	// Chain and Step are indices into Program.Chains and Program.Steps.
	Chain, Step int
	// Attempt counts the failures of the step before this request, Repeat its successes.
	Attempt, Repeat int
	// Skipped: the step made no request, because its conditions did not hold or, if Why is set, because it is an always
	// step and a captured value is missing.
	Skipped bool

	// Head is the request's header as sent: an HPACK block without references to the dynamic table in HTTP/2 and HTTP/3,
	// the head with its request line in HTTP/1.1. Nil: no request was sent.
	Head []byte
	// Protocol is one with the version of HTTP of the connection.
	Protocol rv.Protocol
	// Address is what the connection was to, Connection its number.
	Address    string
	Connection int
	// Request is what was sent. Its fields are those before the connection added its own.
	Request *message.Message

	// Response is nil when no whole response came. Status is set as soon as the header of a response came.
	Response *message.Message
	Status   int
	// BodySize is the size of the response's body, of which Response has only the beginning if Cut is set.
	BodySize int64
	Cut      bool
	// Took is the time from sending the request to its outcome.
	Took time.Duration

	Findings []chain.Finding
	Captured []chain.CapturedValue
	// Failed is the name of the check that failed first; "": none failed.
	Failed string
	// Redirected is true if the runner follows the redirect of the response.
	Redirected bool
	// Why is the reason why the step failed, one of rv.Abort...; "": it succeeded.
	Why string
	// Cause is why there is no response; it may be empty.
	Cause failure.Cause
	// Script is the error of the step's script.
	Script string
}

// Trial is what a worker keeps for a trial. All its methods do nothing if it is nil, as for all other workers.
type Trial struct {
	Config
	now      func() int64
	requests *book.Book
	flow     *flow.Flow
	// sent is what was rendered of the requests in flight, by token.
	sent map[book.ID]sentHead
	// script is the last error of a script.
	script string
}

// New returns a trial of the requests of a worker, or nil without a Config. The function now returns the time of the
// turn.
func New(cfg *Config, now func() int64, requests *book.Book, f *flow.Flow) *Trial {
	if cfg == nil {
		return nil
	}
	return &Trial{Config: *cfg, now: now, requests: requests, flow: f, sent: map[book.ID]sentHead{}}
}

// ChainEnded reports the end of an instance of a chain.
func (t *Trial) ChainEnded(chain int, why string) {
	if t != nil {
		t.Ended(chain, why)
	}
}

// ScriptFailed notes the error of a script, which is shown with its request.
func (t *Trial) ScriptFailed(err error) {
	if t != nil {
		t.script = err.Error()
	}
}

// sentHead is a header as it was sent, and the connection.
type sentHead struct {
	head     []byte
	protocol rv.Protocol
	address  string
	number   int32
}

// connectAttempts is after how many failures in a row, for each endpoint, a trial stops waiting for a connection.
// A name may have several addresses, so one failure is not enough.
const connectAttempts = 4

// GaveUp says that a trial does not wait for a connection to a target any more.
func (t *Trial) GaveUp(failures int, to *rv.Target) bool {
	return t != nil && failures >= connectAttempts*max(1, len(to.Endpoints))
}

// KeepHead keeps the header of a request that was rendered for a connection.
func (t *Trial) KeepHead(id book.ID, head []byte, c *conns.Conn) {
	if t == nil {
		return
	}
	if c.Protocol() == rv.ProtocolH3 {
		head = asHPACK(head)
	} else {
		head = bytes.Clone(head)
	}
	t.sent[id] = sentHead{head, c.Protocol(), c.Address(), c.Number()}
}

// asHPACK returns a header block of HTTP/3 as one of HTTP/2, which is what those read who show a request.
func asHPACK(block []byte) []byte {
	var sum hpack.Summary
	var out transcoder
	d := qpack.Decoder{MaxList: math.MaxUint64}
	_ = d.Decode(&sum, block, &out) // it is our own
	return out.block
}

// transcoder encodes fields as they are decoded.
type transcoder struct{ block []byte }

// Field implements hpack.Sink.
func (t *transcoder) Field(name, value []byte, _ hpack.Class) {
	t.block = hpack.AppendLiteral(t.block, hpack.Without, 0, string(name), string(value))
}

// Done reports a request that got a whole response. Failed is the check that failed, why the reason why the
// step failed.
func (t *Trial) Done(id book.ID, s *chain.Step, failed, why string) {
	if t != nil { // a function of its own, so that this one is inlined: it is on the path of each request
		t.show(id, s, failed, why)
	}
}

func (t *Trial) show(id book.ID, s *chain.Step, failed, why string) {
	r := t.requests.At(id)
	e := t.of(id, why, failure.Cause{})
	in, x := &t.flow.At(r.Instance).Instance, &r.Exchange.Exchange
	e.Response = x.Response.Clone()
	e.BodySize, e.Cut = x.BodySize, x.Cut
	e.Failed, e.Findings, e.Captured = failed, s.Findings(in, x), s.CapturedValues(in)
	t.Exchange(e)
}

// Redirected reports a request whose response redirects it. Checks and captures do not apply to this response.
func (t *Trial) Redirected(id book.ID) {
	if t == nil {
		return
	}
	r := t.requests.At(id)
	e := t.of(id, "", failure.Cause{})
	e.Redirected = true
	x := &r.Exchange.Exchange
	e.Response, e.BodySize, e.Cut = x.Response.Clone(), x.BodySize, x.Cut
	t.Exchange(e)
}

// Failed reports a request that got no whole response, or was not sent.
func (t *Trial) Failed(id book.ID, why string, cause failure.Cause) {
	if t == nil {
		return
	}
	t.Exchange(t.of(id, why, cause))
}

// InFlight reports the requests whose responses the worker does not wait for.
func (t *Trial) InFlight() {
	if t == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(t.sent)) {
		t.Failed(id, Stopped, failure.Cause{Kind: rv.CauseStopped})
	}
}

// Stopped is the reason of requests that a trial has stopped waiting for.
const Stopped = "stopped"

// of is what a request has in common whatever its outcome.
func (t *Trial) of(id book.ID, why string, cause failure.Cause) *Exchange {
	r := t.requests.At(id)
	e := t.exchangeOf(r.Activation)
	e.Why, e.Cause = why, cause
	e.Script, t.script = t.script, ""
	if r.Exchange != nil && r.Exchange.Request != nil {
		e.Request = r.Exchange.Request.Clone()
		if call := r.Call(); call != nil {
			e.Request.Body = call.Sent(e.Request.Body)
		}
	}
	if sent, ok := t.sent[id]; ok {
		delete(t.sent, id)
		e.Head, e.Protocol, e.Address, e.Connection = sent.head, sent.protocol, sent.address, int(sent.number)
		e.Took, e.Status = time.Duration(t.now()-r.Sent), int(r.Status)
	}
	return e
}

// Unsent reports a step that made no request.
func (t *Trial) Unsent(a chain.Activation, skipped bool, why string) {
	if t == nil {
		return
	}
	e := t.exchangeOf(a)
	e.Skipped, e.Why = skipped, why
	t.Exchange(e)
}

// Notified reports a step that has its notification.
func (t *Trial) Notified(a chain.Activation, s *chain.Step, x *book.Exchange, failed, why string) {
	if t == nil {
		return
	}
	e := t.exchangeOf(a)
	in := &t.flow.At(a.Instance).Instance
	e.Request, e.Response = x.Request.Clone(), x.Response.Clone()
	e.BodySize, e.Cut, e.Took, e.Why = x.BodySize, x.Cut, time.Duration(x.ResponseTime), why
	e.Failed, e.Findings, e.Captured = failed, s.Findings(in, &x.Exchange), s.CapturedValues(in)
	t.Exchange(e)
}

func (t *Trial) exchangeOf(a chain.Activation) *Exchange {
	in := t.flow.At(a.Instance)
	return &Exchange{Chain: int(in.Chain), Step: int(a.Step), Attempt: int(a.Attempt), Repeat: int(in.Repeated)}
}

package loop

import (
	"bytes"
	"maps"
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/message"
)

// Trial makes a worker run one instance of each chain and show every exchange. The worker's share has no slots,
// so that the rates send nothing: after the setup chains it runs the load chains of the trial in the place of the
// load, then the teardown chains, all one after another. The program was prepared by chain.Program.InspectAll.
//
// The functions are called on the worker's goroutine. What they are given is theirs to keep.
type Trial struct {
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
	// Skipped: the step's conditions did not hold, so that it made no request.
	Skipped bool

	// Head is the request's header as sent: an HPACK block without references to the dynamic table in HTTP/2,
	// the head with its request line in HTTP/1.1. Nil: no request was sent.
	Head  []byte
	HTTP1 bool
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

// trial is what a worker keeps for a Trial. All its methods do nothing if it is nil, as for all other workers.
type trial struct {
	Trial
	// sent is what was rendered of the requests in flight, by token.
	sent map[int32]sentHead
	// script is the last error of a script.
	script string
}

// ended reports the end of an instance of a chain.
func (t *trial) ended(chain int, why string) {
	if t != nil {
		t.Ended(chain, why)
	}
}

// chains returns the load chains to run.
func (t *trial) chains() []int {
	if t == nil {
		return nil
	}
	return t.Chains
}

// scriptFailed notes the error of a script, which is shown with its request.
func (t *trial) scriptFailed(err error) {
	if t != nil {
		t.script = err.Error()
	}
}

// sentHead is a header as it was sent, and the connection.
type sentHead struct {
	head    []byte
	http1   bool
	address string
	number  int32
}

// connectAttempts is after how many failures in a row, for each endpoint, a trial stops waiting for a connection.
// A name may have several addresses, so one failure is not enough.
const connectAttempts = 4

// unreachable says that a trial does not wait for a connection to a target any more.
func (w *Worker) unreachable(t *pool) bool {
	return w.trial != nil && t.failures >= connectAttempts*max(1, len(t.plan.Endpoints))
}

// sentInTrial keeps the header of a request that was rendered for a connection.
func (w *Worker) sentInTrial(tok int32, head []byte, c *conn) {
	w.trial.sent[tok] = sentHead{bytes.Clone(head), c.h1 != nil, c.address, c.number}
}

// showDone reports a request that got a whole response. Failed is the check that failed, why the reason why the
// step failed.
func (w *Worker) showDone(tok int32, s *chain.Step, failed, why string) {
	r := &w.requests.all[tok]
	e := w.shown(tok, why, failure.Cause{})
	in, x := &w.chains.all[r.instance].Instance, &r.exchange.Exchange
	e.Response = cloneMessage(x.Response)
	e.BodySize, e.Cut = x.BodySize, x.Cut
	e.Failed, e.Findings, e.Captured = failed, s.Findings(in, w.sources, x), s.CapturedValues(in)
	w.trial.Exchange(e)
}

// showRedirected reports a request whose response redirects it. Checks and captures do not apply to this response.
func (w *Worker) showRedirected(tok int32) {
	r := &w.requests.all[tok]
	e := w.shown(tok, "", failure.Cause{})
	e.Redirected = true
	x := w.requests.exchanges.complete(r.exchange, int(r.status), w.now-r.due)
	e.Response, e.BodySize, e.Cut = cloneMessage(x.Response), x.BodySize, x.Cut
	w.trial.Exchange(e)
}

// showFailed reports a request that got no whole response, or was not sent.
func (w *Worker) showFailed(tok int32, why string, cause failure.Cause) {
	w.trial.Exchange(w.shown(tok, why, cause))
}

// showInFlight reports the requests whose responses the worker does not wait for.
func (w *Worker) showInFlight() {
	for _, tok := range slices.Sorted(maps.Keys(w.trial.sent)) {
		w.showFailed(tok, AbortStopped, failure.Cause{Kind: rv.CauseStopped})
	}
}

// AbortStopped is the reason of requests that a trial has stopped waiting for.
const AbortStopped = "stopped"

// shown is what a request has in common whatever its outcome.
func (w *Worker) shown(tok int32, why string, cause failure.Cause) *Exchange {
	r := &w.requests.all[tok]
	e := w.exchangeOf(r.activation)
	e.Why, e.Cause = why, cause
	e.Script, w.trial.script = w.trial.script, ""
	if r.exchange != nil && r.exchange.Request != nil {
		e.Request = cloneMessage(r.exchange.Request)
	}
	if sent, ok := w.trial.sent[tok]; ok {
		delete(w.trial.sent, tok)
		e.Head, e.HTTP1, e.Address, e.Connection = sent.head, sent.http1, sent.address, int(sent.number)
		e.Took, e.Status = time.Duration(w.now-r.sent), int(r.status)
	}
	return e
}

// showUnsent reports a step that made no request.
func (w *Worker) showUnsent(a activation, skipped bool, why string) {
	e := w.exchangeOf(a)
	e.Skipped, e.Why = skipped, why
	w.trial.Exchange(e)
}

// showNotification reports a step that has its notification.
func (w *Worker) showNotification(a activation, s *chain.Step, x *exchange, failed, why string) {
	e := w.exchangeOf(a)
	in := &w.chains.all[a.instance].Instance
	e.Request, e.Response = cloneMessage(x.Request), cloneMessage(x.Response)
	e.BodySize, e.Cut, e.Took, e.Why = x.BodySize, x.Cut, time.Duration(x.ResponseTime), why
	e.Failed, e.Findings, e.Captured = failed, s.Findings(in, w.sources, &x.Exchange), s.CapturedValues(in)
	w.trial.Exchange(e)
}

func (w *Worker) exchangeOf(a activation) *Exchange {
	in := w.chains.all[a.instance]
	return &Exchange{Chain: int(in.Chain), Step: int(a.step), Attempt: int(a.attempt), Repeat: int(in.repeated)}
}

func cloneMessage(m *message.Message) *message.Message {
	out := &message.Message{
		Method: bytes.Clone(m.Method), Scheme: bytes.Clone(m.Scheme), Authority: bytes.Clone(m.Authority), Path: bytes.Clone(m.Path),
		Status: m.Status, Body: bytes.Clone(m.Body),
	}
	for _, f := range m.Fields {
		out.Fields = append(out.Fields, message.Field{Name: bytes.Clone(f.Name), Value: bytes.Clone(f.Value)})
	}
	return out
}

package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
)

// session is what h1.Client and h2.Client have in common. What is called for each request goes by
// the concrete type (the methods of conn below), which costs a branch and not an indirect call.
type session interface {
	Receive(p []byte, now int64) error
	Ready() bool
	Pending() []byte
	Wrote(n int)
	InFlight() int
	Draining() bool
	Cancel(id uint32, now int64) bool
	Shutdown()
	Close()
}

// speak gives a connected socket the session of its protocol.
func (w *Worker) speak(c *conn, d *dial.Connection) {
	t := &w.targets[c.target]
	if d.Protocol == rv.ProtocolHTTP1 {
		c.h1 = h1.NewClient(t.http1, h1Events{w})
		c.session, c.head = c.h1, t.heads[c.endpoint]
		return
	}
	c.h2 = h2.NewClient(t.http2, w)
	c.session, c.encoder = c.h2, t.encoders[c.endpoint]
}

// free is how many requests may be opened now.
func (c *conn) free() int {
	if c.h2 != nil {
		return c.h2.Free()
	}
	return c.h1.Free()
}

// openRequest renders a request into the session.
func (c *conn) openRequest(w *Worker, tok uint32, s *chain.Step, in *chain.Instance) uint32 {
	w.body = s.AppendBody(w.body[:0], w.program, in)
	if c.h2 != nil {
		return c.openH2(w, tok, s, in)
	}
	var want h1.Want
	if s.WantHeaders {
		want = h1.WantHeaders
	}
	if s.Head {
		want |= h1.NoBody
	}
	return c.h1.Open(c.head.AppendHead(c.h1.Begin(), s, in, len(w.body)), tok, w.body, want)
}

func (c *conn) openH2(w *Worker, tok uint32, s *chain.Step, in *chain.Instance) uint32 {
	if c.h2.EncoderTableEpoch() != c.tableEpoch {
		c.table = chain.Static // the peer has shrunk its table: RFC 7541 4.2
	}
	var buf []byte
	buf, c.table = c.encoder.AppendHeaders(c.h2.Begin(), s, in, len(w.body), c.table)
	var want h2.Want
	if s.WantHeaders {
		want = h2.WantHeaders
	}
	if s.Head {
		want |= h2.HeadRequest
	}
	return c.h2.Open(buf, tok, w.body, want)
}

// beginTable sets the encoder up for what the peer allows.
func (c *conn) beginTable(bound uint32) {
	if c.h2 != nil {
		c.tableEpoch = c.h2.EncoderTableEpoch()
		c.table = c.encoder.Begin(min(c.h2.EncoderTableSize(), bound))
	}
}

// broken says that the session wants its connection closed: HTTP/1.1 cannot cancel a request
// otherwise.
func (c *conn) broken() bool { return c.h1 != nil && c.h1.Broken() }

// ping asks the peer for a sign of life, if the protocol can.
func (c *conn) ping() {
	if c.h2 != nil {
		c.h2.Ping()
	}
}

// h1Events gives the events of HTTP/1.1 sessions to the worker, which takes those of HTTP/2
// itself.
type h1Events struct{ w *Worker }

func (e h1Events) OnStatus(tok uint32, status int)         { e.w.OnStatus(tok, status) }
func (e h1Events) OnHeader(tok uint32, name, value []byte) { e.w.OnHeader(tok, name, value) }
func (e h1Events) OnData(tok uint32, p []byte)             { e.w.OnData(tok, p) }

func (e h1Events) OnDone(tok uint32, o h1.Outcome) {
	e.w.outcome(int32(tok), outcomeOfH1[o.Kind])
}

// outcome of a request, whatever the protocol.
type outcome uint8

const (
	completed outcome = iota
	// givenBack: the connection takes no more requests and has not processed this one.
	givenBack
	// refused: the peer refuses this request and may take it later.
	refused
	wasReset
	lost
)

var outcomeOfH1 = [...]outcome{h1.Completed: completed, h1.Reset: wasReset, h1.Unprocessed: givenBack, h1.Lost: lost}

var outcomeOfH2 = [...]outcome{h2.Completed: completed, h2.Reset: wasReset, h2.Unprocessed: givenBack, h2.Lost: lost}

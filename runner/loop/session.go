package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
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

// open renders a request into a session. It returns false when a script that makes the request failed.
func (w *Worker) open(c *conn, tok int32) (stream uint32, ok bool) {
	r := &w.requests.all[tok]
	s := &w.program.Steps[r.step]
	in := w.instances.all[r.instance]
	e := w.endpoint(c)
	r.sampled = w.samples.wantsWhole(r.step)
	if len(w.targets) > len(w.program.Targets) {
		w.sources.Elsewhere(int(c.target) >= len(w.program.Targets))
	}
	w.cookie = w.cookie[:0]
	if s.Cookies {
		w.cookie = w.appendCookie(w.cookie, c, in, s, e)
	}
	body, constant := s.ConstantBody()
	if !constant {
		w.body = s.AppendBody(w.body[:0], w.program, &in.Instance)
		body = w.body
	}
	if s.Inspect {
		if r.exchange == nil {
			r.exchange = w.exchanges.alloc(s.MaxBody)
		}
		if s.WantRequest || w.makes(s) {
			return w.openWhole(c, tok, in, s, e, body)
		}
	}
	if c.h1 != nil {
		want := wantH1(s, r.sampled)
		if constant {
			want |= h1.StableBody
		}
		return c.h1.Open(c.head.AppendHead(c.h1.Begin(), s, &in.Instance, len(body), w.cookie), uint32(tok), body, want), true
	}
	want := wantH2(s, r.sampled)
	if constant {
		want |= h2.StableBody
	}
	c.checkTable()
	var buf []byte
	buf, c.table = c.encoder.AppendHeaders(c.h2.Begin(), s, &in.Instance, len(body), c.table, w.cookie)
	return c.h2.Open(buf, uint32(tok), body, want), true
}

// openWhole renders a request as a message first, which a script may change and captures may look at
// later. One that is sent again stays what it was.
func (w *Worker) openWhole(c *conn, tok int32, in *instance, s *chain.Step, e *rv.Endpoint, body []byte) (stream uint32, ok bool) {
	x, sampled := w.requests.all[tok].exchange, w.requests.all[tok].sampled
	if x.Request == nil {
		x.rendered = s.RenderMessage(&x.request, x.rendered[:0], w.program, &in.Instance, e, body, w.cookie)
		if w.makes(s) && !w.make(in, s, x) {
			return 0, false
		}
		x.keepRequest()
	}
	m := x.Request
	var buf, head []byte
	if c.h1 != nil {
		buf = c.h1.Begin()
		head = c.head.AppendMessage(buf, m, len(m.Body))
	} else {
		c.checkTable()
		buf = c.h2.Begin()
		head = c.encoder.AppendMessage(buf, m, len(m.Body))
	}
	if w.trial != nil {
		w.sentInTrial(tok, head[len(buf):], c)
	}
	if c.h1 != nil {
		return c.h1.Open(head, uint32(tok), m.Body, wantH1(s, sampled)), true
	}
	return c.h2.Open(head, uint32(tok), m.Body, wantH2(s, sampled)), true
}

// checkTable stops indexing when the peer has shrunk its table (RFC 7541 4.2).
func (c *conn) checkTable() {
	if c.h2.EncoderTableEpoch() != c.tableEpoch {
		c.table = chain.Static
	}
}

func wantH1(s *chain.Step, sampled bool) h1.Want {
	want := h1.WantErrorBody
	if s.WantHeaders || s.Cookies || sampled {
		want |= h1.WantHeaders
	}
	if s.WantBody || sampled {
		want |= h1.WantBody
	}
	if s.Head {
		want |= h1.NoBody
	}
	return want
}

func wantH2(s *chain.Step, sampled bool) h2.Want {
	want := h2.WantErrorBody
	if s.WantHeaders || s.Cookies || sampled {
		want |= h2.WantHeaders
	}
	if s.WantBody || sampled {
		want |= h2.WantBody
	}
	if s.Head {
		want |= h2.HeadRequest
	}
	return want
}

// appendCookie appends the value of the Cookie field of an instance, which keeps cookies.
func (w *Worker) appendCookie(dst []byte, c *conn, in *instance, s *chain.Step, e *rv.Endpoint) []byte {
	if s.ClearCookies {
		in.cookies.Clear()
	}
	w.scratch = s.AppendPath(w.scratch[:0], w.program, &in.Instance, e)
	w.authority = append(w.authority[:0], e.Authority...)
	return in.cookies.AppendHeader(dst, w.wall(), c.secure != nil, w.authority, w.scratch)
}

// appendPath appends the path that a request was sent with.
func (w *Worker) appendPath(dst []byte, r *request, in *instance, s *chain.Step, e *rv.Endpoint) []byte {
	if r.exchange != nil && r.exchange.Request != nil {
		return append(dst, r.exchange.Request.Path...)
	}
	return s.AppendPath(dst, w.program, &in.Instance, e)
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
	if o.Rule != nil {
		e.w.why = failure.Cause{Kind: rv.CauseProtocol, Detail: o.Rule.Rule()}
		if o.Rule.Reason == h1.AnsweredHTTP2 {
			e.w.why = failure.Cause{Kind: rv.CauseHTTP2}
		}
	}
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

package loop

import (
	"bytes"
	"log/slog"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/tally"
	"github.com/h2surge/h2surge/runner/trial"
)

// messages renders requests into the sessions of connections, and takes from responses what their steps need. It does
// not know what happens next. Sessions call it for each part of a response, and outcomes at its end.
type messages struct {
	*clock
	program  *chain.Program
	sources  *chain.Sources
	requests *book.Book
	flow     *flow.Flow
	targets  *conns.Targets
	conns    *conns.Connections
	scripts  *scripts
	rec      *tally.Recorder
	trial    *trial.Trial // nil but in a trial
	log      *slog.Logger
	buffers  buffers
	calls    calls
}

// buffers are for the duration of one call: body and cookie for the request that is rendered, authority and scratch for
// one look-up.
type buffers struct{ body, cookie, authority, scratch []byte }

// open renders a request into a session. It returns false if the script of the request failed, or if a value does not
// fit its field of a message of gRPC.
func (m *messages) open(c *conns.Conn, id book.ID) (stream uint32, ok bool) {
	r := m.requests.At(id)
	s := &m.program.Steps[r.Step]
	in := m.flow.At(r.Instance)
	e := c.Endpoint()
	r.SetSampled(m.rec.WantsSample(r.Step))
	if m.targets.Len() > len(m.program.Targets) {
		m.sources.Withhold(m.targets.At(c.Target()).Uncredentialed)
	}
	m.buffers.cookie = m.buffers.cookie[:0]
	if s.Cookies {
		m.buffers.cookie = m.appendCookie(m.buffers.cookie, c, r, s, e)
	}
	body, constant := s.ConstantBody()
	if !constant {
		m.buffers.body = s.AppendBody(m.buffers.body[:0], &in.Instance)
		if body = m.buffers.body; m.sources.Unfit() {
			return 0, false
		}
	}
	if s.Inspect || r.Hop > 0 {
		m.requests.ExchangeOf(r, s.MaxBody)
		if s.WantRequest || r.Hop > 0 || m.scripts.changes(s) {
			return m.openMessage(c, id, in, s, e, body)
		}
	}
	want := wantOf(s, s.Head, r.Sampled, constant)
	buf := c.AppendHeaders(s, &in.Instance, len(body), m.buffers.cookie)
	if s.Streams || s.Waits != nil {
		body, want = m.calls.begin(id, r, s, body, want)
	}
	return c.OpenRequest(buf, uint32(id), body, want), true
}

// openMessage renders a request as a message, so that a script can change it, captures can read it later, and a
// redirect can change its path. A request that is sent again is rendered again only if it goes to another endpoint,
// which decides its authority, base path and cookies. The values of variables are the same then, and the script runs
// again.
func (m *messages) openMessage(c *conns.Conn, id book.ID, in *flow.Instance, s *chain.Step, e *rv.Endpoint,
	body []byte) (stream uint32, ok bool) {
	r := m.requests.At(id)
	x, sampled := r.Exchange, r.Sampled
	if !x.IsFor(e) {
		x.Render(s, &in.Instance, e, body, m.buffers.cookie)
		if m.scripts.changes(s) && !m.scripts.make(r.Instance, in, s, x) {
			return 0, false
		}
		if r.Hop > 0 {
			to := in.RedirectOf(r.Step)
			m.buffers.scratch = to.AppendPath(m.buffers.scratch[:0], s, e)
			x.SetPath(m.buffers.scratch)
			to.Readdress(x.Rendered(), s, m.sources, m.buffers.cookie)
		}
		x.KeepRequest()
	}
	buf, header := c.AppendMessage(x.Request)
	m.trial.KeepHead(id, header, c)
	body, want := x.Request.Body, wantOf(s, x.Request.IsHead(), sampled, false)
	if s.Streams || s.Waits != nil {
		body, want = m.calls.begin(id, r, s, body, want)
	}
	return c.OpenRequest(buf, uint32(id), body, want), true
}

// wantOf returns which parts of a response a step needs. Head: the method is HEAD, which a script may have changed.
func wantOf(s *chain.Step, head, sampled, constantBody bool) protocol.Want {
	want := protocol.WantErrorBody
	if s.WantHeaders || s.Cookies || sampled {
		want |= protocol.WantHeaders
	}
	if s.WantBody || s.Calls() || sampled {
		want |= protocol.WantBody
	}
	if head {
		want |= protocol.HeadRequest
	}
	if constantBody {
		want |= protocol.StableBody
	}
	if s.EarlyData {
		want |= protocol.EarlyData
	}
	return want
}

// appendCookie appends the value of the Cookie field of an instance, which keeps cookies. A request that follows a
// redirect has the cookies that the redirect set.
func (m *messages) appendCookie(dst []byte, c *conns.Conn, r *book.Request, s *chain.Step, e *rv.Endpoint) []byte {
	in := m.flow.At(r.Instance)
	if r.Hop > 0 {
		m.buffers.scratch = in.RedirectOf(r.Step).AppendPath(m.buffers.scratch[:0], s, e)
	} else {
		if s.ClearCookies {
			in.Cookies.Clear()
		}
		m.buffers.scratch = s.AppendPath(m.buffers.scratch[:0], &in.Instance, e)
	}
	m.buffers.authority = append(m.buffers.authority[:0], e.Authority...)
	return in.Cookies.AppendHeader(dst, m.wall(), c.IsSecure(), m.buffers.authority, m.buffers.scratch)
}

// judge returns the name of the check that a response failed, or "".
func (m *messages) judge(r *book.Request, s *chain.Step) string {
	x := m.requests.Complete(r, m.now)
	m.rec.Problem(r, x)
	if !s.Inspect {
		switch {
		case !s.Accepts(int(r.Status)):
			return rv.CheckStatus
		case s.CodeOnly && r.Code() != grpc.OK:
			return r.Code()
		}
		return ""
	}
	in := m.flow.At(r.Instance)
	failed := s.Judge(&in.Instance, x)
	if failed == "" && !m.scripts.accepts(in, s, x) {
		return rv.CheckScript
	}
	return failed
}

// captureFromMessage runs the captures that need a whole response. It returns true if a required capture found no
// value.
func (m *messages) captureFromMessage(r *book.Request, s *chain.Step) bool {
	if s.Inspect {
		in := m.flow.At(r.Instance)
		return s.TakeCaptures(&in.Instance, &r.Exchange.Exchange, m.endpointOf(r))
	}
	for i := range s.Captures {
		if !r.Captured(i) && !s.Captures[i].Otherwise(&m.flow.At(r.Instance).Instance) {
			return true
		}
	}
	return false
}

// OnStatus implements protocol.Handler.
func (m *messages) OnStatus(tok uint32, status int) {
	m.requests.At(book.ID(tok)).Respond(status, m.now)
}

// OnHeader implements protocol.Handler.
func (m *messages) OnHeader(tok uint32, name, value []byte) {
	r := m.requests.At(book.ID(tok))
	s := &m.program.Steps[r.Step]
	in := m.flow.At(r.Instance)
	if s.Cookies && string(name) == "set-cookie" {
		e := m.endpointOf(r)
		m.buffers.scratch = r.AppendPath(m.buffers.scratch[:0], s, &in.Instance, e)
		m.buffers.authority = append(m.buffers.authority[:0], e.Authority...)
		in.Cookies.Set(m.wall(), e.Scheme == "https", m.buffers.authority, m.buffers.scratch, value)
	}
	if s.FollowRetryAfter && r.Status >= 300 && string(name) == "retry-after" {
		r.SetPause(time.Duration(chain.RetryAfter(value, m.wall())))
	}
	if s.LoadControl {
		r.NoteLoad(name)
	}
	if isRedirect(s, r.Status) {
		m.takeRedirect(r, s, name, value)
	}
	m.takeField(r, s, in, name, value)
}

// OnTrailer implements protocol.Handler. Nothing of the trailer section affects what the runner sends (RFC 9110 6.5.1).
func (m *messages) OnTrailer(tok uint32, name, value []byte) {
	r := m.requests.At(book.ID(tok))
	s := &m.program.Steps[r.Step]
	if s.Calls() {
		r.Continue()
	}
	m.takeField(r, s, m.flow.At(r.Instance), name, value)
}

// takeField keeps a field for checks and samples, and stores the value of each capture of it.
func (m *messages) takeField(r *book.Request, s *chain.Step, in *flow.Instance, name, value []byte) {
	if s.Inspect {
		m.requests.Field(r, name, value)
		return
	}
	if r.Sampled {
		m.requests.Gather(r, name, value)
	}
	if s.CodeOnly && string(name) == grpc.StatusField {
		r.SetCode(value)
	}
	if !s.Accepts(int(r.Status)) {
		return // a failed response captures nothing, and a request that follows a redirect has the values of the first
	}
	for i := range s.Captures {
		c := &s.Captures[i]
		if string(name) != c.Header {
			continue
		}
		if r.Captured(i) {
			if c.Joined {
				in.CaptureMore(c.Slot, value)
			}
		} else if m.capture(r, s, in, c, value) || c.Joined { // a first line that is too long is the first one, too
			r.MarkCaptured(i)
		}
	}
}

// capture stores the value of a capture. It returns false if it is not a URI, or too long.
func (m *messages) capture(r *book.Request, s *chain.Step, in *flow.Instance, c *chain.Capture, value []byte) bool {
	if c.Location || c.Reference {
		return s.CaptureURI(&in.Instance, c, requestOf(r), m.endpointOf(r), value)
	}
	return in.Capture(c.Slot, value)
}

// dropCaptures forgets what was captured of the header of a response that failed later, because a failed response
// captures nothing.
func (m *messages) dropCaptures(r *book.Request) {
	s := &m.program.Steps[r.Step]
	for i := range s.Captures {
		if r.Captured(i) {
			s.Captures[i].Drop(&m.flow.At(r.Instance).Instance)
		}
	}
}

// isRedirect returns whether a response asks for the same request at another URI. Other statuses of class 3xx allow or
// require another method (RFC 9110 15.4).
func isRedirect(s *chain.Step, status int16) bool {
	return s.MaxRedirects > 0 && (status == 307 || status == 308)
}

// mayFollow returns whether a redirect can be followed: it has a Location, the step was not redirected too often, and
// the request may go to the authority that it names.
func (m *messages) mayFollow(r *book.Request, s *chain.Step) bool {
	if !r.Located || int(r.Hop) >= s.MaxRedirects {
		return false
	}
	_, ok := m.redirect(m.flow.At(r.Instance), s, r.Step)
	return ok
}

// redirect is the target of the request of a step that follows a redirect. A target that forwards requests gets this
// one, too.
func (m *messages) redirect(in *flow.Instance, s *chain.Step, step int32) (target int32, ok bool) {
	if s.RedirectField != nil {
		return m.targets.Route(&in.Instance, s)
	}
	x := in.RedirectOf(step)
	return m.targets.Of(int32(s.Target), x.Scheme, x.Authority)
}

// takeRedirect stores a field of a redirect that says where the request goes next.
func (m *messages) takeRedirect(r *book.Request, s *chain.Step, name, value []byte) {
	switch {
	case string(name) == "location":
		m.takeLocation(r, s, value)
	case s.RedirectField != nil && bytes.Equal(name, s.RedirectField):
		if !r.Rooted && m.flow.At(r.Instance).RedirectOf(r.Step).SetOrigin(value, r.Located) {
			r.SetRooted()
		}
	}
}

// takeLocation resolves the Location of a redirect against the URI of its request (RFC 9110 10.2.2). The first field
// counts if a response has several.
func (m *messages) takeLocation(r *book.Request, s *chain.Step, value []byte) {
	if r.Located {
		return
	}
	in, e, b := m.flow.At(r.Instance), m.endpointOf(r), &m.buffers
	b.scratch = r.AppendPath(b.scratch[:0], s, &in.Instance, e)
	b.authority = append(append(b.authority[:0], e.Scheme...), e.Authority...)
	n := len(e.Scheme)
	x := in.RedirectOf(r.Step)
	if x.Resolve(b.authority[:n], b.authority[n:], b.scratch, value) {
		r.SetLocated()
		x.SetOwn(m.targets.Owns(r.Target, x.Scheme, x.Authority), r.Hop, r.Rooted)
	}
}

// requestOf returns the request that was rendered as a message, or nil.
func requestOf(r *book.Request) *message.Message {
	if r.Exchange == nil {
		return nil
	}
	return r.Exchange.Request
}

// endpointOf returns the endpoint that a request was sent to.
func (m *messages) endpointOf(r *book.Request) *rv.Endpoint {
	return m.conns.At(r.Conn).Endpoint()
}

// OnData implements protocol.Handler.
func (m *messages) OnData(tok uint32, p []byte) {
	r := m.requests.At(book.ID(tok))
	if s := &m.program.Steps[r.Step]; s.Calls() {
		r.Continue()
		if s.Streams {
			m.takeMessages(book.ID(tok), r, p)
		}
		if !s.WantBody && !r.Sampled && r.Status < 400 {
			return // nothing reads the messages
		}
	}
	if m.requests.Data(r, p) {
		m.logCut(r)
	}
}

// takeMessages records the times of the messages of a stream, which its request can wait for.
func (m *messages) takeMessages(id book.ID, r *book.Request, p []byte) {
	st := r.Call()
	last := st.Last
	n := st.Receive(p, m.now)
	if n == 0 {
		return
	}
	m.rec.Messages(r, n, last, m.now)
	if st.IsAnswered() {
		m.calls.answered = append(m.calls.answered, id)
	}
}

// logCut logs the first body that a step needs and that is cut because of maxBodies.
func (m *messages) logCut(r *book.Request) {
	m.log.Warn("the response bodies that checks, captures and scripts read take too much memory; further ones are cut, "+
		"fail the check maxBodyBytes, and are not logged; fewer requests in flight or more shards need less", "step",
		m.program.Steps[r.Step].Name, "target", m.targets.At(r.Target).Plan.Name, "limitBytes", book.MaxBodies)
}

package cli

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/trial"
)

// Outcomes of chains and steps in a trial.
const (
	outcomePassed  = "Passed"
	outcomeFailed  = "Failed"
	outcomeSkipped = "Skipped"
	// outcomeRedirected is a request whose response redirects it to another URI.
	outcomeRedirected = "Redirected"
	outcomeNotRun     = "NotRun"
	// outcomeNotSent is a request of a dry run.
	outcomeNotSent = "NotSent"
)

// triedResult is the output of "h2surge try" for programs.
type triedResult struct {
	Passed bool `json:"passed"`
	// Message is why nothing, or not everything, was run.
	Message string `json:"message,omitempty"`
	// Protocols has the protocols that were found at http URLs.
	Protocols []rv.FoundProtocol `json:"protocols,omitempty"`
	// Listeners have the counts of notifications. Times are with the exchanges.
	Listeners []rv.ListenerResult `json:"listeners,omitempty"`
	Chains    []triedChain        `json:"chains"`
}

// triedChain is one instance of a chain.
type triedChain struct {
	Name      string           `json:"name"`
	Phase     rv.Phase         `json:"phase,omitempty"`
	Outcome   string           `json:"outcome"`
	Reason    string           `json:"reason,omitempty"`
	Exchanges []*triedExchange `json:"exchanges,omitempty"`
}

// triedExchange is a request and its outcome.
type triedExchange struct {
	Step    string `json:"step"`
	Outcome string `json:"outcome"`
	// Reason is why the step failed.
	Reason string `json:"reason,omitempty"`
	// Next is what happens after a failure, such as "retried".
	Next string `json:"next,omitempty"`
	// Attempt and Repeat count from 1.
	Attempt int `json:"attempt"`
	Repeat  int `json:"repeat"`
	// Notes are what a reader of a dry run must know of the request.
	Notes  []string `json:"notes,omitempty"`
	Target string   `json:"target,omitempty"`
	// Address is the one of the connection.
	Address string `json:"address,omitempty"`
	// Milliseconds is the time from sending the request to its outcome.
	Milliseconds float64       `json:"milliseconds,omitempty"`
	Request      *triedMessage `json:"request,omitempty"`
	Response     *triedMessage `json:"response,omitempty"`
	// Notification is what a step with await has received.
	Notification *triedMessage  `json:"notification,omitempty"`
	Captures     []triedCapture `json:"captures,omitempty"`
	Checks       []triedCheck   `json:"checks,omitempty"`

	chain   string
	phase   rv.Phase
	took    time.Duration
	retried bool
	full    bool
	tls     *rv.TLS
	// call is nil if the step does not call gRPC. isCall: the request's body is shown as its messages.
	call   *triedCall
	isCall bool
	// unknown: messages of the request, which may be compressed, have a value that is not known.
	unknown bool
}

// triedMessage is a request or a response.
type triedMessage struct {
	HTTP   string `json:"http"`
	Method string `json:"method,omitempty"`
	URL    string `json:"url,omitempty"`
	Status int    `json:"status,omitempty"`
	// Fields are in the order of the wire; those of an HTTP/2 request include the pseudo-header fields.
	Fields []triedField `json:"fields,omitempty"`
	// Body has the messages of a call of gRPC as JSON, one in a line.
	Body string `json:"body,omitempty"`
	// BodyBase64 is the body if it is not a text.
	BodyBase64 string `json:"bodyBase64,omitempty"`
	// BodySize is the size of the whole body in bytes; Cut says that only its beginning is here.
	BodySize int64 `json:"bodySize"`
	Cut      bool  `json:"cut,omitempty"`

	// parts is a multipart body for readers. It is set with BodyBase64.
	parts string
}

// triedField is a header field in its place; the pseudo-header fields of HTTP/2 are among them.
type triedField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type triedCapture struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Found is false when the response had no value and there is no default.
	Found bool `json:"found"`
}

type triedCheck struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	// Found and Want are the value in the response and what it was compared with.
	Found string `json:"found,omitempty"`
	Want  string `json:"want,omitempty"`
}

// describe makes an exchange of the engine readable, without secrets.
func (t *tried) describe(e *trial.Exchange) *triedExchange {
	c := &t.plan.Chains[e.Chain]
	s := t.step(e)
	out := &triedExchange{
		Step: s.Name, Outcome: outcomePassed, Attempt: e.Attempt + 1, Repeat: e.Repeat + 1,
		Address: e.Address,
		chain:   c.Name, phase: c.Phase, took: e.Took, full: t.full,
	}
	out.Milliseconds = float64(e.Took.Microseconds()) / 1000
	// Captures come first: from here on, their secret values are hidden.
	captures := t.captures(c, s, e)
	if s.Await != nil {
		out.Notification = t.notification(e)
	} else {
		out.Target, out.tls = t.plan.Targets[s.Target].Name, t.plan.Targets[s.Target].TLS
		out.Request, out.Response = t.request(e), t.response(e)
		if c := t.calls[s]; c != nil {
			t.showCall(c, out, e)
		}
	}
	out.Captures, out.Checks = captures, t.checks(s, e)
	switch {
	case e.Skipped:
		out.Outcome = outcomeSkipped
		if e.Why == rv.AbortMissingCapture {
			out.Reason = "a captured value that it sends is missing"
		}
	case e.Redirected:
		out.Outcome = outcomeRedirected
	case e.Why != "":
		out.Outcome = outcomeFailed
		out.Reason = t.mask.text(t.reason(s, e, out))
		out.Next, out.retried = next(s, e)
	case t.dry:
		out.Outcome = outcomeNotSent
	}
	return out
}

// step is the plan's step of an exchange.
func (t *tried) step(e *trial.Exchange) *rv.Step {
	first := 0
	for i := range e.Chain {
		first += len(t.plan.Chains[i].Steps)
	}
	return &t.plan.Chains[e.Chain].Steps[e.Step-first]
}

// next is what the chain does after a failure.
func next(s *rv.Step, e *trial.Exchange) (what string, retried bool) {
	switch {
	case e.Why == trial.Stopped, e.Why == rv.AbortLocation, e.Why == rv.AbortScript, e.Why == rv.AbortDropped:
		return "", false
	case e.Attempt < s.OnFailure.Retries:
		return fmt.Sprintf("retry %d of %d follows", e.Attempt+1, s.OnFailure.Retries), true
	case s.OnFailure.Continue:
		return "the chain continues", false
	}
	return "", false
}

func (t *tried) request(e *trial.Exchange) *triedMessage {
	if e.Head == nil || e.Request == nil {
		return nil
	}
	m := e.Request
	out := &triedMessage{
		HTTP: e.Protocol.HTTP(), Method: string(m.Method), BodySize: int64(len(m.Body)),
		URL: t.mask.text(string(m.Scheme) + "://" + string(m.Authority) + string(m.Path)),
	}
	if e.Protocol == rv.ProtocolHTTP1 {
		for i, line := range strings.Split(strings.TrimSuffix(string(e.Head), "\r\n\r\n"), "\r\n") {
			if name, value, _ := strings.Cut(line, ": "); i > 0 { // the first is the request line
				t.field(out, name, value)
			}
		}
	} else {
		fields, _ := hpack.NewDecoder(chain.MaxTable, nil).DecodeFull(e.Head) // our own encoder made it
		for _, f := range fields {
			t.field(out, f.Name, f.Value)
		}
	}
	t.body(out, m.Body)
	return out
}

func (t *tried) notification(e *trial.Exchange) *triedMessage {
	out := t.response(e)
	if out != nil {
		out.Status, out.Method, out.URL = 0, string(e.Request.Method), t.mask.text(string(e.Request.Path))
	}
	return out
}

func (t *tried) response(e *trial.Exchange) *triedMessage {
	m := e.Response
	if m == nil {
		return nil
	}
	out := &triedMessage{HTTP: e.Protocol.HTTP(), Status: m.Status, BodySize: e.BodySize}
	for _, f := range m.Fields {
		t.field(out, string(f.Name), string(f.Value))
	}
	t.body(out, m.Body)
	out.Cut = out.Cut || e.Cut
	return out
}

func (t *tried) field(m *triedMessage, name, value string) {
	m.Fields = append(m.Fields, triedField{name, t.mask.field(name, strings.ToValidUTF8(value, string(utf8.RuneError)))})
}

// shownBody bounds what is shown of a body, in bytes.
const shownBody = 2048

// body masks a text before it cuts it, so that half of a secret is not left.
func (t *tried) body(m *triedMessage, body []byte) {
	m.Body, m.BodyBase64 = "", ""
	limit := shownBody
	if t.full {
		limit = len(body) + 1<<20 // descriptions of secrets may be longer than the secrets
	}
	if isText(body) {
		text := t.mask.text(string(body))
		m.Cut = len(text) > limit
		m.Body = strings.ToValidUTF8(text[:min(len(text), limit)], "")
		return
	}
	if parts, ok := partsText(contentType(m.Fields), body, t.mask.text); ok {
		m.parts = strings.ToValidUTF8(parts[:min(len(parts), limit)], "")
	}
	m.Cut = len(body) > limit
	m.BodyBase64 = base64.StdEncoding.EncodeToString(body[:min(len(body), limit)])
}

func isText(b []byte) bool {
	return utf8.Valid(b) && !strings.ContainsFunc(string(b), func(c rune) bool {
		return unicode.IsControl(c) && !strings.ContainsRune("\r\n\t", c)
	})
}

// captures returns the captures that a step of the manifest has. The binding of a target with sbi is not one of them:
// the header fields of the response and of later requests show it.
func (t *tried) captures(c *rv.Chain, s *rv.Step, e *trial.Exchange) (out []triedCapture) {
	for i, v := range e.Captured {
		if s.Capture[i].Keep {
			continue
		}
		name := c.Captures[v.Slot]
		out = append(out, triedCapture{name, t.mask.captured(name, string(v.Value), &s.Capture[i].Source), v.Has})
	}
	return out
}

func (t *tried) checks(s *rv.Step, e *trial.Exchange) (out []triedCheck) {
	next, called := 0, false
	for _, f := range e.Findings {
		c := triedCheck{Name: f.Name, Passed: f.Passed, Found: t.mask.text(string(f.Found))}
		switch f.Name {
		case rv.CheckStatus:
			if s.Await != nil {
				continue // a notification has none
			}
			c.Want = statusWords(s.Expect.Status)
		case rv.CheckBody:
			c.Found, c.Want = string(f.Found)+" bytes", "at most "+string(f.Want)+" bytes"
		default:
			if s.GRPC != nil && !called {
				called = true
				c.Found, c.Want = "grpc-status is "+c.Found, string(f.Want)
				break
			}
			t.check(&c, &s.Expect.Checks[next], &f)
			next++
		}
		out = append(out, c)
	}
	if e.Failed == rv.CheckScript {
		out = append(out, triedCheck{Name: rv.CheckScript, Found: t.mask.text(scriptWords(e))})
	}
	if words, ok := usimWords[e.Failed]; ok {
		out = append(out, triedCheck{Name: e.Failed, Found: words})
	}
	return out
}

// check fills in what a check of the manifest wants, and its source.
func (t *tried) check(out *triedCheck, in *rv.Check, f *chain.Finding) {
	if in.Schema != nil {
		if out.Want = "a body that jsonSchema allows"; f.HasFound {
			out.Found = t.mask.text(mask.Line(string(f.Found)))
		}
		return
	}
	value := func(b []byte) string { return strconv.Quote(t.mask.found(string(b), in.Source)) }
	want, found := value(f.Want), value(f.Found)
	if in.Source.Kind == rv.SourceResponseTime {
		want, found = nanoseconds(f.Want), nanoseconds(f.Found)
	}
	switch in.Match.Op {
	case rv.MatchMatches:
		want = strconv.Quote(in.Match.Pattern)
	case rv.MatchExists:
		want = string(f.Want)
	case rv.MatchLessThan, rv.MatchGreaterThan:
		want = strings.Trim(want, `"`)
	}
	if !f.HasFound {
		found = "no value"
		if f.Problem != "" {
			found += " (" + f.Problem + ")"
		}
	}
	not := ""
	if in.Match.Not {
		not = "not "
	}
	out.Found = t.mask.text(sourceWords(in.Source) + " is " + found)
	out.Want = not + string(in.Match.Op) + " " + t.mask.text(want)
}

package chain

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/extract"
	"github.com/h2surge/h2surge/runner/message"
)

// Listener is a server of a worker for notifications.
type Listener struct {
	Name string
	// Timeouts are the distinct timeouts of the steps that wait for notifications of the listener.
	Timeouts []time.Duration
	// Retention is that of the plan.
	Retention time.Duration
	// Rules answer notifications; nil: none.
	Rules *rules.Set
	// Response is the header block of the responses without a rule (RFC 7541), without references to a dynamic table. Body
	// follows it.
	Response, Body []byte
	// MaxBody bounds the body that is kept of a notification, in octets.
	MaxBody int

	key    *extract.Extractor // nil: the path
	byPath bool               // the path comes before the value of key
}

// Await is what a step waits for.
type Await struct {
	// Listener is an index into Program.Listeners, and Timeout one into its Timeouts.
	Listener, Timeout int

	key text
}

// listeners reads the listeners and the timeouts of the steps that use them.
func (b *builder) listeners(p *rv.Plan) {
	for i := range p.Listeners {
		b.at = rv.Place{List: rv.PlaceListeners, Index: i}
		b.g.Listeners = append(b.g.Listeners, b.listener(&p.Listeners[i]))
	}
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			s := &p.Chains[i].Steps[j]
			if s.Await == nil || s.Await.Listener >= len(b.g.Listeners) {
				continue
			}
			l := &b.g.Listeners[s.Await.Listener]
			if !slices.Contains(l.Timeouts, s.Timeout) {
				l.Timeouts = append(l.Timeouts, s.Timeout)
			}
		}
	}
}

func (b *builder) listener(in *rv.Listener) Listener {
	l := Listener{Name: in.Name, Retention: in.Retention, Body: []byte(in.Body), MaxBody: in.MaxBody}
	if l.MaxBody == 0 {
		l.MaxBody = defaultMaxBody
	}
	switch {
	case in.Retention <= 0 || in.Retention > longestPause:
		b.in("retention")
		b.failf("%v is not between 0 and %v", in.Retention, longestPause)
	case in.Status < 200 || in.Status > 599:
		b.in("status")
		b.failf("%d is not the status of a response", in.Status)
	}
	switch l.byPath = in.ByPath; {
	case in.Pointer != "":
		b.in("pointer")
		l.key = b.source(&rv.Source{Kind: rv.SourceJSONPointer, Pointer: in.Pointer})
	case in.JSONPath != "":
		b.in("jsonPath")
		l.key = b.source(&rv.Source{Kind: rv.SourceJSONPath, JSONPath: in.JSONPath})
	}
	l.Response = AppendResponse(nil, in.Status, in.Headers, l.Body)
	if in.RulesFile != "" {
		b.in("rulesFrom")
		l.Rules = b.rules(in.RulesFile)
	}
	return l
}

// maxRules bounds the rules of a listener, because each snapshot has their counts.
const maxRules = 100

// rules loads the rules of a listener.
func (b *builder) rules(file string) *rules.Set {
	data, err := b.res.content(&rv.Content{File: file})
	if err != nil {
		b.fail(err)
		return nil
	}
	set, err := rules.Load(data, filepath.Dir(file))
	var all rules.Mistakes
	if errors.As(err, &all) {
		for i := range all {
			b.fail(all[i : i+1])
		}
		return nil
	}
	if n := len(set.Names()); n > maxRules {
		b.failf("the file has %d rules; allowed: at most %d", n, maxRules)
	}
	if set.Calls() {
		b.failf("the file has protoFiles; allowed in the rules of h2surge target only")
	}
	if n := set.Notifications(); len(n) > 0 {
		b.failf("rule %q has notify; allowed in the rules of h2surge target only", n[0].Rule)
	}
	return set
}

// AppendResponse appends the header block of a response with a body (RFC 7541), without references to a dynamic table.
func AppendResponse(dst []byte, status int, headers []rv.ListenerHeader, body []byte) []byte {
	dst = hpackCoder.appendField(dst, ":status", strconv.AppendInt(nil, int64(status), 10), inValue)
	for _, h := range headers {
		dst = hpackCoder.appendField(dst, h.Name, []byte(h.Value), inValue)
	}
	if len(body) > 0 {
		dst = hpackCoder.appendField(dst, "content-length", strconv.AppendInt(nil, int64(len(body)), 10), inValue)
	}
	return dst
}

// AppendKey appends the key of a notification, which x has as its response. ok is false if the body has no such value.
func (l *Listener) AppendKey(dst []byte, x *message.Exchange) (key []byte, ok bool) {
	if l.key == nil || l.byPath {
		path, _, _ := bytes.Cut(x.Request.Path, []byte{'?'})
		dst = append(dst, path...)
	}
	if l.key == nil {
		return dst, true
	}
	if l.byPath {
		dst = append(dst, ' ')
	}
	value, ok := l.key.Value(dst, x)
	return append(dst, value...), ok
}

// AppendKey appends the key of the notification that the step waits for.
func (a *Await) AppendKey(dst []byte, in *Instance) []byte { return a.key.appendTo(dst, in) }

// await builds what a step waits for.
func (b *builder) await(in *rv.Step, s *Step) {
	b.in("await")
	switch {
	case in.Await.Listener >= len(b.g.Listeners):
		b.failf("there is no listener %d", in.Await.Listener)
		return
	case b.at.Step == 1:
		b.failf("no request is before it")
	case in.Method != "" || len(in.Path) > 0 || len(in.Body) > 0 || in.BodyFrom != nil || len(in.Headers) > 0 ||
		in.Script != nil ||
		in.Repeat > 1 || in.OnFailure.Retries > 0 || in.MaxRedirects > 0 || len(in.Expect.Status) > 0:
		b.failf("the step cannot have a request, a script, an expected status, retries or a repetition")
	}
	a := &Await{Listener: in.Await.Listener}
	a.Timeout = slices.Index(b.g.Listeners[a.Listener].Timeouts, in.Timeout)
	b.beforeRequest = true
	a.key = b.build(in.Await.Key)
	b.beforeRequest = false
	s.Await, s.Target = a, -1
}

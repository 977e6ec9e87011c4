package chain

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/extract"
	"github.com/h2surge/h2surge/runner/message"
)

// Listener is a server of a worker for notifications.
type Listener struct {
	Name string
	// Timeouts are the distinct timeouts of the steps that wait for notifications of the listener.
	Timeouts []time.Duration
	// Keep is that of the plan.
	Keep time.Duration
	// Response is the header block of all responses (RFC 7541), without references to a dynamic table. Body follows it.
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

// addListeners reads the listeners and the timeouts of the steps that use them.
func (g *Program) addListeners(p *rv.Plan) error {
	for i := range p.Listeners {
		l, err := newListener(&p.Listeners[i])
		if err != nil {
			return fmt.Errorf("listeners[%d].%w", i, err)
		}
		g.Listeners = append(g.Listeners, l)
	}
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			s := &p.Chains[i].Steps[j]
			switch {
			case s.Await == nil:
				continue
			case s.Await.Listener >= len(g.Listeners):
				return fmt.Errorf("chains[%d].steps[%d].await.listener: there is no listener %d", i, j, s.Await.Listener)
			case j == 0:
				return fmt.Errorf("chains[%d].steps[0].await: no request is before it", i)
			}
			l := &g.Listeners[s.Await.Listener]
			if !slices.Contains(l.Timeouts, s.Timeout) {
				l.Timeouts = append(l.Timeouts, s.Timeout)
			}
		}
	}
	return nil
}

func newListener(in *rv.Listener) (Listener, error) {
	l := Listener{Name: in.Name, Keep: in.Keep, Body: []byte(in.Body), MaxBody: in.MaxBody}
	if l.MaxBody == 0 {
		l.MaxBody = defaultMaxBody
	}
	switch {
	case in.Keep <= 0 || in.Keep > longestPause:
		return l, fmt.Errorf("keep: %v is not between 0 and %v", in.Keep, longestPause)
	case in.Status < 200 || in.Status > 599:
		return l, fmt.Errorf("status: %d is not the status of a response", in.Status)
	}
	if in.Pointer != "" {
		l.byPath = in.ByPath
		var err error
		if l.key, err = extract.New(rv.Source{Kind: rv.SourceJSONPointer, Pointer: in.Pointer}); err != nil {
			return l, err
		}
	}
	l.Response = AppendResponse(nil, in.Status, in.Headers, l.Body)
	return l, nil
}

// AppendResponse appends the header block of a response with a body (RFC 7541), without references to a dynamic table.
func AppendResponse(dst []byte, status int, headers []rv.ListenerHeader, body []byte) []byte {
	dst = appendField(dst, ":status", strconv.AppendInt(nil, int64(status), 10), inValue)
	for _, h := range headers {
		dst = appendField(dst, h.Name, []byte(h.Value), inValue)
	}
	if len(body) > 0 {
		dst = appendField(dst, "content-length", strconv.AppendInt(nil, int64(len(body)), 10), inValue)
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

// await builds a step that waits for a notification.
func (b *builder) await(in *rv.Step, s *Step) (err error) {
	if in.Method != "" || len(in.Path) > 0 || len(in.Body) > 0 || in.BodyFrom != nil || len(in.Headers) > 0 || in.Script != nil ||
		in.Repeat > 1 || in.OnFailure.Retries > 0 || in.MaxRedirects > 0 || len(in.Expect.Status) > 0 {
		return fmt.Errorf("await: the step cannot have a request, a script, an expected status, retries or a repetition")
	}
	a := &Await{Listener: in.Await.Listener}
	a.Timeout = slices.Index(b.g.Listeners[a.Listener].Timeouts, in.Timeout)
	b.step, b.beforeRequest = s, true
	a.key, err = b.build(in.Await.Key)
	b.beforeRequest = false
	if err != nil {
		return fmt.Errorf("await.key%w", err)
	}
	s.Await, s.Target = a, -1
	if s.Flow, err = b.flow(in); err != nil {
		return err
	}
	if s.Inspection, err = b.inspection(in); err != nil {
		return err
	}
	s.inspect()
	return nil
}

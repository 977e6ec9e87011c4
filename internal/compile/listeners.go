package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// awaited is the notification that a step waits for.
type awaited struct {
	listener int // an index into spec.listeners, or -1: unknown
	key      text
	timeout  time.Duration
}

// listeners compiles the listeners. What steps match by is set later.
func (c *compiler) listeners() {
	path := specPath.Child("listeners")
	c.listenerIndex, c.listenerUsed, c.listenerSent = map[string]int{}, map[string]bool{}, map[string]bool{}
	for i := range c.spec.Listeners {
		in, at := &c.spec.Listeners[i], path.Index(i)
		c.place(rv.Place{List: rv.PlaceListeners, Index: i}, at)
		c.unique(at.Child("name"), c.listenerIndex, in.Name, i)
		out := rv.Listener{Name: in.Name, Status: int(in.Response.Status), Body: in.Response.Body,
			MaxBody: int(in.MaxBodyBytes), Retention: in.Retention.Duration}
		if in.Port != nil {
			out.Port = int(*in.Port)
		}
		out.Interface = in.Interface
		if r := in.RulesFrom; r != nil {
			c.place(rv.Place{List: rv.PlaceListeners, Index: i}.In("rulesFrom", -1), at.Child("rulesFrom"))
			out.RulesFile = c.source(at.Child("rulesFrom"), r.ConfigMapKeyRef, nil, r.File)
		}
		if t := in.Token; t != nil {
			out.Token = &rv.TokenCheck{
				Algorithm: t.Algorithm, KeysFile: c.contentSource(at.Child("token", "keysFrom"), &t.KeysFrom),
				Audience: t.Audience, Issuer: t.Issuer, Scope: t.Scope,
			}
		}
		if in.TLS != nil {
			out.TLS = c.listenerTLS(at.Child("tls"), in.TLS)
		}
		if in.Response.Body != "" && slices.Contains([]int32{204, 205, 304}, in.Response.Status) {
			c.fail(at.Child("response", "body"), "must be empty with the status %d (RFC 9110 15)", in.Response.Status)
		}
		for k := range in.Response.Headers {
			out.Headers = append(out.Headers, c.listenerHeader(at.Child("response", "headers").Index(k),
				&in.Response.Headers[k]))
		}
		c.plan.Listeners = append(c.plan.Listeners, out)
	}
	c.overlaps(path)
	if len(c.spec.Listeners) == 0 {
		return
	}
	for i, v := range c.spec.Variables {
		if v.Name == syntax.ListenerName {
			c.fail(specPath.Child("variables").Index(i).Child("name"),
				"%q is the beginning of placeholders for listeners; use another name", v.Name)
		}
	}
}

// portsEach are the ports of a listener: one for each worker.
func portsEach(spec *v1alpha1.LoadTestSpec) int32 {
	return max(ptr.Deref(spec.Runner.CPUsPerShard, 1), 1)
}

// overlaps reports listeners that would need the same port.
func (c *planner) overlaps(path *field.Path) {
	workers := int(portsEach(c.spec))
	for i := range c.plan.Listeners {
		a := &c.plan.Listeners[i]
		for k := range i {
			if b := &c.plan.Listeners[k]; a.Port > 0 && b.Port > 0 && a.Port < b.Port+workers && b.Port < a.Port+workers {
				c.fail(path.Index(i).Child("port"), "listener %q has the ports %d to %d, one for each worker", b.Name, b.Port,
					b.Port+workers-1)
			}
		}
	}
}

// runnerPorts reports listeners that would need a port where the runner pod itself listens, on all its addresses.
func runnerPorts(spec *v1alpha1.LoadTestSpec) (errs field.ErrorList) {
	workers := portsEach(spec)
	for i := range spec.Listeners {
		first := ptr.Deref(spec.Listeners[i].Port, 0)
		for _, own := range []int32{rv.ControlPort, rv.MetricsPort} {
			if first <= own && own < first+workers {
				errs = append(errs, field.Invalid(specPath.Child("listeners").Index(i).Child("port"), field.OmitValueType{},
					fmt.Sprintf("the runner itself needs port %d; the listener has the ports %d to %d, one for each worker",
						own, first, first+workers-1)))
			}
		}
	}
	return errs
}

func (c *checker) listenerTLS(at *field.Path, in *v1alpha1.ListenerTLS) *rv.ListenerTLS {
	out := &rv.ListenerTLS{MinVersion: string(in.MinVersion)}
	if in.Certificate != nil {
		out.CertFile, out.KeyFile = c.clientCertificate(at.Child("certificate"), in.Certificate)
	}
	if len(in.ClientNames) > 0 && in.ClientCAFrom == nil {
		c.fail(at.Child("clientNames"), "clientNames need clientCAFrom")
	}
	out.ClientNames = orNil(in.ClientNames)
	if in.ClientCAFrom != nil {
		out.ClientCAFile = c.contentSource(at.Child("clientCAFrom"), in.ClientCAFrom)
	}
	return out
}

func (c *checker) listenerHeader(at *field.Path, in *v1alpha1.ListenerHeader) rv.ListenerHeader {
	out := rv.ListenerHeader{Name: strings.ToLower(in.Name), Value: in.Value}
	switch problem := headerProblem(out.Name, in.Value); {
	case out.Name == "content-length":
		c.fail(at.Child("name"), "is set from the body")
	case problem != "":
		c.fail(at, "%s", problem)
	}
	return out
}

// listenerURL checks a placeholder for the URL of a listener.
func (c *compiler) listenerURL(path *field.Path, ref *syntax.Reference) {
	c.listenerSent[ref.Listener] = true
	if _, ok := c.listenerIndex[ref.Listener]; !ok {
		c.noListener(path, ref.Listener)
	}
}

func (c *compiler) noListener(path *field.Path, name string) {
	near := didYouMean(name, slices.Sorted(maps.Keys(c.listenerIndex)))
	if len(c.listenerIndex) == 0 {
		near = "; spec.listeners has none"
	}
	c.fail(path, "there is no listener %q%s", name, near)
}

// awaiting returns step number j of a chain, which waits for a notification. Its checks and captures are those of a
// request that is never sent.
func (c *compiler) awaiting(at *field.Path, chain *v1alpha1.Chain, in *v1alpha1.Step, j int) flatStep {
	a, path := in.Await, at.Child("await")
	if j == 0 {
		c.fail(path, "no request is before it in chain %q that causes a notification", chain.Name)
	}
	if in.Target != "" || in.Repeat != nil || in.Retry != nil || in.ClearCookies {
		c.fail(at, "cannot be used with await; allowed: thinkTime, when, onFailure, always")
	}
	out := flatStep{
		name:      in.Name,
		request:   c.awaits[a],
		think:     c.thinkTime(at.Child("thinkTime"), in.ThinkTime),
		when:      c.conditions(at.Child("when"), in.When),
		onFailure: c.onFailure(at, nil, in.OnFailure),
		await:     &awaited{listener: -1, key: c.awaits[a].key, timeout: a.Timeout.Duration},
	}
	i, ok := c.listenerIndex[a.Listener]
	if !ok {
		c.noListener(path.Child("listener"), a.Listener)
		return out
	}
	out.await.listener = i
	c.matchBy(path.Child("match"), &c.plan.Listeners[i], a)
	return out
}

// matchBy sets what a listener matches notifications by, and reports a step that differs from an earlier one.
func (c *compiler) matchBy(at *field.Path, l *rv.Listener, a *v1alpha1.Await) {
	switch m := &a.Match; {
	case !c.listenerUsed[l.Name]:
		c.listenerUsed[l.Name] = true
		l.Pointer, l.JSONPath, l.ByPath = m.JSONPointer, m.JSONPath, matchesBoth(m)
	case l.Pointer != m.JSONPointer || l.JSONPath != m.JSONPath || l.ByPath != matchesBoth(m):
		c.fail(at, "an earlier step matches notifications of listener %q by %s; use another listener", l.Name, matchedBy(l))
	}
}

func matchesBoth(m *v1alpha1.NotificationMatch) bool { return m.Path != "" && m.Equals != "" }

func matchedBy(l *rv.Listener) string {
	value := ""
	switch {
	case l.Pointer != "":
		value = "jsonPointer " + l.Pointer
	case l.JSONPath != "":
		value = "jsonPath " + l.JSONPath
	default:
		return "path"
	}
	if l.ByPath {
		return "path and " + value
	}
	return value
}

// awaitRequest parses what a step reads of a notification.
func (c *compiler) awaitRequest(at *field.Path, in *v1alpha1.Await) *request {
	r := &request{path: at, captures: c.captures(at.Child("capture"), in.Capture), used: true}
	if in.Expect != nil {
		r.expect = c.expect(at.Child("expect"), &v1alpha1.Expect{Checks: in.Expect.Checks})
	}
	r.key = c.matchKey(at.Child("match"), &in.Match)
	if _, constant := r.key.constant(); constant && len(r.key.pieces) > 0 {
		c.warn(r.key.path, "is the same for all chain instances; the first one that waits gets a notification")
	}
	return r
}

// awaitedPath checks a path that a step matches notifications by.
func (c *checker) awaitedPath(t *text, written string) {
	switch {
	case len(t.pieces) > 0 && t.pieces[0].Ref != nil && t.pieces[0].Ref.Listener != "":
		c.fail(t.path, "must begin with /; remove ${listener.%s.url}, because the path of a notification does not have it",
			t.pieces[0].Ref.Listener)
	case written[0] != '/' && written[0] != '$' || strings.ContainsAny(written, "?#"):
		c.fail(t.path, "must begin with /, without query and fragment")
	}
}

// matchKey returns the key that a notification must have: its path, a value, or the path, a space and the value.
func (c *compiler) matchKey(at *field.Path, m *v1alpha1.NotificationMatch) (key text) {
	if m.Path != "" {
		key = c.text(at.Child("path"), m.Path, nil, "")
		c.awaitedPath(&key, m.Path)
	}
	switch place := m.JSONPointer + m.JSONPath; {
	case m.Path+place == "":
		c.fail(at, "path, jsonPointer or jsonPath is needed")
		return key
	case m.JSONPointer != "" && m.JSONPath != "":
		c.fail(at, "at most one of jsonPointer and jsonPath is possible")
		return key
	case (place != "") != (m.Equals != ""):
		c.fail(at, "equals goes with jsonPointer or jsonPath")
		return key
	}
	switch {
	case m.Equals == "":
		return key
	case m.JSONPath != "":
		c.jsonPath(at.Child("jsonPath"), m.JSONPath)
	default:
		c.pointer(at.Child("jsonPointer"), m.JSONPointer)
	}
	value := c.text(at.Child("equals"), m.Equals, nil, "")
	if m.Path == "" {
		return value
	}
	key.pieces = slices.Concat(key.pieces, []syntax.Piece{{Literal: " "}}, value.pieces)
	return key
}

// resolveAwait fills in what a step waits for.
func (c *compiler) resolveAwait(s *scope, a *awaited, out *rv.Step) {
	c.place(s.place.In("await", -1), a.key.path)
	s.early = true
	out.Await = &rv.Await{Listener: max(a.listener, 0), Key: c.resolve(s, a.key)}
	s.early = false
	out.Timeout = a.timeout
}

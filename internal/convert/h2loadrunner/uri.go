package h2loadrunner

import (
	"cmp"
	"net"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

func isText(s string) bool { return utf8.ValidString(s) }

// uri makes path and target.
func (r *request) uri() {
	if !r.in.Has("uri") {
		r.Fail(r.in.At("uri"), "is needed")
		return
	}
	in := r.in.Child("uri")
	input := in.Text("input")
	from := in.At("input")
	switch action := in.Text("typeOfAction"); action {
	case "input", "":
		r.path(from, input)
	case "sameWithLastOne":
		r.same(in.Path)
	case "fromResponseHeader":
		r.location(from, v1alpha1.ValueSource{Header: strings.ToLower(input)}, input)
	case "fromLuaScript":
		r.self().Path = "/"
		if !r.scripted {
			r.Fail(in.Path, "there is no luaScript with make_request, which should make the path")
		}
	case "fromJsonPointer", "fromXPath":
		r.Warn(in.At("typeOfAction"), "%s is not done by h2loadrunner, which sends an empty path; here it is", action)
		source := v1alpha1.ValueSource{JSONPointer: &input}
		if action == "fromXPath" {
			source = v1alpha1.ValueSource{XPath: input}
		}
		r.location(from, source, "location")
	default:
		r.Fail(in.At("typeOfAction"), "%q is not known", action)
	}
	in.End()
}

// path is one that is written, alone or in a whole URI.
func (r *request) path(from, input string) {
	if !strings.Contains(input, "://") || strings.HasPrefix(input, "/") {
		if input != "" && !strings.HasPrefix(input, "/") && !strings.HasPrefix(input, "${") {
			input = "/" + input
		}
		r.self().Path = convert.EscapePath(r.withToken(from, r.index, input))
		return
	}
	scheme, rest, _ := strings.Cut(input, "://")
	scheme = strings.ToLower(scheme)
	authority, path := rest, "/"
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	path, _, _ = strings.Cut(path, "#")
	r.self().Path = convert.EscapePath(r.withToken(from, r.index, path))
	if scheme != "http" && scheme != "https" {
		r.Fail(from, "must begin with /, http:// or https://")
		return
	}
	r.direct(from, scheme, authority)
}

// same is the place of the request before.
func (r *request) same(from string) {
	p := r.before(from)
	if p == nil {
		return
	}
	r.target = p.target
	if !p.scripted {
		r.self().Path = p.self().Path // placeholders have one value in all the chain
		return
	}
	name := r.Unique("variable", convert.WordName(p.template+"_path"))
	p.capture(v1alpha1.Capture{Name: name,
		ValueSource: v1alpha1.ValueSource{Request: &v1alpha1.RequestSource{Path: &v1alpha1.EmptySource{}}}})
	r.self().Path = "${" + name + "}"
}

func (r *request) before(from string) *request {
	switch {
	case r.previous == nil:
		r.Fail(from, "there is no request before it")
		return nil
	case r.parallel:
		r.Fail(from, "is not possible where all requests are sent at once")
		return nil
	}
	return r.previous
}

// location is what the response before says.
func (r *request) location(from string, source v1alpha1.ValueSource, name string) {
	p := r.before(from)
	if p == nil {
		return
	}
	if name == "" {
		r.Fail(from, "is needed")
		return
	}
	r.target = p.target
	// Without the value h2loadrunner does not send the rest of the chain, and counts no failure.
	our := r.Unique("variable", convert.WordName(name))
	p.capture(v1alpha1.Capture{Name: our, ValueSource: source, Optional: true})
	r.guard = our
	r.self().Path = "${" + our + "}"
	if r.followed {
		r.targetNamed(r.target).FollowAuthority = v1alpha1.FollowWithoutCredentials
	} else {
		r.Warn(from, "of an absolute URI path and query are taken and sent to the same target, as h2loadrunner does without open-new-connection-based-on-authority-header")
	}
}

func (r *request) capture(c v1alpha1.Capture) { r.self().Capture = append(r.self().Capture, c) }

func (c *converter) targetNamed(name string) *v1alpha1.Target {
	for i := range c.Spec().Targets {
		if c.Spec().Targets[i].Name == name {
			return &c.Spec().Targets[i]
		}
	}
	return c.main()
}

// direct sends the request where scheme and authority say: to the main target or to one more.
func (r *request) direct(from, scheme, authority string) {
	if strings.Contains(authority, "${") {
		r.Fail(from, "a variable in the authority is not possible: targets are the same for the whole test")
		return
	}
	u, user, err := convert.SplitURL(scheme + "://" + authority)
	if err != nil || user != nil {
		r.Fail(from, "has an authority that cannot be")
		return
	}
	if u.Scheme == r.scheme && u.Authority == convert.Authority(r.scheme, r.host, r.port) {
		r.target = mainTarget
		return
	}
	if r.others[u.Base()] == "" {
		r.others[u.Base()] = r.other(from, u)
	}
	r.target = r.others[u.Base()]
}

// other makes a target for another authority.
func (c *converter) other(from string, u convert.URL) string {
	t := *c.main().DeepCopy()
	t.Name, t.URL, t.URLs = c.Unique("target", convert.DashName(u.Authority)), u.Base(), nil
	if t.Connecting != nil {
		t.Connecting.Failover, t.Connecting.FailbackInterval = nil, nil
	}
	at := "spec.targets[" + strconv.Itoa(len(c.Spec().Targets)) + "]"
	if !c.followed {
		t.ConnectTo = net.JoinHostPort(c.host, cmp.Or(c.port, convert.DefaultPort(c.scheme)))
		c.WarnAt(at, from, "%s has connections of its own to the same host; h2loadrunner sends both over one without open-new-connection-based-on-authority-header", u.Authority)
	} else {
		c.WarnAt(at, from, "the connections to %s are all opened before the test, not on demand", u.Authority)
	}
	if u.Scheme != c.scheme {
		t.TLS, t.Protocol = nil, v1alpha1.ProtocolAuto
		if u.Scheme == "https" {
			t.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		}
	}
	c.Origin(at, from)
	c.Spec().Targets = append(c.Spec().Targets, t)
	return t.Name
}

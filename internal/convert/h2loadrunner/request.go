package h2loadrunner

import (
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// request is one of a scenario, which becomes a template.
type request struct {
	*scenario
	in       *convert.Object
	index    int
	slot     int    // among the templates
	at       string // of the template in the LoadTest
	parallel bool

	template     string
	target       string
	clearCookies bool
	// scripted: a script may change the path.
	scripted, judged bool
}

func (r *request) otherTarget() string {
	if r.target == mainTarget {
		return ""
	}
	return r.target
}

// self is the template. Pointers to it do not outlive the next request.
func (r *request) self() *v1alpha1.Template { return &r.Spec().Templates[r.slot] }

func (s *scenario) request(in *convert.Object, index int, parallel bool) *request {
	r := &request{scenario: s, in: in, index: index, parallel: parallel, target: mainTarget, slot: len(s.Spec().Templates)}
	r.at = fmt.Sprintf("spec.templates[%d]", r.slot)
	s.Origin(r.at, in.Path)
	// The names of results there are the scenario's and the number of the request.
	short := strings.TrimRight(s.chain.Name[:min(len(s.chain.Name), 44)], "-")
	r.template = s.Unique("template", fmt.Sprintf("%s-%d", short, index))
	t := v1alpha1.Template{Name: r.template, Request: v1alpha1.Request{Method: in.Text("method")}}
	if t.Method == "" {
		s.Warn(in.At("method"), "is not there; GET is taken")
		t.Method = "GET"
	}
	if s.timeout > 0 {
		t.Timeout = convert.Given(milliseconds(s.timeout))
	}
	s.Spec().Templates = append(s.Spec().Templates, t)
	r.script()
	r.uri()
	r.headers()
	r.payload()
	r.expect()
	r.clearCookies = in.Flag("clear-old-cookies")
	r.pick()
	s.previous = r
	return r
}

func (r *request) headers() {
	at := r.in.At("additonalHeaders")
	list := r.in.Texts("additonalHeaders")
	if r.in.Has("additionalHeaders") {
		at = r.in.At("additionalHeaders")
		r.Warn(at, "h2loadrunner knows additonalHeaders only, so it does not send these; here they are sent")
		list = append(list, r.in.Texts("additionalHeaders")...)
	}
	for i, line := range list {
		from := fmt.Sprintf("%s[%d]", at, i)
		pseudo := strings.HasPrefix(line, ":")
		name, value, found := strings.Cut(strings.TrimPrefix(line, ":"), ":")
		if !found || strings.TrimSpace(name) == "" {
			r.Fail(from, "must be of the form name:value")
			continue
		}
		name = r.text(from, r.index, strings.TrimSpace(name))
		value = r.text(from, r.index, value)
		switch lower := strings.ToLower(name); {
		case pseudo:
			r.pseudo(from, lower, strings.TrimSpace(value))
		case lower == "host":
			r.pseudo(from, "authority", strings.TrimSpace(value))
		default:
			if h, ok := r.Header(r.at+".headers", from, name, value); ok {
				r.self().Headers = append(r.self().Headers, h)
			}
		}
	}
}

// pseudo is a pseudo-header among the headers (RFC 9113 8.3.1).
func (r *request) pseudo(from, name, value string) {
	switch name {
	case "method":
		r.self().Method = value
	case "path":
		r.self().Path = convert.EscapePath(value)
	case "authority":
		r.direct(from, r.scheme, value)
	default:
		r.WarnAt(r.at, from, ":%s cannot be set here and is left out", name)
	}
}

func (r *request) payload() {
	from := r.in.At("payload")
	payload := r.in.Text("payload")
	if payload == "" {
		return
	}
	if content, is := r.TryRead(payload); is {
		if r.token == "" {
			r.Warn(from, "is the name of a file; its content is used, which h2loadrunner does only with user-id-variable-in-path-and-data")
		}
		payload = string(content)
	}
	if !isText(payload) {
		r.Body(r.self(), from, "", []byte(payload))
		return
	}
	body := r.withToken(from, r.index, payload)
	if len(body) <= convert.MaxBody {
		r.self().Body = body
		return
	}
	source := r.Gather(from, r.template+".body", "", []byte(body))
	r.self().BodyFrom = &v1alpha1.BodyFrom{ConfigMapKeyRef: source.ConfigMapKeyRef, File: source.File,
		Encoding: v1alpha1.EncodingText}
}

// script reads luaScript, which is inline or a path.
func (r *request) script() {
	from := r.in.At("luaScript")
	source := r.in.Text("luaScript")
	if source == "" {
		return
	}
	file := ""
	if content, is := r.TryRead(source); is {
		file, source = source, string(content)
	} else if !strings.ContainsAny(source, "\n ") && strings.HasSuffix(source, ".lua") {
		r.Read(from, source) // says why it cannot be read
		return
	}
	r.scripted = strings.Contains(source, "make_request")
	r.judged = strings.Contains(source, "validate_response")
	if !r.scripted && !r.judged {
		r.WarnAt(r.at+".script", from, "has neither make_request nor validate_response and is left out")
		return
	}
	if file == "" && len(source) <= convert.MaxScript && isText(source) {
		r.self().Script = &v1alpha1.Script{Lua: source}
		return
	}
	place := r.Gather(from, baseName(file, r.template+".lua"), file, []byte(source))
	r.self().Script = &v1alpha1.Script{LuaFrom: &place}
}

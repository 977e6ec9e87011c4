package h2loadrunner

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// anyStatus accepts every status, where a check or a script decides.
var anyStatus = convert.Statuses("2xx", "3xx", "4xx", "5xx")

// expect makes what is a success. There one thing decides: the script, else response-match, else
// the status.
func (r *request) expect() {
	status := r.in.Whole("expected-status-code", 0)
	checks, matched := r.checks()
	if status > 999 {
		r.Fail(r.in.At("expected-status-code"), "is not a status code")
		return
	}
	switch {
	case r.judged:
		r.self().Expect = &v1alpha1.Expect{Status: anyStatus}
		if matched || status > 0 {
			r.WarnAt(r.at+".expect", r.in.At("luaScript"),
				"validate_response alone decides, so response-match and expected-status-code are left out")
		}
	case matched:
		r.self().Expect = &v1alpha1.Expect{Status: anyStatus, Checks: checks}
		if status > 0 {
			r.WarnAt(r.at+".expect", r.in.At("expected-status-code"), "is ignored with response-match and left out")
		}
	case status > 0:
		r.self().Expect = &v1alpha1.Expect{Status: convert.Statuses(strconv.FormatInt(status, 10))}
	}
}

// checks are those of response-match. matched says that there are some, also if none can be kept.
func (r *request) checks() (out []v1alpha1.Check, matched bool) {
	match := r.in.Child("response-match")
	for i, rule := range match.List("headers") {
		matched = true
		name := strings.ToLower(rule.Text("header-name"))
		check := v1alpha1.Check{Name: fmt.Sprintf("header-%d", i+1)}
		switch {
		case name == ":status":
			check.Status = &v1alpha1.EmptySource{}
		case name == "" || strings.HasPrefix(name, ":"):
			r.Fail(rule.At("header-name"), "must be the name of a response header or :status")
		default:
			check.Header = name
		}
		out = r.compared(out, rule, check)
	}
	for i, rule := range match.List("payload") {
		matched = true
		pointer := rule.Text("JsonPointer")
		check := v1alpha1.Check{Name: fmt.Sprintf("payload-%d", i+1)}
		check.JSONPointer = &pointer
		if extended(pointer) {
			r.WarnAt(r.at+".expect", rule.At("JsonPointer"),
				"%s is not a JSON Pointer of RFC 6901 (it selects the name or value of a member by its number); the check is left out", pointer)
			rule.Text("matchType")
			rule.Text("input")
			rule.End()
			continue
		}
		out = r.compared(out, rule, check)
	}
	match.End()
	return out, matched
}

// extended is theirs: /~#N#name or /~#N#value.
func extended(pointer string) bool { return strings.Contains(pointer, "~#") }

// compared adds the check with the comparison of a rule.
func (r *request) compared(list []v1alpha1.Check, rule *convert.Object, check v1alpha1.Check) []v1alpha1.Check {
	input := convert.Literal(rule.Text("input"))
	switch kind := rule.Text("matchType"); kind {
	case "EqualsTo":
		check.Equals = &input
	case "StartsWith":
		check.StartsWith = &input
	case "EndsWith":
		check.EndsWith = &input
	case "Contains":
		check.Contains = &input
	case "RegexMatch":
		pattern := "^(?:" + rule.Text("input") + ")$"
		if !r.expressible(rule.At("input"), rule.Text("input"), "check") {
			rule.End()
			return list
		}
		check.Matches = pattern
	default:
		r.Fail(rule.At("matchType"), "%q is not known; EqualsTo, StartsWith, EndsWith, Contains and RegexMatch are", kind)
	}
	rule.End()
	return append(list, check)
}

// expressible returns true if RE2 accepts a regular expression of ECMAScript, and warns otherwise.
func (r *request) expressible(from, pattern, what string) bool {
	if _, err := regexp.Compile(pattern); err != nil {
		r.WarnAt(r.at, from, "is a regular expression that RE2 does not have (lookaround, back references, \\u); the %s is left out", what)
		return false
	}
	if strings.Contains(pattern, `\s`) || strings.Contains(pattern, `\S`) {
		r.WarnAt(r.at, from, `\s is ASCII white space in RE2, without the vertical tab and Unicode's`)
	}
	return true
}

// pick converts value-pickers to captures. Later requests of the chain can use the values.
func (r *request) pick() {
	for _, p := range r.in.List("value-pickers") {
		source, ok := r.sourceOf(p)
		name, pattern := p.Text("save-to-variable"), p.Text("regexp")
		p.End()
		if name == "" {
			r.Fail(p.At("save-to-variable"), "is needed")
			continue
		}
		if !ok || pattern != "" && !r.expressible(p.At("regexp"), pattern, "capture") {
			continue
		}
		if pattern != "" {
			source.Regex, source.Group = pattern, new(int32(0))
		}
		our := r.picked[name]
		if our == "" {
			our = r.Unique("variable", convert.WordName(name))
			r.picked[name] = our
		}
		r.capture(v1alpha1.Capture{Name: our, ValueSource: source, Optional: true})
		r.values[name] = placeholder(our)
	}
}

// sourceOf says where one picker takes its value from.
func (r *request) sourceOf(p *convert.Object) (s v1alpha1.ValueSource, ok bool) {
	source := p.Text("source")
	from := p.At("source")
	if source == "" && !strings.HasPrefix(p.Text("where-to-pickup-from"), "Json") {
		r.Fail(from, "is needed")
		return s, false
	}
	switch where := p.Text("where-to-pickup-from"); where {
	case "Response-Header":
		s.Header = strings.ToLower(source)
		if s.Header == ":status" {
			s.Header, s.Status = "", &v1alpha1.EmptySource{}
		}
	case "Request-Header":
		return r.fromRequest(from, strings.ToLower(source))
	case "Json-Pointer-In-Response-Payload", "Json-Pointer-In-Request-Payload":
		if extended(source) {
			r.WarnAt(r.at+".capture", from, "%s is not a JSON Pointer of RFC 6901; the capture is left out", source)
			return s, false
		}
		if s.JSONPointer = &source; where == "Json-Pointer-In-Request-Payload" {
			s = v1alpha1.ValueSource{Request: &v1alpha1.RequestSource{JSONPointer: &source}}
		}
	default:
		r.Fail(p.At("where-to-pickup-from"), "%q is not known", where)
		return s, false
	}
	return s, true
}

func (r *request) fromRequest(from, name string) (s v1alpha1.ValueSource, ok bool) {
	s.Request = &v1alpha1.RequestSource{}
	switch name {
	case ":path":
		s.Request.Path = &v1alpha1.EmptySource{}
	case ":method":
		s.Request.Method = &v1alpha1.EmptySource{}
	case ":scheme", ":authority":
		r.WarnAt(r.at+".capture", from, "%s cannot be captured; the capture is left out", name)
		return s, false
	default:
		s.Request.Header = name
	}
	return s, true
}

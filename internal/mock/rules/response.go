package rules

import (
	"errors"
	"path/filepath"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// response is a compiled Response.
type response struct {
	weight int
	// status is 0 if the resource's action decides.
	status int
	// block has the encoded constant fields, fields the other ones. With a script, fields has all fields.
	block  []byte
	fields []field
	// hasLocation and hasType are true if the file has these fields.
	hasLocation, hasType bool
	// body is nil if the resource's document is the body. constant is the body if it has no placeholders.
	body     *text
	constant []byte
	problem  *problem
	grpc     *callStatus // nil: none
	// messages are those of constant, if the rule is for one method.
	messages []byte
	delay    distribution
	pause    distribution // between messages
	// The shares of requests without a response, from 0 to 1. They are cumulative: a draw x selects unanswered if
	// x < unanswered, else reset if x < reset, else close if x < close.
	unanswered, reset, close float64
	// script is an index into Set.scripts, or noScript.
	script int
}

const noScript = -1

// changes returns true if the request changes documents. A request that gets an error changes none.
func (r *response) changes() bool { return r.problem == nil && r.status < 400 }

func (s *source) compileResponse(path string, spec *Response, sc scope, dir string) *response {
	r := &response{weight: s.bounded(path+".weight", spec.Weight, 1, 0, maxWeight), script: noScript}
	s.compileFaults(path, spec, r)
	r.delay = s.compileDelay(path+".delay", spec.Delay)
	r.pause = s.compileDelay(path+".pause", spec.Pause)
	if spec.Pause != nil && (sc.method == nil || !sc.method.SendsStream()) {
		s.add(path+".pause", "match.path is not the path of a method with a stream of the server")
	}
	if sc.message && (spec.Delay != nil || spec.Pause != nil) {
		s.add(path, "delay and pause cannot be used with match.eachMessage")
	}
	if spec.Problem != nil {
		s.onlyProblem(path, spec)
		r.problem = s.compileProblem(path+".problem", spec.Problem, 0, sc)
		return r
	}
	if spec.GRPC != nil {
		s.compileStatus(path, spec, r, sc)
		return r
	}
	if !sc.state {
		r.status = 200
	}
	r.status = s.bounded(path+".status", spec.Status, r.status, 200, 599)
	if spec.Script != nil {
		if number, ok := s.compileScript(path+".script", spec.Script, dir); ok {
			r.script = number
		}
	}
	fields, kind := s.compileFields(path, spec.Headers, responseFieldProblem, sc)
	r.body, kind = s.compileContent(path, content{spec.Body, spec.BodyFile, spec.Parts}, kind, r.status, sc, dir)
	fields = withType(fields, kind)
	for _, f := range fields {
		r.hasLocation = r.hasLocation || f.name == "location"
		r.hasType = r.hasType || f.name == "content-type"
		if constant, ok := f.value.constant(); ok && r.script == noScript {
			r.block = hpack.AppendString(append(r.block, f.prefix...), []byte(constant))
		} else {
			r.fields = append(r.fields, f)
		}
	}
	if r.body != nil {
		if constant, ok := r.body.constant(); ok {
			r.constant = []byte(constant)
		}
	}
	if sc.called {
		s.compileMessages(path, spec, r, sc)
	}
	return r
}

func (s *source) compileFaults(path string, spec *Response, r *response) {
	sum := 0.0
	add := func(share *Ratio) float64 {
		if share != nil {
			sum += float64(*share)
		}
		return sum
	}
	r.unanswered, r.reset, r.close = add(spec.Unanswered), add(spec.Reset), add(spec.Close)
	if sum > 1+1e-9 {
		s.add(path, "unanswered, reset and close: their sum is above 1")
	}
}

func (s *source) onlyProblem(path string, spec *Response) {
	if spec.Status != nil || spec.Headers != nil || spec.Body != nil || spec.BodyFile != "" || spec.Parts != nil ||
		spec.Script != nil {
		s.add(path+".problem", "cannot be used with status, headers, body, bodyFile, parts or script")
	}
}

// compileHeader returns the value of a header field. nameProblem returns the error in a name, or "".
func (s *source) compileHeader(path string, h *Header, nameProblem func(string) string, sc scope) text {
	if problem := nameProblem(h.Name); problem != "" {
		s.add(path+".name", "%s", problem)
	}
	value, err := parseText(h.Value, sc)
	s.addAll(path+".value", err)
	if constant, ok := value.constant(); ok && !validValue([]byte(constant)) {
		s.add(path+".value", "contains a control character, or begins or ends with a space (RFC 9113 section 8.2.1)")
	}
	return value
}

// addAll notes each of joined errors.
func (s *source) addAll(path string, err error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			s.addAll(path, one)
		}
	} else if err != nil {
		s.add(path, "%v", err)
	}
}

func (s *source) readText(path, file, dir string) (string, bool) {
	data, err := readBounded(under(dir, file), maxBodyFile)
	if err != nil {
		s.add(path, "%v", err)
	}
	return string(data), err == nil
}

func noContent(status int) bool { return status == 204 || status == 304 }

// under is name, relative to dir unless it is absolute.
func under(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

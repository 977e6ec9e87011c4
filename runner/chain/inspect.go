package chain

import (
	"net/url"
	"path"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/extract"
	"github.com/h2surge/h2surge/runner/message"
)

// Inspection has the checks and captures of a step, and what must be kept of an exchange for them.
type Inspection struct {
	// Inspect: the exchange is kept for Judge and TakeCaptures. Otherwise there are only Accepts and Captures, and
	// nothing is kept.
	Inspect bool
	// WantFields and WantBody are the parts of the response that must be kept. WantRequest: the request, too.
	WantFields, WantBody, WantRequest bool
	// MaxBody bounds the body that is kept, in octets.
	MaxBody int
	// Script is an index into Program.Scripts, or -1.
	Script int
	// WantHeaders: a check, a capture or a script reads response header fields.
	WantHeaders bool
	// Captures of response header fields, if Inspect is false.
	Captures []Capture

	accept   statusSet
	checks   []check
	captures []capture
	usim     *challenge
	// resolves: a capture is a URI, which is resolved against the URI of the request.
	resolves bool
	// needsBody: a body that is longer than MaxBody is a failure.
	needsBody bool
}

// Capture copies a response header field into a slot of the instance.
type Capture struct {
	Slot   int
	Header string
	// Joined values are those of all lines of the field, for Instance.CaptureMore.
	Joined bool
	// Location and Reference values are URIs, for Instance.CaptureURI.
	Location, Reference bool
	without             without
}

// capture copies a value of an exchange.
type capture struct {
	slot                int
	source              *extract.Extractor
	location, reference bool
	without             without
}

// check compares a value of an exchange, or validates the body.
type check struct {
	name   string
	source *extract.Extractor
	schema *extract.Schema
	// schemaPart is the part that schema validates; empty: the whole content.
	schemaPart string
	comparison
}

// defaultMaxBody is that of rv.Step.MaxBody.
const defaultMaxBody = 1 << 20

// inspection reads the checks and captures of a step, without its script.
func (b *builder) inspection(in *rv.Step) Inspection {
	s := Inspection{MaxBody: in.MaxBody, Script: -1}
	if s.MaxBody == 0 {
		s.MaxBody = defaultMaxBody
	}
	s.accept = b.statusSet(in.Expect.Status)
	if in.MaxRedirects > 0 { // so that the loop looks for redirects only among the responses that are not accepted
		s.accept.remove(307)
		s.accept.remove(308)
	}
	for i := range in.Expect.Checks {
		b.item("expect.checks", i)
		s.checks = append(s.checks, b.check(&in.Expect.Checks[i]))
	}
	s.usim = b.challenge(in.Expect.USIM)
	for i := range in.Capture {
		b.item("capture", i)
		s.captures = append(s.captures, b.capture(&in.Capture[i]))
	}
	return s
}

// gather sets what must be kept. Steps that only capture header fields keep nothing.
func (s *Inspection) gather(in *rv.Step) {
	simple := len(s.checks) == 0 && s.usim == nil
	for i := range in.Capture {
		c, source := &s.captures[i], &in.Capture[i].Source
		simple = simple && source.Kind == rv.SourceHeader && source.Regex == ""
		s.Captures = append(s.Captures, Capture{Slot: c.slot, Header: source.Name, Joined: source.Joined,
			Location: c.location, Reference: c.reference, without: c.without})
		s.resolves = s.resolves || c.location || c.reference
	}
	s.WantHeaders = len(s.Captures) > 0
	if !simple {
		s.inspect()
	}
}

// keepPath keeps what is resolved against the path of the request, if the response changes that. Without Inspect, a
// field is captured as it comes, before a cookie or another URI that comes later.
func (s *Step) keepPath(cookies bool) {
	if !s.changesPath() {
		return
	}
	if !s.Inspect && (cookies || s.resolves && len(s.captures) > 1) {
		s.inspect()
	}
	s.WantRequest = s.WantRequest || s.resolves
}

// changesPath returns whether a response to the step sets a value that the path of its request has.
func (s *Step) changesPath() bool {
	slots := s.path.slots(nil)
	return slices.ContainsFunc(s.captures, func(c capture) bool { return slices.Contains(slots, c.slot) }) ||
		s.usim != nil && slices.ContainsFunc(s.usim.answers, func(a rv.UsimAnswer) bool {
			return slices.Contains(slots, a.Slot)
		})
}

// inspect sets Inspect.
func (s *Inspection) inspect() {
	s.Inspect, s.Captures = true, nil
	s.needsBody = s.usim != nil
	for i := range s.checks {
		c := &s.checks[i]
		s.needsBody = s.needsBody || c.schema != nil
		s.WantFields = s.WantFields || c.schemaPart != ""
		if c.source != nil {
			s.need(c.source)
		}
	}
	for i := range s.captures {
		s.need(s.captures[i].source)
	}
	s.WantBody, s.WantHeaders = s.needsBody, s.WantFields
}

func (s *Inspection) need(e *extract.Extractor) {
	s.needsBody = s.needsBody || e.NeedsBody()
	s.WantFields = s.WantFields || e.NeedsFields()
	s.WantRequest = s.WantRequest || e.NeedsRequest()
}

func (b *builder) check(in *rv.Check) (c check) {
	c.name = in.Name
	switch {
	case in.Name == "" || in.Name == rv.CheckStatus || in.Name == rv.CheckBody || in.Name == rv.CheckScript ||
		in.Name == rv.CheckRedirect || in.Name == rv.CheckMessage:
		b.failf("name: %q is taken", in.Name)
	case in.Schema != nil:
		c.schema, c.schemaPart = b.schema(in.Schema), in.SchemaPart
	case in.Source == nil || in.Match == nil:
		b.failf("source and match, or schema, are required")
	default:
		c.source, c.comparison = b.source(in.Source), b.comparison(in.Match)
	}
	return c
}

func (b *builder) schema(in *rv.Content) *extract.Schema {
	content, err := b.res.content(in)
	if err != nil {
		b.fail(err)
		return nil
	}
	name, neighbour := "schema.json", func(name string) ([]byte, error) {
		return b.res.content(&rv.Content{File: path.Join(path.Dir(in.File), name)})
	}
	if in.File == "" {
		neighbour = nil
	} else {
		name = url.PathEscape(path.Base(in.File))
	}
	s, err := extract.NewSchema(name, content, neighbour)
	if err != nil {
		b.fail(err)
	}
	return s
}

func (b *builder) source(in *rv.Source) *extract.Extractor {
	e, err := extract.New(*in)
	if err != nil {
		b.fail(err)
	}
	return e
}

func (b *builder) capture(in *rv.Capture) capture {
	c := capture{slot: in.Slot, source: b.source(&in.Source), location: in.Location, without: without{in.Default,
		in.Optional, in.Keep}}
	if in.Slot >= len(b.captures) {
		b.failf("there is no slot %d", in.Slot)
		return c
	}
	c.reference = !in.Location && b.references[in.Slot]
	return c
}

// Accepts reports whether the status of a response is a success. A redirect is not one if the step follows redirects.
func (s *Inspection) Accepts(status int) bool { return s.accept.has(status) }

// Judge checks a complete exchange, once. It returns the name of the check that failed, or "". The script runs after
// it.
func (s *Step) Judge(inst *Instance, x *message.Exchange) (failed string) {
	switch {
	case !s.accept.has(x.Response.Status):
		return rv.CheckStatus
	case s.needsBody && x.Cut:
		return rv.CheckBody
	case s.call != nil:
		if failed := s.call.judge(s, inst.src, x); failed != "" {
			return failed
		}
	}
	for i := range s.checks {
		if c := &s.checks[i]; !c.passes(inst, x) {
			return c.name
		}
	}
	return s.usim.judge(inst, x)
}

func (c *check) passes(inst *Instance, x *message.Exchange) bool {
	if c.schema != nil {
		body, err := extract.Content(x.Response, c.schemaPart)
		return err == nil && c.schema.Valid(body)
	}
	value, ok := inst.src.extract(c.source, x)
	return c.holds(inst, value, ok)
}

// extract extracts into Sources.value, which grows if necessary.
func (s *Sources) extract(e *extract.Extractor, x *message.Exchange) (value []byte, ok bool) {
	value, ok = e.Value(s.value[:0], x)
	if n := len(value); n > cap(s.value) && n <= MaxCaptured {
		s.value = make([]byte, 0, n)
	}
	return value, ok
}

// TakeCaptures takes all captures of the step from an exchange with e. missing: a value without a default is absent.
func (s *Step) TakeCaptures(inst *Instance, x *message.Exchange, e *rv.Endpoint) (missing bool) {
	for i := range s.captures {
		c := &s.captures[i]
		value, ok := inst.src.extract(c.source, x)
		switch {
		case ok && (c.location || c.reference):
			ok = s.captureURI(inst, c.slot, c.location, x.Request, e, value)
		case ok:
			ok = inst.Capture(c.slot, value)
		}
		if !ok && !c.without.take(inst, c.slot) {
			missing = true
		}
	}
	return missing
}

// without is what a capture does if there is no value.
type without struct {
	fallback *string
	optional bool
	keep     bool // the earlier value
}

// take reports whether the absence of the value is allowed.
func (w *without) take(inst *Instance, slot int) bool {
	if w.keep {
		return true
	}
	inst.release(slot)
	if w.fallback != nil {
		inst.src.value = append(inst.src.value[:0], *w.fallback...)
		return inst.captureFallback(slot, inst.src.value)
	}
	return w.optional
}

// Otherwise captures the default if a response has no such field. It reports whether the absence is allowed.
func (c *Capture) Otherwise(inst *Instance) bool { return c.without.take(inst, c.Slot) }

// Drop empties the slot of the capture, unless it keeps earlier values.
func (c *Capture) Drop(inst *Instance) {
	if !c.without.keep {
		inst.release(c.Slot)
	}
}

// statusSet holds status codes 0 to 639.
type statusSet [10]uint64

// statusSet returns the set of inclusive ranges. Without ranges, it has all codes below 400.
func (b *builder) statusSet(ranges []rv.StatusRange) (s statusSet) {
	if len(ranges) == 0 {
		ranges = []rv.StatusRange{{From: 100, To: 399}}
	}
	for i, r := range ranges {
		if r.From < 100 || r.To > 599 || r.From > r.To {
			b.item("expect.status", i)
			b.failf("%d to %d is not a range of status codes", r.From, r.To)
			continue
		}
		for c := r.From; c <= r.To; c++ {
			s[c/64] |= 1 << (c % 64)
		}
	}
	return s
}

func (s *statusSet) remove(code int) { s[code/64] &^= 1 << (code % 64) }

func (s *statusSet) has(code int) bool {
	return uint(code) < 640 && s[code/64]&(1<<(code%64)) != 0
}

package chain

import (
	"fmt"

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
	// needsBody: a body that is longer than MaxBody is a failure.
	needsBody bool
}

// Capture copies a response header field into a slot of the instance.
type Capture struct {
	Slot   int
	Header string
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
func (b *builder) inspection(in *rv.Step) (Inspection, error) {
	s := Inspection{MaxBody: in.MaxBody, Script: -1}
	if s.MaxBody == 0 {
		s.MaxBody = defaultMaxBody
	}
	var err error
	if s.accept, err = newStatusSet(in.Expect.Status); err != nil {
		return s, fmt.Errorf("expect.status%w", err)
	}
	if in.MaxRedirects > 0 { // so that the loop looks for redirects only among the responses that are not accepted
		s.accept.remove(307)
		s.accept.remove(308)
	}
	for i := range in.Expect.Checks {
		c, err := b.check(&in.Expect.Checks[i])
		if err != nil {
			return s, fmt.Errorf("expect.checks[%d].%w", i, err)
		}
		s.checks = append(s.checks, c)
	}
	for i := range in.Capture {
		c, err := b.capture(&in.Capture[i])
		if err != nil {
			return s, fmt.Errorf("capture[%d].%w", i, err)
		}
		s.captures = append(s.captures, c)
	}
	s.gather(in)
	return s, nil
}

// gather sets what must be kept. Steps that only capture header fields keep nothing.
func (s *Inspection) gather(in *rv.Step) {
	simple := len(s.checks) == 0
	for i := range in.Capture {
		c, source := &s.captures[i], &in.Capture[i].Source
		simple = simple && source.Kind == rv.SourceHeader && source.Regex == ""
		s.Captures = append(s.Captures, Capture{Slot: c.slot, Header: source.Name, Location: c.location, Reference: c.reference, without: c.without})
	}
	s.WantHeaders = len(s.Captures) > 0
	if !simple {
		s.inspect()
	}
}

// inspect sets Inspect.
func (s *Inspection) inspect() {
	s.Inspect, s.Captures = true, nil
	for i := range s.checks {
		c := &s.checks[i]
		s.needsBody = s.needsBody || c.schema != nil
		s.WantFields = s.WantFields || c.schemaPart != ""
		if c.source != nil {
			s.need(c.source)
		}
	}
	for i := range s.captures {
		c := &s.captures[i]
		s.need(c.source)
		s.WantRequest = s.WantRequest || c.location || c.reference
	}
	s.WantBody, s.WantHeaders = s.needsBody, s.WantFields
}

func (s *Inspection) need(e *extract.Extractor) {
	s.needsBody = s.needsBody || e.NeedsBody()
	s.WantFields = s.WantFields || e.NeedsFields()
	s.WantRequest = s.WantRequest || e.NeedsRequest()
}

func (b *builder) check(in *rv.Check) (c check, err error) {
	c.name = in.Name
	switch {
	case in.Name == "" || in.Name == rv.CheckStatus || in.Name == rv.CheckBody || in.Name == rv.CheckScript || in.Name == rv.CheckRedirect:
		return c, fmt.Errorf("name: %q is taken", in.Name)
	case in.Schema != nil:
		content, err := b.res.content(in.Schema)
		if err != nil {
			return c, fmt.Errorf("schema: %w", err)
		}
		if c.schema, err = extract.NewSchema(content); err != nil {
			return c, fmt.Errorf("schema: %w", err)
		}
		c.schemaPart = in.SchemaPart
		return c, nil
	case in.Source == nil || in.Match == nil:
		return c, fmt.Errorf("source: source and match, or schema, are required")
	}
	if c.source, err = extract.New(*in.Source); err != nil {
		return c, fmt.Errorf("source.%w", err)
	}
	if c.comparison, err = b.comparison(in.Match); err != nil {
		return c, fmt.Errorf("match.%w", err)
	}
	return c, nil
}

func (b *builder) capture(in *rv.Capture) (capture, error) {
	c := capture{slot: in.Slot, location: in.Location, without: without{in.Default, in.Optional, in.Keep}}
	if in.Slot >= len(b.captures) {
		return c, fmt.Errorf("slot: there is no slot %d", in.Slot)
	}
	c.reference = !in.Location && b.references[in.Slot]
	var err error
	if c.source, err = extract.New(in.Source); err != nil {
		return c, fmt.Errorf("source.%w", err)
	}
	return c, nil
}

// Accepts reports whether the status of a response is a success. A redirect is not one if the step follows redirects.
func (s *Inspection) Accepts(status int) bool { return s.accept.has(status) }

// Judge checks a complete exchange. It returns the name of the check that failed, or "". The script runs after it.
func (s *Step) Judge(_ *Program, inst *Instance, src *Sources, x *message.Exchange) (failed string) {
	switch {
	case !s.accept.has(x.Response.Status):
		return rv.CheckStatus
	case s.needsBody && x.Cut:
		return rv.CheckBody
	}
	for i := range s.checks {
		if c := &s.checks[i]; !c.passes(inst, src, x) {
			return c.name
		}
	}
	return ""
}

func (c *check) passes(inst *Instance, src *Sources, x *message.Exchange) bool {
	if c.schema != nil {
		body, err := extract.Content(x.Response, c.schemaPart)
		return err == nil && c.schema.Valid(body)
	}
	value, ok := src.extract(c.source, x)
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

// TakeCaptures takes all captures of the step from an exchange. missing: a value without a default is absent.
func (s *Step) TakeCaptures(_ *Program, inst *Instance, src *Sources, x *message.Exchange) (missing bool) {
	for i := range s.captures {
		c := &s.captures[i]
		value, ok := src.extract(c.source, x)
		switch {
		case ok && (c.location || c.reference):
			ok = inst.captureURI(c.slot, c.location, x.Request.Scheme, x.Request.Authority, x.Request.Path, value)
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

// statusSet holds status codes 0 to 639.
type statusSet [10]uint64

// newStatusSet returns the set of inclusive ranges. Without ranges, it has all codes below 400.
func newStatusSet(ranges []rv.StatusRange) (statusSet, error) {
	var s statusSet
	if len(ranges) == 0 {
		ranges = []rv.StatusRange{{From: 100, To: 399}}
	}
	for i, r := range ranges {
		if r.From < 100 || r.To > 599 || r.From > r.To {
			return s, fmt.Errorf("[%d]: %d to %d is not a range of status codes", i, r.From, r.To)
		}
		for c := r.From; c <= r.To; c++ {
			s[c/64] |= 1 << (c % 64)
		}
	}
	return s, nil
}

func (s *statusSet) remove(code int) { s[code/64] &^= 1 << (code % 64) }

func (s *statusSet) has(code int) bool {
	return uint(code) < 640 && s[code/64]&(1<<(code%64)) != 0
}

package chain

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
)

// Load checks the plan, reads the files and environment variables that the plan refers to, and builds the program. A
// plan of internal/compile always passes if its files and variables exist. For other plans, Load returns the first error
// with its place in the plan. The program refers to the plan, which must not change.
//
// Files are kept as long as the program. A table can have 1 GiB; see table.
func Load(p *rv.Plan, r Resources) (*Program, error) {
	if len(p.Targets) == 0 || len(p.Chains) == 0 || len(p.Rates) == 0 {
		return nil, fmt.Errorf("targets, chains and rates are required")
	}
	if err := checkNumbers(reflect.ValueOf(p)); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "."))
	}
	if err := CheckRates(p.Rates); err != nil {
		return nil, err
	}
	g := &Program{Globals: p.Globals, Timeouts: timeouts(p), Seed: p.Seed}
	g.encodings.all = map[encodingKey]*encoding{}
	for i := range p.Variables {
		v, err := newVariable(&p.Variables[i], seedOf(p.Seed, uint64(i)), &r)
		if err != nil {
			return nil, fmt.Errorf("variables[%d] (%s): %w", i, p.Variables[i].Name, err)
		}
		g.variables = append(g.variables, v)
	}
	if err := g.addTargets(p.Targets, &r); err != nil {
		return nil, err
	}
	if err := g.addListeners(p); err != nil {
		return nil, err
	}
	order := make([]int, len(p.Targets))
	begin := pathBeginnings(p)
	g.globalURIs = begin.globals
	load := false
	for i := range p.Chains {
		if err := g.addChain(&p.Chains[i], begin.slots[i], order, &r); err != nil {
			return nil, fmt.Errorf("chains[%d].%w", i, err)
		}
		load = load || p.Chains[i].Phase == rv.PhaseLoad
	}
	for i := range p.Rates {
		n := p.Rates[i].Chain
		if n > len(g.Chains) || n > 0 && g.Chains[n-1].Phase != rv.PhaseLoad {
			return nil, fmt.Errorf("rates[%d].chain: there is no load chain %d", i, n)
		}
		if n > 0 {
			g.Chains[n-1].Stages = n
		}
	}
	if !load {
		return nil, fmt.Errorf("chains: all chains are setup or teardown chains; at least one load chain is required")
	}
	return g, nil
}

func timeouts(p *rv.Plan) []int64 {
	var all []int64
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			all = append(all, int64(p.Chains[i].Steps[j].Timeout))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// addTargets copies the targets with the URLs of their endpoints, which are texts.
func (g *Program) addTargets(targets []rv.Target, r *Resources) error {
	g.Targets = slices.Clone(targets)
	b := builder{g: g, res: r}
	for i := range g.Targets {
		t := &g.Targets[i]
		if len(t.Endpoints) == 0 {
			return fmt.Errorf("targets[%d].endpoints: empty", i)
		}
		t.Endpoints = slices.Clone(t.Endpoints)
		for j := range t.Endpoints {
			if err := b.endpoint(&t.Endpoints[j], t); err != nil {
				return fmt.Errorf("targets[%d].endpoints[%d].url%w", i, j, err)
			}
		}
	}
	return nil
}

// endpoint sets the fields of an endpoint from its URL. The protocol of the plan determines whether TLS is used.
func (b *builder) endpoint(e *rv.Endpoint, t *rv.Target) error {
	if len(e.URL) > 0 {
		raw, err := b.constant(e.URL)
		if err != nil {
			return err
		}
		found, err := endpoint.Parse(raw)
		if err != nil {
			return fmt.Errorf(": %w", err)
		}
		found.Address = cmp.Or(e.Address, found.Address)
		*e = found
	}
	if secure := e.Scheme == "https"; secure != (t.TLS != nil) {
		return fmt.Errorf(": the scheme is %s, which does not match the other settings of the target", e.Scheme)
	}
	return nil
}

func (g *Program) addChain(c *rv.Chain, references []bool, order []int, r *Resources) error {
	if err := g.checkChain(c); err != nil {
		return err
	}
	out := Chain{
		Name: c.Name, Phase: c.Phase, Target: c.Steps[0].Target, Weight: c.Weight, First: len(g.Steps), Len: len(c.Steps), Captures: len(c.Captures),
		Publish: c.Publish, Delay: int64(c.Delay), StartAfter: int64(c.StartAfter), MaxInFlight: c.MaxInFlight, Cookies: c.Cookies,
	}
	b := builder{g: g, res: r, chain: &out, captures: c.Captures, references: references}
	for i := range c.Steps {
		s, err := b.buildStep(&c.Steps[i])
		if err != nil {
			return fmt.Errorf("steps[%d].%w", i, err)
		}
		s.Index, s.Chain, s.Cookies = len(g.Steps), len(g.Chains), c.Cookies
		s.Last = i == len(c.Steps)-1
		s.encoded = encode(s.fields)
		if s.Await == nil {
			s.Order = order[s.Target]
			order[s.Target]++
		}
		g.Steps = append(g.Steps, s)
	}
	setGroupEnds(g.Steps, out.First)
	out.Ends = len(out.stops) > 0
	g.remember(&out)
	g.Chains = append(g.Chains, out)
	return nil
}

func (g *Program) checkChain(c *rv.Chain) error {
	switch {
	case c.Phase != rv.PhaseLoad && c.Phase != rv.PhaseSetup && c.Phase != rv.PhaseTeardown:
		return fmt.Errorf("phase: there is no %q", c.Phase)
	case c.Phase == rv.PhaseLoad && c.Weight < 1:
		return fmt.Errorf("weight: %d is below 1", c.Weight)
	case len(c.Steps) == 0:
		return fmt.Errorf("steps: empty")
	case len(c.Publish) > len(c.Captures):
		return fmt.Errorf("publish: has %d entries for %d captures", len(c.Publish), len(c.Captures))
	}
	for i, global := range c.Publish {
		if global > len(g.Globals) {
			return fmt.Errorf("publish[%d]: there is no global %d", i, global)
		}
	}
	return nil
}

// maxRedirects is the maximum of rv.Step.MaxRedirects.
const maxRedirects = 16

func (b *builder) buildStep(in *rv.Step) (Step, error) {
	s := Step{Name: in.Name, Target: in.Target, method: in.Method, MaxRedirects: in.MaxRedirects}
	b.step = &s
	switch {
	case in.Target >= len(b.g.Targets):
		return s, fmt.Errorf("target: there is no target %d", in.Target)
	case in.MaxRedirects > maxRedirects:
		return s, fmt.Errorf("maxRedirects: %d is more than %d", in.MaxRedirects, maxRedirects)
	case in.Timeout <= 0 || in.Timeout > 24*time.Hour:
		return s, fmt.Errorf("timeout: %v is not between 0 and 24h", in.Timeout)
	}
	s.TimeoutClass, _ = slices.BinarySearch(b.g.Timeouts, int64(in.Timeout))
	if in.Await != nil {
		err := b.await(in, &s)
		return s, err
	}
	s.Head = in.Method == "HEAD" //nolint:usestdlibvars // net/http is not worth linking for a word
	if err := b.request(in, &s); err != nil {
		return s, err
	}
	var err error
	if s.Flow, err = b.flow(in); err != nil {
		return s, err
	}
	if s.Inspection, err = b.inspection(in); err != nil {
		return s, err
	}
	if in.RedirectField != "" {
		s.RedirectField = []byte(in.RedirectField)
	}
	s.LoadControl = b.g.Targets[in.Target].CountLoadControl
	s.WantHeaders = s.WantHeaders || s.FollowRetryAfter || s.MaxRedirects > 0 || s.LoadControl
	err = b.script(in.Script, &s)
	return s, err
}

// request builds the request of a step.
func (b *builder) request(in *rv.Step, s *Step) error {
	var err error
	kind := "" // the Content-Type of a body with parts
	if len(in.Parts) > 0 {
		s.body, kind, err = b.parts(in)
	} else {
		s.body, err = b.content(in.Body, in.BodyFrom)
	}
	if err != nil {
		return err
	}
	if s.fields, err = requestFields(in, b, s.body, kind); err != nil {
		return err
	}
	for i := range s.fields {
		f := &s.fields[i]
		if f.kind == fieldPath {
			s.path = f.value
		}
		if c, ok := f.credential(); ok {
			s.Credentials = append(s.Credentials, c)
		}
	}
	s.beginWithURI()
	if len(in.Authority) == 0 {
		return nil
	}
	if !b.g.Targets[in.Target].FollowAuthority {
		return fmt.Errorf("authority: target %d does not follow authorities", in.Target)
	}
	s.HasAuthority = true
	if s.authority, err = b.build(in.Authority); err != nil {
		return fmt.Errorf("authority%w", err)
	}
	return nil
}

package chain

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/endpoint"
)

// Load checks the plan, reads the files and environment variables that the plan refers to, and builds the program. A
// plan of internal/compile always passes if its files and variables exist. For other plans, Load returns Errors: all
// mistakes, except those that follow from another one. The program refers to the plan, which must not change.
//
// Files are kept as long as the program. A table can have 1 GiB; see table.
func Load(p *rv.Plan, r Resources) (*Program, error) {
	g := &Program{Globals: p.Globals, Timeouts: timeouts(p), Seed: p.Seed, sentTo: p.SentTo()}
	g.encodings.all = map[encodingKey]*encoding{}
	b := builder{g: g, res: &r, shards: p.Shards}
	if err := checkPlan(p); err != nil { // the rest relies on it
		b.fail(err)
		return nil, b.errs
	}
	b.variables(p.Variables)
	b.targets(p.Targets)
	b.listeners(p)
	b.chains(p)
	b.stages(p.Rates)
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	return g, nil
}

// checkPlan checks what is needed to look at the parts of a plan.
func checkPlan(p *rv.Plan) error {
	if len(p.Targets) == 0 || len(p.Chains) == 0 || len(p.Rates) == 0 {
		return errors.New("targets, chains and rates are required")
	}
	if err := checkNumbers(reflect.ValueOf(p)); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "."))
	}
	return CheckRates(p.Rates)
}

func (b *builder) variables(in []rv.Variable) {
	for i := range in {
		b.at = rv.Place{List: rv.PlaceVariables, Index: i}
		v, err := newVariable(&in[i], seedOf(b.g.Seed, uint64(i)), b.res)
		if err != nil {
			b.fail(err)
			v = &variable{name: in[i].Name}
		}
		b.g.variables = append(b.g.variables, v)
	}
}

func (b *builder) chains(p *rv.Plan) {
	order := make([]int, len(p.Targets))
	begin := pathBeginnings(p)
	b.g.globalURIs = begin.globals
	load := false
	for i := range p.Chains {
		b.at = rv.Place{List: rv.PlaceChains, Index: i}
		b.references = begin.slots[i]
		b.addChain(&p.Chains[i], order)
		load = load || p.Chains[i].Phase == rv.PhaseLoad
	}
	if b.at = (rv.Place{}); !load {
		b.failf("chains: all chains are setup or teardown chains; at least one load chain is required")
	}
}

// stages gives chains their own stages.
func (b *builder) stages(rates []rv.Rate) {
	for i := range rates {
		b.at = rv.Place{List: rv.PlaceRates, Index: i, Field: "chain"}
		n, chains := rates[i].Chain, b.g.Chains
		if n > len(chains) || n > 0 && chains[n-1].Phase != rv.PhaseLoad {
			b.failf("there is no load chain %d", n)
		} else if n > 0 {
			chains[n-1].Stages = n
		}
	}
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

// targets copies the targets with the URLs of their endpoints, which are texts.
func (b *builder) targets(targets []rv.Target) {
	b.g.Targets = slices.Clone(targets)
	for i := range b.g.Targets {
		t := &b.g.Targets[i]
		b.at = rv.Place{List: rv.PlaceTargets, Index: i, Field: "endpoints"}
		if len(t.Endpoints) == 0 {
			b.failf("empty")
		}
		t.Endpoints = slices.Clone(t.Endpoints)
		for j := range t.Endpoints {
			b.item("endpoints", j)
			b.endpoint(&t.Endpoints[j], t)
		}
	}
}

// endpoint sets the fields of an endpoint from its URL. The protocol of the plan determines whether TLS is used.
func (b *builder) endpoint(e *rv.Endpoint, t *rv.Target) {
	if len(e.URL) > 0 {
		raw, ok := b.constant(e.URL)
		if !ok {
			return
		}
		found, err := endpoint.Parse(raw)
		if err != nil {
			b.fail(err)
			return
		}
		found.Address = cmp.Or(e.Address, found.Address)
		*e = found
	}
	if secure := e.Scheme == "https"; secure != (t.TLS != nil) {
		b.failf("the scheme is %s, which does not match the other settings of the target", e.Scheme)
	}
}

// addChain adds a chain. order has the number of steps of each target so far.
func (b *builder) addChain(c *rv.Chain, order []int) {
	b.checkChain(c)
	g := b.g
	out := Chain{
		Name: c.Name, Phase: c.Phase, Weight: c.Weight, First: len(g.Steps), Len: len(c.Steps), Captures: len(c.Captures),
		Publish: c.Publish, Delay: int64(c.Delay), StartAfter: int64(c.StartAfter), MaxInFlight: c.MaxInFlight,
		Cookies: c.Cookies,
	}
	b.chain, b.captures = &out, c.Captures
	for i := range c.Steps {
		b.at.Step = i + 1
		s := b.buildStep(&c.Steps[i])
		s.Index, s.Chain, s.Cookies = len(g.Steps), len(g.Chains), c.Cookies
		s.Last = i == len(c.Steps)-1
		g.Steps = append(g.Steps, s)
	}
	if len(b.errs) == 0 {
		out.Target = c.Steps[0].Target
		b.connect(&out, order)
	}
	g.Chains = append(g.Chains, out)
}

// connect sets what steps of a chain need of other steps.
func (b *builder) connect(c *Chain, order []int) {
	steps := b.g.Steps
	for i := c.First; i < len(steps); i++ {
		s := &steps[i]
		s.encoded = encode(s.fields)
		if s.Await == nil {
			s.Order = order[s.Target]
			order[s.Target]++
		}
	}
	setGroupEnds(steps, c.First)
	b.always(c)
	c.Ends = len(c.stops) > 0
	c.plain = c.cells+c.Captures+len(c.settles) == 0 && !c.Cookies && !slices.ContainsFunc(steps[c.First:],
		func(s Step) bool { return s.MaxRedirects > 0 })
	b.g.remember(c)
}

func (b *builder) checkChain(c *rv.Chain) {
	switch {
	case c.Phase != rv.PhaseLoad && c.Phase != rv.PhaseSetup && c.Phase != rv.PhaseTeardown:
		b.in("phase")
		b.failf("there is no %q", c.Phase)
	case c.Phase == rv.PhaseLoad && c.Weight < 1:
		b.in("weight")
		b.failf("%d is below 1", c.Weight)
	case len(c.Steps) == 0:
		b.in("steps")
		b.failf("empty")
	case len(c.Publish) > len(c.Captures):
		b.in("publish")
		b.failf("has %d entries for %d captures", len(c.Publish), len(c.Captures))
	}
	for i, global := range c.Publish {
		if global > len(b.g.Globals) {
			b.item("publish", i)
			b.failf("there is no global %d", global)
		}
	}
}

// maxRedirects is the maximum of rv.Step.MaxRedirects.
const maxRedirects = 16

func (b *builder) buildStep(in *rv.Step) Step {
	s := Step{Name: in.Name, Target: in.Target, method: in.Method, MaxRedirects: in.MaxRedirects}
	b.step = &s
	before := len(b.errs)
	switch {
	case in.Target >= len(b.g.Targets):
		b.in("target")
		b.failf("there is no target %d", in.Target)
	case in.MaxRedirects > maxRedirects:
		b.in("maxRedirects")
		b.failf("%d is more than %d", in.MaxRedirects, maxRedirects)
	case in.Timeout <= 0 || in.Timeout > 24*time.Hour:
		b.in("timeout")
		b.failf("%v is not between 0 and 24h", in.Timeout)
	}
	if len(b.errs) > before {
		return s
	}
	s.TimeoutClass, _ = slices.BinarySearch(b.g.Timeouts, int64(in.Timeout))
	if in.Await != nil {
		b.await(in, &s)
	} else {
		s.Head = in.Method == "HEAD" //nolint:usestdlibvars // net/http is not worth linking for a word
		b.request(in, &s)
	}
	s.Flow, s.Inspection = b.flow(in), b.inspection(in)
	b.script(in.Script, &s)
	if len(b.errs) > before {
		return s
	}
	if s.gather(in); in.Await != nil {
		s.inspect()
		return s
	}
	switch {
	case s.call == nil:
	case s.Inspect || s.Streams || s.Waits != nil || len(s.Captures) > 0: // the code comes after captured fields
		s.inspectCall()
	default:
		s.CodeOnly, s.WantHeaders = true, true
	}
	s.keepPath(b.chain.Cookies)
	s.beginWithURI()
	if in.RedirectField != "" {
		s.RedirectField = []byte(in.RedirectField)
	}
	s.LoadControl = b.g.Targets[in.Target].CountLoadControl
	if secure := b.g.Targets[in.Target].TLS; secure != nil {
		changes := s.Script >= 0 && b.g.Scripts[s.Script].ChangesRequests() // perhaps its method
		s.EarlyData = secure.EarlyData.Allows(in.Method, changes)
	}
	s.WantHeaders = s.WantHeaders || s.FollowRetryAfter || s.MaxRedirects > 0 || s.LoadControl
	if s.Script >= 0 && b.g.Scripts[s.Script].Validates() {
		s.inspectForScript(b.g.Scripts[s.Script].WantsBody())
		s.needsBody = s.WantBody
	}
	return s
}

// request builds the request of a step.
func (b *builder) request(in *rv.Step, s *Step) {
	kind := "" // the Content-Type of a body with parts
	if b.in("body"); in.GRPC != nil {
		s.body = b.call(in, s)
	} else if len(in.Parts) > 0 {
		s.body, kind = b.parts(in)
	} else {
		s.body = b.content(in.Body, in.BodyFrom)
	}
	s.fields = b.fields(in, s.body, kind)
	for i := range s.fields {
		f := &s.fields[i]
		if f.kind == fieldPath {
			s.path = f.value
		}
		if c, ok := f.credential(); ok {
			s.Credentials = append(s.Credentials, c)
		}
	}
	if len(in.Authority) == 0 {
		return
	}
	if b.in("authority"); !b.g.Targets[in.Target].FollowAuthority {
		b.failf("target %d does not follow authorities", in.Target)
	}
	s.HasAuthority, s.authority = true, b.build(in.Authority)
}

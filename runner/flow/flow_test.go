package flow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/chain"
)

// host writes down what it gets. Steps have target 0 and wait for slots, unless unpaced is true.
type host struct {
	log     []string
	program *chain.Program
	unpaced bool
	// nowhere is a step that cannot be sent.
	nowhere string
	// over: aborted instances send nothing more.
	over bool
}

func (h *host) step(a chain.Activation) string { return h.program.Steps[a.Step].Name }

func (h *host) Route(a chain.Activation) (int32, bool) {
	if h.step(a) == h.nowhere {
		return None, true
	}
	return 0, !h.unpaced
}
func (h *host) Await(a chain.Activation) { h.log = append(h.log, "await "+h.step(a)) }
func (h *host) ChainBegan(int)           { h.log = append(h.log, "began") }
func (h *host) Continues(*Instance) bool { return !h.over }
func (h *host) Always(_ *Instance, sent bool) {
	h.log = append(h.log, map[bool]string{true: "always sent", false: "always skipped"}[sent])
}
func (h *host) ChainEnded(_ int32, why string) {
	h.log = append(h.log, strings.TrimSpace("ended "+why))
}

func step(name string, edits ...func(*rv.Step)) rv.Step {
	s := rv.Step{Name: name, Method: "GET", Path: rv.Text{{Literal: "/"}}, Timeout: time.Second}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

// send sends the request of a step.
func send(f *Flow, h *host, a chain.Activation) {
	f.BeginStep(a)
	if f.FollowsAbort(a) {
		h.log = append(h.log, "always sent")
	}
}

func newFlow(t *testing.T, p *rv.Plan, h *host) *Flow {
	t.Helper()
	p.Targets = []rv.Target{{Name: "t", Connections: 1, Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "t", Address: "t:80"}}}}
	p.Rates = []rv.Rate{{Name: "r", Count: 1, Period: time.Second, Duration: time.Second}}
	program, err := chain.Load(p, chain.Resources{})
	if err != nil {
		t.Fatal(err)
	}
	h.program = program
	share := split.Whole(p)
	f := New(Config{
		Program: program, Sources: chain.NewSources(program, &share, 0), Share: &share, Chains: []int{0}, Targets: 2, Host: h,
		Unsent: func(a chain.Activation, skipped bool, why string) {
			h.log = append(h.log, fmt.Sprintf("unsent %s %v %s", h.step(a), skipped, why))
		},
	})
	f.Start(0)
	f.Tick(1, 1)
	return f
}

// TestFlow: one instance of a chain. Each step ends as outcomes says, "" is a success; and then the next one is sent, if one is ready.
func TestFlow(t *testing.T) {
	group := func(s *rv.Step) { s.Group = 1 }
	think := func(s *rv.Step) { s.Think = &rv.Think{Fixed: time.Millisecond} }
	retries := func(s *rv.Step) { s.OnFailure = rv.OnFailure{Retries: 1} }
	goesOn := func(s *rv.Step) { s.OnFailure = rv.OnFailure{Continue: true} }
	twice := func(s *rv.Step) { s.Repeat = 2 }
	always := func(s *rv.Step) { s.Always = true }
	reads := func(s *rv.Step) { s.Body = rv.Text{{Capture: 1}} }
	keyed := func(s *rv.Step) { s.Await.Key = rv.Text{{Capture: 1}} }
	makes := func(s *rv.Step) {
		s.Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}}}
	}
	awaits := func(s *rv.Step) {
		*s = rv.Step{Name: s.Name, Timeout: time.Second, Await: &rv.Await{Key: rv.Text{{Literal: "/"}}}}
	}
	for name, tt := range map[string]struct {
		steps    []rv.Step
		host     host
		outcomes []string
		want     string
	}{
		"two steps":         {[]rv.Step{step("a"), step("b")}, host{}, []string{"", ""}, "began, send a, send b, ended"},
		"the first fails":   {[]rv.Step{step("a"), step("b")}, host{}, []string{"why"}, "began, send a, ended why"},
		"retried":           {[]rv.Step{step("a", retries), step("b")}, host{}, []string{"why", "", ""}, "began, send a, send a, send b, ended"},
		"retried in vain":   {[]rv.Step{step("a", retries), step("b")}, host{}, []string{"why", "why"}, "began, send a, send a, ended why"},
		"continues":         {[]rv.Step{step("a", goesOn), step("b")}, host{}, []string{"why", ""}, "began, send a, send b, ended"},
		"repeated":          {[]rv.Step{step("a", twice), step("b")}, host{}, []string{"", "", ""}, "began, send a, send a, send b, ended"},
		"in parallel":       {[]rv.Step{step("a", group), step("b", group), step("c")}, host{}, []string{"", "", ""}, "began, send a, send b, send c, ended"},
		"one of two fails":  {[]rv.Step{step("a", group), step("b", group), step("c")}, host{}, []string{"why", ""}, "began, send a, ended why"},
		"thinks":            {[]rv.Step{step("a"), step("b", think)}, host{}, []string{""}, "began, send a, sleeps"},
		"awaits":            {[]rv.Step{step("a"), step("b", awaits)}, host{}, []string{""}, "began, send a, await b"},
		"cannot be sent":    {[]rv.Step{step("a"), step("b")}, host{nowhere: "b"}, []string{""}, "began, send a, unsent b false " + rv.AbortLocation + ", ended " + rv.AbortLocation},
		"always, whole":     {[]rv.Step{step("a"), step("b", always)}, host{}, []string{"", ""}, "began, send a, send b, ended"},
		"always, aborted":   {[]rv.Step{step("a"), step("b"), step("c", always), step("d", always)}, host{}, []string{"why", "", ""}, "began, send a, send c, always sent, send d, always sent, ended why"},
		"always, fails":     {[]rv.Step{step("a"), step("b", always), step("c", always)}, host{}, []string{"", "why", ""}, "began, send a, send b, send c, always sent, ended why"},
		"always, both fail": {[]rv.Step{step("a"), step("b", always), step("c", always)}, host{}, []string{"why", "other", "other"}, "began, send a, send b, always sent, send c, always sent, ended why"},
		"always, retried":   {[]rv.Step{step("a"), step("b", always, retries)}, host{}, []string{"why", "other", ""}, "began, send a, send b, always sent, send b, ended why"},
		"always, repeated":  {[]rv.Step{step("a"), step("b", always, twice)}, host{}, []string{"why", "", ""}, "began, send a, send b, always sent, send b, ended why"},
		"always, in parallel": {[]rv.Step{step("a"), step("b", always, group), step("c", always, group), step("d", always)}, host{}, []string{"why", "x", "", ""},
			"began, send a, send b, always sent, send c, always sent, send d, always sent, ended why"},
		"always, group aborts": {[]rv.Step{step("a", group), step("b", group), step("c"), step("d", always)}, host{}, []string{"why", ""}, "began, send a, send d, always sent, ended why"},
		"always, not sent": {[]rv.Step{step("a"), step("b", always), step("c", always)}, host{nowhere: "b"}, []string{"why", ""},
			"began, send a, unsent b false location, send c, always sent, ended why"},
		"always, from the first": {[]rv.Step{step("a", always), step("b", always)}, host{}, []string{"why", ""}, "began, send a, send b, always sent, ended why"},
		"always, lacks": {[]rv.Step{step("a", makes), step("b", always, reads), step("c", always)}, host{}, []string{"why", ""},
			"began, send a, always skipped, unsent b true missingCapture, send c, always sent, ended why"},
		"always, awaits": {[]rv.Step{step("a"), step("b", awaits, always)}, host{}, []string{"why"}, "began, send a, always sent, await b"},
		"always, lacks the key": {[]rv.Step{step("a", makes), step("b", awaits, always, keyed)}, host{}, []string{"why"},
			"began, send a, always skipped, unsent b true missingCapture, ended why"},
		"always, over":   {[]rv.Step{step("a"), step("b", always)}, host{over: true}, []string{"why"}, "began, send a, ended why"},
		"after the load": {[]rv.Step{step("a"), step("b")}, host{unpaced: true}, []string{"", ""}, "began, send a, send late b, ended"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &rv.Plan{Chains: []rv.Chain{{Name: "c", Weight: 1, Captures: []string{"x"}, Steps: tt.steps}}, Listeners: []rv.Listener{{Name: "l", Status: 200, Retention: time.Second}}}
			h := &tt.host
			f := newFlow(t, p, h)
			first := true
			for _, why := range tt.outcomes {
				a, ok := take(f, h, first)
				if !ok {
					break
				}
				first = false
				send(f, h, a)
				f.Ended(a, why, 0)
			}
			if f.Sleeps() {
				h.log = append(h.log, "sleeps")
			}
			if diff := cmp.Diff(tt.want, strings.Join(h.log, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// take returns the next step. Only the first call starts an instance.
func take(f *Flow, h *host, first bool) (a chain.Activation, ok bool) {
	switch {
	case first:
		var target int32
		if a, target = f.Longest(0, true); target == None {
			return a, false
		}
		h.log = append(h.log, "send "+h.step(a))
	case f.HasUnpaced(false):
		a = f.Unpaced().Activation
		h.log = append(h.log, "send late "+h.step(a))
	default:
		r, ok := f.Unslotted(0)
		if !ok {
			return a, false
		}
		a = r.Activation
		h.log = append(h.log, "send "+h.step(a))
	}
	return a, true
}

// TestInstanceForgets: the record of an instance is used again, and nothing is left of the values of the one before.
func TestInstanceForgets(t *testing.T) {
	const plain, keeps = 0, 1
	capture := rv.Capture{Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}}
	f := newFlow(t, &rv.Plan{Chains: []rv.Chain{
		{Name: "plain", Weight: 1, Steps: []rv.Step{step("a")}},
		{Name: "keeps", Weight: 1, Cookies: true, Captures: []string{"value"}, Steps: []rv.Step{step("b", func(s *rv.Step) {
			s.MaxRedirects, s.Capture = 1, []rv.Capture{capture}
		})}},
	}}, &host{})
	for k, c := range []int{keeps, plain, plain, keeps, keeps, plain} {
		i := f.begin(c)
		in := f.At(i)
		cookies := in.Cookies.AppendHeader(nil, 1, false, []byte("t"), []byte("/"))
		if i != 0 || len(cookies) > 0 || len(in.redirects) > 0 || c == keeps && in.Has(0) {
			t.Errorf("instance %d, in place %d, has cookies %q, %d redirects", k, i, cookies, len(in.redirects))
		}
		if c == keeps {
			in.Cookies.Set(1, false, []byte("t"), []byte("/"), []byte("a=b"))
			in.RedirectOf(1)
			in.Capture(0, []byte("x"))
		}
		f.end(i, "")
	}
}

package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// made is a chain that creates something, uses it after a think time, and always deletes it.
func made(rate rv.Rate, think time.Duration) *rv.Plan {
	p := steps(rate,
		step("create", func(s *rv.Step) { s.Capture = []rv.Capture{{Source: header("x-id")}} }),
		step("use", func(s *rv.Step) { s.Think = &rv.Think{Fixed: think} }),
		step("delete", func(s *rv.Step) { s.Path, s.Always = rv.Text{{Literal: "/delete/"}, {Capture: 1}}, true }))
	p.Chains[0].Captures = []string{"id"}
	return p
}

// TestAlways: whatever happens to an instance, what it has created is deleted once, if there is time.
func TestAlways(t *testing.T) {
	const ms = time.Millisecond
	fails := func(path string, how reply) func(*simRequest) reply {
		return func(r *simRequest) reply {
			if r.Fields[":path"] == path {
				return how
			}
			return reply{After: 2 * ms, Status: 200, Headers: []string{"x-id", "1"}}
		}
	}
	whole := fails("none", reply{})
	slow := func(*simRequest) reply { return reply{After: 200 * ms, Status: 200, Headers: []string{"x-id", "1"}} }
	chains := perSecond(100, time.Second)
	chains.ChainsPerSecond = true
	one := chains
	one.Duration = 10 * ms
	setup := func(p *rv.Plan) *rv.Plan {
		once := p.Chains[0]
		once.Name, once.Phase = "once", rv.PhaseTeardown
		p.Chains = append(p.Chains, once)
		p.Chains[0] = rv.Chain{Name: "load", Weight: 1, Steps: []rv.Step{step("load")}}
		return p
	}
	limited := func(p *rv.Plan, limit int64) *rv.Plan {
		p.RequestLimit = limit
		return p
	}
	narrow := func(p *rv.Plan) *rv.Plan {
		p.Targets[0].MaxConcurrentStreams = 1
		return p
	}
	for name, tt := range map[string]struct {
		plan  *rv.Plan
		grace time.Duration
		peer  func(*simRequest) reply
		act   func(b *bench)
		// left is how much was created and not deleted.
		left          int
		during, after rv.AlwaysCounts
		ended         rv.GracefulCounters // without requests and counts of always steps
	}{
		"whole":                     {plan: made(chains, 0), grace: time.Second, peer: whole},
		"failed check":              {plan: made(chains, 0), grace: time.Second, peer: fails("/use", reply{After: 2 * ms, Status: 500}), during: rv.AlwaysCounts{AlwaysSent: 100}},
		"paced by slots":            {plan: made(perSecond(100, time.Second), 0), grace: time.Second, peer: fails("/use", reply{After: 2 * ms, Status: 500}), during: rv.AlwaysCounts{AlwaysSent: 33}, ended: rv.GracefulCounters{Aborted: 1}, after: rv.AlwaysCounts{AlwaysSent: 1}},
		"dropped by the limit":      {plan: limited(made(chains, 0), 100), grace: time.Second, peer: fails("/use", reply{After: 2 * ms, Status: 500}), left: 51, during: rv.AlwaysCounts{AlwaysSent: 49}},
		"reset":                     {plan: made(chains, 0), grace: time.Second, peer: fails("/use", reply{After: 2 * ms, Resets: true, Reset: http2.ErrCodeInternal}), during: rv.AlwaysCounts{AlwaysSent: 100}},
		"timeout":                   {plan: made(chains, 0), grace: 2 * time.Second, peer: fails("/use", reply{}), after: rv.AlwaysCounts{AlwaysSent: 100}, ended: rv.GracefulCounters{Aborted: 100}},
		"not created":               {plan: made(chains, 0), grace: time.Second, peer: fails("/create", reply{After: 2 * ms, Status: 500}), during: rv.AlwaysCounts{AlwaysSkipped: 100}},
		"refused with a header":     {plan: made(chains, 0), grace: time.Second, peer: fails("/create", reply{After: 2 * ms, Status: 409, Headers: []string{"x-id", "1"}}), during: rv.AlwaysCounts{AlwaysSkipped: 100}},
		"no time after the load":    {plan: made(chains, 300*ms), peer: whole, left: 30},
		"time enough":               {plan: made(chains, 300*ms), grace: time.Second, peer: whole, ended: rv.GracefulCounters{Completed: 30}},
		"too little for the pauses": {plan: made(chains, 300*ms), grace: 100 * ms, peer: whole, after: rv.AlwaysCounts{AlwaysSent: 20}, ended: rv.GracefulCounters{Completed: 10, Aborted: 20}},
		"nothing else happens":      {plan: made(one, 300*ms), grace: 100 * ms, peer: whole, after: rv.AlwaysCounts{AlwaysSent: 1}, ended: rv.GracefulCounters{Aborted: 1}},
		"stopped": {plan: made(chains, 300*ms), grace: 100 * ms, peer: whole, act: func(b *bench) {
			b.in(500*ms+ms/2, func() { b.w.Do(func(w *Worker) { w.Stop(true) }) })
		}, after: rv.AlwaysCounts{AlwaysSent: 21}, ended: rv.GracefulCounters{Completed: 10, Aborted: 21}},
		"interrupted": {plan: made(chains, 300*ms), grace: 100 * ms, peer: whole, act: func(b *bench) {
			b.in(500*ms+ms/2, func() { b.w.Do(func(w *Worker) { w.Stop(false) }) })
		}, left: 31, ended: rv.GracefulCounters{CutOff: 31}},
		"interrupted while requests wait": {plan: narrow(made(chains, 0)), grace: time.Second, peer: slow, act: func(b *bench) {
			b.in(500*ms+ms/2, func() { b.w.Do(func(w *Worker) { w.Stop(false) }) })
		}, left: 3, ended: rv.GracefulCounters{CutOff: 50}},
		"teardown": {plan: setup(made(chains, 0)), peer: fails("/use", reply{After: 2 * ms, Status: 500})},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.plan, tt.peer)
			b.w.cfg.GracefulStop = tt.grace
			if tt.act != nil {
				b.onStart = append(b.onStart, func() { tt.act(b) })
			}
			got := b.run()
			r := b.w.rec
			created, deleted := 0, 0
			for _, s := range b.served {
				switch path := s.Fields[":path"]; {
				case path == "/create" && tt.during.AlwaysSkipped == 0:
					created++
				case strings.HasPrefix(path, "/delete/"):
					deleted++
				}
			}
			if created == 0 && tt.during.AlwaysSkipped == 0 || created-deleted != tt.left {
				t.Errorf("%d created, %d deleted, want %d left", created, deleted, tt.left)
			}
			if n := r.Chains[0].AlwaysSent + r.Graceful.AlwaysSent; n > int64(deleted) {
				t.Errorf("%d always steps were sent, the peer counted %d", n, deleted)
			}
			if diff := cmp.Diff([]rv.AlwaysCounts{tt.during, tt.after}, []rv.AlwaysCounts{r.Chains[0].AlwaysCounts, r.Graceful.AlwaysCounts}); diff != "" {
				t.Errorf("always steps (-want +got):\n%s", diff)
			}
			ended := rv.GracefulCounters{Completed: r.Graceful.Completed, Aborted: r.Graceful.Aborted, CutOff: r.Graceful.CutOff}
			if diff := cmp.Diff(tt.ended, ended); diff != "" {
				t.Errorf("after the load (-want +got):\n%s", diff)
			}
			if n := got.Sent + r.Graceful.Sent + r.Teardown.Sent; int(n) != len(b.served) {
				t.Errorf("counted %d requests, the peer %d", n, len(b.served))
			}
			if c := r.Chains[0]; tt.grace > 0 && c.Started != c.Completed+c.Aborted+r.Graceful.Completed+r.Graceful.Aborted+r.Graceful.CutOff {
				t.Errorf("chains %+v, after the load %+v", c, r.Graceful)
			}
		})
	}
}

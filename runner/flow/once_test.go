package flow

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestOnce: two chains of setup and two of teardown, the first of which ends as why says. Begun are those that have begun then.
func TestOnce(t *testing.T) {
	type result struct {
		Begun    int
		Failure  string
		Complete bool
	}
	const setup, teardown = -1, -2
	for name, tt := range map[string]struct {
		teardown bool
		own      bool
		change   func(*Once)
		why      string
		want     result
	}{
		"setup":                     {false, true, nil, "", result{Begun: 2, Complete: true}},
		"the first of setup fails":  {false, true, nil, "why", result{Begun: 1, Failure: "chain c0: step a: why"}},
		"setup of another worker":   {false, false, nil, "", result{}},
		"complete before":           {false, true, func(o *Once) { o.Continue(o) }, "why", result{Begun: 2, Complete: true}},
		"teardown":                  {true, true, nil, "", result{Begun: 2}},
		"one of teardown fails":     {true, true, nil, "why", result{Begun: 2, Failure: "chain c2: step a: why"}},
		"leaves teardown to others": {true, true, (*Once).DropTeardown, "", result{}},
		"takes teardown":            {true, false, func(o *Once) { o.AssignTeardown(true) }, "", result{Begun: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &rv.Plan{}
			for i, phase := range []rv.Phase{rv.PhaseSetup, rv.PhaseSetup, rv.PhaseTeardown, rv.PhaseTeardown, rv.PhaseLoad} {
				p.Chains = append(p.Chains, rv.Chain{Name: "c" + string(rune('0'+i)), Phase: phase, Weight: 1, Steps: []rv.Step{step("a")}})
			}
			h := &host{}
			f := newFlow(t, p, h)
			o := NewOnce(f.program, f.sources, tt.own, setup, teardown)
			if tt.change != nil {
				tt.change(&o)
			}
			q := &o.Setup
			if tt.teardown {
				q = &o.Teardown
			}
			for !q.Over() {
				f.Begin(q.Begin(), q.Stage)
				why := tt.why
				if q.Begun() > 1 {
					why = ""
				}
				a := f.Unpaced()
				f.Ended(a.Activation, why, 0)
				o.Ended(f.At(a.Instance), why)
			}
			_, complete := o.Globals()
			if diff := cmp.Diff(tt.want, result{q.Begun(), q.Failure(), complete}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package shards

import (
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestObserver: the first runner that answers reads the observations, and the next one if it is lost.
func TestObserver(t *testing.T) {
	at := func(state State, edit func(*runner)) *runner {
		s := &runner{state: state, pod: Pod{Address: "10.0.0.1"}}
		if edit != nil {
			edit(s)
		}
		return s
	}
	final := func(s *runner) { s.snapshot = &runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateDone} }
	for name, tc := range map[string]struct {
		all  runners
		want int // none: the number of runners
	}{
		"the first":        {runners{at(Active, nil), at(Active, nil)}, 0},
		"before the start": {runners{at(Connecting, nil), at(Ready, nil)}, 0},
		"no address":       {runners{at(Absent, func(s *runner) { s.pod.Address = "" }), at(Ready, nil)}, 1},
		"lost":             {runners{at(Lost, nil), at(Active, nil)}, 1},
		"silent":           {runners{at(Active, func(s *runner) { s.silent = true }), at(Active, nil)}, 1},
		"ended":            {runners{at(Active, func(s *runner) { s.pod.Ended = true }), at(Active, nil)}, 1},
		"all done":         {runners{at(Done, final), at(Left, final)}, 2},
	} {
		got := tc.all.observer()
		m := &round{d: &Desired{Plan: &runnerv1alpha1.Plan{}}, observer: got}
		for i, s := range tc.all {
			if (s == got) != (i == tc.want) {
				t.Errorf("%s: shard %d observes: %v", name, i, s == got)
			}
			if m.d.Plan.Observe = nil; m.observe(s) != "" {
				t.Errorf("%s: a plan without observations has orders", name)
			}
			m.d.Plan.Observe = make([]runnerv1alpha1.Observation, 1)
			if want := map[bool]string{true: "true", false: "false"}[i == tc.want]; m.observe(s) != want {
				t.Errorf("%s: order %q of shard %d", name, m.observe(s), i)
			}
		}
	}
}

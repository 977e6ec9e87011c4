package shards

import (
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestNext(t *testing.T) {
	const revision = 1
	snap := func(state runnerv1alpha1.State) *runnerv1alpha1.Snapshot {
		return &runnerv1alpha1.Snapshot{State: state, Revision: revision}
	}
	ready, done := snap(runnerv1alpha1.StateReady), snap(runnerv1alpha1.StateDone)
	running, stopping, drained := snap(runnerv1alpha1.StateRunning), snap(runnerv1alpha1.StateDraining), snap(runnerv1alpha1.StateDrained)
	running.StartAt, stopping.StartAt, drained.StartAt = 1, 1, 1
	stopping.Stopped = "spec.stop"
	start, change := round{start: true}, round{change: true}
	tests := map[string]struct {
		s    *runner
		d    Desired
		m    round
		want Kind
	}{
		"no pod":                           {&runner{}, Desired{}, round{}, CallNone},
		"the first look":                   {&runner{}, Desired{}, round{}, CallSnapshot},
		"a call is under way":              {&runner{calling: CallSnapshot}, Desired{}, round{}, CallNone},
		"no share yet":                     {&runner{snapshot: &runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateWaiting}}, Desired{}, start, CallUpdate},
		"connecting":                       {&runner{snapshot: snap(runnerv1alpha1.StateConnecting)}, Desired{}, start, CallSnapshot},
		"ready":                            {&runner{snapshot: ready}, Desired{}, round{}, CallSnapshot},
		"ready, start":                     {&runner{snapshot: ready}, Desired{}, start, CallStart},
		"ready, start and stop":            {&runner{snapshot: ready}, Desired{MayStart: true, Stop: "x"}, start, CallStop},
		"running":                          {&runner{snapshot: running}, Desired{}, start, CallSnapshot},
		"running, stop":                    {&runner{snapshot: running}, Desired{MayStart: true, Stop: "x"}, round{}, CallStop},
		"draining after a stop":            {&runner{snapshot: stopping}, Desired{MayStart: true, Stop: "x"}, round{}, CallSnapshot},
		"drained, others are not":          {&runner{snapshot: drained}, Desired{}, round{}, CallSnapshot},
		"drained, as all are":              {&runner{snapshot: drained}, Desired{}, round{drained: true}, CallTeardown},
		"done":                             {&runner{snapshot: done}, Desired{}, round{}, CallNone},
		"done and stored":                  {&runner{snapshot: done}, Desired{Stored: true}, round{}, CallAck},
		"done, and its own part is stored": {&runner{snapshot: done, state: Left, stored: true}, Desired{}, round{}, CallAck},
		"done, stored and told":            {&runner{snapshot: done, acked: true}, Desired{Stored: true}, round{}, CallNone},
		"lost":                             {&runner{snapshot: running, state: Lost, loss: &Loss{}}, Desired{}, round{}, CallSnapshot},
		"lost, back, waits for teardown":   {&runner{snapshot: drained, state: Lost, loss: &Loss{}, answered: time.Now()}, Desired{}, round{drained: true}, CallTeardown},
		"its pod has ended already":        {&runner{snapshot: running, pod: Pod{Ended: true}}, Desired{}, round{}, CallNone},
		"a change":                         {&runner{snapshot: running}, Desired{}, change, CallUpdate},
		"a change before the start":        {&runner{snapshot: ready}, Desired{}, round{start: true, change: true}, CallUpdate},
		"a change and a stop":              {&runner{snapshot: running}, Desired{MayStart: true, Stop: "x"}, change, CallStop},
		"joined after the results":         {&runner{snapshot: running}, Desired{MayStart: true, Stored: true}, start, CallStop},
		"too late to join":                 {&runner{snapshot: ready}, Desired{Stored: true}, start, CallStop},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if name != "no pod" {
				tt.s.pod.Address = "x"
			}
			if tt.s.state == Absent && tt.s.snapshot != nil {
				tt.s.state, _ = tt.s.state.Next(reported(tt.s.snapshot))
			}
			tt.m.d = &tt.d
			if got := tt.s.next(&tt.m); got != tt.want {
				t.Errorf("call %d, want %d", got, tt.want)
			}
		})
	}
}

package shards

import (
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
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
	none, stopped := record.Record{}, record.Record{Start: &record.Start{}, Stop: &record.Stop{}}
	ended, never := record.Record{Start: &record.Start{}, End: &record.End{}}, record.Record{End: &record.End{}}
	tests := map[string]struct {
		s    *runner
		r    record.Record
		m    round
		want Kind
	}{
		"no pod":                           {&runner{}, none, round{}, CallNone},
		"the first look":                   {&runner{}, none, round{}, CallSnapshot},
		"a call is under way":              {&runner{calling: CallSnapshot}, none, round{}, CallNone},
		"no share yet":                     {&runner{snapshot: &runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateWaiting}}, none, start, CallUpdate},
		"connecting":                       {&runner{snapshot: snap(runnerv1alpha1.StateConnecting)}, none, start, CallSnapshot},
		"ready":                            {&runner{snapshot: ready}, none, round{}, CallSnapshot},
		"ready, start":                     {&runner{snapshot: ready}, none, start, CallStart},
		"ready, start and stop":            {&runner{snapshot: ready}, stopped, start, CallStop},
		"running":                          {&runner{snapshot: running}, none, start, CallSnapshot},
		"running, stop":                    {&runner{snapshot: running}, stopped, round{}, CallStop},
		"draining after a stop":            {&runner{snapshot: stopping}, stopped, round{}, CallSnapshot},
		"drained, others are not":          {&runner{snapshot: drained}, none, round{}, CallSnapshot},
		"drained, as all are":              {&runner{snapshot: drained}, none, round{drained: true}, CallTeardown},
		"done":                             {&runner{snapshot: done}, none, round{}, CallNone},
		"done and stored":                  {&runner{snapshot: done}, never, round{}, CallAck},
		"done, and its own part is stored": {&runner{snapshot: done, state: Left, stored: true}, none, round{}, CallAck},
		"done, stored and told":            {&runner{snapshot: done, acked: true}, never, round{}, CallNone},
		"lost":                             {&runner{snapshot: running, state: Lost, loss: &record.Loss{}}, none, round{}, CallSnapshot},
		"lost, back, waits for teardown":   {&runner{snapshot: drained, state: Lost, loss: &record.Loss{}, answered: time.Now()}, none, round{drained: true}, CallTeardown},
		"its pod has ended already":        {&runner{snapshot: running, pod: Pod{Ended: true}}, none, round{}, CallNone},
		"a change":                         {&runner{snapshot: running}, none, change, CallUpdate},
		"a change before the start":        {&runner{snapshot: ready}, none, round{start: true, change: true}, CallUpdate},
		"a change and a stop":              {&runner{snapshot: running}, stopped, change, CallStop},
		"joined after the results":         {&runner{snapshot: running}, ended, start, CallStop},
		"too late to join":                 {&runner{snapshot: ready}, never, start, CallStop},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if name != "no pod" {
				tt.s.pod.Address = "x"
			}
			if tt.s.state == Absent && tt.s.snapshot != nil {
				tt.s.state, _ = tt.s.state.Next(reported(tt.s.snapshot))
			}
			tt.m.d = &Desired{Record: &tt.r}
			if got := tt.s.next(&tt.m); got != tt.want {
				t.Errorf("call %d, want %d", got, tt.want)
			}
		})
	}
}

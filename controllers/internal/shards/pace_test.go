package shards

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// TestPollsAreSpread: the polls of many runners are not at the same time, and each is polled once an interval.
func TestPollsAreSpread(t *testing.T) {
	pace := Pace{Least: time.Second, Regular: 2 * time.Second}
	const runners = 10
	for index := range runners {
		at := time.Duration(index) * 17 * time.Millisecond
		first := pace.spread(at, index, runners)
		if first < time.Second || first > 3*time.Second {
			t.Errorf("shard %d: first poll after %s, want between 1s and 3s", index, first)
		}
		at += first
		if want := time.Duration(index) * 200 * time.Millisecond; at%(2*time.Second) != want {
			t.Errorf("shard %d is polled %s after the begin of an interval, want %s", index, at%(2*time.Second), want)
		}
		if got := pace.spread(at, index, runners); got != 2*time.Second {
			t.Errorf("shard %d: the second poll is %s after the first, want 2s", index, got)
		}
	}
}

// TestOnePollWithoutAnswerIsNotSilence: the next poll after one that timed out comes before the runner is silent.
func TestOnePollWithoutAnswerIsNotSilence(t *testing.T) {
	for _, tc := range []struct {
		regular, want time.Duration
	}{{time.Second, 5 * time.Second}, {2 * time.Second, 6 * time.Second}, {3 * time.Second, 7 * time.Second}} {
		answered := time.Unix(0, 0)
		const timeout = 2 * time.Second
		pace := Pace{Least: time.Second, Regular: tc.regular}
		silent := pace.silentAfter(timeout)
		if silent != tc.want {
			t.Errorf("regularly after %s: silent after %s, want %s", tc.regular, silent, tc.want)
		}
		failed := answered.Add(tc.regular + timeout)
		if next := pace.again(answered.Add(2*tc.regular), failed); next.Sub(answered) > silent {
			t.Errorf("regularly after %s: the second poll is %s after the last answer, silent after %s", tc.regular, next.Sub(answered), silent)
		}
	}
}

// TestSilenceNotes: one note reports all runners that fell silent in a second.
func TestSilenceNotes(t *testing.T) {
	var s silence
	var got []string
	at := func(after time.Duration) {
		for _, n := range s.report(time.Unix(0, 0).Add(after)) {
			got = append(got, fmt.Sprint(n.Message, n.Values))
		}
	}
	s.add(&runner{index: 0, silent: true, trouble: "timeout"})
	at(0)
	for i := range 3 {
		s.add(&runner{index: i, silent: i != 1, trouble: "timeout"})
		at(time.Second / 2)
	}
	at(time.Second)
	at(3 * time.Second)
	want := []string{
		"Runners do not answer[count 1 shards [0] reason timeout]",
		"Runners do not answer[count 2 shards [0 2] reason timeout]",
		"Runners answer again[count 1 shards [1]]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInterval: who will soon report something else is polled hurriedly.
func TestInterval(t *testing.T) {
	pace := Pace{Least: time.Second, Regular: 1500 * time.Millisecond, Hurried: 100 * time.Millisecond}
	list := []runnerv1alpha1.Update{{Revision: 1, Members: []int{0}}, {Revision: 2, At: 1, Members: []int{0}}}
	running := runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateRunning, Revision: 2, StartAt: 1}
	behind := running
	behind.Revision = 1
	done := runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateDone}
	for name, tt := range map[string]struct {
		s    runner
		stop *record.Stop
		want time.Duration
	}{
		"no answer yet":             {runner{}, nil, pace.Hurried},
		"no endpoint after minutes": {runner{trouble: "refused"}, nil, pace.Regular},
		"ready":                     {runner{state: Ready, snapshot: &runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateReady, Revision: 1}}, nil, pace.Hurried},
		"active":                    {runner{state: Active, snapshot: &running}, nil, pace.Regular},
		"active, the test stops":    {runner{state: Active, snapshot: &running}, &record.Stop{}, pace.Hurried},
		"active, pod terminates":    {runner{state: Active, snapshot: &running, pod: Pod{Terminating: true}}, nil, pace.Hurried},
		"active, a change":          {runner{state: Active, snapshot: &behind}, nil, pace.Hurried},
		"active, no member":         {runner{index: 1, state: Active, snapshot: &running}, nil, pace.Hurried},
		"active, silent":            {runner{state: Active, snapshot: &running, silent: true}, nil, pace.Least},
		"draining":                  {runner{state: Draining, snapshot: &running}, nil, pace.Hurried},
		"ended before the start":    {runner{state: Ready, snapshot: &done}, nil, pace.Least},
		"done":                      {runner{state: Done, snapshot: &done}, nil, pace.Least},
		"lost":                      {runner{state: Lost, snapshot: &running}, nil, pace.Least},
	} {
		d := &Desired{Record: &record.Record{Stop: tt.stop}}
		m := &round{Moment: Moment{Pace: pace}, d: d, clock: int64(2 * time.Minute), runners: 1, members: []int{0}}
		m.change = tt.s.pending(&changes{list: list}) != nil
		if got := tt.s.interval(m); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

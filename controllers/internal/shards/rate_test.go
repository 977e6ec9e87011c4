package shards

import (
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestRateMeter: polls that are milliseconds apart do not make a rate of their own.
func TestRateMeter(t *testing.T) {
	type poll struct {
		after time.Duration
		sent  int64
		state runnerv1alpha1.State
		want  float64
	}
	running := runnerv1alpha1.StateRunning
	for name, polls := range map[string][]poll{
		"a second apart":    {{time.Second, 0, running, 0}, {2 * time.Second, 50, running, 50}, {3 * time.Second, 150, running, 100}},
		"a runner joins":    {{time.Second, 0, running, 0}, {1002 * time.Millisecond, 1, running, 0}, {1100 * time.Millisecond, 5, running, 0}, {2 * time.Second, 50, running, 50}},
		"polled in a hurry": {{time.Second, 0, running, 0}, {2 * time.Second, 50, running, 50}, {2002 * time.Millisecond, 51, running, 50}, {3 * time.Second, 100, running, 50}},
		"it ended":          {{time.Second, 0, running, 0}, {2 * time.Second, 50, running, 50}, {2100 * time.Millisecond, 55, runnerv1alpha1.StateDone, 0}},
		"it drains":         {{time.Second, 0, running, 0}, {2 * time.Second, 50, running, 50}, {3 * time.Second, 50, runnerv1alpha1.StateDraining, 0}},
	} {
		var m rateMeter
		for i, p := range polls {
			m.add(&runnerv1alpha1.Snapshot{Clock: int64(p.after), State: p.state, Counters: runnerv1alpha1.Counters{WarmUpSent: p.sent / 2, Requests: runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: p.sent - p.sent/2}}}})
			if m.rate != p.want {
				t.Errorf("%s: %v after poll %d, want %v", name, m.rate, i, p.want)
			}
		}
	}
}

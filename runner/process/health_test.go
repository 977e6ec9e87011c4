package process

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestReady(t *testing.T) {
	for _, tt := range []struct {
		state   rv.State
		problem rv.Problem
		want    bool
	}{
		{rv.StateWaiting, "", false},
		{rv.StateConnecting, rv.ProblemConnect, false},
		{rv.StateSettingUp, "", false},
		{rv.StateReady, "", true},
		{rv.StateRunning, "", true},
		{rv.StateDraining, "", true},
		{rv.StateDrained, "", true},
		{rv.StateTearingDown, "", true},
		{rv.StateDone, "", true},
		{rv.StateDone, rv.ProblemDeadline, true},
		{rv.StateDone, rv.ProblemPlan, false},
		{rv.StateDone, rv.ProblemSetup, false},
		{rv.StateDone, rv.ProblemPolicy, false},
	} {
		if got := ready(&rv.Snapshot{State: tt.state, Problem: tt.problem}); got != tt.want {
			t.Errorf("%s %s: %v", tt.state, tt.problem, got)
		}
	}
}

package cli

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// TestLastWindowOfRun: thresholds on windows see the final snapshot, which comes between two looks.
func TestLastWindowOfRun(t *testing.T) {
	plan := testPlan()
	plan.Rates = []rv.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: 3 * time.Second}}
	plan.Thresholds = []rv.Threshold{{Name: "clean", Metric: rv.MetricErrorRate, Max: "40%", Window: time.Second}}
	at := func(second, sent, succeeded, timedOut int64) *rv.Snapshot {
		q := rv.Outcomes{Sent: sent, Done: succeeded, Succeeded: succeeded, TimedOut: timedOut, InFlightAtEnd: sent - succeeded - timedOut}
		return &rv.Snapshot{
			Boot: "b", Sequence: uint64(second), State: rv.StateRunning, StartAt: startedAt, StartedAt: startedAt, Clock: startedAt + second*1e9,
			Counters: rv.Counters{Requests: rv.Requests{Outcomes: q}}, Stages: []rv.StageCounters{{Sent: sent, Slots: sent}},
			Steps: []rv.StepCounters{{Outcomes: q}}, Chains: []rv.ChainCounters{{Started: sent, Completed: succeeded, Unfinished: sent - succeeded}},
			StatusCodes: map[string]int64{"200": succeeded},
		}
	}
	l := newLimits(plan)
	for _, s := range []*rv.Snapshot{at(1, 100, 100, 0), at(2, 200, 200, 0)} {
		l.add(s)
	}
	last := at(3, 300, 200, 100)
	last.State, last.EndedAt, last.Stages[0].Ended, last.Histograms = rv.StateDone, last.Clock, 3e9, &rv.Histograms{}
	c, err := conclude(&job{plan: plan}, last, build.NewWindows(plan, 1), l, nil, false, time.Now())
	if err != nil || c.code != verdict.ExitFailed || c.report.Verdict.Reason != verdict.ReasonThresholdsFailed {
		t.Errorf("%+v, %v", c, err)
	}
}

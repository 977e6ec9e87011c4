package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
)

// endingRun is a load of 6 s with a rate whose requests take 10 ms, or time out after 2 s.
type endingRun struct {
	rate int
	// timesOut returns whether a request has no response.
	timesOut func(i int, at time.Duration) bool
	// paused is true if the load pauses from 3 s to 4.5 s.
	paused bool
}

const (
	loadOfEnding    = 6 * time.Second
	timeoutOfEnding = 2 * time.Second
)

// snapshot is what a runner has counted after a time. It is done when each request has an outcome.
func (r *endingRun) snapshot(after time.Duration) *runnerv1alpha1.Snapshot {
	const start = int64(1000 * time.Hour)
	s := &runnerv1alpha1.Snapshot{
		Boot: "b", Sequence: uint64(after/time.Millisecond) + 1, State: runnerv1alpha1.StateRunning, StartAt: start, StartedAt: start + 1,
		Clock: start + int64(after), Suspended: r.paused && after >= 3*time.Second && after < 4500*time.Millisecond, Steps: make([]runnerv1alpha1.StepCounters, 1),
		Chains: make([]runnerv1alpha1.ChainCounters, 1), Targets: make([]runnerv1alpha1.TargetTimes, 1),
	}
	if after >= loadOfEnding {
		s.EndedAt, s.Counters.Reconnects = start+int64(loadOfEnding), 5
	}
	h, q := histogram.New(), &s.Counters
	for i := range r.rate * int(loadOfEnding/time.Second) {
		at := time.Duration(i) * time.Second / time.Duration(r.rate)
		switch took := after - at; {
		case took < 0:
		case r.timesOut(i, at) && took >= timeoutOfEnding:
			q.Sent, q.TimedOut = q.Sent+1, q.TimedOut+1
		case !r.timesOut(i, at) && took >= 10*time.Millisecond:
			q.Sent, q.Done, q.Succeeded = q.Sent+1, q.Done+1, q.Succeeded+1
			h.Record(10_000)
		default:
			q.Sent, q.InFlightAtEnd = q.Sent+1, q.InFlightAtEnd+1
		}
	}
	s.Stages = []runnerv1alpha1.StageCounters{{Sent: q.Sent, Slots: q.Sent, Ended: max(0, s.EndedAt-start)}}
	s.Steps[0].Outcomes, s.Chains[0] = q.Outcomes, runnerv1alpha1.ChainCounters{Started: q.Sent, Completed: q.Succeeded, Unfinished: q.Sent - q.Succeeded}
	s.Steps[0].StatusCodes = map[string]int64{"200": q.Done}
	s.StatusCodes, s.ResponseTime, s.Steps[0].ResponseTime = s.Steps[0].StatusCodes, h.Encode(), h.Encode()
	if s.EndedAt != 0 && q.InFlightAtEnd == 0 {
		s.State, s.Histograms = runnerv1alpha1.StateDone, &runnerv1alpha1.Histograms{}
	}
	return s
}

// TestLastWindow: what fails after the end of the load is in the last window, and what was sent before the window is not.
func TestLastWindow(t *testing.T) {
	hangs := func(_ int, at time.Duration) bool { return at >= 5*time.Second }
	sometimes := func(i int, _ time.Duration) bool { return i%111 == 50 } // 0.9%
	threshold := func(m runnerv1alpha1.Metric, percentile, limit string) runnerv1alpha1.Threshold {
		return runnerv1alpha1.Threshold{Name: "t", Metric: m, Percentile: percentile, Max: limit, Window: 2 * time.Second, AbortOnFail: true}
	}
	atLeast := threshold(runnerv1alpha1.MetricSucceeded, "", "")
	atLeast.Min = "95%"
	rate := threshold(runnerv1alpha1.MetricRate, "", "")
	rate.Min = "990"
	for name, tt := range map[string]struct {
		run       endingRun
		threshold runnerv1alpha1.Threshold
		observed  string
		outcome   runnerv1alpha1.Outcome
	}{
		"errors":                      {endingRun{rate: 1000, timesOut: hangs}, threshold(runnerv1alpha1.MetricErrorRate, "", "1%"), "49.5248%", runnerv1alpha1.OutcomeFailed},
		"a percentile":                {endingRun{rate: 1000, timesOut: hangs}, threshold(runnerv1alpha1.MetricResponseTime, "p99", "20ms"), "> 2s", runnerv1alpha1.OutcomeFailed},
		"a count":                     {endingRun{rate: 1000, timesOut: hangs}, threshold(runnerv1alpha1.MetricTimedOut, "", "900"), "990", runnerv1alpha1.OutcomeFailed},
		"a count a second":            {endingRun{rate: 1000, timesOut: hangs}, threshold(runnerv1alpha1.MetricTimedOut, "", "300/s"), "495/s", runnerv1alpha1.OutcomeFailed},
		"a minimum":                   {endingRun{rate: 1000, timesOut: hangs}, atLeast, "50.224%", runnerv1alpha1.OutcomeFailed},
		"always as many":              {endingRun{rate: 1000, timesOut: sometimes}, threshold(runnerv1alpha1.MetricErrorRate, "", "1%"), "", runnerv1alpha1.OutcomePassed},
		"as many, counted":            {endingRun{rate: 1000, timesOut: sometimes}, threshold(runnerv1alpha1.MetricTimedOut, "", "20"), "", runnerv1alpha1.OutcomePassed},
		"as many, p99":                {endingRun{rate: 1000, timesOut: sometimes}, threshold(runnerv1alpha1.MetricResponseTime, "p99", "20ms"), "10ms", runnerv1alpha1.OutcomePassed},
		"no figure of requests":       {endingRun{rate: 1000, timesOut: sometimes}, threshold(runnerv1alpha1.MetricReconnects, "", "0"), "5", runnerv1alpha1.OutcomeFailed},
		"a rate":                      {endingRun{rate: 1000, timesOut: hangs}, rate, "1000", runnerv1alpha1.OutcomePassed},
		"a shorter one after a pause": {endingRun{rate: 1000, timesOut: hangs, paused: true}, threshold(runnerv1alpha1.MetricErrorRate, "", "1%"), "0%", runnerv1alpha1.OutcomePassed},
		"a high limit":                {endingRun{rate: 1000, timesOut: hangs}, threshold(runnerv1alpha1.MetricErrorRate, "", "60%"), "49.5248%", runnerv1alpha1.OutcomePassed},
	} {
		for _, between := range []time.Duration{0, 400 * time.Millisecond} {
			t.Run(name+" "+between.String(), func(t *testing.T) {
				plan := &runnerv1alpha1.Plan{
					Name: "default/test", Targets: []runnerv1alpha1.Target{{Name: "front"}},
					Chains:     []runnerv1alpha1.Chain{{Name: "ping", Steps: []runnerv1alpha1.Step{{Name: "get", Timeout: timeoutOfEnding}}}},
					Rates:      []runnerv1alpha1.Rate{{Name: "hold", Count: int64(tt.run.rate), Period: time.Second, Duration: loadOfEnding}},
					Thresholds: []runnerv1alpha1.Threshold{tt.threshold, {Name: "errors", Metric: runnerv1alpha1.MetricErrorRate, Max: "100%"}},
				}
				l, last := NewLive(plan, 1), (*runnerv1alpha1.Snapshot)(nil)
				for after := between + time.Second; last == nil || last.State != runnerv1alpha1.StateDone; after += time.Second {
					last = tt.run.snapshot(after)
					if err := l.Add(last); err != nil {
						t.Fatal(err)
					}
					if _, _, abort := l.Abort(); abort {
						t.Errorf("the test is ended after %s", after)
					}
				}
				report, err := build.Build(build.Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{*last}})
				if err != nil {
					t.Fatal(err)
				}
				v, err := Judge(plan, report, Facts{Seen: l.Seen()})
				if err != nil || v.Outcome != tt.outcome || between == 0 && !strings.HasPrefix(v.Thresholds[0].Observed, tt.observed) {
					t.Errorf("got %+v, %v; want %s, %s", v, err, tt.outcome, tt.observed)
				}
			})
		}
	}
}

// TestRestore: a failure that is stored is replaced by a worse window only, and keeps the time of the first failure.
func TestRestore(t *testing.T) {
	times := runnerv1alpha1.Threshold{Name: "t", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p50", Max: "5ms", Window: 2 * time.Second} // fails by 5 ms
	errors := runnerv1alpha1.Threshold{Name: "t", Metric: runnerv1alpha1.MetricErrorRate, Max: "1%", Window: 2 * time.Second}
	for name, tt := range map[string]struct {
		threshold runnerv1alpha1.Threshold
		stored    Observation
		kept      bool
	}{
		"a longer time":       {times, Observation{Observed: "1.02s", Above: 1e6}, true},
		"no response":         {times, Observation{Observed: "> 2s", Unanswered: true}, true},
		"a shorter time":      {times, Observation{Observed: "6ms", Above: 1000}, false},
		"a higher error rate": {errors, Observation{Observed: "60%", Above: 0.59}, true},
		"a lower error rate":  {errors, Observation{Observed: "2%", Above: 0.01}, false},
	} {
		plan := &runnerv1alpha1.Plan{
			Targets:    []runnerv1alpha1.Target{{Name: "front"}},
			Chains:     []runnerv1alpha1.Chain{{Name: "ping", Steps: []runnerv1alpha1.Step{{Name: "get", Timeout: timeoutOfEnding}}}},
			Rates:      []runnerv1alpha1.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: loadOfEnding}},
			Thresholds: []runnerv1alpha1.Threshold{tt.threshold},
		}
		run := endingRun{rate: 100, timesOut: func(i int, _ time.Duration) bool { return i%10 == 0 }}
		l := NewLive(plan, 1)
		tt.stored.After = 500 * time.Millisecond
		l.Restore("t", tt.stored)
		for after := time.Second; after <= 5*time.Second; after += time.Second {
			if err := l.Add(run.snapshot(after)); err != nil {
				t.Fatal(err)
			}
		}
		got := l.Seen()["t"]
		if (got == tt.stored) != tt.kept || got.After != tt.stored.After || got.Passed || l.Failed()["t"] != got {
			t.Errorf("%s: seen is %+v, failed %+v; stored was %+v", name, got, l.Failed()["t"], tt.stored)
		}
	}
}

// TestAbortAfter: a window that fails before abortAfter is over does not end the test, also not later.
func TestAbortAfter(t *testing.T) {
	// hang returns a run whose requests time out 2 s after these seconds.
	hang := func(seconds ...time.Duration) *endingRun {
		return &endingRun{rate: 100, timesOut: func(_ int, at time.Duration) bool { return slices.Contains(seconds, at/time.Second) }}
	}
	for name, tt := range map[string]struct {
		run    *endingRun
		failed time.Duration // a failure that is stored, when this process starts; 0: none
		want   []int         // the seconds in which the test is ended
	}{
		"before":            {run: hang(0)},
		"before and after":  {run: hang(0, 2), want: []int{5}},
		"after":             {run: hang(2), want: []int{5}},
		"a stored one":      {run: hang(), failed: 3 * time.Second},
		"a stored one, too": {run: hang(2), failed: 3 * time.Second, want: []int{5}},
		"stored, after":     {run: hang(), failed: 4 * time.Second, want: []int{4, 5}},
	} {
		plan := &runnerv1alpha1.Plan{
			Targets: []runnerv1alpha1.Target{{Name: "front"}},
			Chains:  []runnerv1alpha1.Chain{{Name: "ping", Steps: []runnerv1alpha1.Step{{Name: "get", Timeout: timeoutOfEnding}}}},
			Rates:   []runnerv1alpha1.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: loadOfEnding}},
			Thresholds: []runnerv1alpha1.Threshold{{Name: "t", Metric: runnerv1alpha1.MetricErrorRate, Max: "20%", Window: time.Second,
				AbortOnFail: true, AbortAfter: 4 * time.Second}},
		}
		l := NewLive(plan, 1)
		if tt.failed > 0 {
			l.Restore("t", Observation{Observed: "30%", Above: 0.1, After: tt.failed})
		}
		var got []int
		for second := int(tt.failed / time.Second); second < 6; second++ {
			if err := l.Add(tt.run.snapshot(time.Duration(second) * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, _, abort := l.Abort(); abort {
				got = append(got, second)
			}
		}
		if failed := len(l.Failed()) == 1; !slices.Equal(got, tt.want) || !failed {
			t.Errorf("%s: ended in seconds %v, want %v; has failed: %v", name, got, tt.want, failed)
		}
	}
}

// TestWorstWindow: the highest value is shown, and the window that the operator's limit excuses the least decides, in any order.
func TestWorstWindow(t *testing.T) {
	// A second is a window of requests that succeed, that fail a check, and that are dropped.
	type second struct{ succeeded, failed, dropped int64 }
	for name, tt := range map[string]struct {
		max      string
		seconds  []second
		noStream int64
		outcome  runnerv1alpha1.Outcome
		observed string
	}{
		"no request is limited":        {"1%", []second{{500, 0, 500}, {980, 20, 0}}, 500, runnerv1alpha1.OutcomeFailed, "50%"},
		"limited, and checks fail":     {"1%", []second{{500, 0, 500}, {980, 20, 0}}, 0, runnerv1alpha1.OutcomeFailed, "50%"},
		"limited in both":              {"1%", []second{{500, 0, 500}, {900, 0, 100}}, 0, runnerv1alpha1.OutcomeInconclusive, "50%"},
		"limited in one":               {"10%", []second{{1400, 0, 600}, {850, 0, 150}}, 100, runnerv1alpha1.OutcomeFailed, "30%"},
		"limited in both, for a tenth": {"10%", []second{{1400, 0, 600}, {850, 0, 150}}, 90, runnerv1alpha1.OutcomeInconclusive, "30%"},
		"limited, and one passes":      {"1%", []second{{500, 0, 500}, {995, 5, 0}}, 0, runnerv1alpha1.OutcomeInconclusive, "50%"},
	} {
		for range 2 {
			r := good()
			r.plan.Thresholds = []runnerv1alpha1.Threshold{{Name: "t", Metric: runnerv1alpha1.MetricErrorRate, Max: tt.max, Window: time.Second}}
			l := NewLive(&r.plan, 1)
			s := runnerv1alpha1.Snapshot{Boot: "b", State: runnerv1alpha1.StateRunning, StartAt: 1, StartedAt: 1, Clock: 1, Stages: make([]runnerv1alpha1.StageCounters, 1)}
			for _, of := range append([]second{{}}, tt.seconds...) {
				c := &s.Counters
				c.Sent, c.Done, c.Succeeded = c.Sent+of.succeeded+of.failed, c.Done+of.succeeded+of.failed, c.Succeeded+of.succeeded
				c.FailedChecks, c.Dropped = c.FailedChecks+of.failed, c.Dropped+of.dropped
				s.Sequence, s.Clock = s.Sequence+1, s.Clock+int64(time.Second)
				if err := l.Add(&s); err != nil {
					t.Fatal(err)
				}
			}
			r.isLimited(s.Counters.Dropped)
			r.report.Failures[0].Cause = runnerv1alpha1.CauseNoStream
			r.isLimitedToo(s.Counters.Dropped - tt.noStream)
			v, err := Judge(&r.plan, &r.report, Facts{Seen: l.Seen()})
			if shown := l.Results()[0]; err != nil || v.Outcome != tt.outcome || v.Thresholds[0] != shown || shown.Observed != tt.observed {
				t.Errorf("%s, %v: got %+v, %v, shown %+v; want %s, %s", name, tt.seconds, v, err, shown, tt.outcome, tt.observed)
			}
			slices.Reverse(tt.seconds)
		}
	}
}

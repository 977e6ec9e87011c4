package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// samplesOf returns one sample each second.
func samplesOf(values ...float64) (out []runnerv1alpha1.Point) {
	for i, v := range values {
		out = append(out, runnerv1alpha1.Point{At: int64(i) * 1000, Mean: v, Max: v, Samples: 1})
	}
	return out
}

func means(run, stage float64) runnerv1alpha1.SeriesResult {
	f := func(mean float64) runnerv1alpha1.SeriesFigures {
		return runnerv1alpha1.SeriesFigures{Samples: 1, Mean: mean, Max: mean}
	}
	return runnerv1alpha1.SeriesResult{Figures: f(run), Stages: []runnerv1alpha1.SeriesFigures{f(stage)}}
}

// TestObserved: the series for which the mean is worst decides. Without samples there is nothing to decide.
func TestObserved(t *testing.T) {
	gap := []runnerv1alpha1.ObservationGap{{Cause: "connection refused"}}
	for name, tc := range map[string]struct {
		observed runnerv1alpha1.ObservationResult
		max, min string
		perUnit  bool
		stage    string
		outcome  runnerv1alpha1.Outcome
		message  string
	}{
		"passed":              {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(3, 9), means(4, 9)}}, max: "4", outcome: runnerv1alpha1.OutcomePassed},
		"failed":              {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(4.5, 1), means(4, 1)}}, max: "4", outcome: runnerv1alpha1.OutcomeFailed, message: "few-cores: mean of cpu 4.5 > 4"},
		"failed in a stage":   {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(1, 7)}}, max: "4", stage: "hold", outcome: runnerv1alpha1.OutcomeFailed, message: "few-cores: mean of cpu in stage hold 7 > 4"},
		"below the minimum":   {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(9, 1), means(3, 1)}}, min: "4", outcome: runnerv1alpha1.OutcomeFailed, message: "few-cores: mean of cpu 3 < 4"},
		"per unit":            {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(1, 9), means(2.9, 9)}}, min: "25", perUnit: true, outcome: runnerv1alpha1.OutcomePassed},
		"too few per unit":    {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(1, 9), means(4, 9), {}}}, min: "25", perUnit: true, outcome: runnerv1alpha1.OutcomeFailed, message: "few-cores: succeeded requests per second and unit of cpu 19.98 < 25"},
		"per unit in a stage": {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(1, 2)}}, min: "25", perUnit: true, stage: "hold", outcome: runnerv1alpha1.OutcomeFailed, message: "few-cores: succeeded requests per second and unit of cpu in stage hold 7.5 < 25"},
		"no units":            {observed: runnerv1alpha1.ObservationResult{Series: []runnerv1alpha1.SeriesResult{means(0, 0)}}, min: "25", perUnit: true, outcome: runnerv1alpha1.OutcomeInconclusive, message: "was not measured"},
		"no samples":          {observed: runnerv1alpha1.ObservationResult{Series: make([]runnerv1alpha1.SeriesResult, 1), Gaps: gap}, max: "4", outcome: runnerv1alpha1.OutcomeInconclusive, message: "few-cores: mean of cpu was not measured, limit <= 4 (connection refused)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			tc.observed.Name = "cpu"
			r.report.Observations = []runnerv1alpha1.ObservationResult{{Name: "other"}, tc.observed}
			r.plan.Thresholds = append(r.plan.Thresholds, runnerv1alpha1.Threshold{Name: "few-cores", Metric: runnerv1alpha1.MetricObserved, Observation: "cpu",
				PerUnit: tc.perUnit, Max: tc.max, Min: tc.min, Of: runnerv1alpha1.Selector{Stage: tc.stage}})
			r.report.Selections = []runnerv1alpha1.SelectionResult{{SelectionCounters: runnerv1alpha1.SelectionCounters{SelectionCounts: runnerv1alpha1.SelectionCounts{Sent: 150, Done: 150, Succeeded: 150}}, WindowSeconds: 10}}
			v, err := Judge(&r.plan, &r.report, r.facts)
			if err != nil || v.Outcome != tc.outcome || !strings.Contains(v.Message, tc.message) {
				t.Errorf("got %+v, %v; want %s, %q", v, err, tc.outcome, tc.message)
			}
			if tc.outcome == runnerv1alpha1.OutcomeInconclusive && v.Reason != ReasonNotObserved {
				t.Errorf("reason %s", v.Reason)
			}
		})
	}
}

// TestObservedInWindows: the worst window counts, and abortOnFail ends the test in it. What was read in another stage, or
// while the load was suspended, is in no window.
func TestObservedInWindows(t *testing.T) {
	const start = int64(1000 * time.Hour)
	plan := good().plan
	plan.Rates = []runnerv1alpha1.Rate{{Name: "warm", WarmUp: true, Count: 1, Period: time.Second}, {Name: "hold", Count: 1, Period: time.Second}}
	plan.Observe = []runnerv1alpha1.Observation{{Name: "cpu"}}
	plan.Thresholds = []runnerv1alpha1.Threshold{
		{Name: "window", Metric: runnerv1alpha1.MetricObserved, Observation: "cpu", Max: "4", Window: 2 * time.Second, AbortOnFail: true},
		{Name: "run", Metric: runnerv1alpha1.MetricObserved, Observation: "cpu", Max: "4"},
	}
	l := NewLive(&plan, 1)
	values := []float64{9, 9, 9, 1, 99, 1, 5, 7, 1}
	samples := samplesOf(values...)
	samples[4].Suspended = true
	var aborted []int
	for second := range values {
		clock := start + int64(second)*int64(time.Second)
		s := &runnerv1alpha1.Snapshot{Boot: "b", Sequence: uint64(second + 1), State: runnerv1alpha1.StateRunning, StartAt: start, StartedAt: start + 1, Clock: clock,
			Stages:       []runnerv1alpha1.StageCounters{{}, {}},
			Observations: []runnerv1alpha1.ObservationSamples{{Series: []runnerv1alpha1.SeriesSamples{{Points: samples[:second+1]}}}}}
		if second >= 2 {
			s.Stages = []runnerv1alpha1.StageCounters{{Ended: 2 * int64(time.Second)}, {Begun: 2 * int64(time.Second)}}
		}
		if err := l.Add(s); err != nil {
			t.Fatal(err)
		}
		if _, _, abort := l.Abort(); abort {
			aborted = append(aborted, second)
		}
	}
	got := l.Results()
	if got[0].Observed != "6" || got[0].Passed || got[1].Observed != "3" || !got[1].Passed {
		t.Errorf("results %+v", got)
	}
	if want := []int{7, 8}; !slices.Equal(aborted, want) {
		t.Errorf("aborts in seconds %v, want %v", aborted, want)
	}
}

package build

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestFiguresOfStages: two shards, three measured stages. The percentiles are those of the merged distributions, requests without a
// response are longer than all of them, and the counts add up to those of the run.
func TestFiguresOfStages(t *testing.T) {
	plan := stagedPlan()
	a, b := newRecorder(plan, 0), newRecorder(plan, 1)
	for range 98 {
		a.requestIn(1, 0, "succeeded", 1000)
	}
	b.requestIn(1, 0, "succeeded", 9000)
	b.requestIn(1, 0, "failed", 8000)
	for range 6 {
		b.requestIn(2, 2, "succeeded", 500)
	}
	for _, outcome := range []string{"timedOut", "reset", "lost", "dropped"} {
		a.requestIn(2, 2, outcome, 0)
	}
	got := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{a.done(), b.done()}})
	if err := Check(got); err != nil {
		t.Error(err)
	}
	limit := runnerv1alpha1.Above(5_000_000)
	want := []*runnerv1alpha1.StageFigures{
		nil,
		{
			Done: 100, Succeeded: 99, FailedChecks: 1, ErrorRate: 0.01,
			ResponseTime: runnerv1alpha1.Times{Count: 100, Min: 1000, Mean: 1150, P50: 1000, P90: 1000, P95: 1000, P99: 8003, P999: 9000, Max: 9000},
		},
		{
			Done: 6, Succeeded: 6, TimedOut: 1, Reset: 1, ConnectionLost: 1, ErrorRate: 0.4,
			ResponseTime: runnerv1alpha1.Times{Count: 10, Unanswered: 4, Min: 500, Mean: 500, P50: 500, P90: limit, P95: limit, P99: limit, P999: limit, Max: limit},
		},
		{},
	}
	for i := range want {
		s := &got.Stages[i]
		if diff := cmp.Diff(want[i], s.Figures); diff != "" || s.NoFigures != "" {
			t.Errorf("stage %s: %q (-want +got):\n%s", s.Name, s.NoFigures, diff)
		}
	}
}

// TestOnlyStageHasFiguresOfRun: runners report nothing else for it.
func TestOnlyStageHasFiguresOfRun(t *testing.T) {
	plan := testPlan()
	r := newRecorder(plan, 0)
	for i := range 50 {
		r.request(0, outcomes[i%len(outcomes)], int64(1000+i))
	}
	s := r.done()
	if len(s.StageSelections) != 0 {
		t.Fatalf("%d selections", len(s.StageSelections))
	}
	got := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{s}})
	f := got.Stages[1].Figures
	if f == nil || f.ResponseTime != got.ResponseTime || f.ErrorRate != got.ErrorRate || f.InFlightAtEnd != got.Requests.InFlightAtEnd || f.Done != got.Requests.Done {
		t.Errorf("%+v, want %+v", f, got.Requests)
	}
}

// TestThresholdHasFiguresOfStage: the selection of a threshold is also that of its stage.
func TestThresholdHasFiguresOfStage(t *testing.T) {
	plan := stagedPlan()
	plan.Thresholds = []runnerv1alpha1.Threshold{{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Max: "1s", Of: runnerv1alpha1.Selector{Stage: "high"}}}
	r := newRecorder(stagedPlan(), 0)
	for i := range int64(30) {
		r.requestIn(1+int(i%3), 0, "succeeded", 100*(1+i%3))
	}
	s := r.done()
	s.Selections, s.StageSelections = s.StageSelections[1:2], []runnerv1alpha1.SelectionCounters{s.StageSelections[0], s.StageSelections[2]}
	got := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{s}})
	if err := Check(got); err != nil {
		t.Error(err)
	}
	if len(got.Selections) != 1 {
		t.Errorf("%d selections, want that of the threshold", len(got.Selections))
	}
	for i, want := range []int64{0, 100, 200, 300} {
		if f := got.Stages[i].Figures; i > 0 && (f == nil || f.Done != 10 || f.ResponseTime.P99 != want) {
			t.Errorf("stage %d: %+v", i, f)
		}
	}
}

// TestStagesWithoutFigures: the report says why a stage has no figures, or no times.
func TestStagesWithoutFigures(t *testing.T) {
	plan := stagedPlan()
	many := testPlan()
	for i := range runnerv1alpha1.MaxStageFigures {
		many.Rates = append(many.Rates, runnerv1alpha1.Rate{Name: fmt.Sprint("s", i), Count: 1, Period: time.Second, Duration: time.Second})
	}
	for name, tt := range map[string]struct {
		plan   *runnerv1alpha1.Plan
		change func(*runnerv1alpha1.Snapshot)
		stage  int
		counts bool
		want   string
	}{
		"complete":                   {plan: plan, change: func(*runnerv1alpha1.Snapshot) {}, stage: 1, counts: true},
		"a runner of an early build": {plan: plan, change: func(s *runnerv1alpha1.Snapshot) { s.StageSelections = nil }, stage: 1, want: "at least one runner did not report them"},
		"a stored snapshot": {
			plan: plan, change: func(s *runnerv1alpha1.Snapshot) { s.StageSelections[0].Time = runnerv1alpha1.Histogram{} }, stage: 1, counts: true,
			want: "did not report its response times",
		},
		"the last stage with figures": {plan: many, change: func(*runnerv1alpha1.Snapshot) {}, stage: 32, counts: true},
		"a stage above the bound":     {plan: many, change: func(*runnerv1alpha1.Snapshot) {}, stage: 33, want: "only the first 32 measured stages"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newRecorder(tt.plan, 0), newRecorder(tt.plan, 1)
			a.requestIn(tt.stage, 0, "succeeded", 5)
			b.requestIn(tt.stage, 0, "succeeded", 5)
			changed := cloneOf(t, b.done())
			tt.change(&changed)
			got := build(t, Input{Plan: tt.plan, Snapshots: []runnerv1alpha1.Snapshot{a.done(), changed}})
			if err := Check(got); err != nil {
				t.Error(err)
			}
			s := &got.Stages[tt.stage]
			if !strings.Contains(s.NoFigures, tt.want) || (s.NoFigures == "") != (tt.want == "") || (s.Figures != nil) != tt.counts {
				t.Errorf("%q, figures %+v", s.NoFigures, s.Figures)
			}
			if tt.counts && (s.Figures.Done != 2 || (s.Figures.ResponseTime.Count == 2) != (tt.want == "")) {
				t.Errorf("figures %+v", s.Figures)
			}
		})
	}
}

// TestCheckStageFigures: figures that do not add up are errors.
func TestCheckStageFigures(t *testing.T) {
	plan := stagedPlan()
	r := newRecorder(plan, 0)
	for i := range 30 {
		r.requestIn(1+i%3, 0, "succeeded", 100)
	}
	for name, tt := range map[string]struct {
		change func(*runnerv1alpha1.StageFigures)
		want   string
	}{
		"of a stage":    {func(f *runnerv1alpha1.StageFigures) { f.TimedOut++ }, "stage hold: sent is 10, want 11"},
		"of all stages": {func(f *runnerv1alpha1.StageFigures) { f.Done--; f.Succeeded--; f.Reset++ }, "done of all measured stages is 29, want 30"},
		"of its times":  {func(f *runnerv1alpha1.StageFigures) { f.ResponseTime.Count = 11 }, "stage hold: response times is 11"},
	} {
		got := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{r.done()}})
		tt.change(got.Stages[1].Figures)
		if err := Check(got); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

package render

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/search"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Results of a threshold.
const (
	passedWord      = "passed"
	failedWord      = "FAILED"
	notComparedWord = "not compared"
)

func resultWord(t *runnerv1alpha1.ThresholdResult) string {
	switch {
	case t.NotCompared() != "":
		return notComparedWord
	case t.Passed:
		return passedWord
	}
	return failedWord
}

// thresholdFigure names the baseline, too.
func thresholdFigure(t *runnerv1alpha1.ThresholdResult) string {
	if t.Baseline == nil {
		return t.Figure()
	}
	return t.Figure() + ", compared with " + t.Baseline.Name
}

func thresholdTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "thresholds", Topic: topicVerdict, Caption: "Thresholds", Left: 3, Zeros: true,
		Head: []string{"result", "threshold", "on", "observed", "limit"}}
	for i := range r.Verdict.Thresholds {
		h := &r.Verdict.Thresholds[i]
		t.Rows = append(t.Rows, tableRow{Bad: !h.Passed,
			Cells: []any{resultWord(h), h.Name, thresholdFigure(h), h.Observed, h.Limit}})
	}
	return t
}

// probeTable has a row for each probe of a search.
func probeTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "probes", Topic: topicRate, Left: 4,
		Head: []string{"probe", "asked", "outcome", "reason", "achieved", "p50", "p99", "dropped", "errors"}}
	if r.Search == nil {
		return t
	}
	t.Caption = "Probes of the search, in requests per second"
	if r.Search.Concurrency {
		t.Caption = "Probes of the search, in requests in flight"
	}
	for i := range r.Search.Probes {
		p := &r.Search.Probes[i]
		t.Rows = append(t.Rows, tableRow{Bad: p.Outcome != runnerv1alpha1.ProbeHeld, Cells: append([]any{
			fmt.Sprint(i + 1), fmt.Sprint(p.Load), string(p.Outcome), search.Reason(p), rateCell(p.Achieved),
		}, append(measuredTimes(&p.ResponseTime, p50, p99), p.Dropped,
			errorRate(float64(p.ErrorRate), p.Sent+p.Dropped))...)})
	}
	return t
}

// requestTable has the counts of the run. The page has them in its key figures and in its plot of errors.
func requestTable(r *runnerv1alpha1.Report) *table {
	q := &r.Requests
	t := &table{ID: "requests", Caption: "Requests", Left: 1, Head: []string{"", "requests"}}
	t.count(q.Sent, "sent")
	t.count(q.Succeeded, "succeeded")
	for _, k := range errorKinds(r) {
		t.count(k.Count, k.Name+": "+k.Meaning)
	}
	t.count(q.InFlightAtEnd, "in flight at the end")
	t.add("error rate: 1 - succeeded / (sent + dropped)", errorRate(float64(r.ErrorRate), q.Sent+q.Dropped))
	t.count(q.Retried, "retried: given back by the peer and sent again")
	t.count(q.Abandoned, "abandoned: timed out, and the stream is left open")
	events := build.TotalEvents(r)
	for _, n := range events.Counts() {
		t.count(*n.N, build.StepEvents[n.Name].Text)
	}
	t.count(r.WarmUp.Sent, "warm-up: not in any other figure")
	return t
}

// stageTable has a row for each stage, and their sum if several are measured.
func stageTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "stages", Topic: topicRate, Caption: "Rate stages, in requests per second", Left: 1,
		Head: []string{"stage", "asked", "achieved", "sent", "dropped"}}
	var measured int
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Probe > 0 {
			continue // it has a row of the search
		}
		if !s.WarmUp {
			measured++
		}
		t.Rows = append(t.Rows, tableRow{Cells: []any{stageName(s), stageAsked(s), rateCell(s.Achieved), s.Sent,
			s.Dropped}, Bad: s.Dropped > 0})
		t.addChains(s.AskedChains, s.AchievedChains)
	}
	if measured != 1 {
		t.add("measured, "+lasting(r.Rate.WindowSeconds), asked(r.Rate.Asked, r.Rate.AskedChains),
			rateCell(r.Rate.Achieved), r.Requests.Sent, r.Requests.Dropped)
		t.addChains(r.Rate.AskedChains, r.Rate.AchievedChains)
	}
	return t
}

// stageOf names a stage, with the chain whose own stage it is.
func stageOf(s *runnerv1alpha1.StageResult) string {
	if s.Chain != "" {
		return s.Name + " of " + s.Chain
	}
	return s.Name
}

func stageName(s *runnerv1alpha1.StageResult) string {
	name := stageOf(s)
	if s.WarmUp {
		name += " (warm-up)"
	}
	if s.Paused > 0 {
		name += ", paused for " + lasting(s.Paused)
	}
	return name
}

// stageAsked formats the desired rate of a stage.
func stageAsked(s *runnerv1alpha1.StageResult) any {
	if s.Pause {
		return "0"
	}
	return asked(s.Asked, s.AskedChains)
}

// addChains adds the rates of a row with chainsPerSecond, in chain instances.
func (t *table) addChains(asked, achieved float64) {
	if asked > 0 {
		t.add("chain instances", rateCell(asked), rateCell(achieved), "", "")
	}
}

func chainTable(r *runnerv1alpha1.Report) *table {
	c := &r.Chains
	t := &table{ID: "chains", Topic: topicSteps, Caption: "Chain instances", Left: 1, Head: []string{"", "instances"},
		Detail: true}
	t.count(c.Started, "started")
	t.count(c.Completed, "completed")
	t.count(c.Unfinished, "unfinished")
	if len(c.AbortedBy) != 1 {
		t.count(c.Aborted, "aborted")
	}
	for _, by := range build.MostFrequent(c.AbortedBy, len(c.AbortedBy)) {
		t.count(by.Count, "aborted by "+printable(by.Name))
	}
	if c.AlwaysSent+c.AlwaysSkipped > 0 {
		t.count(c.AlwaysSent, "always steps sent")
		t.count(c.AlwaysSkipped, "always steps skipped")
	}
	return t
}

package build

import (
	"fmt"
	"iter"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// selectionsOf returns the selections of a plan: those of its thresholds, and from an index on those of its stages.
func selectionsOf(plan *runnerv1alpha1.Plan) (all []runnerv1alpha1.Selection, forThresholds int) {
	selections, _ := plan.Selections()
	ofStages, _ := plan.StageSelections()
	return append(selections, ofStages...), len(selections)
}

// selectionsIn returns the counters of the selections in a snapshot, with their index in selectionsOf. A snapshot can
// lack those of thresholds, of stages, or both.
func selectionsIn(s *runnerv1alpha1.Snapshot, forThresholds int) iter.Seq2[int, *runnerv1alpha1.SelectionCounters] {
	return func(yield func(int, *runnerv1alpha1.SelectionCounters) bool) {
		for i := range s.Selections {
			if !yield(i, &s.Selections[i]) {
				return
			}
		}
		for i := range s.StageSelections {
			if !yield(forThresholds+i, &s.StageSelections[i]) {
				return
			}
		}
	}
}

// setFigures sets the figures of the measured stages. The report has its requests, its response time and its stages.
func (s *sum) setFigures(plan *runnerv1alpha1.Plan, r *runnerv1alpha1.Report) {
	if plan.Search != nil {
		return
	}
	_, of := plan.StageSelections()
	for i := range r.Stages {
		stage := &r.Stages[i]
		switch k := of[i]; {
		case stage.WarmUp:
		case k == runnerv1alpha1.FiguresOfRun:
			setFigures(stage, &r.Requests, r.ResponseTime, s.times.responseTime.Count() == r.Requests.Done)
		case k == runnerv1alpha1.FiguresNone:
			stage.NoFigures = fmt.Sprintf("only the first %d measured stages have figures of their own",
				runnerv1alpha1.MaxStageFigures)
		default:
			h, requests := &s.times.selections[k], requestsOf(&s.selected(k).SelectionCounts)
			setFigures(stage, &requests, h.Times(), h.Count() == requests.Done)
		}
	}
}

// setFigures sets the figures of a stage, if they are of all its requests. Whole is true if the times are those of
// all responses.
func setFigures(stage *runnerv1alpha1.StageResult, q *runnerv1alpha1.Requests, times runnerv1alpha1.Times, whole bool) {
	if q.Sent != stage.Sent || q.Dropped != stage.Dropped {
		stage.NoFigures = "at least one runner did not report them"
		return
	}
	all := q.Sent + q.Dropped
	stage.Figures = &runnerv1alpha1.StageFigures{
		Done: q.Done, Succeeded: q.Succeeded, FailedChecks: q.FailedChecks, TimedOut: q.TimedOut, Reset: q.Reset,
		ConnectionLost: q.ConnectionLost, InFlightAtEnd: q.InFlightAtEnd,
		ErrorRate: runnerv1alpha1.ErrorRate(ratio(all-q.Succeeded, all)),
	}
	if whole {
		stage.Figures.ResponseTime = times
	} else {
		stage.NoFigures = "at least one runner did not report its response times"
	}
}

package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// Of computes the status from what a pass has found. Of the old status it keeps the transition times of conditions
// that stay, and the start time, which is a record of what was.
func Of(f *run.Facts) *v1alpha1.LoadTestStatus {
	lt := *f.LoadTest
	lt.Status = *f.LoadTest.Status.DeepCopy()
	st := &lt.Status
	st.ObservedGeneration, st.Selector = lt.Generation, labels.Set(desired.RunnerLabels(&lt)).String()
	if f.Record.End == nil && st.CompletionTime != nil { // the report was deleted: what status says is all that is left
		is := current(st, v1alpha1.ConditionFinished)
		is.message = withNotes(&lt, f.Edited, is.message)
		is.set(st, v1alpha1.ConditionFinished, st.ObservedGeneration, f.Now)
		reconciling(f, cell{}).set(st, v1alpha1.ConditionReconciling, st.ObservedGeneration, f.Now)
		return st
	}
	if f.Record.End != nil {
		endedStatus(f.Record.End, st)
	} else {
		liveStatus(f, st)
	}
	st.Changes = changesShown(f.Record.Edits)
	s := situationOf(f, st)
	if s.finished.status == yes {
		s.finished.message = withNotes(&lt, f.Edited, s.finished.message)
	} else {
		s.finished.message = s.explanation()
	}
	for _, column := range []struct {
		kind string
		cell
	}{
		{v1alpha1.ConditionPlanReady, s.planReady}, {v1alpha1.ConditionRunnersReady, s.runnersReady},
		{v1alpha1.ConditionFinished, s.finished},
		{v1alpha1.ConditionSucceeded, s.succeeded}, {v1alpha1.ConditionPassed, s.passed}, {v1alpha1.ConditionReconciling,
			s.reconciling},
		// of controllers/upload, as report.url
		{v1alpha1.ConditionStalled, s.stalled}, {v1alpha1.ConditionReportStored, current(st, v1alpha1.ConditionReportStored)},
	} {
		column.set(st, column.kind, st.ObservedGeneration, f.Now)
	}
	st.Phase = s.phase
	return st
}

// Failing returns the status of a LoadTest that cannot be handled, because what it owns cannot be read. All else in
// its status stays.
func Failing(lt *v1alpha1.LoadTest, message string, now time.Time) *v1alpha1.LoadTestStatus {
	st := lt.Status.DeepCopy()
	if len(st.Conditions) == 0 {
		st = Brief(Of(&run.Facts{Now: now, LoadTest: lt, Record: &record.Record{State: record.Pending},
			View: &shards.View{}}))
	}
	cell{yes, v1alpha1.ReasonRetryingAfterError, message}.set(st, v1alpha1.ConditionReconciling, lt.Generation, now)
	return st
}

// asStored returns a time as the API server stores it, in seconds: any other differs from what is stored in each
// pass. Nil stays nil.
func asStored(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

func endedStatus(e *record.End, st *v1alpha1.LoadTestStatus) {
	st.CompletionTime, st.StartTime = asStored(&e.Time), asStored(e.StartTime)
	st.Shards, st.PlanHash, st.StartedGeneration = &e.Shards, e.PlanHash, e.StartedGeneration
	st.Results, st.Verdict, st.Runners, st.Protocols = e.Results, e.Verdict, e.Runners, e.Protocols
	st.Generator = generatorOf(st.Runners)
	st.StartSkewMicroseconds, st.Report, st.Search, st.Thresholds = e.Skew, reportOf(e, st.Report), e.Search, nil
	st.Summary = e.Summary.DeepCopy()
	if st.Summary == nil {
		st.Summary = &v1alpha1.Summary{Shards: fmt.Sprintf("%d/%d", e.Shards.Ready, e.Shards.Desired)}
	}
}

// reportOf returns where the report is. Its URL is that of the status, which controllers/upload writes.
func reportOf(e *record.End, shown *v1alpha1.ReportStatus) *v1alpha1.ReportStatus {
	if e.Report == nil || shown == nil {
		return e.Report
	}
	out := *e.Report
	out.URL = shown.URL
	return &out
}

func liveStatus(f *run.Facts, st *v1alpha1.LoadTestStatus) {
	st.PlanHash, st.StartedGeneration, st.Search = f.PlanHash, f.StartedGeneration(), searchStatus(f, false)
	if f.StartDecided() {
		st.StartTime = asStored(&metav1.Time{Time: f.Record.Start.Time.Time})
	}
	if f.TakenOver() && st.Shards != nil {
		return // figures of a part of the runners would be a step back
	}
	st.Runners, st.Protocols = runners(f.Record, f.View), protocols(f.Plan, f.View)
	st.Shards = new(counts(f, st.Runners))
	st.Summary, st.Generator = summary(st.Shards, f.View, f.Report), generatorOf(st.Runners)
	st.Results, st.StartSkewMicroseconds = nil, nil
	if f.StartDecided() && f.Report != nil {
		st.Results, st.StartSkewMicroseconds = results(f), skew(f.View, f.Report)
		if f.Plan.Search == nil { // the thresholds of a search are those of its probes
			st.Thresholds = thresholds(f.View.Thresholds)
		}
	}
	if before := f.LoadTest.Status.Results; before != nil && st.Results != nil &&
		st.Results.Requests.Sent < before.Requests.Sent {
		// A runner was lost with the former operator, and its stored counts are older than those shown: they do not
		// go back.
		st.Results = before.DeepCopy()
	}
}

package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// Of computes the status from what a pass has found. Of the old status it keeps the transition times of conditions that stay, and the start time, which
// is a record of what was.
func Of(f *run.Facts) *v1alpha1.LoadTestStatus {
	st := f.LoadTest.Status.DeepCopy()
	st.ObservedGeneration = f.LoadTest.Generation
	c := conditionsOf(st, f.LoadTest.Generation, f.Now)
	if f.Record.End == nil && st.CompletionTime != nil {
		c.markFinished(f)
		return st // the report was deleted: what status says is all that is left
	}
	if f.Record.End != nil {
		endedStatus(f, st)
	} else {
		liveStatus(f, st)
	}
	st.Changes = changesShown(f.Record.Edits)
	if st.Phase != v1alpha1.PhaseSuspended || !f.TakenOver() {
		st.Phase = phaseOf(f)
	}
	for _, set := range []func(*run.Facts, *conditions){
		planReady, runnersReady, finished, succeeded, passed, reconciling, stalled,
	} {
		set(f, c)
	}
	c.keep(v1alpha1.ConditionReportStored) // of controllers/upload, as reportURL
	if st.Summary == nil {
		st.Summary = &v1alpha1.Summary{}
	}
	st.Summary.Reason, st.Summary.Message = summaryOf(st)
	return st
}

// Failing returns the status of a LoadTest that cannot be handled, because what it owns cannot be read. All else in its status stays.
func Failing(lt *v1alpha1.LoadTest, message string, now time.Time) *v1alpha1.LoadTestStatus {
	st := lt.Status.DeepCopy()
	if len(st.Conditions) == 0 {
		st = Brief(Of(&run.Facts{Now: now, LoadTest: lt, Record: &record.Record{State: record.Pending}, View: &shards.View{}}))
	}
	conditionsOf(st, lt.Generation, now).set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRetryingAfterError, message)
	if st.Summary != nil {
		st.Summary.Reason, st.Summary.Message = v1alpha1.ReasonRetryingAfterError, shorten.To(message, maxSummary)
	}
	return st
}

// asStored returns a time as the API server stores it, in seconds: any other differs from what is stored in each pass. Nil stays nil.
func asStored(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

func endedStatus(f *run.Facts, st *v1alpha1.LoadTestStatus) {
	e := f.Record.End
	st.CompletionTime, st.StartTime = asStored(&e.Time), asStored(e.StartTime)
	st.Shards, st.PlanHash, st.StartedGeneration = &e.Shards, e.PlanHash, e.StartedGeneration
	st.Results, st.Verdict, st.Runners, st.Protocols = e.Results, e.Verdict, e.Runners, e.Protocols
	st.Generator = generatorOf(st.Runners)
	st.StartSkewMicroseconds, st.ReportRef, st.Search, st.Thresholds = e.Skew, e.ReportRef, e.Search, nil
	st.Summary = e.Summary.DeepCopy()
	if st.Summary == nil {
		st.Summary = &v1alpha1.Summary{Shards: fmt.Sprintf("%d/%d", e.Shards.Ready, e.Shards.Desired)}
	}
}

func liveStatus(f *run.Facts, st *v1alpha1.LoadTestStatus) {
	st.PlanHash, st.StartedGeneration, st.Search = f.PlanHash, f.StartedGeneration(), searchStatus(f, false)
	if f.StartDecided() {
		st.StartTime = asStored(&metav1.Time{Time: f.Record.Start.Time.Time})
	}
	if f.TakenOver() && st.Shards != nil {
		return // figures of a part of the runners would be a step back
	}
	counts := counts(f)
	st.Shards, st.Summary, st.Runners, st.Protocols = &counts, summary(f), runners(f), protocols(f)
	st.Results, st.StartSkewMicroseconds, st.Generator = nil, nil, generatorOf(st.Runners)
	if f.StartDecided() && f.Report != nil {
		st.Results, st.StartSkewMicroseconds, st.Thresholds = results(f), skew(f), thresholds(f)
	}
	if before := f.LoadTest.Status.Results; before != nil && st.Results != nil && st.Results.Requests.Sent < before.Requests.Sent {
		// A runner was lost with the former operator, and its stored counts are older than those shown: they do not go back.
		st.Results = before.DeepCopy()
	}
}

// phaseOf returns status.phase, which is for users. The operator decides nothing by it.
func phaseOf(f *run.Facts) v1alpha1.Phase {
	switch {
	case f.Record.End != nil && f.Record.End.Reason == v1alpha1.ReasonCompleted:
		return v1alpha1.PhaseCompleted
	case f.Record.End != nil && f.Record.End.Verdict.Outcome == string(runnerv1alpha1.OutcomeStopped):
		return v1alpha1.PhaseStopped
	case f.Record.End != nil:
		return v1alpha1.PhaseFailed
	case f.StartDecided() && !run.Loading(f):
		return v1alpha1.PhaseFinishing
	case f.StartDecided() && run.Paused(f):
		return v1alpha1.PhaseSuspended
	case f.StartDecided():
		return v1alpha1.PhaseRunning
	case f.Invalid():
		return v1alpha1.PhaseInvalid
	case f.Held():
		return v1alpha1.PhaseSuspended
	case f.Job != nil:
		return v1alpha1.PhaseStarting
	}
	return v1alpha1.PhasePending
}

// maxSummary bounds the message of a summary in octets.
const maxSummary = 1024

// summaryOf returns why a test is in its phase, for kubectl get: the first condition that explains it.
func summaryOf(st *v1alpha1.LoadTestStatus) (reason, message string) {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(st.Conditions, kind) }
	c := find(v1alpha1.ConditionFinished)
	switch {
	case st.Phase == v1alpha1.PhaseCompleted:
		c = find(v1alpha1.ConditionPassed)
	case st.CompletionTime != nil:
	case find(v1alpha1.ConditionPlanReady).Status != metav1.ConditionTrue:
		c = find(v1alpha1.ConditionPlanReady)
	case c.Reason == v1alpha1.ReasonWriteRefused:
	case find(v1alpha1.ConditionRunnersReady).Status != metav1.ConditionTrue:
		c = find(v1alpha1.ConditionRunnersReady)
	case find(v1alpha1.ConditionReconciling) != nil:
		c = find(v1alpha1.ConditionReconciling)
	}
	return c.Reason, shorten.To(c.Message, maxSummary)
}

package decide

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/load/usl"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/report/baseline"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/internal/version"
)

// Report returns the report of a test that is over, with its verdict; nil: it is not over, or counts of a runner are
// not stored.
func Report(f *run.Facts) (*runnerv1alpha1.Report, error) {
	if f.Report == nil || !f.View.Over() || !recordsStored(f) {
		return nil, nil
	}
	policyHash, err := plan.PolicyHash(f.Plan)
	if err != nil {
		return nil, err
	}
	report := *f.Report
	report.Search, report.PolicyHash, report.LoadChanged = Searched(f), policyHash, f.Record.RatesChanged(f.Plan)
	facts := verdictFacts(f)
	if report.LoadHash, err = plan.LoadHash(f.Plan); err != nil {
		return nil, err
	}
	if facts.Compared, err = baseline.Compare(f.Plan, &report, f.Baselines); err != nil {
		return nil, err
	}
	if report.Verdict, err = verdict.Judge(f.Plan, &report, facts); err != nil {
		return nil, fmt.Errorf("computing the verdict: %w", err)
	}
	report.Scalability = usl.Of(f.Plan, &report)
	return &report, nil
}

// EmptyReport returns the report of a run that never starts.
func EmptyReport(f *run.Facts, why *run.Blocker) (*runnerv1alpha1.Report, error) {
	outcome := runnerv1alpha1.OutcomeError
	if why.Reason == v1alpha1.ReasonStopped {
		outcome = runnerv1alpha1.OutcomeStopped
	}
	report, err := build.Build(build.Input{Plan: f.Plan, PlanHash: f.PlanHash, Version: version.Get().Version})
	if err != nil {
		return nil, fmt.Errorf("building an empty report: %w", err)
	}
	report.Verdict = runnerv1alpha1.Verdict{Outcome: outcome, Reason: why.Reason, Message: why.Message}
	return report, nil
}

// recordsStored returns whether the counts of each runner that ended before the test are stored, and the report has
// them.
func recordsStored(f *run.Facts) bool {
	for i := range f.View.Shards {
		sh := &f.View.Shards[i]
		if (sh.Lost != nil || sh.Left) && (!sh.Stored || !f.IsRecorded(i, sh.Pod.UID)) {
			return false
		}
	}
	return true
}

// verdictFacts returns the facts for the verdict. A deadline that the operator enforced looks like a stop to the
// runners. A loss is tolerated unless it ended the run, or no runner remained.
func verdictFacts(f *run.Facts) verdict.Facts {
	facts := verdict.FactsOf(f.View.Snapshots(f.ToleratesLoss()))
	if f.Report.Stopped == stopByDeadline && facts.Problem == "" {
		facts = verdict.Facts{Problem: runnerv1alpha1.ProblemDeadline, Message: "activeDeadlineSeconds passed"}
		if d := f.LoadTest.Spec.ActiveDeadlineSeconds; d != nil { // a user can remove it meanwhile
			facts.Message = fmt.Sprintf("activeDeadlineSeconds (%d) passed", *d)
		}
	}
	facts.EndedByLoss = f.Report.Stopped == stopByTooFew || f.Report.Stopped == stopByLoss
	facts.LossTolerated = f.ToleratesLoss() && !facts.EndedByLoss && f.Remaining() > 0
	setThresholds(f, &facts)
	return facts
}

// setThresholds sets what the verdict needs of thresholds that were compared while the test ran. The worst window
// counts, or a stored failure that this operator did not know when it compared the windows.
func setThresholds(f *run.Facts, facts *verdict.Facts) {
	facts.Seen = f.Record.Failed()
	for name, o := range f.View.Seen {
		if _, stored := facts.Seen[name]; !stored || !o.Passed {
			facts.Seen[name] = o
		}
	}
	for i := range f.Record.Thresholds {
		if t := &f.Record.Thresholds[i]; t.Abort {
			facts.Aborted = t.Name
			facts.Seen[t.Name] = t.Observation()
		}
	}
}

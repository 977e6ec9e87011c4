package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

func compactVerdict(v *runnerv1alpha1.Verdict) *v1alpha1.Verdict {
	return &v1alpha1.Verdict{Outcome: string(v.Outcome), Reason: v.Reason, Message: shorten.To(v.Message, run.MaxMessage),
		Thresholds: thresholds(v.Thresholds)}
}

// completed: the verdict is about numbers of a run that was executed as planned, if perhaps without
// the last part of a runner whose loss onShardLost tolerates.
func completed(v *runnerv1alpha1.Verdict) bool {
	switch v.Outcome {
	case runnerv1alpha1.OutcomePassed, runnerv1alpha1.OutcomeFailed, runnerv1alpha1.OutcomeInconclusive:
		return true
	}
	return false
}

// End says how the run ends, all but where the report lies.
func End(f *run.Facts, v *runnerv1alpha1.Verdict) *record.End {
	runners := runners(f.Record, f.View)
	end := &record.End{
		Reason: v.Reason, Message: shorten.To(v.Message, run.MaxMessage), Time: metav1.NewTime(f.Now),
		Started: f.StartDecided(), StartedGeneration: f.StartedGeneration(),
		PlanHash: f.PlanHash, Warnings: f.Warnings, Shards: counts(f, runners),
		Runners: runners, Protocols: protocols(f.Plan, f.View), Verdict: compactVerdict(v),
	}
	aborted := slices.ContainsFunc(f.Record.Thresholds, func(t record.Threshold) bool { return t.Abort })
	if completed(v) && !aborted {
		end.Reason = v1alpha1.ReasonCompleted
	}
	if end.Shards.Lost > 0 {
		end.Message = shorten.To(end.Message+": "+lostMessage(end.Runners), run.MaxMessage)
	}
	if end.Started {
		start := metav1.NewTime(f.Record.Start.Time.Time)
		end.StartTime, end.Unplanned = &start, f.Record.Start.Unplanned
		end.Results, end.Summary, end.Skew, end.Search = results(f), summary(&end.Shards, f.View, f.Report),
			skew(f.View, f.Report), searchStatus(f, true)
	} else {
		end.UnstartedGeneration, end.Unplanned = f.LoadTest.Generation, run.Unplanned(&f.LoadTest.Spec)
	}
	return end
}

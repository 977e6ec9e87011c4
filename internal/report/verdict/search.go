package verdict

import runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"

// searched returns the verdict of a search that has a result. A search without one ended early, so the other checks
// say why.
func searched(in *input) *runnerv1alpha1.Verdict {
	s := in.report.Search
	if s == nil {
		return nil
	}
	switch s.Outcome {
	case runnerv1alpha1.SearchFound:
		return verdict(runnerv1alpha1.OutcomePassed, ReasonSearchFound, "%s", s.Message)
	case runnerv1alpha1.SearchMaximumHeld:
		return verdict(runnerv1alpha1.OutcomePassed, ReasonSearchMaximumHeld, "%s", s.Message)
	case runnerv1alpha1.SearchNotFound:
		return verdict(runnerv1alpha1.OutcomeFailed, ReasonSearchNotFound, "%s", s.Message)
	case runnerv1alpha1.SearchGeneratorBound:
		return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonGeneratorBound, "%s", s.Message)
	case runnerv1alpha1.SearchMoved:
		return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonSearchMoved, "%s", s.Message)
	}
	if v := stopped(in); v != nil {
		return v
	}
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonSearchIncomplete, "%s", s.Message)
}

// ofSearch returns the results of the thresholds. With a search, these are the results of the last probe at the
// highest load that passed, because the figures of the run are a mix of all loads. Without a search, or if no probe
// passed, they are the results of the run.
func (in *input) ofSearch(all []comparison) []comparison {
	if in.report.Search == nil {
		return all
	}
	out := all
	for _, p := range in.report.Search.Probes {
		if p.Outcome != runnerv1alpha1.ProbeHeld || p.Load != in.report.Search.Highest ||
			len(p.Thresholds) != len(all) {
			continue
		}
		out = make([]comparison, len(all))
		for i := range all {
			out[i] = all[i]
			out[i].result = p.Thresholds[i]
		}
	}
	return out
}

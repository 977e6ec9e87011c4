package shards

import (
	"fmt"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// maxText bounds a text of a snapshot in octets.
	maxText = 16 << 10
	// maxEntries bounds a list or map of a snapshot whose length does not follow from the plan. Runners keep at most some
	// hundred.
	maxEntries = 1024
	// maxCause bounds in octets what a snapshot counts by: causes, problems, details and addresses of failures. Those of a
	// runner have at most runnerv1alpha1.MaxCauseLength, MaxFailureDetail, or the length of an address.
	maxCause = 512
)

// oversized returns what a snapshot has more of than any runner sends. The operator keeps the last snapshot of each
// runner, so the bounds limit the memory for a hostile one. Merge.Add checks the lists that follow from the plan.
func oversized(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) error {
	for _, f := range [...]struct {
		name     string
		n, limit int
	}{
		{"version", len(s.Version), maxText}, {"boot", len(s.Boot), maxText}, {"message", len(s.Message), maxText},
		{"stopped", len(s.Stopped), maxText}, {"teardownFailure", len(s.TeardownFailure), maxText},
		{"samples", len(s.Samples), maxEntries}, {"slowest", len(s.Slowest), maxEntries}, {"causes", len(s.Causes),
			runnerv1alpha1.MaxCauses + 1},
		{"failures", len(s.Failures), 2 * runnerv1alpha1.MaxFailures}, {"causes[]", longestCause(s), maxCause},
		{"streams", len(s.Streams), maxEntries}, {"statusCodes", len(s.StatusCodes), maxEntries},
		{"generator.cpus", len(s.Generator.CPUs), maxEntries}, {"globals", len(s.Globals), len(plan.Globals)},
		{"authorizations", len(s.Authorizations), len(plan.Targets)}, {"protocols", len(s.Protocols), len(plan.Targets)},
		{"protocols[]", mostProtocols(s), maxEntries}, {"authorizations[].lastFailure", longestFailure(s), maxText},
	} {
		if f.n > f.limit {
			return fmt.Errorf("the snapshot's %s has a length of %d; allowed: at most %d", f.name, f.n, f.limit)
		}
	}
	if err := oversizedObservations(s.Observations); err != nil {
		return err
	}
	for i := range s.Steps {
		if n := max(len(s.Steps[i].StatusCodes), len(s.Steps[i].Problems)); n > maxEntries {
			return fmt.Errorf("the snapshot's step %d has %d status codes or problems; allowed: at most %d", i, n, maxEntries)
		}
		for problem := range s.Steps[i].Problems {
			if len(problem) > maxCause {
				return fmt.Errorf("the snapshot's step %d has a problem of %d octets; allowed: at most %d", i, len(problem),
					maxCause)
			}
		}
	}
	return nil
}

// oversizedObservations returns what is too much, or has values that no runner sends.
func oversizedObservations(all []runnerv1alpha1.ObservationSamples) error {
	for i := range all {
		o := &all[i]
		if len(o.Series) > runnerv1alpha1.MaxSeries+1 || len(o.Gaps) > runnerv1alpha1.MaxGaps {
			return fmt.Errorf("the snapshot's observation %d has %d series and %d gaps", i, len(o.Series), len(o.Gaps))
		}
		for k := range o.Series {
			s := &o.Series[k]
			if len(s.Label) > runnerv1alpha1.MaxSeriesLabel || len(s.Points) > runnerv1alpha1.PointsOf(1) {
				return fmt.Errorf("the snapshot's observation %d has a series with a label of %d octets and %d points", i,
					len(s.Label), len(s.Points))
			}
			if slices.ContainsFunc(s.Points, func(p runnerv1alpha1.Point) bool { return p.Samples < 1 }) {
				return fmt.Errorf("the snapshot's observation %d has a point without samples", i)
			}
		}
		for _, g := range o.Gaps {
			if len(g.Cause) > maxCause {
				return fmt.Errorf("the snapshot's observation %d has a cause of %d octets", i, len(g.Cause))
			}
		}
	}
	return nil
}

func longestCause(s *runnerv1alpha1.Snapshot) (longest int) {
	for cause := range s.Causes {
		longest = max(longest, len(cause))
	}
	for i := range s.Failures {
		f := &s.Failures[i]
		longest = max(longest, len(f.Of), len(f.Cause), len(f.Detail), len(f.Address))
	}
	return longest
}

// mostProtocols returns the number of protocols of the target with the most, or their octets if one of them, or its
// URL, is longer.
func mostProtocols(s *runnerv1alpha1.Snapshot) (most int) {
	for _, found := range s.Protocols {
		most = max(most, len(found))
		for _, p := range found {
			most = max(most, len(p.Protocol), len(p.URL))
		}
	}
	return most
}

func longestFailure(s *runnerv1alpha1.Snapshot) (longest int) {
	longest = len(s.ExportFailure)
	for i := range s.Authorizations {
		longest = max(longest, len(s.Authorizations[i].Target), len(s.Authorizations[i].LastFailure))
	}
	return longest
}

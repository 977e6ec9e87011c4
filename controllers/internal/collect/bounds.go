package collect

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// maxText bounds a text of a snapshot in octets.
	maxText = 16 << 10
	// maxEntries bounds a list or map of a snapshot whose length does not follow from the plan. Runners keep at most some hundred.
	maxEntries = 1024
)

// oversized returns what a snapshot has more of than any runner sends. The operator keeps the last snapshot of each runner, so the
// bounds limit the memory for a hostile one. Merge.Add checks the lists that follow from the plan.
func oversized(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) error {
	for _, f := range [...]struct {
		name     string
		n, limit int
	}{
		{"version", len(s.Version), maxText}, {"boot", len(s.Boot), maxText}, {"message", len(s.Message), maxText},
		{"stopped", len(s.Stopped), maxText}, {"teardownFailure", len(s.TeardownFailure), maxText},
		{"samples", len(s.Samples), maxEntries}, {"slowest", len(s.Slowest), maxEntries}, {"causes", len(s.Causes), maxEntries},
		{"failures", len(s.Failures), maxEntries}, {"streams", len(s.Streams), maxEntries}, {"statusCodes", len(s.StatusCodes), maxEntries},
		{"generator.cpus", len(s.Generator.CPUs), maxEntries}, {"globals", len(s.Globals), len(plan.Globals)},
		{"authorizations", len(s.Authorizations), len(plan.Targets)}, {"authorizations[].lastFailure", longestFailure(s), maxText},
	} {
		if f.n > f.limit {
			return fmt.Errorf("the snapshot's %s has a length of %d; allowed: at most %d", f.name, f.n, f.limit)
		}
	}
	for i := range s.Steps {
		if n := max(len(s.Steps[i].StatusCodes), len(s.Steps[i].Problems)); n > maxEntries {
			return fmt.Errorf("the snapshot's step %d has %d status codes or problems; allowed: at most %d", i, n, maxEntries)
		}
	}
	return nil
}

func longestFailure(s *runnerv1alpha1.Snapshot) (longest int) {
	for i := range s.Authorizations {
		longest = max(longest, len(s.Authorizations[i].Target), len(s.Authorizations[i].LastFailure))
	}
	return longest
}

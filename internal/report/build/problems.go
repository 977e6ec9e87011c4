package build

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Problems returns the entries of StepCounters.Problems, the most frequent first and the others last. Causes are
// names that targets have chosen, so they are made fit to be shown and stored as in Causes, and all but the
// MaxProblems most frequent entries are counted together under CauseOther.
func Problems(counts map[string]int64) (out []runnerv1alpha1.ProblemResult) {
	type key struct {
		status int
		cause  string
	}
	clean, rest := map[key]int64{}, int64(0)
	for name, n := range counts {
		status, cause, ok := ProblemOf(name)
		if !ok {
			rest += n
			continue
		}
		clean[key{status, cause}] += n
	}
	for k, n := range clean {
		out = append(out, runnerv1alpha1.ProblemResult{Status: k.status, Cause: k.cause, Count: n})
	}
	slices.SortFunc(out, func(a, b runnerv1alpha1.ProblemResult) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Status, b.Status), strings.Compare(a.Cause, b.Cause))
	})
	for len(out) > runnerv1alpha1.MaxProblems {
		last := len(out) - 1
		out, rest = out[:last], rest+out[last].Count
	}
	if rest > 0 {
		out = append(out, runnerv1alpha1.ProblemResult{Cause: runnerv1alpha1.CauseOther, Count: rest})
	}
	return out
}

// ProblemOf splits a name of StepCounters.Problems, such as "403 SUBSCRIPTION_NOT_FOUND", and makes the cause fit to
// be shown. It returns false for CauseOther.
func ProblemOf(name string) (status int, cause string, ok bool) {
	code, cause, ok := strings.Cut(name, " ")
	status, err := strconv.Atoi(code)
	return status, causeName(cause), ok && err == nil && status >= 100 && status <= 999
}

package build

import runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"

// FailedChecks counts the responses that failed a check, by the status in place of the check of the status, or else
// by the check: "status 401" or "check fast".
func FailedChecks(r *runnerv1alpha1.Report) map[string]int64 {
	out := map[string]int64{}
	for i := range r.Steps {
		s := &r.Steps[i]
		for name, n := range s.FailedBy {
			if name == runnerv1alpha1.CheckStatus {
				addStatuses(out, s.StatusCodes, n)
			} else {
				out["check "+name] += n
			}
		}
	}
	return out
}

// addStatuses adds the statuses that failed the check of the status n times. A status that a step had more often is
// one that it expects. If the statuses are not certain, it adds the check.
func addStatuses(out, codes map[string]int64, n int64) {
	for _, wrong := range []func(code string) bool{
		func(code string) bool { return codes[code] <= n },
		func(code string) bool { return code >= "400" },
	} {
		found, sum := map[string]int64{}, int64(0)
		for code, count := range codes {
			if wrong(code) {
				found["status "+code] = count
				sum += count
			}
		}
		if sum == n {
			for name, count := range found {
				out[name] += count
			}
			return
		}
	}
	out["check "+runnerv1alpha1.CheckStatus] += n
}

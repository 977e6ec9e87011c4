package verdict

import (
	"fmt"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// neverAuthorized finds runs without a success that sent requests without their authorization.
func neverAuthorized(in *input) *runnerv1alpha1.Verdict {
	what := unauthorized(in.report)
	if what == "" || in.report.Requests.Succeeded > 0 {
		return nil
	}
	return verdict(runnerv1alpha1.OutcomeError, ReasonNotAuthorized, "none of %d requests succeeded; %s",
		in.report.Requests.Sent+in.report.Requests.Dropped, what)
}

// sentUnauthorized finds runs that sent some requests without their authorization. What the target does with such
// requests is not what the test asks.
func sentUnauthorized(in *input) *runnerv1alpha1.Verdict {
	what := unauthorized(in.report)
	if what == "" {
		return nil
	}
	all := append([]string{what}, in.unproven(func(*comparison) bool { return true })...)
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonNotAuthorized, "%s", strings.Join(all, "; "))
}

// unauthorized returns how many requests to each target were sent without its authorization, and why; "": none.
func unauthorized(r *runnerv1alpha1.Report) string {
	var out []string
	for i := range r.Authorizations {
		if a := &r.Authorizations[i]; a.SentWithout > 0 {
			what := fmt.Sprintf("%d requests to target %s were sent without authorization", a.SentWithout, a.Target)
			if a.LastFailure != "" {
				what += ": " + a.LastFailure
			}
			out = append(out, what)
		}
	}
	return strings.Join(out, "; ")
}

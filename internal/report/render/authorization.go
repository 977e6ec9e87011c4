package render

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// authorizationNotes describe the failures of token endpoints, and the requests that were sent without authorization.
func authorizationNotes(r *runnerv1alpha1.Report) (out []string) {
	for i := range r.Authorizations {
		a := &r.Authorizations[i]
		if a.Failures+a.SentWithout == 0 {
			continue
		}
		note := fmt.Sprintf("authorization of target %s: %d tokens, %d attempts failed, %d requests were sent without it",
			printable(a.Target), a.Tokens, a.Failures, a.SentWithout)
		if a.LastFailure != "" {
			note += "; last failure: " + sentence(a.LastFailure)
		}
		out = append(out, note)
	}
	return out
}

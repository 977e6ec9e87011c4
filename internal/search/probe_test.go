package search

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/verdict"
)

func TestOutcomeOf(t *testing.T) {
	for _, tt := range []struct {
		name    string
		outcome rv.Outcome
		reason  string
		lag     int64
		want    rv.ProbeOutcome
	}{
		{"passed", rv.OutcomePassed, verdict.ReasonPassed, 0, rv.ProbeHeld},
		{"passed although it lagged", rv.OutcomePassed, verdict.ReasonPassed, verdict.MaxLag + 1, rv.ProbeHeld},
		{"a threshold failed", rv.OutcomeFailed, verdict.ReasonThresholdsFailed, verdict.MaxLag, rv.ProbeFailed},
		{"a threshold failed, half of the requests were late", rv.OutcomeFailed, verdict.ReasonThresholdsFailed, verdict.MaxLag + 1, rv.ProbeGeneratorBound},
		{"the generator is the cause", rv.OutcomeInconclusive, verdict.ReasonGeneratorBound, 0, rv.ProbeGeneratorBound},
		{"no success", rv.OutcomeError, verdict.ReasonNoSuccess, 0, rv.ProbeFailed},
		{"a lost shard", rv.OutcomeInconclusive, verdict.ReasonPartialResult, 0, rv.ProbeInvalid},
	} {
		if got := outcomeOf(&rv.Verdict{Outcome: tt.outcome, Reason: tt.reason}, tt.lag); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

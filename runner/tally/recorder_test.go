package tally

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
)

func oneStep() *chain.Program {
	return &chain.Program{Steps: make([]chain.Step, 1), Chains: make([]chain.Chain, 1), Targets: make([]rv.Target, 1)}
}

// TestOutcomes: each request counts once, in the figures of its stage.
func TestOutcomes(t *testing.T) {
	type counts struct {
		Sent, Done, Succeeded, TimedOut, Reset, Lost int64 // of the step
		WarmUp, WarmUpDone, WarmUpSucceeded          int64
		Setup, Teardown, Graceful                    [2]int64 // sent, succeeded
		Retried, Abandoned, Dropped                  int64
	}
	const warmUp, measured = 0, 1
	for _, tt := range []struct {
		name  string
		stage int16
		want  counts
	}{
		{"a measured stage", measured, counts{Sent: 5, Done: 2, Succeeded: 1, TimedOut: 1, Reset: 1, Lost: 1, Retried: 2,
			Abandoned: 1, Dropped: 3}},
		{"a warm-up stage", warmUp, counts{WarmUp: 5, WarmUpDone: 5, WarmUpSucceeded: 1}},
		{"setup", book.StageSetup, counts{Setup: [2]int64{5, 1}}},
		{"teardown", book.StageTeardown, counts{Teardown: [2]int64{5, 1}}},
		{"after the load", book.StageGraceful, counts{Graceful: [2]int64{5, 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(oneStep(), []rv.Rate{{WarmUp: true}, {}}, nil)
			q := &book.Request{Stage: tt.stage, Status: 200, InFlight: true}
			for range 5 {
				r.Sent(q, false, false, 0)
			}
			r.Done(q, "", 1)
			r.Done(q, rv.CheckStatus, 1)
			for _, why := range []Unanswered{ByTimeout, ByReset, ByLoss} {
				r.Failed(q, why, failure.Cause{Kind: rv.CauseClosed}, "", 1)
			}
			r.Retry(q)
			r.Abandon(q)
			r.Retry(&book.Request{Stage: tt.stage, Retried: true}) // each time counts
			if tt.stage >= 0 {
				r.Drop(int(tt.stage), failure.Cause{}, 3)
			}
			r.Flush()
			s := &r.Steps[0]
			got := counts{
				Sent: s.Sent, Done: s.Done, Succeeded: s.Succeeded, TimedOut: s.TimedOut, Reset: s.Reset, Lost: s.ConnectionLost,
				WarmUp: r.WarmUpSent, WarmUpDone: r.WarmUpDone, WarmUpSucceeded: r.WarmUpSucceeded,
				Setup: [2]int64{r.Setup.Sent, r.Setup.Succeeded}, Teardown: [2]int64{r.Teardown.Sent, r.Teardown.Succeeded},
				Graceful: [2]int64{r.Graceful.Sent, r.Graceful.Succeeded},
				Retried:  r.Retried, Abandoned: r.Abandoned, Dropped: r.Dropped,
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if last := r.Last(); tt.stage < 0 && (last.Failed != rv.CheckStatus || last.Status != 200 ||
				last.Cause.Kind != rv.CauseClosed) {
				t.Errorf("last outcome %+v", last)
			}
		})
	}
}

package search

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/verdict"
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

// TestWaits: a runner that is ready for the second probe, and what keeps it from being ready.
func TestWaits(t *testing.T) {
	plan := &rv.Plan{Rates: make([]rv.Rate, 3), Search: &rv.Search{}}
	for _, tt := range []struct {
		name string
		edit func(*rv.Snapshot)
		want bool
	}{
		{"ready", func(*rv.Snapshot) {}, true},
		{"another one has ended", func(s *rv.Snapshot) { s.State = rv.StateDone }, true},
		{"its load runs", func(s *rv.Snapshot) { s.Suspended = false }, false},
		{"a request is in flight", func(s *rv.Snapshot) { s.Counters.InFlightAtEnd = 1 }, false},
		{"a request of the warm-up is in flight", func(s *rv.Snapshot) { s.Counters.WarmUpInFlight = 1 }, false},
		{"a step waits for a notification", func(s *rv.Snapshot) { s.Listeners[1].Waiting = 1 }, false},
		{"a notification waits for its step", func(s *rv.Snapshot) { s.Listeners[1].Early = 1 }, true},
		{"a request waits for a stream", func(s *rv.Snapshot) { s.Stages[0].Slots = 11 }, false},
		{"the probe has not ended", func(s *rv.Snapshot) { s.Stages[0].Ended = 0 }, false},
		{"the next probe has begun", func(s *rv.Snapshot) { s.Stages[1].Slots = 1 }, false},
	} {
		snapshots := make([]rv.Snapshot, 2)
		for i := range snapshots {
			snapshots[i] = rv.Snapshot{State: rv.StateRunning, StartedAt: 1, Suspended: true, Listeners: make([]rv.ListenerCounters, 2),
				Stages: []rv.StageCounters{{Sent: 9, Dropped: 1, Slots: 10, Ended: 5}, {}, {}}}
		}
		tt.edit(&snapshots[1])
		if got := Waits(plan, 1, snapshots); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// second is in nanoseconds.
const second = int64(time.Second)

// probes is a plan with two probes of 10 seconds each.
func probes() *rv.Plan {
	return &rv.Plan{
		Name: "default/test", Targets: []rv.Target{{Name: "front", Auth: &rv.Auth{OAuth2: &rv.OAuth2{}}}},
		Chains: []rv.Chain{{Name: "ping", Steps: []rv.Step{{Name: "get", Timeout: time.Second}}}},
		Rates:  []rv.Rate{{Name: "probe-1", Count: 10, Period: time.Second}, {Name: "probe-2", Count: 10, Period: time.Second}},
		Search: &rv.Search{Start: 10, Duration: 10 * time.Second},
	}
}

// after returns the snapshot of a runner that waits after some probes. Each of them sent 100 requests.
func after(ended int) []rv.Snapshot {
	n := int64(ended) * 100
	h := histogram.New()
	h.RecordN(1000, n)
	good := rv.Outcomes{Sent: n, Done: n, Succeeded: n}
	stages := make([]rv.StageCounters, 2)
	for i := range int64(ended) {
		stages[i] = rv.StageCounters{Sent: 100, Slots: 100, Begun: i * 10 * second, Ended: (i + 1) * 10 * second}
	}
	return []rv.Snapshot{{
		Boot: "b", Sequence: uint64(ended), State: rv.StateRunning, Clock: 99 * second, StartAt: second, StartedAt: second, Suspended: true,
		Counters: rv.Counters{Requests: rv.Requests{Outcomes: good}}, Stages: stages, Targets: make([]rv.TargetTimes, 1),
		Steps:        []rv.StepCounters{{Outcomes: good, StatusCodes: map[string]int64{"200": n}, ResponseTime: h.Encode(), ServiceTime: h.Encode(), TimeToFirstByte: h.Encode()}},
		Chains:       []rv.ChainCounters{{Started: n, Completed: n}},
		StatusCodes:  map[string]int64{"200": n},
		ResponseTime: h.Encode(), ServiceTime: h.Encode(), Lag: h.Encode(),
	}}
}

// TestFiguresAfterUnauthorized: a request that an earlier probe sent without its token says nothing about this one.
func TestFiguresAfterUnauthorized(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after int64
		want          rv.ProbeOutcome
	}{
		"before the probe": {7, 7, rv.ProbeHeld},
		"in the probe":     {7, 9, rv.ProbeInvalid},
	} {
		first, last := after(1), after(2)
		first[0].Authorizations = []rv.Authorization{{Target: "front", Tokens: 2, SentWithout: tt.before}}
		last[0].Authorizations = []rv.Authorization{{Target: "front", Tokens: 2, SentWithout: tt.after}}
		p, err := Figures(probes(), 1, 10, first, last, verdict.Facts{})
		if err != nil || p.Outcome != tt.want {
			t.Errorf("%s: %+v, %v; want %s", name, p, err, tt.want)
		}
	}
}

// TestFiguresHeldBack: a concurrency that the operator's limit did not allow has not held.
func TestFiguresHeldBack(t *testing.T) {
	for _, tt := range []struct {
		name        string
		concurrency bool
		// before and after are the requests that have waited for the limit, and failed those of the probe that failed.
		before, after, failed int64
		want                  rv.ProbeOutcome
		reason                string
	}{
		{"in an earlier probe", true, 100, 100, 0, rv.ProbeHeld, ""},
		{"hardly", true, 100, 101, 0, rv.ProbeHeld, ""},
		{"in this probe", true, 100, 102, 0, rv.ProbeGeneratorBound, "operator's limit"},
		{"in this probe, and the target failed", true, 100, 102, 50, rv.ProbeFailed, "the error rate is 50%"},
		{"a rate", false, 100, 102, 0, rv.ProbeHeld, ""},
	} {
		plan, first, last := probes(), after(1), after(2)
		plan.Search.Concurrency = tt.concurrency
		for i := range plan.Rates {
			plan.Rates[i].ClosedLoop = tt.concurrency
		}
		first[0].Limited.Waited, last[0].Limited.Waited = tt.before, tt.after
		for _, o := range []*rv.Outcomes{&last[0].Counters.Outcomes, &last[0].Steps[0].Outcomes} {
			o.Succeeded, o.FailedChecks = o.Succeeded-tt.failed, tt.failed
		}
		p, err := Figures(plan, 1, 10, first, last, verdict.Facts{})
		if err != nil || p.Outcome != tt.want || Reason(&p) != tt.reason {
			t.Errorf("%s: %+v (%s), %v; want %s (%s)", tt.name, p, Reason(&p), err, tt.want, tt.reason)
		}
	}
}

func TestReason(t *testing.T) {
	failed := []rv.ThresholdResult{{Name: "fast"}, {Name: "much", Passed: true}, {Name: "clean"}}
	for _, tt := range []struct {
		name, want string
		probe      rv.ProbeResult
	}{
		{"held", "", rv.ProbeResult{Outcome: rv.ProbeHeld}},
		{"thresholds", "fast, clean", rv.ProbeResult{Outcome: rv.ProbeFailed, Message: "fast: p99", Thresholds: failed}},
		{"the default limit on errors", "the error rate is 12.5%", rv.ProbeResult{Outcome: rv.ProbeFailed, Message: "the error rate is 12.5%, above the default limit of 1%: of 8 requests, 1 x status 503; set"}},
		{"late", "generator late", rv.ProbeResult{Outcome: rv.ProbeGeneratorBound, Message: "the generator was the bottleneck, it lagged (p99 40ms): fast", Thresholds: failed}},
		{"late for most requests", "generator late", rv.ProbeResult{Outcome: rv.ProbeGeneratorBound, Message: "clean: ErrorRate 12% > 1%", Thresholds: failed}},
		{"throttled", "generator throttled", rv.ProbeResult{Outcome: rv.ProbeGeneratorBound, Message: "the generator was the bottleneck, " + verdict.Throttled + "2s: fast"}},
		{"connections", "too few connections", rv.ProbeResult{Outcome: rv.ProbeGeneratorBound, Message: verdict.ConnectionsBound + ", and the generator can be another, it lagged (p99 40ms): fast"}},
		{"the operator's limit", "operator's limit", rv.ProbeResult{Outcome: rv.ProbeGeneratorBound, Message: verdict.HeldBack + ": 100 were due"}},
		{"repeated", "runner 1 was lost during the probe", rv.ProbeResult{Outcome: rv.ProbeInvalid, Message: "runner 1 was lost during the probe"}},
		{"repeated because of leases", "the leases of 1 of 2 shards expired", rv.ProbeResult{Outcome: rv.ProbeInvalid, Message: "the leases of 1 of 2 shards expired, because the operator could not reach them; they"}},
	} {
		if got := Reason(&tt.probe); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

package compare

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// times has n values; p50 is us, and the others follow from it.
func times(n, us int64) rv.Times {
	if n == 0 {
		return rv.Times{}
	}
	return rv.Times{Count: n, Min: us / 2, Mean: us, P50: us, P90: 2 * us, P95: 3 * us, P99: 4 * us, P999: 5 * us, Max: 6 * us}
}

// report is a run of n requests of one step, all of which succeeded, with a median of 1 ms.
func report(n int64) *rv.Report {
	t := times(n, 1000)
	return &rv.Report{
		Name: "core/pcf", Version: "v0.1.0", PlanHash: "0123456789abcdef", StartTime: "2026-01-02T02:04:05Z",
		Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n}}, StatusCodes: map[string]int64{"200": n},
		Chains: rv.ChainCounters{Started: n, Completed: n},
		Rate:   rv.RateResult{Asked: 1000, Achieved: 1000, WindowSeconds: float64(n) / 1000},
		Stages: []rv.StageResult{{Name: "hold", Asked: 1000, Achieved: 1000, Sent: n}},
		Steps:  []rv.StepResult{{Chain: "app", Step: "create", Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n}, ResponseTime: t}},

		ResponseTime: t, ServiceTime: t, TimeToFirstByte: t, Lag: times(n, 10),
		Generator: rv.GeneratorResult{Shards: 1, Workers: 2, Idle: rv.IdleResult{SpinShards: 1}},
		Verdict:   rv.Verdict{Outcome: rv.OutcomePassed, Reason: "Passed"},
	}
}

// fail makes n requests of a report fail their checks, and their chains aborted.
func fail(r *rv.Report, n int64) {
	s := &r.Steps[0]
	r.Requests.Succeeded, r.Requests.FailedChecks, r.ErrorRate = r.Requests.Sent-n, n, rv.ErrorRate(1-float64(r.Requests.Sent-n)/float64(r.Requests.Sent))
	s.Succeeded, s.FailedChecks, s.ErrorRate = s.Sent-n, n, r.ErrorRate
	s.FailedBy = map[string]int64{"status": n}
	r.Chains.Completed, r.Chains.Aborted, r.Chains.AbortedBy = r.Chains.Started-n, n, map[string]int64{"failedCheck": n}
}

// found are the figures that are not within the tolerance or not judged, by result.
func found(c *Comparison) map[Result][]string {
	out := map[Result][]string{}
	for i := range c.Figures {
		if f := &c.Figures[i]; f.Result == Worse || f.Result == Better {
			out[f.Result] = append(out[f.Result], f.String())
		}
	}
	return out
}

func compared(t *testing.T, a, b *rv.Report) *Comparison {
	t.Helper()
	return Reports(Input{"a.json", a}, Input{"b.json", b}, Options{Tolerance: 0.05, ErrorTolerance: 0.001})
}

func TestReports(t *testing.T) {
	const n = 100_000
	for _, tt := range []struct {
		name    string
		change  func(a, b *rv.Report)
		outcome rv.Outcome
		want    map[Result][]string
	}{
		{"equal", func(_, _ *rv.Report) {}, rv.OutcomePassed, nil},
		{"a slower p99 of the run", func(_, b *rv.Report) { b.ResponseTime.P99 = 4400 }, rv.OutcomeFailed,
			map[Result][]string{Worse: {"response time p99 4ms -> 4.4ms (+10%)"}}},
		{"a p99 at the tolerance", func(_, b *rv.Report) { b.ResponseTime.P99 = 4200 }, rv.OutcomePassed, nil},
		{"a p99 above the tolerance by 1 us", func(_, b *rv.Report) { b.ResponseTime.P99 = 4201 }, rv.OutcomeFailed,
			map[Result][]string{Worse: {"response time p99 4ms -> 4.2ms (+5%)"}}},
		{"a faster p50 of a step", func(_, b *rv.Report) { b.Steps[0].ResponseTime.P50 = 500 }, rv.OutcomePassed,
			map[Result][]string{Better: {"app/create response time p50 1ms -> 500us (-50%)"}}},
		{"the maximum is not judged", func(_, b *rv.Report) { b.ResponseTime.Max = 1e9 }, rv.OutcomePassed, nil},
		{"the service time is not judged", func(_, b *rv.Report) { b.ServiceTime = times(n, 9000) }, rv.OutcomePassed, nil},
		{"a lower rate", func(_, b *rv.Report) { b.Rate.Achieved = 900 }, rv.OutcomeFailed,
			map[Result][]string{Worse: {"rate 1000/s -> 900/s (-10%)"}}},
		{"a higher rate of a closed loop", func(a, b *rv.Report) {
			a.Rate.Asked, b.Rate.Asked, b.Rate.Achieved = 0, 0, 1200
		}, rv.OutcomePassed, map[Result][]string{Better: {"rate 1000/s -> 1200/s (+20%)"}}},
		{"another rate was asked for", func(_, b *rv.Report) { b.Rate.Asked, b.Rate.Achieved = 500, 500 }, rv.OutcomePassed, nil},
		{"another rate of chains was asked for", func(a, b *rv.Report) {
			a.Rate.Asked, a.Rate.AskedChains, a.Rate.AchievedChains = 0, 500, 500
			b.Rate = rv.RateResult{Achieved: 800, AskedChains: 400, AchievedChains: 400, WindowSeconds: b.Rate.WindowSeconds}
		}, rv.OutcomePassed, nil},
		{"a lower rate of chains", func(a, b *rv.Report) {
			a.Rate.Asked, a.Rate.AskedChains, a.Rate.AchievedChains = 0, 500, 500
			b.Rate = rv.RateResult{Achieved: 800, AskedChains: 500, AchievedChains: 400, WindowSeconds: b.Rate.WindowSeconds}
		}, rv.OutcomeFailed, map[Result][]string{Worse: {"rate 1000/s -> 800/s (-20%)"}}},
		{"errors at the tolerance", func(a, b *rv.Report) { fail(a, 200); fail(b, 300) }, rv.OutcomePassed, nil},
		{"errors above the tolerance", func(a, b *rv.Report) { fail(a, 200); fail(b, 301) }, rv.OutcomeFailed, map[Result][]string{Worse: {
			"error rate 0.2% -> 0.3% (+0.101 points)", "aborted chains 0.2% -> 0.3% (+0.101 points)", "app/create error rate 0.2% -> 0.3% (+0.101 points)",
		}}},
		{"fewer errors", func(a, _ *rv.Report) { fail(a, 200) }, rv.OutcomePassed, map[Result][]string{Better: {
			"error rate 0.2% -> 0% (-0.2 points)", "aborted chains 0.2% -> 0% (-0.2 points)", "app/create error rate 0.2% -> 0% (-0.2 points)",
		}}},
		{"nothing was measured in B", func(_, b *rv.Report) { b.ResponseTime = rv.Times{} }, rv.OutcomeFailed, map[Result][]string{Worse: {
			"response time p50 1ms -> none", "response time p90 2ms -> none", "response time p95 3ms -> none", "response time p99 4ms -> none", "response time p99.9 5ms -> none",
		}}},
		{"A failed", func(a, _ *rv.Report) { a.Verdict.Outcome = rv.OutcomeFailed }, rv.OutcomePassed, nil},
		{"the generator of B was the bottleneck", func(_, b *rv.Report) {
			b.Verdict.Outcome, b.ResponseTime.P99 = rv.OutcomeInconclusive, 4400
		}, rv.OutcomeInconclusive, map[Result][]string{Worse: {"response time p99 4ms -> 4.4ms (+10%)"}}},
		{"a slower p99, and the generator of A lagged", func(a, b *rv.Report) { a.Lag.P99, b.ResponseTime.P99 = 10_001, 4400 }, rv.OutcomeInconclusive,
			map[Result][]string{Worse: {"response time p99 4ms -> 4.4ms (+10%)"}}},
		{"a slower p99, and a lag at the bound", func(a, b *rv.Report) { a.Lag.P99, b.ResponseTime.P99 = 10_000, 4400 }, rv.OutcomeFailed,
			map[Result][]string{Worse: {"response time p99 4ms -> 4.4ms (+10%)"}}},
		{"more errors, and the generator of B lagged", func(_, b *rv.Report) { fail(b, 200); b.Generator.LagP99Microseconds = 20_000 }, rv.OutcomeFailed, map[Result][]string{Worse: {
			"error rate 0% -> 0.2% (+0.2 points)", "aborted chains 0% -> 0.2% (+0.2 points)", "app/create error rate 0% -> 0.2% (+0.2 points)",
		}}},
		{"equal, and the generator lagged", func(a, b *rv.Report) { a.Lag.P99, b.Lag.P99 = 20_000, 20_000 }, rv.OutcomePassed, nil},
		{"A only lacked a baseline", func(a, _ *rv.Report) {
			a.Verdict = rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: "NotCompared"}
		}, rv.OutcomePassed, nil},
		{"A could not run", func(a, _ *rv.Report) { a.Verdict.Outcome = rv.OutcomeError }, rv.OutcomeInconclusive, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := report(n), report(n)
			tt.change(a, b)
			c := compared(t, a, b)
			if c.Outcome != tt.outcome || c.Message == "" {
				t.Errorf("outcome %s (%s), want %s", c.Outcome, c.Message, tt.outcome)
			}
			if tt.want == nil {
				tt.want = map[Result][]string{}
			}
			if diff := cmp.Diff(tt.want, found(c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSearches: the highest loads are compared, and not the figures of the mix of all loads.
func TestSearches(t *testing.T) {
	search := func(o rv.SearchOutcome, highest int64) *rv.SearchResult {
		return &rv.SearchResult{Outcome: o, Highest: highest}
	}
	inFlight := func(highest int64) *rv.SearchResult {
		return &rv.SearchResult{Outcome: rv.SearchFound, Concurrency: true, Highest: highest}
	}
	for _, tt := range []struct {
		name    string
		a, b    *rv.SearchResult
		change  func(a, b *rv.Report)
		outcome rv.Outcome
		message string // a part of it
		want    map[Result][]string
	}{
		{"a lower rate", search(rv.SearchFound, 40_000), search(rv.SearchFound, 10_000), nil, rv.OutcomeFailed, "1 of 1 judged figures",
			map[Result][]string{Worse: {"highest rate 40000/s -> 10000/s (-75%)"}}},
		{"a lower rate, and the generator lagged at another load", search(rv.SearchFound, 40_000), search(rv.SearchFound, 10_000),
			func(a, _ *rv.Report) { a.Lag.P99 = 50_000 }, rv.OutcomeFailed, "1 of 1 judged figures",
			map[Result][]string{Worse: {"highest rate 40000/s -> 10000/s (-75%)"}}},
		{"equal, and the mix is slower and has more errors", search(rv.SearchFound, 40_000), search(rv.SearchFound, 39_000), func(_, b *rv.Report) {
			b.ResponseTime = times(100_000, 9000)
			fail(b, 50_000)
		}, rv.OutcomePassed, "none of 1 judged figures", nil},
		{"a higher rate", search(rv.SearchFound, 10_000), search(rv.SearchMaximumHeld, 40_000), nil, rv.OutcomePassed, "none of 1",
			map[Result][]string{Better: {"highest rate 10000/s -> 40000/s (+300%)"}}},
		{"a lower concurrency", inFlight(64), inFlight(16), nil, rv.OutcomeFailed, "1 of 1",
			map[Result][]string{Worse: {"highest concurrency 64 -> 16 (-75%)"}}},
		{"no rate in B", search(rv.SearchMaximumHeld, 40_000), search(rv.SearchNotFound, 0), nil, rv.OutcomeFailed, "1 of 1",
			map[Result][]string{Worse: {"highest rate 40000/s -> none"}}},
		{"no rate in A", search(rv.SearchNotFound, 0), search(rv.SearchFound, 40_000), nil, rv.OutcomeInconclusive, "no load held in A", nil},
		{"the maximum of B is lower than the result of A", search(rv.SearchFound, 40_000), search(rv.SearchMaximumHeld, 10_000), nil,
			rv.OutcomeInconclusive, "the maximum of the search of B, 10000, is below 40000", nil},
		{"the maximum of A is lower than the result of B", search(rv.SearchMaximumHeld, 10_000), search(rv.SearchFound, 40_000), nil,
			rv.OutcomeInconclusive, "the maximum of the search of A, 10000, is below 40000", nil},
		{"both maxima held", search(rv.SearchMaximumHeld, 40_000), search(rv.SearchMaximumHeld, 40_000), nil, rv.OutcomePassed, "none of 1", nil},
		{"a rate and a concurrency", search(rv.SearchFound, 40_000), inFlight(16), nil, rv.OutcomeInconclusive, "A searched a rate, and B a concurrency", nil},
		{"only A", search(rv.SearchFound, 40_000), nil, nil, rv.OutcomeInconclusive, "only A is a search", nil},
		{"only B", nil, inFlight(16), nil, rv.OutcomeInconclusive, "only B is a search", nil},
		{"B was stopped", search(rv.SearchFound, 40_000), search(rv.SearchIncomplete, 10_000), nil, rv.OutcomeInconclusive,
			"the search of B has no result (Incomplete)", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := report(100_000), report(100_000)
			a.Search, b.Search = tt.a, tt.b
			if tt.change != nil {
				tt.change(a, b)
			}
			c := compared(t, a, b)
			if c.Outcome != tt.outcome || !strings.Contains(c.Message, tt.message) {
				t.Errorf("%s: %s; want %s: %s", c.Outcome, c.Message, tt.outcome, tt.message)
			}
			if tt.want == nil {
				tt.want = map[Result][]string{}
			}
			if diff := cmp.Diff(tt.want, found(c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFewRequests: a percentile needs ten slower requests.
func TestFewRequests(t *testing.T) {
	judged := func(n int64) (out []string) {
		c := compared(t, report(n), report(n))
		for i := range c.Figures {
			if f := &c.Figures[i]; f.Step == "" && f.Unit == Microseconds && f.Result != NotJudged {
				out = append(out, strings.TrimPrefix(f.Name, "response time "))
			}
		}
		return out
	}
	for n, want := range map[int64][]string{
		19: nil, 20: {"p50"}, 99: {"p50"}, 100: {"p50", "p90"}, 200: {"p50", "p90", "p95"}, 999: {"p50", "p90", "p95"},
		1000: {"p50", "p90", "p95", "p99"}, 9999: {"p50", "p90", "p95", "p99"}, 10_000: {"p50", "p90", "p95", "p99", "p99.9"},
	} {
		if diff := cmp.Diff(want, judged(n)); diff != "" {
			t.Errorf("%d requests (-want +got):\n%s", n, diff)
		}
	}
	few := report(19)
	fail(few, 1)
	for name, tt := range map[string]struct {
		a, b *rv.Report
		want rv.Outcome
	}{
		"empty":       {&rv.Report{}, &rv.Report{}, rv.OutcomeInconclusive},
		"few":         {report(19), report(19), rv.OutcomeInconclusive},
		"more errors": {report(19), few, rv.OutcomeFailed},
	} {
		if c := compared(t, tt.a, tt.b); c.Outcome != tt.want {
			t.Errorf("%s: %s, want %s; %s", name, c.Outcome, tt.want, c.Message)
		}
	}
}

func TestMessageIsShort(t *testing.T) {
	b := report(100_000)
	b.ResponseTime = times(100_000, 2000)
	const want = "5 of 12 judged figures are worse in B than in A: response time p50 1ms -> 2ms (+100%); " +
		"response time p90 2ms -> 4ms (+100%); response time p95 3ms -> 6ms (+100%); and 2 more"
	if got := compared(t, report(100_000), b).Message; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRemarks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(b *rv.Report)
		want   []string
	}{
		{"none", func(*rv.Report) {}, nil},
		{"another name", func(b *rv.Report) { b.Name, b.PlanHash = "core/b", "x" },
			[]string{"The tests have different names, core/pcf and core/b: without spec.seed, they draw different values"}},
		{"another manifest", func(b *rv.Report) { b.PlanHash = "fedcba9876543210" },
			[]string{"The plans differ, in a field of the manifest: A has hash 0123456789ab, B has fedcba987654"}},
		{"another version", func(b *rv.Report) { b.Version = "" }, []string{"A was measured with h2surge v0.1.0, B with an unknown version of h2surge"}},
		{"another rate", func(b *rv.Report) { b.Stages[0].Asked, b.Rate.Asked = 0, 0 }, []string{
			"Rate stage 1 is hold (1000 requests per second) in A and hold (closed loop) in B",
			"The runs asked for different rates, 1000 requests per second in A and closed loop in B: the rate is not judged, and response times depend on the rate",
		}},
		{"another kind of rate", func(b *rv.Report) { b.Rate.Asked, b.Rate.AskedChains = 0, 500 }, []string{
			"The runs asked for different rates, 1000 requests per second in A and 500 chains per second in B: the rate is not judged, and response times depend on the rate",
		}},
		{"another stage", func(b *rv.Report) { b.Stages = append(b.Stages, rv.StageResult{}) }, []string{"A has 1 rate stage, B has 2 rate stages"}},
		{"another warm-up", func(b *rv.Report) { b.Stages[0].WarmUp, b.WarmUp.Sent, b.Stages[0].Sent = true, 0, 0; *b = *empty(b) },
			[]string{"Rate stage 1 is hold (1000 requests per second) in A and hold (1000 requests per second, warm-up) in B"}},
		{"more shards", func(b *rv.Report) { b.Generator.Shards = 3 }, []string{"A had 1 shard with 2 workers, B had 3 shards with 2 workers"}},
		{"another idle strategy", func(b *rv.Report) { b.Generator.Idle = rv.IdleResult{SleepShards: 1, SleepIntervalMicroseconds: 500} },
			[]string{"A had idle strategy Spin, B had idle strategy Sleep with an interval of 500us"}},
		{"another step", func(b *rv.Report) { b.Steps[0].Step = "new" },
			[]string{"Step app/create is only in A and is not compared", "Step app/new is only in B and is not compared"}},
		{"a step of setup", func(b *rv.Report) {
			b.Steps = append(b.Steps, rv.StepResult{Chain: "login", Step: "token", Phase: rv.PhaseSetup})
		}, nil},
		{"stopped", func(b *rv.Report) {
			b.Verdict.Outcome, b.Verdict.Message, b.Partial, b.Stopped = rv.OutcomeStopped, "a user stopped it", true, "spec.stop"
		}, []string{"The verdict of B is Stopped: a user stopped it", "The result of B is incomplete", "B ended early: spec.stop"}},
		{"an earlier version, without unanswered requests", func(b *rv.Report) {
			fail(b, 5)
			q, s := &b.Requests, &b.Steps[0]
			q.TimedOut, q.Done, q.FailedChecks, b.StatusCodes["200"] = 5, q.Done-5, 0, q.Done-5
			s.TimedOut, s.Done, s.FailedChecks, s.FailedBy = 5, s.Done-5, 0, nil
			b.Chains.AbortedBy = map[string]int64{"timedOut": 5}
			b.ResponseTime.Count -= 5
			s.ResponseTime.Count -= 5
		},
			[]string{"The response times of B leave out 5 requests without a response, as those of earlier versions do"}},
		{"a search of other rates", func(b *rv.Report) { b.Rate.Asked, b.Search = 700, &rv.SearchResult{} },
			[]string{"The figures of a search, without the highest load, are a mix of all probes and are not judged"}},
		{"lag", func(b *rv.Report) { b.Generator.LagP99Microseconds = 12_000 }, []string{"The generator's lag p99 was 12ms in B: response times include it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := report(100_000)
			tt.change(b)
			if diff := cmp.Diff(tt.want, compared(t, report(100_000), b).Remarks); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// empty is a report without requests.
func empty(r *rv.Report) *rv.Report {
	out := *r
	none := report(0)
	out.Requests, out.Chains, out.StatusCodes, out.Steps, out.ResponseTime = none.Requests, none.Chains, none.StatusCodes, none.Steps, none.ResponseTime
	return &out
}

// TestPhases: the phases of a target that both runs have are shown and not judged. A phase that neither run measured is absent.
func TestPhases(t *testing.T) {
	a, b := rv.TargetResult{Name: "api"}, rv.TargetResult{Name: "api"}
	a.TLSHandshake, b.TLSHandshake = rv.Times{Count: 5000, P50: 1000, P99: 2000}, rv.Times{Count: 5000, P50: 3000, P99: 4000}
	b.Body = rv.Times{Count: 1, P50: 7, P99: 7}
	s := set{}
	s.phases(&rv.Report{Targets: []rv.TargetResult{{Name: "gone", Body: b.Body}, a}}, &rv.Report{Targets: []rv.TargetResult{b, {Name: "new", Body: b.Body}}})
	var got []string
	for i := range s.out {
		got = append(got, s.out[i].String()+" "+string(s.out[i].Result))
	}
	want := []string{
		"target api TLS handshake p50 1ms -> 3ms (+200%) NotJudged", "target api TLS handshake p99 2ms -> 4ms (+100%) NotJudged",
		"target api body p50 none -> 7us NotJudged", "target api body p99 none -> 7us NotJudged",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// TestNotifications: the errors and the times of notifications are judged for each listener that both runs have.
func TestNotifications(t *testing.T) {
	listener := func(name string, missing, us int64) rv.ListenerResult {
		times := rv.Times{Count: 2000, P50: us, P90: us, P95: us, P99: us, P999: us, Max: us}
		return rv.ListenerResult{Name: name, Time: times, ListenerCounts: rv.ListenerCounts{
			Received: 2000 - missing, InTime: 2000 - missing, Awaited: 2000, Missing: missing,
			Measured: rv.AwaitCounts{Awaited: 2000, InTime: 2000 - missing, Missing: missing},
		}}
	}
	a, b := report(2000), report(2000)
	a.Listeners = []rv.ListenerResult{listener("events", 0, 1000), listener("a", 0, 1)}
	b.Listeners = []rv.ListenerResult{listener("b", 0, 1), listener("events", 20, 1500)}
	c := Reports(Input{"a", a}, Input{"b", b}, Options{Tolerance: DefaultTolerance, ErrorTolerance: DefaultErrorTolerance})
	var got []string
	for i := range c.Figures {
		if f := &c.Figures[i]; f.Listener != "" {
			got = append(got, f.String()+" "+string(f.Result))
		}
	}
	want := []string{
		"listener events error rate 0% -> 1% (+1 points) Worse", "listener events notification time p50 1ms -> 1.5ms (+50%) Worse",
		"listener events notification time p90 1ms -> 1.5ms (+50%) Worse", "listener events notification time p99 1ms -> 1.5ms (+50%) Worse",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Outcome != rv.OutcomeFailed {
		t.Errorf("%s: %s", c.Outcome, c.Message)
	}
}

// TestObservations: the figures of the series that both runs have are listed, and not judged.
func TestObservations(t *testing.T) {
	a, b := report(10_000), report(10_000)
	of := func(mean float64) rv.SeriesFigures {
		return rv.SeriesFigures{Samples: 9, Mean: mean, P95: 2 * mean, Max: 1e16}
	}
	a.Observations = []rv.ObservationResult{
		{Name: "cpu", Unit: "Cores", Series: []rv.SeriesResult{{Figures: of(2)}}},
		{Name: "memory", Unit: "Bytes", Series: []rv.SeriesResult{{Label: "pod=a", Figures: of(1e9)}, {Label: "pod=b", Figures: of(1)}}},
		{Name: "queue", Unit: "Count", Series: []rv.SeriesResult{{}}},
		{Name: "other", Unit: "Count", Series: []rv.SeriesResult{{Figures: of(1)}}},
	}
	b.Observations = []rv.ObservationResult{
		{Name: "other", Unit: "Bytes", Series: []rv.SeriesResult{{Figures: of(1)}}},
		{Name: "queue", Unit: "Count", Series: []rv.SeriesResult{{Figures: of(3)}}},
		{Name: "memory", Unit: "Bytes", Series: []rv.SeriesResult{{Label: "pod=a"}}},
		{Name: "cpu", Unit: "Cores", Series: []rv.SeriesResult{{Figures: of(3)}}},
	}
	c := compared(t, a, b)
	var got []string
	for i := range c.Figures {
		if f := &c.Figures[i]; f.Observation != "" {
			got = append(got, f.String())
			if f.Result != NotJudged {
				t.Errorf("%s is %s", f, f.Result)
			}
		}
	}
	want := []string{
		"observation cpu mean 2 -> 3 (+50%)", "observation cpu p95 4 -> 6 (+50%)", "observation cpu max 10000000000000000 -> 10000000000000000 (0%)",
		"observation memory pod=a mean 1GB -> none", "observation memory pod=a p95 2GB -> none", "observation memory pod=a max 10PB -> none",
		"observation queue mean none -> 3", "observation queue p95 none -> 6", "observation queue max none -> 10000000000000000",
	}
	if diff := cmp.Diff(want, got); diff != "" || c.Outcome != rv.OutcomePassed {
		t.Errorf("%s (-want +got):\n%s", c.Outcome, diff)
	}
	text, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(text), `"observation":"cpu","name":"max","unit":"Cores","a":10000000000000000,`) {
		t.Errorf("%v in %s", err, text)
	}
}

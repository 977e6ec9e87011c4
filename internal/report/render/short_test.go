package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	judge "github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/test/golden"
)

const lastLine = "Full report: --full, or --output-file report.html."

// passedReport has three steps and no failed request.
func passedReport() *runnerv1alpha1.Report {
	r := full()
	q := &r.Requests
	*q = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: q.Sent, Done: q.Sent, Succeeded: q.Sent}}
	r.ErrorRate, r.Failures, r.Samples, r.Bounds, r.Exhausted, r.Authorizations = 0, nil, nil, nil, false, nil
	r.Chains = runnerv1alpha1.ChainCounters{Started: r.Chains.Started, Completed: r.Chains.Started}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.ErrorRate, s.FailedBy, s.Problems = 0, nil, nil
	}
	r.Verdict = runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomePassed, Reason: judge.ReasonPassed, Message: "the run completed and all thresholds passed", Thresholds: []runnerv1alpha1.ThresholdResult{
		{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Limit: "<= 20ms", Observed: "8.42ms", Passed: true},
		{Name: "clean", Metric: runnerv1alpha1.MetricErrorRate, Limit: "<= 1%", Observed: "0%", Passed: true},
	}}
	return r
}

// deniedReport has 100 responses with status 401 and nothing else.
func deniedReport() *runnerv1alpha1.Report {
	r := bare()
	r.Partial, r.Requests, r.ErrorRate = false, runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 100, Done: 100, FailedChecks: 100}}, 1
	r.Rate = runnerv1alpha1.RateResult{Asked: 50, Achieved: 50, WindowSeconds: 2}
	r.ResponseTime = runnerv1alpha1.Times{Count: 100, P50: 1700, P95: 4470, P99: 5410, Max: 19_700}
	r.Steps[0] = runnerv1alpha1.StepResult{Chain: "c", Step: "s", Outcomes: runnerv1alpha1.Outcomes{Sent: 100, Done: 100, FailedChecks: 100}, ErrorRate: 1, FailedBy: map[string]int64{"status": 100}, StatusCodes: map[string]int64{"401": 100}}
	r.Verdict = runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomeFailed, Reason: judge.ReasonTooManyErrors, Message: "the error rate is 100%, above the default limit of 1%"}
	return r
}

// unreachedReport is that of a port on which no server listens.
func unreachedReport() *runnerv1alpha1.Report {
	r := bare()
	r.Failures = []runnerv1alpha1.FailureCount{{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureConnect, Cause: runnerv1alpha1.CauseRefused, Address: "127.0.0.1:1"}, Count: 11}}
	r.Verdict = runnerv1alpha1.Verdict{
		Outcome: runnerv1alpha1.OutcomeError, Reason: judge.ReasonTargetUnreachable,
		Message: "a target could not be reached: target t (http://127.0.0.1:1): the connection was refused (127.0.0.1:1)",
	}
	return r
}

func summary(t *testing.T, r *runnerv1alpha1.Report, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Summary(&b, r, lastLine, colour); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSummary: it fits a terminal of 24 lines and 80 columns.
func TestSummary(t *testing.T) {
	probes := passedReport()
	probes.Search = &runnerv1alpha1.SearchResult{Probes: []runnerv1alpha1.ProbeResult{{Load: 1000, Outcome: runnerv1alpha1.ProbeHeld, Achieved: 999.5, Sent: 9995, ResponseTime: runnerv1alpha1.Times{Count: 9995, P50: 1100, P99: 8400}}}}
	probes.Listeners = []runnerv1alpha1.ListenerResult{{Name: "events", ListenerCounts: runnerv1alpha1.ListenerCounts{Received: 98, InTime: 90, Awaited: 100, Missing: 10, Late: 4, Unexpected: 3, Duplicate: 1}}}
	failed := full()
	failed.Observations = nil // the longest of these summaries has 24 lines without them
	for name, r := range map[string]*runnerv1alpha1.Report{
		"passed": passedReport(), "failed": failed, "denied": deniedReport(), "unreached": unreachedReport(), "late": lagged(), "nothing": bare(), "search": probes,
	} {
		text := summary(t, r, false)
		golden.Compare(t, name+".short.txt", []byte(text))
		if n := strings.Count(text, "\n"); n > 24 {
			t.Errorf("%s: %d lines", name, n)
		}
		for l := range strings.Lines(text) {
			if l = strings.TrimSuffix(l, "\n"); len(l) > columns || strings.TrimRight(l, " ") != l {
				t.Errorf("%s: %d columns, or blanks at the end: %q", name, len(l), l)
			}
		}
	}
	if err := Summary(fullDisk{}, full(), lastLine, false); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a full disk: %v", err)
	}
}

// TestSummaryOfASearch: the verdict is of one probe, so the figures of the run say that they are of all.
func TestSummaryOfASearch(t *testing.T) {
	const heading = "\n\nAll probes together\n  Rate "
	r := full()
	r.Bounds = nil
	if text := summary(t, r, false); strings.Contains(text, "probe") {
		t.Errorf("without a search:\n%s", text)
	}
	r.Search = &runnerv1alpha1.SearchResult{}
	if text := summary(t, r, false); strings.Contains(text, "probe") {
		t.Errorf("without a probe:\n%s", text)
	}
	r.Search.Probes = []runnerv1alpha1.ProbeResult{{Load: 1000, Outcome: runnerv1alpha1.ProbeFailed, Sent: 10, ErrorRate: 0.5}}
	if text := summary(t, r, false); !strings.Contains(text, heading) {
		t.Errorf("%q is missing in:\n%s", heading, text)
	}
}

// TestSummaryOfChains: a line has the instances that did not complete, and there is no line if all completed.
func TestSummaryOfChains(t *testing.T) {
	for name, tt := range map[string]struct {
		chains runnerv1alpha1.ChainCounters
		want   string
	}{
		"none":       {runnerv1alpha1.ChainCounters{}, ""},
		"completed":  {runnerv1alpha1.ChainCounters{Started: 334, Completed: 334}, ""},
		"aborted":    {runnerv1alpha1.ChainCounters{Started: 334, Completed: 1, Aborted: 333, AbortedBy: map[string]int64{"failedCheck": 333}}, "1 of 334 completed, 333 aborted (333 by failedCheck)\n"},
		"unfinished": {runnerv1alpha1.ChainCounters{Started: 2000, Completed: 990, Unfinished: 1010}, "990 of 2,000 completed, 1,010 unfinished\n"},
		"two reasons": {
			runnerv1alpha1.ChainCounters{Started: 20, Completed: 6, Aborted: 14, AbortedBy: map[string]int64{"reset": 10, "timedOut": 4}},
			"6 of 20 completed, 14 aborted (10 by reset, 4 by timedOut)\n",
		},
		"no space for the reasons": {
			runnerv1alpha1.ChainCounters{Started: 20, Completed: 1, Aborted: 17, Unfinished: 2, AbortedBy: map[string]int64{"reset": 10, "timedOut": 4, "script": 2, "dropped": 1}},
			"1 of 20 completed, 17 aborted, 2 unfinished\n",
		},
		"reasons unknown": {runnerv1alpha1.ChainCounters{Started: 3, Aborted: 3}, "0 of 3 completed, 3 aborted\n"},
	} {
		var b bytes.Buffer
		summaryChains(&b, &tt.chains)
		if got := strings.TrimPrefix(b.String(), "  Chains         "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestSummaryColours: only the verdict and the results of thresholds have colours.
func TestSummaryColours(t *testing.T) {
	plain, painted := summary(t, full(), false), summary(t, full(), true)
	var got []string
	for l := range strings.Lines(painted) {
		if strings.Contains(l, "\x1b") {
			got = append(got, strings.TrimSuffix(l, "\n"))
		}
	}
	want := []string{"\x1b[1;31mVerdict: Failed (ThresholdsFailed)\x1b[0m", "  \x1b[1;31mFAILED\x1b[0m  clean: ErrorRate 0.028111% > 0.01%", "  \x1b[1;32mpassed\x1b[0m  fast: p99 of ResponseTime 8.42ms <= 20ms"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, code := range []string{"\x1b[1;31m", "\x1b[1;32m", "\x1b[0m"} {
		painted = strings.ReplaceAll(painted, code, "")
	}
	if diff := cmp.Diff(plain, painted); diff != "" {
		t.Errorf("without the colours (-want +got):\n%s", diff)
	}
}

// TestErrorCauses: the requests without a response are counted by cause, and those whose cause is not known by outcome.
func TestErrorCauses(t *testing.T) {
	r := deniedReport()
	r.Requests.TimedOut, r.Requests.Reset, r.Requests.Dropped = 7, 3, 12
	r.Failures = []runnerv1alpha1.FailureCount{
		{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureReset, Cause: runnerv1alpha1.CauseRstStream, Address: "a:1"}, Count: 2},
		{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureDropped, Cause: runnerv1alpha1.CauseNoStream}, Count: 12},
		{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureTimedOut, Cause: runnerv1alpha1.CauseDeadline}, Count: 5},
	}
	want := map[string]int64{"status 401": 100, "timed out": 2, "timed out: the deadline of the call passed": 5, "reset: the peer reset the stream": 2, "reset": 1, "dropped: no stream became free in time": 12}
	if diff := cmp.Diff(want, errorCauses(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// run is a plan and the report of a run that passes: 1,000 requests in 10 s as asked, p99 of the
// response time 20 ms, all but one a success.
type run struct {
	plan   runnerv1alpha1.Plan
	report runnerv1alpha1.Report
	facts  Facts
}

var (
	fast  = runnerv1alpha1.Threshold{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Max: "20ms"}
	slow  = runnerv1alpha1.Threshold{Name: "slow", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p50", Min: "1ms"}
	clean = runnerv1alpha1.Threshold{Name: "clean", Metric: runnerv1alpha1.MetricErrorRate, Max: "0.1%"}
	much  = runnerv1alpha1.Threshold{Name: "much", Metric: runnerv1alpha1.MetricRate, Min: "100"}
	few   = runnerv1alpha1.Threshold{Name: "few", Metric: runnerv1alpha1.MetricRate, Max: "100"}
)

func good() *run {
	h := histogram.New()
	h.RecordN(1000, 980)
	h.RecordN(20_000, 20)
	r := &run{}
	r.plan.Rates = []runnerv1alpha1.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: 10 * time.Second}}
	r.plan.Thresholds = []runnerv1alpha1.Threshold{fast, slow, clean, much, few}
	r.report = runnerv1alpha1.Report{
		Requests:   runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 1000, Done: 1000, Succeeded: 999, FailedChecks: 1}},
		ErrorRate:  0.001,
		Rate:       runnerv1alpha1.RateResult{Asked: 100, Achieved: 100, WindowSeconds: 10},
		Stages:     []runnerv1alpha1.StageResult{{Name: "hold", Asked: 100, Achieved: 100, Sent: 1000}},
		Generator:  runnerv1alpha1.GeneratorResult{Shards: 2},
		Histograms: &runnerv1alpha1.ReportHistograms{ResponseTime: h.Encode(), ServiceTime: h.Encode()},
	}
	return r
}

func (r *run) slowResponses() { r.respondsIn(20_001) }

func (r *run) respondsIn(us int64) {
	h := histogram.New()
	h.RecordN(us, 1000)
	r.report.Histograms.ResponseTime = h.Encode()
}

// timesOut gets no response to one request in five.
func (r *run) timesOut() {
	h := histogram.New()
	h.RecordN(1000, 800)
	h.AddUnanswered(200, 5_000_000)
	r.report.Histograms.ResponseTime = h.Encode()
}

// deadlines adds calls that the runner ended at their deadline.
func (r *run) deadlines(n int64) {
	r.report.Failures = []runnerv1alpha1.FailureCount{{Failure: runnerv1alpha1.Failure{
		Of: runnerv1alpha1.FailureTimedOut, Cause: runnerv1alpha1.CauseDeadline}, Count: n}}
}

// timesOutAlways gets no response at all.
func (r *run) timesOutAlways() {
	r.report.Requests, r.report.ErrorRate = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 1000, TimedOut: 1000}}, 1
}

// answersWrongly gets status 401 for every request.
func (r *run) answersWrongly() {
	r.report.Requests, r.report.ErrorRate = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 1000, Done: 1000, FailedChecks: 1000}}, 1
	r.report.Steps = []runnerv1alpha1.StepResult{{
		Chain: "c", Step: "s", FailedBy: map[string]int64{"status": 1000}, StatusCodes: map[string]int64{"401": 1000},
	}}
}

func (r *run) shortOfRate(achieved float64) {
	r.report.Rate.Achieved = achieved
	r.report.Stages[0].Achieved = achieved
}

// losesOne loses a shard, and the test continues.
func (r *run) losesOne() {
	r.facts.LossTolerated = true
	r.report.Generator.ShardsLost, r.report.Partial = 1, true
}

// pauses for two seconds, because its lease expires.
func (r *run) pauses() {
	r.report.Requests = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 900, Done: 900, Succeeded: 900}, Dropped: 100}
	r.report.ErrorRate = 0.1
	r.report.Generator.LeaseExpired = runnerv1alpha1.LeaseExpiredResult{Shards: 1, Seconds: 2, Dropped: 100}
	r.report.Failures = []runnerv1alpha1.FailureCount{{
		Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureDropped, Cause: runnerv1alpha1.CauseLeaseExpired}, Count: 100,
	}}
}

// isLimited drops requests because of the operator's limit.
func (r *run) isLimited(dropped int64) {
	r.report.Requests = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 1000 - dropped, Done: 1000 - dropped, Succeeded: 1000 - dropped}, Dropped: dropped}
	r.report.ErrorRate = runnerv1alpha1.ErrorRate(float64(dropped) / 1000)
	r.report.Generator.Limited.Dropped = dropped
	r.report.Failures = []runnerv1alpha1.FailureCount{{
		Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureDropped, Cause: runnerv1alpha1.CauseRequestLimit}, Count: dropped,
	}}
}

// isHeld drops requests for a cause that does not count, and others get status 503.
func (r *run) isHeld(cause runnerv1alpha1.Cause, held, sent, wrong int64) {
	r.noThresholds()
	r.isLimited(held)
	r.report.Failures[0].Cause = cause
	r.report.Requests.Outcomes = runnerv1alpha1.Outcomes{Sent: sent, Done: sent, Succeeded: sent - wrong, FailedChecks: wrong}
	r.report.ErrorRate = runnerv1alpha1.ErrorRate(float64(held+wrong) / float64(held+sent))
	r.report.Steps = []runnerv1alpha1.StepResult{{FailedBy: map[string]int64{"status": wrong}, StatusCodes: map[string]int64{"503": wrong}}}
}

// isLimitedToo says of some of the dropped requests that the operator's limit is the cause.
func (r *run) isLimitedToo(n int64) {
	r.report.Generator.Limited.Dropped = n
	r.report.Failures[0].Count -= n
	r.report.Failures = append(r.report.Failures, runnerv1alpha1.FailureCount{
		Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureDropped, Cause: runnerv1alpha1.CauseRequestLimit}, Count: n,
	})
}

// dropsInStages drops requests of a stage, without a free stream, and requests of another one because of the operator's
// limit. The threshold is on one of them.
func (r *run) dropsInStages(noStream, limited, inStage int64) {
	r.isLimited(noStream + limited)
	r.report.Failures[0].Cause = runnerv1alpha1.CauseNoStream
	r.isLimitedToo(limited)
	q := runnerv1alpha1.SelectionCounts{Sent: 400 - inStage, Done: 400 - inStage, Succeeded: 400 - inStage, Dropped: inStage}
	r.report.Selections = []runnerv1alpha1.SelectionResult{{SelectionCounters: runnerv1alpha1.SelectionCounters{SelectionCounts: q}, WindowSeconds: 4}}
	r.plan.Thresholds = []runnerv1alpha1.Threshold{{Name: "clean", Metric: runnerv1alpha1.MetricErrorRate, Max: "1%", Of: runnerv1alpha1.Selector{Stage: "hold"}}}
}

// failsHalf gets a wrong response to every other request.
func (r *run) failsHalf() {
	q := &r.report.Requests
	q.Succeeded, q.FailedChecks, r.report.ErrorRate = 500, q.Done-500, 0.5
}

// waits has a closed loop that the operator's limit held back.
func (r *run) waits() {
	r.plan.Rates[0].ClosedLoop = true
	r.report.Generator.Limited.Waited = 900
}

// waitsInWarmUp has a closed loop that the operator's limit held back before the measured stage.
func (r *run) waitsInWarmUp() {
	r.plan.Rates = append([]runnerv1alpha1.Rate{{Name: "warm", ClosedLoop: true, WarmUp: true, Duration: time.Second}}, r.plan.Rates...)
	r.report.Generator.Limited.Waited = 900
}

// mostlyDropped could not send 71% of its requests.
func (r *run) mostlyDropped() {
	r.report.Requests = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 290, Done: 290, Succeeded: 290}, Dropped: 710}
	r.report.ErrorRate = 0.71
	r.report.Failures = []runnerv1alpha1.FailureCount{{
		Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureDropped, Cause: runnerv1alpha1.CauseNoStream}, Count: 710,
	}}
}

// nothingCompleted has requests that succeed and chains that do not.
func (r *run) nothingCompleted() {
	r.report.Chains = runnerv1alpha1.ChainCounters{
		Started: 7, Aborted: 6, Unfinished: 1, AbortedBy: map[string]int64{"timedOut": 1, "missingCapture": 5},
	}
}

// nothingEnded has chains that take longer than the load.
func (r *run) nothingEnded() {
	r.report.Chains = runnerv1alpha1.ChainCounters{Started: 7, Unfinished: 7}
}

// awaits notifications of a listener, all of them in measured stages.
func (r *run) awaits(c runnerv1alpha1.ListenerCounts) {
	c.Measured = runnerv1alpha1.AwaitCounts{Awaited: c.Awaited, InTime: c.InTime, FailedChecks: c.FailedChecks, Missing: c.Missing}
	r.report.Listeners = []runnerv1alpha1.ListenerResult{{Name: "l", ListenerCounts: c}}
}

// judgesListener adds a threshold on the errors of a listener, which has the figures of the report's first one.
func (r *run) judgesListener(name, limit string) {
	of := runnerv1alpha1.Selector{Listener: name}
	r.plan.Thresholds = append(r.plan.Thresholds, runnerv1alpha1.Threshold{Name: "calls", Metric: runnerv1alpha1.MetricNotificationErrorRate, Max: limit, Of: of})
	m := r.report.Listeners[0].Measured
	r.report.Selections = []runnerv1alpha1.SelectionResult{{Selector: of, Metric: runnerv1alpha1.MetricNotificationTime, SelectionCounters: runnerv1alpha1.SelectionCounters{
		SelectionCounts: runnerv1alpha1.SelectionCounts{Sent: m.Awaited, Done: m.InTime, Succeeded: m.InTime - m.FailedChecks, TimedOut: m.Missing},
	}}}
}

// unauthorized sent requests without a token.
func (r *run) unauthorized() {
	r.report.Authorizations = []runnerv1alpha1.Authorization{{Target: "udr", Tokens: 2}, {Target: "udm", Tokens: 1, Failures: 3, LastFailure: "answered 400", SentWithout: 7}}
}

func (r *run) noThresholds() { r.plan.Thresholds = nil }

func (r *run) lags() { r.report.Lag.P99 = MaxLag + 1 }

// isBusy uses so many seconds of the ten that its worker has.
func (r *run) isBusy(seconds float64) { r.report.CPUSeconds, r.report.Generator.Workers = seconds, 1 }

func (r *run) closedLoop() {
	r.plan.Rates[0] = runnerv1alpha1.Rate{Name: "hold", ClosedLoop: true, Duration: 10 * time.Second}
	r.report.Stages[0].Asked, r.report.Rate.Asked = 0, 0
}

func TestJudge(t *testing.T) {
	const (
		failed       = runnerv1alpha1.OutcomeFailed
		inconclusive = runnerv1alpha1.OutcomeInconclusive
		broken       = runnerv1alpha1.OutcomeError
		halted       = runnerv1alpha1.OutcomeStopped
		pass         = runnerv1alpha1.OutcomePassed
	)
	tests := []struct {
		name    string
		change  func(*run)
		outcome runnerv1alpha1.Outcome
		reason  string
		message string
		exit    int
	}{
		{"all is well", func(*run) {}, pass, ReasonPassed, "all thresholds passed", 0},
		{"no thresholds", (*run).noThresholds, pass, ReasonNoThresholds, "no thresholds", 0},

		// Problems.
		{"unreachable", func(r *run) { r.facts = Facts{Problem: runnerv1alpha1.ProblemConnect, Message: "connection refused"} }, broken, ReasonTargetUnreachable, "could not be reached: connection refused", 5},
		{"plan rejected", func(r *run) { r.facts.Problem = runnerv1alpha1.ProblemPlan }, broken, ReasonPlanRejected, "rejected the plan", 5},
		{"setup failed", func(r *run) {
			r.facts = Facts{Problem: runnerv1alpha1.ProblemSetup, Message: "setup chain login: step token: timedOut"}
		}, broken, ReasonSetupFailed, "setup failed: setup chain login: step token: timedOut", 5},
		{"stalled", func(r *run) {
			r.facts.Problem, r.facts.Message = runnerv1alpha1.ProblemStalled, "target t: refused"
		}, broken, ReasonStalled, "the runners could send no more requests: target t: refused", 5},
		{"internal", func(r *run) { r.facts.Problem = runnerv1alpha1.ProblemInternal }, broken, ReasonInternalError, "failed", 5},
		{"unknown problem", func(r *run) { r.facts.Problem = "Other" }, broken, ReasonInternalError, "failed", 5},
		{"deadline", func(r *run) { r.facts.Problem = runnerv1alpha1.ProblemDeadline }, broken, ReasonDeadlineExceeded, "deadline", 5},
		{"deadline and a loss", func(r *run) { r.facts.Problem = runnerv1alpha1.ProblemDeadline; r.report.Generator.ShardsLost = 1 }, broken, ReasonRunnerLost, "1 of 2 shards", 5},
		{"not authorized", func(r *run) { r.facts = Facts{Problem: runnerv1alpha1.ProblemAuthorization, Message: "answered 400"} }, broken, ReasonNotAuthorized, "a target has no authorization: answered 400", 5},
		{"no token, no success", func(r *run) { r.report.Requests.Succeeded = 0; r.unauthorized() }, broken, ReasonNotAuthorized, "none of 1000 requests succeeded; 7 requests to target udm were sent without authorization: answered 400", 5},
		{"a token expired, and a threshold failed", func(r *run) { r.unauthorized(); r.slowResponses() }, inconclusive, ReasonNotAuthorized, "answered 400; fast", 3},
		{"a token expired", (*run).unauthorized, inconclusive, ReasonNotAuthorized, "7 requests to target udm were sent without authorization: answered 400", 3},
		{"a problem before the interrupt", func(r *run) { r.facts = Facts{Problem: runnerv1alpha1.ProblemConnect, Interrupted: true} }, broken, ReasonTargetUnreachable, "", 5},

		// A lost shard.
		{"lost", func(r *run) { r.report.Generator.ShardsLost = 1; r.report.Partial = true }, broken, ReasonRunnerLost, "1 of 2 shards", 5},
		{"lost and failed", func(r *run) { r.report.Generator.ShardsLost = 1; r.slowResponses() }, broken, ReasonRunnerLost, "", 5},
		{"lost and stopped", func(r *run) { r.report.Generator.ShardsLost = 1; r.report.Stopped = "spec.stop" }, broken, ReasonRunnerLost, "", 5},

		// A lost shard that can be done without.
		{"tolerated", (*run).losesOne, inconclusive, ReasonPartialResult, "1 of 2 shards were lost; what they did after their last snapshot is missing", 3},
		{"tolerated, no thresholds", func(r *run) { r.losesOne(); r.noThresholds() }, inconclusive, ReasonPartialResult, "1 of 2", 3},
		{"tolerated and failed", func(r *run) { r.losesOne(); r.slowResponses() }, failed, ReasonThresholdsFailed, "fast", 2},
		{"tolerated, too many errors", func(r *run) { r.losesOne(); r.report.ErrorRate = 0.1 }, failed, ReasonThresholdsFailed, "clean", 2},
		{"tolerated, too few requests", func(r *run) { r.losesOne(); r.shortOfRate(50) }, inconclusive, ReasonPartialResult, "is missing; much: Rate 50 < 100", 3},
		{"tolerated, too many requests", func(r *run) { r.losesOne(); r.shortOfRate(101) }, failed, ReasonThresholdsFailed, "few", 2},
		{"tolerated, the generator lags", func(r *run) { r.losesOne(); r.lags(); r.slowResponses() }, inconclusive, ReasonGeneratorBound, "fast", 3},
		{"tolerated, too few requests, the generator lags", func(r *run) { r.losesOne(); r.lags(); r.shortOfRate(50) }, inconclusive, ReasonPartialResult, "much", 3},
		{"tolerated and stopped", func(r *run) { r.losesOne(); r.report.Stopped = "spec.stop" }, halted, ReasonStopped, "", 4},
		{"tolerated, no response", func(r *run) { r.losesOne(); r.timesOutAlways() }, broken, ReasonNoSuccess, "", 5},
		{"tolerated, and the deadline", func(r *run) { r.losesOne(); r.facts.Problem = runnerv1alpha1.ProblemDeadline }, broken, ReasonDeadlineExceeded, "", 5},
		{"ended by a loss, and none lost", func(r *run) { r.facts.EndedByLoss, r.report.Stopped = true, "spec.runner.minShards" }, broken, ReasonRunnerLost, "answered again", 5},
		{"tolerated, and none lost", func(r *run) { r.facts.LossTolerated = true; r.shortOfRate(50) }, failed, ReasonThresholdsFailed, "much", 2},

		// A runner was paused.
		{"lease expired", (*run).pauses, inconclusive, ReasonLeaseExpired, "the leases of 1 of 2 shards expired, because the operator could not reach them; they sent nothing for up to 2s and dropped 100 requests; clean", 3},
		{"lease expired, no thresholds", func(r *run) { r.pauses(); r.noThresholds() }, inconclusive, ReasonLeaseExpired, "dropped 100", 3},
		{"lease expired, too few requests", func(r *run) { r.pauses(); r.shortOfRate(90) }, inconclusive, ReasonLeaseExpired, "much: Rate 90 < 100", 3},
		{"lease expired, slow responses", func(r *run) { r.pauses(); r.slowResponses() }, failed, ReasonThresholdsFailed, "fast", 2},
		{"lease expired, failed checks", func(r *run) { r.pauses(); r.noThresholds(); r.report.Requests.Succeeded = 800 }, failed, ReasonTooManyErrors, "", 2},
		{"lease expired, the generator lags", func(r *run) { r.pauses(); r.lags(); r.shortOfRate(90) }, inconclusive, ReasonLeaseExpired, "", 3},
		{"lease expired and a loss", func(r *run) { r.pauses(); r.losesOne() }, inconclusive, ReasonPartialResult, "1 of 2 shards were lost", 3},
		{"limited", func(r *run) { r.isLimited(100) }, inconclusive, ReasonGeneratorBound, "limits.requestsPerSecond of the operator's configuration held back requests: 100 were due and were dropped, 0 waited; clean", 3},
		{"limited, no thresholds", func(r *run) { r.isLimited(100); r.noThresholds() }, inconclusive, ReasonGeneratorBound, "100 were due", 0},
		{"hardly limited, no thresholds", func(r *run) { r.isLimited(9); r.noThresholds() }, pass, ReasonNoThresholds, "", 0},
		{"limited, failed checks", func(r *run) { r.isLimited(100); r.noThresholds(); r.report.Requests.Succeeded = 800 }, failed, ReasonTooManyErrors, "", 2},
		{"hardly limited, errors at the default limit", func(r *run) { r.isHeld(runnerv1alpha1.CauseRequestLimit, 5, 1000, 10) }, pass, ReasonNoThresholds, "", 0},
		{"limited, errors above the default limit", func(r *run) { r.isHeld(runnerv1alpha1.CauseRequestLimit, 2000, 8000, 160) }, failed, ReasonTooManyErrors,
			"the error rate is 2%, above the default limit of 1%: of 8000 requests, 160 x status 503; 2000 more do not count, because they were never sent (limits.requestsPerSecond of the operator was reached); set a threshold", 2},
		{"lease expired, errors above the default limit", func(r *run) { r.isHeld(runnerv1alpha1.CauseLeaseExpired, 2000, 8000, 160) }, failed, ReasonTooManyErrors,
			"of 8000 requests, 160 x status 503; 2000 more do not count, because they were never sent (the lease of the runner expired); set a threshold", 2},
		{"limited, slow responses", func(r *run) { r.isLimited(100); r.slowResponses() }, failed, ReasonThresholdsFailed, "fast", 2},
		{"a closed loop is limited", (*run).waits, pass, ReasonPassed, "", 0},
		{"a closed loop is limited, too few requests", func(r *run) { r.waits(); r.shortOfRate(90) }, inconclusive, ReasonGeneratorBound, "900 waited; much: Rate 90 < 100", 3},
		{"a closed loop is limited, failed checks", func(r *run) { r.waits(); r.failsHalf() }, failed, ReasonThresholdsFailed, "clean: ErrorRate 50%", 2},
		{"hardly limited, failed checks", func(r *run) { r.isLimited(1); r.failsHalf() }, failed, ReasonThresholdsFailed, "clean: ErrorRate 50%", 2},
		{"limited, no response", func(r *run) { r.isLimited(30); r.timesOut() }, failed, ReasonThresholdsFailed, "fast: p99 of ResponseTime > 5s", 2},
		{"limited, others dropped", func(r *run) {
			r.mostlyDropped()
			r.isLimitedToo(1)
		}, failed, ReasonThresholdsFailed, "clean: ErrorRate 71%", 2},
		{"limited in another stage", func(r *run) { r.dropsInStages(100, 500, 100) }, failed, ReasonThresholdsFailed, "clean: ErrorRate in stage hold 25%", 2},
		{"limited in the stage", func(r *run) { r.dropsInStages(1, 100, 101) }, inconclusive, ReasonGeneratorBound, "clean: ErrorRate in stage hold 25.25%", 3},
		{"hardly limited, rate short, generator lags", func(r *run) {
			r.isLimited(1)
			r.lags()
			r.shortOfRate(50)
			r.plan.Thresholds = []runnerv1alpha1.Threshold{clean}
		}, inconclusive, ReasonGeneratorBound, "it lagged (p99 10ms): stage hold reached 50 of 100 requests a second", 3},
		{"limited, rate short, generator lags", func(r *run) { r.isLimited(100); r.lags(); r.shortOfRate(90) }, inconclusive, ReasonGeneratorBound, "100 were due and were dropped", 3},
		{"a warm-up waited, rate short, generator lags", func(r *run) {
			r.waitsInWarmUp()
			r.lags()
			r.shortOfRate(90)
			r.plan.Thresholds = []runnerv1alpha1.Threshold{clean}
		}, inconclusive, ReasonGeneratorBound, "stage hold reached 90 of 100", 3},
		{"a warm-up waited, too few requests", func(r *run) { r.waitsInWarmUp(); r.shortOfRate(90) }, failed, ReasonThresholdsFailed, "much: Rate 90 < 100", 2},
		{"lease expired and stopped", func(r *run) { r.pauses(); r.report.Stopped = "spec.stop" }, halted, ReasonStopped, "", 4},

		// Not one success.
		{"no response", (*run).timesOutAlways, broken, ReasonNoSuccess, "none of 1000 requests succeeded: 1000 timed out", 5},
		{"nothing sent", func(r *run) { r.report.Requests = runnerv1alpha1.Requests{} }, broken, ReasonNoSuccess, "", 5},
		{"no response and no thresholds", func(r *run) { r.noThresholds(); r.timesOutAlways() }, broken, ReasonNoSuccess, "", 5},
		{"no response before the deadline", func(r *run) { r.timesOutAlways(); r.deadlines(1000) }, broken, ReasonNoSuccess, "none of 1000 requests succeeded: 1000 timed out (the deadline of the call passed)", 5},
		{"no response before the deadline or the timeout", func(r *run) {
			r.timesOutAlways()
			r.deadlines(997)
			r.report.Requests.TimedOut, r.report.Requests.Reset = 998, 2
		}, broken, ReasonNoSuccess, "none of 1000 requests succeeded: 998 timed out, 2 were reset", 5},
		{"no response, stopped", func(r *run) { r.timesOutAlways(); r.report.Stopped = "spec.stop" }, halted, ReasonStopped, "stopped before the run completed: spec.stop; none of 1000 requests succeeded: 1000 timed out", 4},
		{"no response, interrupted", func(r *run) { r.timesOutAlways(); r.facts.Interrupted = true }, halted, ReasonInterrupted, "interrupted before the run completed; none of 1000 requests succeeded: 1000 timed out", 4},
		{"no response, without authorization, interrupted", func(r *run) { r.timesOutAlways(); r.unauthorized(); r.facts.Interrupted = true }, halted, ReasonInterrupted, "", 4},
		{"one response in all, and it is wrong", func(r *run) {
			r.noThresholds()
			r.answersWrongly()
			r.report.Requests.Done, r.report.Requests.FailedChecks, r.report.Requests.TimedOut = 1, 1, 999
			r.report.Steps[0].FailedBy, r.report.Steps[0].StatusCodes = map[string]int64{"status": 1}, map[string]int64{"401": 1}
		}, failed, ReasonTooManyErrors, "1 x status 401, 999 timed out", 2},
		{"wrong responses only", (*run).answersWrongly, failed, ReasonThresholdsFailed, "clean: ErrorRate 100% > 0.1%; none of 1000 requests succeeded: 1000 x status 401", 2},
		{"wrong responses only, no thresholds", func(r *run) { r.noThresholds(); r.answersWrongly() }, failed, ReasonTooManyErrors, "the error rate is 100%, above the default limit of 1%: of 1000 requests, 1000 x status 401; set a threshold", 2},
		{"wrong responses only, a threshold on other figures", func(r *run) { r.plan.Thresholds = r.plan.Thresholds[3:]; r.answersWrongly() }, failed, ReasonTooManyErrors, "", 2},
		{"wrong responses only, which a threshold allows", func(r *run) { r.plan.Thresholds[2].Max = "100%"; r.answersWrongly() }, pass, ReasonPassed, "", 0},
		{"wrong bodies only", func(r *run) {
			r.answersWrongly()
			r.report.Steps[0].FailedBy, r.report.Steps[0].StatusCodes = map[string]int64{"hasID": 990, "status": 10}, map[string]int64{"200": 990, "500": 10}
		}, failed, ReasonThresholdsFailed, "990 x check hasID, 10 x status 500", 2},
		{"wrong responses only, interrupted", func(r *run) { r.answersWrongly(); r.facts.Interrupted = true }, halted, ReasonInterrupted, "; none of 1000 requests succeeded: 1000 x status 401", 4},
		{"stopped before any outcome", func(r *run) {
			r.report.Requests = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 3, InFlightAtEnd: 3}}
			r.report.Stopped = "spec.stop"
		}, halted, ReasonStopped, "spec.stop", 4},
		{"interrupted before anything", func(r *run) { r.report.Requests = runnerv1alpha1.Requests{}; r.facts.Interrupted = true }, halted, ReasonInterrupted, "", 4},
		{"interrupted when all was dropped", func(r *run) { r.report.Requests = runnerv1alpha1.Requests{Dropped: 1}; r.facts.Interrupted = true }, halted, ReasonInterrupted, "none of 1 requests succeeded: 1 were never sent", 4},

		// The default limit on errors.
		{"errors at the default limit", func(r *run) { r.noThresholds(); r.report.ErrorRate = 0.01 }, pass, ReasonNoThresholds, "at most the default limit of 1%", 0},
		{"errors above it", func(r *run) { r.noThresholds(); r.mostlyDropped() }, failed, ReasonTooManyErrors, "the error rate is 71%, above the default limit of 1%: of 1000 requests, 710 were never sent (no stream became free in time)", 2},
		{"statuses above it, next to expected ones", func(r *run) {
			r.noThresholds()
			r.report.Requests, r.report.ErrorRate = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 1000, Done: 1000, Succeeded: 980, FailedChecks: 20}}, 0.02
			r.report.Steps = []runnerv1alpha1.StepResult{{FailedBy: map[string]int64{"status": 20}, StatusCodes: map[string]int64{"404": 980, "503": 15, "200": 5}}}
		}, failed, ReasonTooManyErrors, "15 x status 503, 5 x status 200", 2},
		{"errors above it, closed loop", func(r *run) { r.noThresholds(); r.closedLoop(); r.mostlyDropped() }, failed, ReasonTooManyErrors, "", 2},
		{"errors above it, the generator lags", func(r *run) { r.noThresholds(); r.lags(); r.mostlyDropped() }, failed, ReasonTooManyErrors, "; the generator can be the cause, it lagged (p99 10ms): try spec.runner.shards: 3; set a threshold", 2},
		{"errors above it, and a limit that dropped none", func(r *run) {
			r.noThresholds()
			r.report.ErrorRate = 0.5
			r.report.Bounds = []runnerv1alpha1.BoundResult{{Message: "one"}}
		}, failed, ReasonTooManyErrors, "1 failed their checks; set a threshold", 2},
		{"errors above it, and a limit that dropped some", func(r *run) {
			r.noThresholds()
			r.mostlyDropped()
			r.report.Bounds = []runnerv1alpha1.BoundResult{{Message: "one"}, {Message: "two", Dropped: 710}}
		}, failed, ReasonTooManyErrors, "; two; set a threshold", 2},
		{"errors above it that are no drops, the generator lags", func(r *run) { r.noThresholds(); r.lags(); r.report.ErrorRate = 0.5 }, failed, ReasonTooManyErrors, "1 failed their checks; set a threshold", 2},
		{"errors above it, thresholds on other figures", func(r *run) { r.plan.Thresholds = r.plan.Thresholds[:2]; r.mostlyDropped() }, failed, ReasonTooManyErrors, "", 2},
		{"errors above it, stopped", func(r *run) { r.noThresholds(); r.mostlyDropped(); r.report.Stopped = "spec.stop" }, halted, ReasonStopped, "", 4},
		{"a limit of one's own", func(r *run) { r.plan.Thresholds[2].Max = "80%"; r.mostlyDropped() }, pass, ReasonPassed, "", 0},
		{"above a limit of one's own, the generator lags", func(r *run) { r.plan.Thresholds = r.plan.Thresholds[2:3]; r.lags(); r.mostlyDropped() }, failed, ReasonThresholdsFailed, "clean: ErrorRate 71% > 0.1%; the generator can be the cause, it lagged (p99 10ms): try spec.runner.shards: 3", 2},
		{"no chain completed", func(r *run) { r.noThresholds(); r.nothingCompleted() }, failed, ReasonNoChainCompleted, "none of 7 chain instances was completed; aborted: 5 by missingCapture, 1 by timedOut; under way at the end of the load: 1", 2},
		{"no chain completed, a limit of one's own", func(r *run) {
			r.nothingCompleted()
			r.report.Chains.AbortedBy = map[string]int64{"timedOut": 6}
		}, pass, ReasonPassed, "all thresholds passed; none of 7 chain instances was completed; aborted: 6 by timedOut", 0},
		{"no chain completed, which no limit on errors can show", (*run).nothingCompleted, failed, ReasonNoChainCompleted, "none of 7 chain instances was completed; aborted: 5 by missingCapture", 2},
		{"all chains were under way at the end", func(r *run) { r.noThresholds(); r.nothingEnded() }, failed, ReasonNoChainCompleted, "none of 7 chain instances was completed; under way at the end of the load: 7; set gracefulStop, or more requests or a longer duration of the stages", 2},
		{"all chains were under way at the end, and a threshold on errors", (*run).nothingEnded, pass, ReasonPassed, "all thresholds passed; none of 7 chain instances was completed; under way at the end of the load: 7", 0},
		{"all chains were under way at the end, and gracefulStop completed one", func(r *run) {
			r.noThresholds()
			r.nothingEnded()
			r.report.Graceful.Completed = 1
		}, pass, ReasonNoThresholds, "the default limit of 1%", 0},
		{"all chains began in a warm-up", func(r *run) { r.noThresholds(); r.report.Chains = runnerv1alpha1.ChainCounters{} }, pass, ReasonNoThresholds, "the default limit of 1%", 0},

		// Teardown.
		{"teardown failed", func(r *run) { r.report.TeardownFailure = "chain free: timedOut" }, failed, ReasonTeardownFailed, "teardown failed: chain free: timedOut", 2},
		{"teardown failed, no thresholds, the generator lags", func(r *run) {
			r.noThresholds()
			r.shortOfRate(50)
			r.lags()
			r.report.TeardownFailure = "chain free: timedOut"
		}, failed, ReasonTeardownFailed, "", 2},
		{"teardown failed, and failed", func(r *run) { r.report.TeardownFailure = "x"; r.slowResponses() }, failed, ReasonThresholdsFailed, "; teardown failed: x", 2},
		{"teardown failed, and stopped", func(r *run) { r.report.TeardownFailure = "x"; r.facts.Interrupted = true }, halted, ReasonInterrupted, "; teardown failed: x", 4},

		// Stopped.
		{"stopped", func(r *run) { r.report.Stopped = "spec.stop" }, halted, ReasonStopped, "spec.stop", 4},
		{"interrupted", func(r *run) { r.facts.Interrupted = true; r.report.Stopped = "SIGINT" }, halted, ReasonInterrupted, "", 4},
		{"stopped and failed", func(r *run) { r.report.Stopped = "spec.stop"; r.slowResponses() }, halted, ReasonStopped, "", 4},

		// A variable that was used up.
		{"used up", func(r *run) { r.report.Exhausted = true }, pass, ReasonPassed, "all thresholds passed; a variable was used up", 0},
		{"used up and failed", func(r *run) { r.report.Exhausted = true; r.slowResponses() }, failed, ReasonThresholdsFailed, "> 20ms; a variable was used up", 2},
		{"used up, no success", func(r *run) { r.report.Exhausted = true; r.report.Requests = runnerv1alpha1.Requests{} }, broken, ReasonNoSuccess, "; a variable was used up", 5},

		// Thresholds, on both sides.
		{"time above", (*run).slowResponses, failed, ReasonThresholdsFailed, "fast: p99 of ResponseTime 20.001ms > 20ms", 2},
		{"time below its minimum", func(r *run) { r.plan.Thresholds[1].Min = "1001us" }, failed, ReasonThresholdsFailed, "slow: p50 of ResponseTime 1ms < 1001us", 2},
		{"one request in five without a response", (*run).timesOut, failed, ReasonThresholdsFailed, "fast: p99 of ResponseTime > 5s (no response), limit <= 20ms", 2},
		{"no response, and a limit above the timeout", func(r *run) { r.timesOut(); r.plan.Thresholds[0].Max = "1h" }, failed, ReasonThresholdsFailed, "", 2},
		{"no response, and a percentile below it", func(r *run) { r.timesOut(); r.plan.Thresholds[0].Percentile = "p80" }, pass, ReasonPassed, "", 0},
		{"no response, and a minimum", func(r *run) { r.timesOut(); r.plan.Thresholds[0].Max, r.plan.Thresholds[0].Min = "", "1h" }, pass, ReasonPassed, "", 0},
		{"no response, and the service time", func(r *run) { r.timesOut(); r.plan.Thresholds[0].Metric = runnerv1alpha1.MetricServiceTime }, pass, ReasonPassed, "", 0},
		{"no response at all", func(r *run) {
			r.plan.Thresholds = r.plan.Thresholds[:1]
			r.report.Histograms.ResponseTime = runnerv1alpha1.Histogram{Unanswered: 3, UnansweredAbove: 1_500_000}
		}, failed, ReasonThresholdsFailed, "fast: p99 of ResponseTime > 1.5s", 2},
		{"no response, the generator lags", func(r *run) { r.timesOut(); r.lags() }, failed, ReasonThresholdsFailed, "fast", 2},
		{"no response, lease expired", func(r *run) { r.pauses(); r.timesOut() }, inconclusive, ReasonLeaseExpired, "clean: ErrorRate", 3},
		{"errors above", func(r *run) { r.report.ErrorRate = 0.00100001 }, failed, ReasonThresholdsFailed, "clean: ErrorRate 0.100001% > 0.1%", 2},
		{"errors at the limit", func(r *run) { r.plan.Thresholds[2].Max, r.report.ErrorRate = "0.7%", 7./1000 }, pass, ReasonPassed, "", 0},
		{"rate below", func(r *run) { r.shortOfRate(99.9999) }, failed, ReasonThresholdsFailed, "much: Rate 99.9999 < 100", 2},
		{"rate above", func(r *run) { r.shortOfRate(100.1) }, failed, ReasonThresholdsFailed, "few: Rate 100.1 > 100", 2},
		{"two at once", func(r *run) { r.slowResponses(); r.shortOfRate(50) }, failed, ReasonThresholdsFailed, "; much: Rate", 2},
		{"failed on a part", func(r *run) { r.report.Partial = true; r.slowResponses() }, failed, ReasonThresholdsFailed, "", 2},
		{"a part is missing", func(r *run) { r.report.Partial = true }, inconclusive, ReasonPartialResult, "", 3},
		{"a part is missing, no thresholds", func(r *run) { r.report.Partial = true; r.noThresholds() }, inconclusive, ReasonPartialResult, "", 3},

		// The generator as the bottleneck.
		{"lag at its bound", func(r *run) { r.report.Lag.P99 = MaxLag; r.slowResponses() }, failed, ReasonThresholdsFailed, "", 2},
		{"lag above", func(r *run) { r.lags(); r.slowResponses() }, inconclusive, ReasonGeneratorBound, "it lagged (p99 10ms): fast: p99 of ResponseTime", 3},
		{"lag of the worst shard", func(r *run) { r.report.Generator.LagP99Microseconds = MaxLag + 1; r.slowResponses() }, inconclusive, ReasonGeneratorBound, "", 3},
		{"lag is the cause", func(r *run) { r.lags(); r.report.Lag.Max = 30_000; r.respondsIn(80_000) }, inconclusive, ReasonGeneratorBound, "", 3},
		{"failed checks of a generator that lags", func(r *run) {
			r.lags()
			r.plan.Thresholds = append(r.plan.Thresholds, runnerv1alpha1.Threshold{Name: "checks", Metric: runnerv1alpha1.MetricFailedChecks, Max: "0"})
		}, failed, ReasonThresholdsFailed, "checks", 2},
		{"notifications are missing", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 98, InTime: 98, Awaited: 100, Missing: 2})
		}, failed, ReasonNotificationErrors, "2% of 100", 2},
		{"notifications fail checks", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 100, InTime: 100, FailedChecks: 2, Awaited: 100})
		}, failed, ReasonNotificationErrors, "2 failed their checks", 2},
		{"one notification is missing", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 99, InTime: 99, Awaited: 100, Missing: 1})
		}, pass, ReasonPassed, "", 0},
		{"notifications are missing in a warm-up", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Awaited: 100, Missing: 100})
			r.report.Listeners[0].Measured = runnerv1alpha1.AwaitCounts{}
		}, pass, ReasonPassed, "", 0},
		{"notifications are awaited at the end", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 98, InTime: 98, Awaited: 100, WaitingAtEnd: 2})
		}, failed, ReasonNotificationErrors, "2 were awaited at the end; set a threshold on NotificationErrorRate", 2},
		{"notifications are awaited while the test runs", func(r *run) {
			r.facts.Running = true
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 50, InTime: 50, Awaited: 100, WaitingAtEnd: 50})
		}, pass, ReasonPassed, "", 0},
		{"a threshold allows missing notifications", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 98, InTime: 98, Awaited: 100, Missing: 2})
			r.judgesListener("l", "2%")
		}, pass, ReasonPassed, "", 0},
		{"a threshold on all listeners", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 98, InTime: 98, Awaited: 100, Missing: 2})
			r.judgesListener("", "1%")
		}, failed, ReasonThresholdsFailed, "calls: NotificationErrorRate 2% > 1%", 2},
		{"a threshold on another listener", func(r *run) {
			r.awaits(runnerv1alpha1.ListenerCounts{Received: 98, InTime: 98, Awaited: 100, Missing: 2})
			r.judgesListener("other", "100%")
		}, failed, ReasonNotificationErrors, "listener l", 2},
		{"far beyond the lag", func(r *run) { r.lags(); r.report.Lag.Max = 30_000; r.respondsIn(80_500) }, failed, ReasonThresholdsFailed, "fast", 2},
		{"far beyond the lag, without idle CPU", func(r *run) { r.lags(); r.isBusy(9); r.respondsIn(1_000_000) }, inconclusive, ReasonGeneratorBound, "", 3},
		{"far beyond the lag, with idle CPU", func(r *run) { r.lags(); r.isBusy(8.9); r.respondsIn(1_000_000) }, failed, ReasonThresholdsFailed, "fast", 2},
		{"far beyond the lag, spinning", func(r *run) {
			r.lags()
			r.isBusy(10)
			r.report.Generator.Idle.SpinShards = 1
			r.respondsIn(1_000_000)
		}, failed, ReasonThresholdsFailed, "fast", 2},
		{"far beyond the lag, throttled", func(r *run) {
			r.lags()
			r.report.Generator.ThrottledMicroseconds = 200_001
			r.respondsIn(1_000_000)
		}, inconclusive, ReasonGeneratorBound, "", 3},
		{"throttled at the bound", func(r *run) { r.report.Generator.ThrottledMicroseconds = 200_000; r.slowResponses() }, failed, ReasonThresholdsFailed, "", 2},
		{"throttled above", func(r *run) { r.report.Generator.ThrottledMicroseconds = 200_001; r.slowResponses() }, inconclusive, ReasonGeneratorBound, "it was throttled for 200ms: ", 3},
		{"both", func(r *run) { r.lags(); r.report.Generator.ThrottledMicroseconds = 2e6; r.slowResponses() }, inconclusive, ReasonGeneratorBound, "it lagged (p99 10ms) and it was throttled for 2s: ", 3},
		{"throttled for longer than the run, on several CPUs", func(r *run) { r.report.Generator.ThrottledMicroseconds = 44e6; r.slowResponses() }, inconclusive, ReasonGeneratorBound, "it was throttled for 44s: ", 3},
		{"lag that harmed nothing", (*run).lags, pass, ReasonPassed, "", 0},
		{"rate short, generator well", func(r *run) { r.shortOfRate(50) }, failed, ReasonThresholdsFailed, "much", 2},
		{"chains short, generator lags", func(r *run) {
			r.lags()
			r.report.Stages[len(r.report.Stages)-1] = runnerv1alpha1.StageResult{Name: "hold", Achieved: 50, AskedChains: 20, AchievedChains: 10, Sent: 50}
		}, inconclusive, ReasonGeneratorBound, "stage hold started 10 of 20 chains a second; try spec.runner.shards: 6", 3},
		{"rate short, generator lags", func(r *run) { r.shortOfRate(50); r.lags() }, inconclusive, ReasonGeneratorBound, "stage hold reached 50 of 100 requests a second; much", 3},
		{"rate short without a threshold, generator well", func(r *run) { r.shortOfRate(50); r.noThresholds() }, pass, ReasonNoThresholds, "", 0},
		{"rate short without a threshold, generator lags", func(r *run) { r.shortOfRate(50); r.lags(); r.noThresholds() }, inconclusive, ReasonGeneratorBound, "", 0},
		{"rate at the bound", func(r *run) { r.shortOfRate(99); r.lags(); r.noThresholds() }, pass, ReasonNoThresholds, "", 0},
		{"rate below the bound", func(r *run) { r.shortOfRate(98.9); r.lags(); r.plan.Thresholds = r.plan.Thresholds[2:3] }, inconclusive, ReasonGeneratorBound, "", 3},
		{"a stage that never began", func(r *run) {
			r.lags()
			r.report.Stages = append(r.report.Stages, runnerv1alpha1.StageResult{Name: "next", Asked: 5})
		}, pass, ReasonPassed, "", 0},
		{"a warm-up that was short", func(r *run) {
			r.lags()
			r.report.Stages = append(r.report.Stages, runnerv1alpha1.StageResult{Name: "warm", WarmUp: true, Asked: 5, Sent: 1, Achieved: 1})
		}, pass, ReasonPassed, "", 0},
		{"errors in spite of lag", func(r *run) { r.lags(); r.report.ErrorRate = 0.5 }, failed, ReasonThresholdsFailed, "clean", 2},
		{"nor for too much", func(r *run) { r.lags(); r.shortOfRate(101) }, failed, ReasonThresholdsFailed, "few", 2},
		{"nor for being too fast", func(r *run) { r.lags(); r.plan.Thresholds[1].Min = "1001us" }, failed, ReasonThresholdsFailed, "slow", 2},
		{"excused and not", func(r *run) { r.lags(); r.slowResponses(); r.report.ErrorRate = 0.5 }, failed, ReasonThresholdsFailed, "clean", 2},
		{"a closed loop excuses nothing", func(r *run) {
			r.closedLoop()
			r.lags()
			r.slowResponses()
			r.plan.Thresholds = r.plan.Thresholds[:3]
		}, failed, ReasonThresholdsFailed, "fast", 2},
		{"unless there is a rate threshold", func(r *run) { r.closedLoop(); r.lags(); r.shortOfRate(50) }, inconclusive, ReasonGeneratorBound, "much", 3},
		{"a closed loop, slow and well", func(r *run) { r.closedLoop(); r.shortOfRate(50) }, failed, ReasonThresholdsFailed, "much", 2},

		// Exclusive CPUs.
		{"not exclusive", func(r *run) { r.report.Generator.ExclusiveWanted = true; r.report.Generator.ExclusiveShards = 1 }, pass, ReasonPassed, "1 of 2 shards did not have their CPUs", 0},
		{"exclusive", func(r *run) { r.report.Generator.ExclusiveWanted = true; r.report.Generator.ExclusiveShards = 2 }, pass, ReasonPassed, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := good()
			tt.change(r)
			got, err := Judge(&r.plan, &r.report, r.facts)
			if err != nil {
				t.Fatal(err)
			}
			if got.Outcome != tt.outcome || got.Reason != tt.reason || !strings.Contains(got.Message, tt.message) {
				t.Errorf("got %s, %s: %s\nwant %s, %s: ...%s...", got.Outcome, got.Reason, got.Message, tt.outcome, tt.reason, tt.message)
			}
			if len(got.Thresholds) != len(r.plan.Thresholds) {
				t.Errorf("%d thresholds compared, want all %d", len(got.Thresholds), len(r.plan.Thresholds))
			}
			if code := ExitCode(&runnerv1alpha1.Report{Verdict: got}); code != tt.exit {
				t.Errorf("exit code %d, want %d", code, tt.exit)
			}
		})
	}
	if ExitCode(&runnerv1alpha1.Report{Verdict: runnerv1alpha1.Verdict{Outcome: "Other"}}) != ExitError {
		t.Error("no error for an unknown outcome")
	}
}

// TestJudgeSeen: a threshold that was compared while the test ran is excused as one that was compared at the end.
func TestJudgeSeen(t *testing.T) {
	lags := func(r *run) { r.report.Lag.P99, r.report.Lag.Max = 12_000, 12_000 }
	for name, tt := range map[string]struct {
		change func(*run)
		// us is what 30 of 1000 requests took; 0: they have no response.
		us int64
		// dropped: those without a response were not sent.
		dropped bool
		outcome runnerv1alpha1.Outcome
	}{
		"the generator is well":           {func(*run) {}, 120_000, false, runnerv1alpha1.OutcomeFailed},
		"the generator lags":              {lags, 120_000, false, runnerv1alpha1.OutcomeInconclusive},
		"far beyond the lag":              {lags, 2_000_000, false, runnerv1alpha1.OutcomeFailed},
		"no response, the generator lags": {lags, 0, false, runnerv1alpha1.OutcomeFailed},
		"limited":                         {func(r *run) { r.isLimited(90) }, 0, true, runnerv1alpha1.OutcomeInconclusive},
		"hardly limited":                  {func(r *run) { r.isLimited(90); r.report.Failures[0].Count = 1 }, 0, true, runnerv1alpha1.OutcomeFailed},
		"limited, no response":            {func(r *run) { r.isLimited(1) }, 0, false, runnerv1alpha1.OutcomeFailed},
	} {
		r := good()
		r.plan.Targets = []runnerv1alpha1.Target{{Name: "front"}}
		r.plan.Chains = []runnerv1alpha1.Chain{{Name: "ping", Steps: []runnerv1alpha1.Step{{Name: "get", Timeout: 5 * time.Second}}}}
		r.plan.Thresholds = []runnerv1alpha1.Threshold{fast, {Name: "errors", Metric: runnerv1alpha1.MetricErrorRate, Max: "100%"}}
		r.plan.Thresholds[0].Max = "100ms"
		tt.change(r)
		times := func(n int64) *histogram.H {
			h := histogram.New()
			h.RecordN(1000, 970*n)
			if tt.us > 0 {
				h.RecordN(tt.us, 30*n)
			}
			return h
		}
		all := times(3)
		if tt.us == 0 {
			all.AddUnanswered(90, 5_000_000)
		}
		r.report.Histograms.ResponseTime = all.Encode()
		judge := func(how string, facts Facts) {
			t.Helper()
			v, err := Judge(&r.plan, &r.report, facts)
			if err != nil || v.Outcome != tt.outcome {
				t.Errorf("%s, %s: got %+v, %v; want %s", name, how, v, err, tt.outcome)
			}
		}
		judge("at the end", Facts{})
		for _, window := range []time.Duration{0, 2 * time.Second} {
			r.plan.Thresholds[0].Window, r.plan.Thresholds[0].AbortOnFail = window, true
			l := NewLive(&r.plan, 1)
			for second := range int64(4) {
				s := &runnerv1alpha1.Snapshot{Boot: "b", Sequence: uint64(second + 1), State: runnerv1alpha1.StateRunning, StartAt: 1, StartedAt: 1,
					Clock: 1 + second*int64(time.Second), Stages: make([]runnerv1alpha1.StageCounters, 1), ResponseTime: times(second).Encode()}
				s.Counters.Sent, s.Counters.Done, s.Counters.Succeeded = 1000*second, 1000*second, 1000*second
				if c := &s.Counters; tt.us == 0 {
					c.Done, c.Succeeded, c.TimedOut = 970*second, 970*second, 30*second
					if tt.dropped {
						c.Sent, c.TimedOut, c.Dropped = 970*second, 0, 30*second
					}
				}
				if err := l.Add(s); err != nil {
					t.Fatal(err)
				}
			}
			if window > 0 {
				judge("in windows", Facts{Seen: l.Seen()})
			}
			_, o, failed := l.Abort()
			if !failed {
				t.Fatalf("%s: nothing ends the test", name)
			}
			judge("at an early end", Facts{Seen: map[string]Observation{fast.Name: o}, Aborted: fast.Name})
		}
	}
}

func TestThresholdResults(t *testing.T) {
	h := histogram.New()
	for v := range int64(10000) {
		h.Record(v + 1)
	}
	report := &runnerv1alpha1.Report{
		Requests:   runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 3}},
		ErrorRate:  1. / 3,
		Rate:       runnerv1alpha1.RateResult{Achieved: 60003.45678, WindowSeconds: 1},
		Histograms: &runnerv1alpha1.ReportHistograms{ResponseTime: h.Encode(), TimeToFirstByte: h.Encode()},
	}
	tests := []struct {
		threshold runnerv1alpha1.Threshold
		want      runnerv1alpha1.ThresholdResult
	}{
		{
			runnerv1alpha1.Threshold{Name: "ms", Metric: "ResponseTime", Percentile: "p50", Max: "5.003ms"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 5.003ms", Observed: "5.003ms", Passed: true},
		},
		{
			runnerv1alpha1.Threshold{Name: "between microseconds", Metric: "ResponseTime", Percentile: "p50", Max: "5002999ns"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 5002999ns", Observed: "5.003ms"},
		},
		{
			runnerv1alpha1.Threshold{Name: "s", Metric: "TimeToFirstByte", Percentile: "p100", Max: "0.009s"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 0.009s", Observed: "10ms"},
		},
		{
			runnerv1alpha1.Threshold{Name: "compound", Metric: "ResponseTime", Percentile: "p100", Max: "1m30s"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 1m30s", Observed: "10ms", Passed: true},
		},
		{
			runnerv1alpha1.Threshold{Name: "minutes", Metric: "ResponseTime", Percentile: "p100", Max: "1m"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 1m", Observed: "10ms", Passed: true},
		},
		{
			runnerv1alpha1.Threshold{Name: "us", Metric: "ResponseTime", Percentile: "p0.01", Min: "2us"},
			runnerv1alpha1.ThresholdResult{Limit: ">= 2us", Observed: "1us"},
		},
		{
			runnerv1alpha1.Threshold{Name: "the format of figures", Metric: "ResponseTime", Percentile: "p3.55", Max: "20ms"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 20ms", Observed: "355us", Passed: true},
		},
		{
			runnerv1alpha1.Threshold{Name: "three digits", Metric: "ResponseTime", Percentile: "p54.32", Max: "20ms"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 20ms", Observed: "5.43ms", Passed: true},
		},
		{
			runnerv1alpha1.Threshold{Name: "three digits would be the limit", Metric: "ResponseTime", Percentile: "p50.01", Max: "5ms"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 5ms", Observed: "5.003ms"},
		},
		{
			runnerv1alpha1.Threshold{Name: "nothing measured", Metric: "ServiceTime", Percentile: "p50", Max: "1h"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 1h", Observed: "none"},
		},
		{
			runnerv1alpha1.Threshold{Name: "errors", Metric: "ErrorRate", Max: "50%"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 50%", Observed: "33.3333%", Passed: true},
		},
		{
			runnerv1alpha1.Threshold{Name: "rounding would hide it", Metric: "ErrorRate", Max: "33.3333%"},
			runnerv1alpha1.ThresholdResult{Limit: "<= 33.3333%", Observed: "33.33333333333333%"},
		},
		{
			runnerv1alpha1.Threshold{Name: "rate", Metric: "Rate", Min: "60000"},
			runnerv1alpha1.ThresholdResult{Limit: ">= 60000", Observed: "60003.5", Passed: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.threshold.Name, func(t *testing.T) {
			got, err := Judge(&runnerv1alpha1.Plan{Thresholds: []runnerv1alpha1.Threshold{tt.threshold}}, report, Facts{})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name, tt.want.Metric, tt.want.Percentile = tt.threshold.Name, tt.threshold.Metric, tt.threshold.Percentile
			if diff := cmp.Diff([]runnerv1alpha1.ThresholdResult{tt.want}, got.Thresholds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeRefuses(t *testing.T) {
	tests := []struct {
		threshold runnerv1alpha1.Threshold
		want      string
	}{
		{runnerv1alpha1.Threshold{Name: "both", Metric: "Rate", Max: "1", Min: "1"}, "threshold both: exactly one"},
		{runnerv1alpha1.Threshold{Name: "neither", Metric: "Rate"}, "exactly one"},
		{runnerv1alpha1.Threshold{Metric: "Rate", Max: "many"}, "not a number"},
		{runnerv1alpha1.Threshold{Metric: "ErrorRate", Max: "NaN"}, "not a percentage"},
		{runnerv1alpha1.Threshold{Metric: "ErrorRate", Max: "0.01"}, "not a percentage"},
		{runnerv1alpha1.Threshold{Metric: "ResponseTime", Percentile: "p90", Max: "20"}, "not a duration"},
		{runnerv1alpha1.Threshold{Metric: "ResponseTime", Percentile: "p0", Max: "20ms"}, "percentile"},
		{runnerv1alpha1.Threshold{Metric: "ResponseTime", Percentile: "p110", Max: "20ms"}, "percentile"},
		{runnerv1alpha1.Threshold{Metric: "ResponseTime", Max: "20ms"}, "percentile"},
		{runnerv1alpha1.Threshold{Metric: "other", Percentile: "p90", Max: "20ms"}, "not known"},
	}
	for _, tt := range tests {
		r := good()
		r.plan.Thresholds = []runnerv1alpha1.Threshold{tt.threshold}
		if _, err := Judge(&r.plan, &r.report, Facts{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", tt.threshold, err, tt.want)
		}
	}
	r := good()
	r.report.Histograms.ResponseTime.Counts = []byte("?")
	if _, err := Judge(&r.plan, &r.report, Facts{}); err == nil {
		t.Error("no error for a histogram that cannot be read")
	}
	r.report.Histograms = nil
	if _, err := Judge(&r.plan, &r.report, Facts{}); err == nil {
		t.Error("no error for thresholds on times without histograms")
	}
}

func TestFactsOf(t *testing.T) {
	got := FactsOf([]runnerv1alpha1.Snapshot{
		{Shard: 3, Problem: runnerv1alpha1.ProblemConnect, Message: "third"},
		{Shard: 0},
		{Shard: 1, Problem: runnerv1alpha1.ProblemInternal, Message: "first"},
	})
	want := Facts{Problem: runnerv1alpha1.ProblemInternal, Message: "first"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := FactsOf(nil); !cmp.Equal(got, Facts{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

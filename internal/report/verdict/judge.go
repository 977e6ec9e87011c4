package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// The generator is the bottleneck beyond these limits.
const (
	// MaxLag is the highest 99th percentile of lag, in microseconds. It is half of 20 ms, a usual limit on the 99th
	// percentile of a response time, and ten times the resolution of Go's timers on an idle Linux machine (1 ms).
	MaxLag = 10_000
	// MaxThrottled is the largest share of the measured window without a CPU because of a quota. A share of 0.01 is
	// one of 100 quota periods of 100 ms, the kernel's default, and the 99th percentile shows it.
	MaxThrottled = 0.01
	// MaxBusy is the share of its CPUs from which on a generator that lags is late with responses, too.
	MaxBusy = 0.9
	// minAchieved is the smallest share of the requested rate. A healthy generator reaches it: the end of a stage and
	// the bound on waiting cut off fewer requests.
	minAchieved = 0.99
)

// Reasons of a Verdict. Conditions of a LoadTest have the same reasons.
const (
	ReasonPassed             = "Passed"
	ReasonNoThresholds       = "NoThresholds"
	ReasonThresholdsFailed   = "ThresholdsFailed"
	ReasonTooManyErrors      = "TooManyErrors"
	ReasonNoChainCompleted   = "NoChainCompleted"
	ReasonNotificationErrors = "TooManyNotificationErrors"
	ReasonTeardownFailed     = "TeardownFailed"
	ReasonGeneratorBound     = "GeneratorBound"
	ReasonPartialResult      = "PartialResult"
	ReasonLeaseExpired       = "LeaseExpired"
	ReasonStopped            = "Stopped"
	ReasonInterrupted        = "Interrupted"
	ReasonNoSuccess          = "NoSuccess"
	ReasonRunnerLost         = "RunnerLost"
	ReasonTargetUnreachable  = "TargetUnreachable"
	ReasonNotAuthorized      = "NotAuthorized"
	ReasonDeadlineExceeded   = "DeadlineExceeded"
	ReasonStalled            = "Stalled"
	ReasonPlanRejected       = "PlanRejected"
	ReasonSetupFailed        = "SetupFailed"
	ReasonDeniedByPolicy     = "DeniedByPolicy"
	ReasonInternalError      = "InternalError"
	ReasonNotCompared        = "NotCompared"
	ReasonNotObserved        = "NotObserved"
	ReasonSearchFound        = "SearchFound"
	ReasonSearchMaximumHeld  = "SearchMaximumHeld"
	ReasonSearchNotFound     = "SearchNotFound"
	ReasonSearchMoved        = "SearchMoved"
	ReasonSearchIncomplete   = "SearchIncomplete"
)

// Facts are what is known about a run and not in its Report.
type Facts struct {
	// Running: the test has not ended, so that a request in flight is no failure, and neither is a threshold for which
	// nothing was measured yet.
	Running bool
	// Interrupted: the user ended the command line's run by a signal.
	Interrupted bool
	// CPUs is the number of CPUs that the workers of the command line can have; 0: the runners are pods.
	CPUs int
	// LossTolerated: the test must continue if a shard is lost.
	LossTolerated bool
	// EndedByLoss: the run ended because a runner was lost. The runner can have answered again, so that no shard is lost.
	EndedByLoss bool
	// Problem and Message are those of the runner with a problem.
	Problem runnerv1alpha1.Problem
	Message string
	// Seen has observations that replace the figures of the report, by the name of the threshold: those of thresholds
	// on windows, and that of the threshold that ended the test.
	Seen map[string]Observation
	// Aborted is the name of the threshold that ended the test; "": none did.
	Aborted string
	// Compared are the plan's baselines after the comparison, in their order. Empty: the test has not ended.
	Compared []Compared
}

// Observation is a value that a threshold had while the test ran.
type Observation struct {
	Observed string
	Passed   bool
	// After is the time from the start of the test.
	After time.Duration
	// Unanswered is true if a percentile was among requests without a response. Above is by how much another value was
	// above its maximum or below its minimum. Times are in microseconds.
	Unanswered bool
	Above      float64
	// Drops is the fewest dropped requests without which a maximum that failed would have held; 0: it would not have.
	Drops int64
	// Dropped is how many requests were dropped of those that such a maximum is on.
	Dropped int64
}

// FactsOf returns the problem of the shard with the lowest number that has one.
func FactsOf(snapshots []runnerv1alpha1.Snapshot) Facts {
	var out Facts
	shard := -1
	for i := range snapshots {
		if s := &snapshots[i]; s.Problem != "" && (shard < 0 || s.Shard < shard) {
			shard, out.Problem, out.Message = s.Shard, s.Problem, s.Message
		}
	}
	return out
}

// input is the input of the checks.
type input struct {
	plan       *runnerv1alpha1.Plan
	report     *runnerv1alpha1.Report
	facts      Facts
	thresholds []comparison
	// cause says why the generator can be the cause of a result; "": it neither lagged nor was throttled.
	cause string
}

// check returns the verdict, or nil if the next check decides.
type check func(*input) *runnerv1alpha1.Verdict

// chain has the checks in their order. The package comment has them as a table.
var chain = []check{problem, lost, deadline, searched, stopped, neverAuthorized, noSuccess, sentUnauthorized,
	thresholdsFailed, tooManyErrors, tooManyNotificationErrors, noChainCompleted, teardownFailed, generatorBound,
	partial, leaseExpired, limited, notCompared, notObserved}

// usedUp is the message about a variable whose values are all used. It is not a failure, because the variable has
// atEnd: Stop.
const usedUp = "a variable was used up, and chains that draw it began no more instances"

// Judge returns the verdict of a run. It does not change its arguments. It returns an error if it cannot parse a
// threshold, which compile prevents, or a histogram of the report.
func Judge(plan *runnerv1alpha1.Plan, report *runnerv1alpha1.Report, facts Facts) (runnerv1alpha1.Verdict, error) {
	thresholds, err := compare(plan, report, &facts)
	if err == nil {
		err = findRamps(plan, report, facts.Seen, thresholds)
	}
	if err != nil {
		return runnerv1alpha1.Verdict{}, err
	}
	in := &input{plan: plan, report: report, facts: facts, thresholds: thresholds}
	in.thresholds = in.ofSearch(thresholds)
	for i := range facts.Compared {
		c, err := facts.Compared[i].comparison(report)
		if err != nil {
			return runnerv1alpha1.Verdict{}, err
		}
		in.thresholds = append(in.thresholds, c)
	}
	in.cause = cause(in)
	out := passed(in)
	for _, c := range chain {
		if v := c(in); v != nil {
			out = v
			break
		}
	}
	if report.Exhausted {
		out.Message += "; " + usedUp
	}
	if report.TeardownFailure != "" && out.Reason != ReasonTeardownFailed {
		out.Message += "; teardown failed: " + report.TeardownFailure
	}
	for i := range in.thresholds {
		out.Thresholds = append(out.Thresholds, in.thresholds[i].result)
	}
	return *out, nil
}

func verdict(outcome runnerv1alpha1.Outcome, reason, format string, args ...any) *runnerv1alpha1.Verdict {
	return &runnerv1alpha1.Verdict{Outcome: outcome, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func problem(in *input) *runnerv1alpha1.Verdict {
	switch in.facts.Problem {
	case "", runnerv1alpha1.ProblemDeadline, runnerv1alpha1.ProblemStalled:
		return nil
	case runnerv1alpha1.ProblemConnect:
		return in.failed(ReasonTargetUnreachable, "a target could not be reached")
	case runnerv1alpha1.ProblemAuthorization:
		return in.failed(ReasonNotAuthorized, "a target has no authorization")
	case runnerv1alpha1.ProblemPlan:
		return in.failed(ReasonPlanRejected, "a runner rejected the plan")
	case runnerv1alpha1.ProblemSetup:
		return in.failed(ReasonSetupFailed, "setup failed")
	case runnerv1alpha1.ProblemPolicy:
		return in.failed(ReasonDeniedByPolicy, "a runner must not connect to a target")
	}
	return in.failed(ReasonInternalError, "a runner failed")
}

// deadline comes after lost: a lost shard is the more likely cause of a run that is too long.
func deadline(in *input) *runnerv1alpha1.Verdict {
	switch in.facts.Problem {
	case runnerv1alpha1.ProblemDeadline:
		return in.failed(ReasonDeadlineExceeded, "the deadline ended the run")
	case runnerv1alpha1.ProblemStalled:
		return in.failed(ReasonStalled, "the runners could send no more requests")
	}
	return nil
}

func (in *input) failed(reason, what string) *runnerv1alpha1.Verdict {
	if in.facts.Message != "" {
		what += ": " + in.facts.Message
	}
	return verdict(runnerv1alpha1.OutcomeError, reason, "%s", what)
}

func lost(in *input) *runnerv1alpha1.Verdict {
	message := in.loss()
	if in.report.Generator.ShardsLost == 0 {
		message = "the run ended because a runner did not answer; it answered again later"
	}
	if in.facts.EndedByLoss || in.report.Generator.ShardsLost > 0 && !in.facts.LossTolerated {
		return verdict(runnerv1alpha1.OutcomeError, ReasonRunnerLost, "%s", message)
	}
	return nil
}

func (in *input) loss() string {
	g := &in.report.Generator
	return fmt.Sprintf("%d of %d shards were lost; what they did after their last snapshot is missing", g.ShardsLost,
		g.Shards)
}

// tolerated reports whether a shard was lost and the test continued without it.
func (in *input) tolerated() bool {
	return in.facts.LossTolerated && in.report.Generator.ShardsLost > 0
}

// noSuccess is the verdict of a run without a response. If there are responses, and all of them fail their checks,
// the limits on errors decide.
func noSuccess(in *input) *runnerv1alpha1.Verdict {
	if in.report.Requests.Done > 0 {
		return nil
	}
	return verdict(runnerv1alpha1.OutcomeError, ReasonNoSuccess, "%s", noneSucceeded(in.report))
}

func noneSucceeded(r *runnerv1alpha1.Report) string {
	return fmt.Sprintf("none of %d requests succeeded: %s", r.Requests.Sent+r.Requests.Dropped, failed(r))
}

// withoutSuccess returns the end of a message about a run in which requests failed and none succeeded, else "".
func withoutSuccess(r *runnerv1alpha1.Report) string {
	if q := &r.Requests; q.Succeeded > 0 || q.Sent+q.Dropped == q.InFlightAtEnd {
		return ""
	}
	return "; " + noneSucceeded(r)
}

func stopped(in *input) *runnerv1alpha1.Verdict {
	switch {
	case in.facts.Aborted != "" && !in.facts.Interrupted:
		return nil // the threshold decides
	case in.facts.Interrupted:
		return verdict(runnerv1alpha1.OutcomeStopped, ReasonInterrupted, "interrupted before the run completed%s",
			withoutSuccess(in.report))
	case in.report.Stopped != "":
		return verdict(runnerv1alpha1.OutcomeStopped, ReasonStopped,
			"stopped before the run completed: %s%s", in.report.Stopped, withoutSuccess(in.report))
	}
	return nil
}

func thresholdsFailed(in *input) *runnerv1alpha1.Verdict {
	var names []string
	for i := range in.thresholds {
		if c := &in.thresholds[i]; c.failed() && !in.excused(c) {
			names = append(names, c.result.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	if name := in.facts.Aborted; name != "" {
		names = append(names, fmt.Sprintf("threshold %s ended the test after %s because of abortOnFail", name,
			in.facts.Seen[name].After.Round(time.Second)))
	}
	return verdict(runnerv1alpha1.OutcomeFailed, ReasonThresholdsFailed, "%s%s%s", strings.Join(names, "; "),
		withoutSuccess(in.report), in.droppedBy())
}

func generatorBound(in *input) *runnerv1alpha1.Verdict {
	if in.cause == "" {
		return nil
	}
	what := append(in.shortStages(), in.unproven(func(c *comparison) bool { return !in.tooFew(c) })...)
	if len(what) == 0 {
		return nil
	}
	bottleneck, try := ConnectionsBound+", and the generator can be another", connectionsBound(in.report)
	if try == "" {
		bottleneck, try = "the generator was the bottleneck", advice(in)
	}
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonGeneratorBound, "%s, %s: %s", bottleneck, in.cause,
		strings.Join(append(what, try), "; "))
}

// shortStages returns the stages that did not reach their rate. It returns none if requests were not sent for a cause
// that has a verdict of its own.
func (in *input) shortStages() (what []string) {
	if in.tolerated() || in.report.Generator.LeaseExpired.Shards > 0 || in.limitedMuch() {
		return nil
	}
	for i := range in.report.Stages {
		s := &in.report.Stages[i]
		switch {
		case s.WarmUp || !ran(s):
		case s.Asked > 0 && s.Achieved < minAchieved*s.Asked:
			what = append(what, fmt.Sprintf("stage %s reached %s of %s requests a second",
				s.Name, build.FormatRate(s.Achieved), build.FormatRate(s.Asked)))
		case s.AskedChains > 0 && s.AchievedChains < minAchieved*s.AskedChains:
			what = append(what, fmt.Sprintf("stage %s started %s of %s chains a second",
				s.Name, build.FormatRate(s.AchievedChains), build.FormatRate(s.AskedChains)))
		}
	}
	return what
}

// unproven returns the thresholds that failed and were excused.
func (in *input) unproven(of func(*comparison) bool) (what []string) {
	for i := range in.thresholds {
		if c := &in.thresholds[i]; c.failed() && of(c) {
			what = append(what, c.result.String())
		}
	}
	return what
}

// ran returns whether a stage began. A stage that did not begin has no rate, and the generator is not the cause.
func ran(s *runnerv1alpha1.StageResult) bool { return s.Sent+s.Dropped > 0 }

func partial(in *input) *runnerv1alpha1.Verdict {
	if !in.report.Partial {
		return nil
	}
	missing := "a share of the result is missing"
	if in.tolerated() {
		missing = in.loss()
	}
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonPartialResult, "%s",
		strings.Join(append([]string{missing}, in.unproven(in.tooFew)...), "; "))
}

// withheld returns whether a runner did not send what the test asked for, because its lease expired or because of the
// operator's limit.
func (in *input) withheld() bool {
	g := &in.report.Generator
	closed := func(r runnerv1alpha1.Rate) bool { return r.ClosedLoop && !r.WarmUp }
	return g.LeaseExpired.Shards > 0 || g.Limited.Dropped > 0 || g.Limited.Waited > 0 &&
		slices.ContainsFunc(in.plan.Rates, closed)
}

func leaseExpired(in *input) *runnerv1alpha1.Verdict {
	g := &in.report.Generator
	if g.LeaseExpired.Shards == 0 {
		return nil
	}
	what := fmt.Sprintf("the leases of %d of %d shards expired, because the operator could not reach them; they sent nothing for up to %s and dropped %d requests",
		g.LeaseExpired.Shards, g.Shards, build.FormatTime(int64(g.LeaseExpired.Seconds*1e6)), g.LeaseExpired.Dropped)
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonLeaseExpired, "%s",
		strings.Join(append([]string{what}, in.unproven(in.tooFew)...), "; "))
}

// HeldBack begins the message of a run that the operator's limit held back.
const HeldBack = "limits.requestsPerSecond of the operator's configuration held back requests"

// limitedMuch compares what the operator's limit dropped with the default limit on the error rate.
func (in *input) limitedMuch() bool {
	r := in.report
	return float64(r.Generator.Limited.Dropped) > defaultMaxErrorRate*float64(r.Requests.Sent+r.Requests.Dropped)
}

func limited(in *input) *runnerv1alpha1.Verdict {
	unproven := in.unproven(in.tooFew)
	if !in.limitedMuch() && len(unproven) == 0 || !in.withheld() {
		return nil
	}
	held := in.report.Generator.Limited
	what := fmt.Sprintf(HeldBack+": %d were due and were dropped, %d waited", held.Dropped, held.Waited)
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonGeneratorBound, "%s",
		strings.Join(append([]string{what}, unproven...), "; "))
}

func passed(in *input) *runnerv1alpha1.Verdict {
	reason, message := ReasonPassed, "the run completed and all thresholds passed"
	if len(in.thresholds) == 0 {
		reason = ReasonNoThresholds
		message = "the run completed; it has no thresholds, and the error rate is at most the default limit of " + limit
	}
	message += in.comparedWith()
	if what := uncompleted(in.report); what != "" {
		message += "; " + what
	}
	if g := &in.report.Generator; g.ExclusiveWanted && g.ExclusiveShards < g.Shards {
		message += fmt.Sprintf("; %d of %d shards did not have their CPUs for themselves", g.Shards-g.ExclusiveShards,
			g.Shards)
	}
	return verdict(runnerv1alpha1.OutcomePassed, reason, "%s", message)
}

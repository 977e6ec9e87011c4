package verdict

import (
	"fmt"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/report/build"
)

// defaultMaxErrorRate is the limit on the error rate of a test without a threshold on it.
const defaultMaxErrorRate = 0.01

// limit is defaultMaxErrorRate as a percentage.
var limit = build.FormatPercent(defaultMaxErrorRate)

// judgesErrors returns whether a threshold of the test is on the error rate.
func (in *input) judgesErrors() bool {
	for i := range in.plan.Thresholds {
		if in.plan.Thresholds[i].Metric == runnerv1alpha1.MetricErrorRate {
			return true
		}
	}
	return false
}

func tooManyErrors(in *input) *runnerv1alpha1.Verdict {
	r, held := divided(in.report)
	if in.judgesErrors() || r.ErrorRate <= defaultMaxErrorRate {
		return nil
	}
	reached := in.droppedBy()
	if i := slices.IndexFunc(r.Bounds, func(b runnerv1alpha1.BoundResult) bool { return b.Dropped > 0 }); i >= 0 {
		reached = "; " + r.Bounds[i].Message
	}
	return verdict(runnerv1alpha1.OutcomeFailed, ReasonTooManyErrors,
		"the error rate is %s, above the default limit of %s: of %d requests, %s%s%s; set a threshold on ErrorRate for another limit",
		build.FormatPercent(float64(r.ErrorRate)), limit, r.Requests.Sent+r.Requests.Dropped, failed(r),
		notCounted(held), reached)
}

// notCounted returns the part of a message about the requests that divided leaves out, or "" if there are none.
func notCounted(held *runnerv1alpha1.Report) string {
	n := held.Requests.Dropped
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more do not count, because they were never sent%s", n,
		causes(held, runnerv1alpha1.FailureDropped, n))
}

// droppedBy returns the end of a message that names the generator as a possible cause of dropped requests. It is ""
// if no request was dropped, or if the generator was in time and was not throttled.
func (in *input) droppedBy() string {
	if in.cause == "" || in.report.Requests.Dropped == 0 {
		return ""
	}
	if bound := connectionsBound(in.report); bound != "" {
		return "; " + bound
	}
	return "; the generator can be the cause, " + in.cause + ": " + advice(in)
}

// judgesNotifications returns whether a threshold of the test is on the errors of a listener.
func (in *input) judgesNotifications(listener string) bool {
	for i := range in.plan.Thresholds {
		t := &in.plan.Thresholds[i]
		if t.Metric == runnerv1alpha1.MetricNotificationErrorRate &&
			(t.Of.Listener == "" || t.Of.Listener == listener) {
			return true
		}
	}
	return false
}

// tooManyNotificationErrors applies the default limit to the measured steps that awaited a notification.
func tooManyNotificationErrors(in *input) *runnerv1alpha1.Verdict {
	for i := range in.report.Listeners {
		l := &in.report.Listeners[i]
		rate := l.ErrorRate()
		if in.facts.Running {
			rate = l.ErrorRateSoFar()
		}
		if in.judgesNotifications(l.Name) || rate <= defaultMaxErrorRate {
			continue
		}
		m := &l.Measured
		return verdict(runnerv1alpha1.OutcomeFailed, ReasonNotificationErrors,
			"%s of %d steps that awaited a notification for listener %s did not receive a good one, above the default limit of %s: %d were missing (%d came late), %d failed their checks, %d were awaited at the end; set a threshold on NotificationErrorRate for another limit",
			build.FormatPercent(rate), m.Awaited, l.Name, limit, m.Missing, l.Late, m.FailedChecks,
			m.Waiting())
	}
	return nil
}

// notErrors are the causes of dropped requests that the default limit leaves out.
var notErrors = []runnerv1alpha1.Cause{runnerv1alpha1.CauseLeaseExpired, runnerv1alpha1.CauseRequestLimit}

// divided returns the report without the requests that were dropped because of notErrors, and what it leaves out.
func divided(r *runnerv1alpha1.Report) (rest, held *runnerv1alpha1.Report) {
	rest, held = new(*r), &runnerv1alpha1.Report{}
	rest.Failures = nil
	for i := range r.Failures {
		f, to := &r.Failures[i], rest
		if f.Of == runnerv1alpha1.FailureDropped && slices.Contains(notErrors, f.Cause) {
			to = held
			held.Requests.Dropped += f.Count
		}
		to.Failures = append(to.Failures, *f)
	}
	q := &rest.Requests
	q.Dropped -= held.Requests.Dropped
	if all := q.Sent + q.Dropped; held.Requests.Dropped > 0 && all > 0 {
		rest.ErrorRate = runnerv1alpha1.ErrorRate(float64(all-q.Succeeded) / float64(all))
	}
	return rest, held
}

// noChainCompleted is the verdict of a run in which no chain instance was completed: the responses do not contain
// what the captures need, or the load ended before the end of the first instances. If the test has a threshold on
// ErrorRate, it decides about failed requests, but not about responses that succeed and lack what a capture needs.
func noChainCompleted(in *input) *runnerv1alpha1.Verdict {
	what := uncompleted(in.report)
	if what == "" || in.judgesErrors() && in.report.Chains.AbortedBy[runnerv1alpha1.AbortMissingCapture] == 0 {
		return nil
	}
	if in.report.Chains.Aborted == 0 {
		what += "; set gracefulStop, or more requests or a longer duration of the stages"
	}
	return verdict(runnerv1alpha1.OutcomeFailed, ReasonNoChainCompleted, "%s", what)
}

// uncompleted returns a message if chain instances started, and none was completed in the load or in gracefulStop.
func uncompleted(r *runnerv1alpha1.Report) string {
	c := &r.Chains
	if c.Started == 0 || c.Completed+r.Graceful.Completed > 0 {
		return ""
	}
	out := fmt.Sprintf("none of %d chain instances was completed", c.Started)
	for i, n := range build.MostFrequent(c.AbortedBy, len(c.AbortedBy)) {
		separator := ", "
		if i == 0 {
			separator = "; aborted: "
		}
		out += fmt.Sprintf("%s%d by %s", separator, n.Count, n.Name)
	}
	if c.Unfinished > 0 {
		out += fmt.Sprintf("; under way at the end of the load: %d", c.Unfinished)
	}
	return out
}

func teardownFailed(in *input) *runnerv1alpha1.Verdict {
	if in.report.TeardownFailure == "" {
		return nil
	}
	return verdict(runnerv1alpha1.OutcomeFailed, ReasonTeardownFailed, "teardown failed: %s", in.report.TeardownFailure)
}

// maxNamed is the maximum number of causes in a message.
const maxNamed = 2

// failed returns the numbers of requests that failed, with the most frequent causes, such as "100 x status 401, 3
// timed out, 10 were never sent (no stream became free in time)".
func failed(r *runnerv1alpha1.Report) string {
	q := &r.Requests
	out := checks(r)
	for _, e := range []struct {
		n    int64
		what string
		of   runnerv1alpha1.FailureOf
	}{
		{q.TimedOut, "timed out", runnerv1alpha1.FailureTimedOut},
		{q.Reset, "were reset", runnerv1alpha1.FailureReset},
		{q.ConnectionLost, "lost their connection", runnerv1alpha1.FailureConnectionLost},
		{q.InFlightAtEnd, "were in flight at the end", ""},
		{q.Dropped, "were never sent", runnerv1alpha1.FailureDropped},
	} {
		if e.n == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("%d %s%s", e.n, e.what, causes(r, e.of, e.n)))
	}
	if len(out) == 0 {
		return "none was sent"
	}
	return strings.Join(out, ", ")
}

// checks returns the statuses and checks that failed most often, with their numbers, and the number of the others.
func checks(r *runnerv1alpha1.Report) (out []string) {
	rest, what := r.Requests.FailedChecks, "failed their checks"
	for _, n := range build.MostFrequent(build.FailedChecks(r), maxNamed) {
		out = append(out, fmt.Sprintf("%d x %s", n.Count, n.Name))
		rest, what = rest-n.Count, "failed other checks"
	}
	if rest > 0 {
		out = append(out, fmt.Sprintf("%d %s", rest, what))
	}
	return out
}

// causes returns the most frequent causes of n failures of a kind, in parentheses, or "" if some have no cause.
func causes(r *runnerv1alpha1.Report, of runnerv1alpha1.FailureOf, n int64) string {
	var out []string
	for i := range r.Failures {
		f := &r.Failures[i]
		if f.Of != of {
			continue
		}
		if n -= f.Count; len(out) < maxNamed {
			out = append(out, failure.Cause{Kind: f.Cause, Detail: f.Detail, Address: f.Address}.Advised())
		}
	}
	if len(out) == 0 || n > 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}

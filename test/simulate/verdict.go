package simulate

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// reasons are those of a verdict that something must have caused: whether it happened.
var reasons = map[string]func(*history, *v1alpha1.LoadTestStatus) bool{
	"Passed": func(_ *history, is *v1alpha1.LoadTestStatus) bool { // also if a runner without a share was lost
		return !is.Results.Partial && is.Results.Requests.Succeeded > 0
	},
	"ThresholdsFailed": func(_ *history, is *v1alpha1.LoadTestStatus) bool {
		return slices.ContainsFunc(is.Verdict.Thresholds, func(t v1alpha1.ThresholdStatus) bool { return !t.Passed })
	},
	"TooManyErrors": func(_ *history, is *v1alpha1.LoadTestStatus) bool { return errorRate(is) > 0 },
	"NoSuccess":     func(_ *history, is *v1alpha1.LoadTestStatus) bool { return is.Results.Requests.Done == 0 },
	"PartialResult": lacks,
	"RunnerLost":    lacks,
	"LeaseExpired":  func(h *history, _ *v1alpha1.LoadTestStatus) bool { return h.lt.Spec.Runner.LeaseDuration != nil },
	"Stopped": func(h *history, is *v1alpha1.LoadTestStatus) bool { // the other cause is SIGTERM of all runners
		return h.lt.Spec.Stop || strings.Contains(is.Verdict.Message, ": terminated")
	},
	// Without a deadline in the spec, a runner stops a minute after the latest end of its load. One that was stopped
	// (SIGSTOP) for that time continues later.
	"DeadlineExceeded": func(h *history, _ *v1alpha1.LoadTestStatus) bool {
		return h.lt.Spec.ActiveDeadlineSeconds != nil || time.Since(h.started) > stages(h.lt)+time.Minute
	},
}

// lacks: a runner was lost, or the stored counts of one that left.
func lacks(h *history, _ *v1alpha1.LoadTestStatus) bool { return len(h.lost) > 0 || h.damaged }

// judged: the verdict has a reason that happened, and a threshold on the error rate agrees with the counts.
func (l *rules) judged(h *history, is *v1alpha1.LoadTestStatus) {
	const rule = "the verdict agrees with the counts"
	v := is.Verdict
	if v == nil || is.Results == nil || h.key == scheduled {
		return
	}
	q := &is.Results.Requests
	if happened := reasons[v.Reason]; happened != nil && !happened(h, is) {
		l.Broken(rule, "%s: %s %s, and that did not happen: %s: %+v", h.lt.Name, v.Outcome, v.Reason, v.Message, *q)
	}
	for i := range h.lt.Spec.Thresholds {
		t := &h.lt.Spec.Thresholds[i]
		if t.Metric != v1alpha1.MetricErrorRate || t.Window != nil || t.AbortOnFail || h.lt.Spec.Search != nil {
			continue
		}
		most, _ := strconv.ParseFloat(strings.TrimSuffix(t.Max.String(), "%"), 64)
		passes := errorRate(is) <= most/100
		for _, s := range v.Thresholds {
			if s.Name == t.Name && s.Passed != passes || !passes && v.Outcome == "Passed" {
				l.Broken(rule, "%s: %s, threshold %s %v, with %+v", h.lt.Name, v.Outcome, t.Name, s, *q)
			}
		}
	}
}

// errorRate is the share of the requests that were due, and did not succeed.
func errorRate(is *v1alpha1.LoadTestStatus) float64 {
	q := &is.Results.Requests
	return 1 - float64(q.Succeeded)/float64(max(1, q.Sent+q.Dropped))
}

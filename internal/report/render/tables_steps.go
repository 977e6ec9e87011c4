package render

import (
	"iter"
	"strconv"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// stepsOf returns the steps that count requests.
func stepsOf(r *runnerv1alpha1.Report) iter.Seq[*runnerv1alpha1.StepResult] {
	return func(yield func(*runnerv1alpha1.StepResult) bool) {
		for i := range r.Steps {
			if s := &r.Steps[i]; s.Phase == runnerv1alpha1.PhaseLoad && s.Listener == "" && !yield(s) {
				return
			}
		}
	}
}

func stepTable(r *runnerv1alpha1.Report) *table {
	t := &table{
		ID: "steps", Topic: topicSteps, Caption: "Steps (response time)", Left: 2, Group: true,
		Wide: []string{"succeeded", "failed checks", "timed out", "reset", "connection lost", "p90"},
		Head: []string{"chain", "step", "sent", "succeeded", "errors", "failed checks", "timed out", "reset",
			"connection lost", "p50", "p90", "p99", "p99.9", "max"},
	}
	for s := range stepsOf(r) {
		row := []any{s.Chain, s.Step, s.Sent, s.Succeeded, errorRate(float64(s.ErrorRate), s.Sent), s.FailedChecks,
			s.TimedOut, s.Reset, s.ConnectionLost}
		t.Rows = append(t.Rows, tableRow{Cells: append(row,
			measuredTimes(&s.ResponseTime, p50, p90, p99, p999, longest)...), Bad: s.ErrorRate > 0})
	}
	return t
}

// stepPhaseTable is empty for the only step: the times of the run are its times. Responses without a body have one row.
func stepPhaseTable(r *runnerv1alpha1.Report) *table {
	t := &table{
		ID: "step-phases", Topic: topicSteps, Caption: "Service time and first byte of steps", Left: 3, Group: true,
		Detail: true, Wide: []string{"p90"},
		Head: []string{"chain", "step", "", "p50", "p90", "p99", "p99.9", "max"},
	}
	for s := range stepsOf(r) {
		if s.ServiceTime.Count == 0 || len(r.Steps) < 2 {
			continue
		}
		t.add(append([]any{s.Chain, s.Step, "service time"},
			measuredTimes(&s.ServiceTime, p50, p90, p99, p999, longest)...)...)
		if s.TimeToFirstByte != s.ServiceTime {
			t.add(append([]any{s.Chain, s.Step, "first byte"},
				measuredTimes(&s.TimeToFirstByte, p50, p90, p99, p999, longest)...)...)
		}
	}
	return t
}

// messageTable has the times of the messages of streams.
func messageTable(r *runnerv1alpha1.Report) *table {
	t := &table{
		ID: "messages", Topic: topicSteps, Caption: "Messages of streams", Left: 3, Group: true, Wide: []string{"p90"},
		Head: []string{"chain", "step", "", "count", "p50", "p90", "p99", "p99.9", "max"},
	}
	for s := range stepsOf(r) {
		for _, of := range []timed{{name: "first", times: &s.FirstMessage}, {name: "between", times: &s.BetweenMessages},
			{name: "last", times: &s.LastMessage}} {
			if of.times.Count > 0 {
				t.add(append([]any{s.Chain, s.Step, of.name, of.times.Count},
					measuredTimes(of.times, p50, p90, p99, p999, longest)...)...)
			}
		}
	}
	return t
}

// detailTable has what the steps counted apart: retries, failed checks and problem details.
func detailTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "step-details", Topic: topicErrors, Caption: "Checks and problem details of steps", Left: 3,
		Group: true, Detail: true, Head: []string{"chain", "step", "what", "requests"}}
	for s := range stepsOf(r) {
		for _, n := range s.StepEvents.Counts() {
			t.count(*n.N, s.Chain, s.Step, build.StepEvents[n.Name].Text)
		}
		for _, by := range build.MostFrequent(s.FailedBy, len(s.FailedBy)) {
			t.count(by.Count, s.Chain, s.Step, "failed "+printable(by.Name))
		}
		for _, p := range s.Problems {
			t.count(p.Count, s.Chain, s.Step, problemText(p))
		}
	}
	return t
}

// problemText is "503 NF_CONGESTION", or the cause alone for the kinds above the limit of a step.
func problemText(p runnerv1alpha1.ProblemResult) string {
	if p.Status == 0 {
		return printable(p.Cause)
	}
	return strconv.Itoa(p.Status) + " " + printable(p.Cause)
}

// operationTable has a row for each operation, and one for each of its outcomes if there are several.
func operationTable(r *runnerv1alpha1.Report) *table {
	t := &table{
		ID: "operations", Topic: topicErrors, Caption: "Service operations", Left: 3, Group: true,
		Wide: []string{"p90", "max"},
		Head: []string{"target", "operation", "outcome", "requests", "errors", "p50", "p90", "p99", "max"},
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		outcomes, first := outcomesOf(o), "all"
		if len(outcomes) == 1 {
			first, outcomes = outcomes[0].words(), nil
		}
		t.Rows = append(t.Rows, tableRow{Bad: o.ErrorRate > 0, Cells: append(
			[]any{printable(o.Target), printable(o.Operation), first, o.Sent, errorRate(float64(o.ErrorRate), o.Sent)},
			measuredTimes(&o.ResponseTime, p50, p90, p99, longest)...)})
		for _, c := range outcomes {
			t.add(printable(o.Target), "", c.words(), c.count, "", "", "", "", "")
		}
	}
	return t
}

// notificationTable has what the listeners counted.
func notificationTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "notifications", Topic: topicErrors, Caption: "Notifications", Left: 2, Group: true,
		Head: []string{"listener", "", "notifications"}}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		for _, c := range []struct {
			name string
			n    int64
		}{
			{"awaited", l.Awaited},
			{"received", l.Received},
			{"in time, by the steps that awaited them", l.InTime},
			{"late: after the timeout of their step", l.Late},
			{"duplicate: after one with the same key", l.Duplicate},
			{"unexpected: no step awaited them", l.Unexpected},
			{"answered: a rule answered them, and no step awaited them", l.Answered},
			{"early: no step awaits them yet", l.Early},
			{"refused: no valid access token", l.RefusedToken},
			{"refused: name of the client certificate", l.RefusedCertificate},
			{"missing, of those awaited", l.Missing},
			{"failed checks, of those in time", l.FailedChecks},
			{"failed handshakes: connections without a notification", l.FailedHandshakes},
			{"awaited at the end", l.WaitingAtEnd + l.Waiting},
		} {
			t.count(c.n, printable(l.Name), c.name)
		}
		for _, by := range build.MostFrequent(l.FailedBy, len(l.FailedBy)) {
			t.count(by.Count, printable(l.Name), "failed "+printable(by.Name))
		}
		for _, by := range build.MostFrequent(l.ByRule, len(l.ByRule)) {
			t.count(by.Count, printable(l.Name), "rule "+printable(by.Name))
		}
	}
	return t
}

// notificationTimes are from the request to the notification.
func notificationTimes(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "notification-times", Topic: topicErrors, Caption: "Notifications, time after the request",
		Left: 1, Head: []string{"listener", "mean", "p50", "p99", "p99.9", "max"}}
	for i := range r.Listeners {
		if l := &r.Listeners[i]; l.Time.Count > 0 {
			t.add(append([]any{printable(l.Name), mean(&l.Time)},
				measuredTimes(&l.Time, p50, p99, p999, longest)...)...)
		}
	}
	return t
}

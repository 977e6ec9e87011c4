package render

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// outcomeCount counts the requests of an operation with the same outcome.
type outcomeCount struct {
	// outcome is "response", or the name of the counter of requests without a response.
	outcome string
	status  string
	// cause is that of the problem details. Empty: the responses have none, or their cause is above the limit of a
	// step.
	cause string
	count int64
}

// words returns "403 SUBSCRIPTION_NOT_FOUND", "201" or "timed out".
func (c *outcomeCount) words() string {
	switch {
	case c.cause != "":
		return c.status + " " + printable(c.cause)
	case c.status != "":
		return c.status
	}
	return runnerv1alpha1.Count{Name: c.outcome}.Words(" ")
}

// outcomesOf returns the outcomes of an operation. Their counts add up to Sent.
func outcomesOf(o *runnerv1alpha1.OperationResult) (out []outcomeCount) {
	for _, code := range slices.Sorted(maps.Keys(o.StatusCodes)) {
		rest := o.StatusCodes[code]
		var named []outcomeCount
		for _, p := range o.Problems {
			if strconv.Itoa(p.Status) == code {
				named = append(named, outcomeCount{"response", code, p.Cause, p.Count})
				rest -= p.Count
			}
		}
		if rest > 0 {
			out = append(out, outcomeCount{outcome: "response", status: code, count: rest})
		}
		out = append(out, named...)
	}
	for _, c := range o.Ends()[2:] { // without a response
		if *c.N > 0 {
			out = append(out, outcomeCount{outcome: c.Name, count: *c.N})
		}
	}
	return out
}

// Counts writes the requests of each operation by outcome, status code and cause as CSV, its events, and the
// notifications of each listener, all without warm-up. Notifications that no step took are those of the whole run:
// which stage they belong to is not known. The counts of an operation add up to its requests. A report without
// operations has those of its steps, without targets.
func Counts(w io.Writer, r *runnerv1alpha1.Report) error {
	var rows [][]any
	all := operationsOf(r)
	for i := range all {
		for _, c := range outcomesOf(&all[i]) {
			rows = append(rows, []any{"request", all[i].Target, all[i].Operation, c.outcome, c.status, cell(c.cause),
				c.count})
		}
		for _, n := range all[i].StepEvents.Counts() {
			if *n.N > 0 {
				rows = append(rows, []any{"event", all[i].Target, all[i].Operation, n.Name, "", "", *n.N})
			}
		}
	}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		for _, c := range []outcomeCount{
			{outcome: "inTime", count: l.Measured.InTime}, {outcome: "failedChecks", count: l.Measured.FailedChecks},
			{outcome: "late", count: l.Late},
			{outcome: "duplicate", count: l.Duplicate}, {outcome: "unexpected", count: l.Unexpected},
			{outcome: "answered", count: l.Answered}, {outcome: "early", count: l.Early},
			{outcome: "refusedToken", count: l.RefusedToken},
			{outcome: "refusedCertificate", count: l.RefusedCertificate},
			{outcome: "failedHandshakes", count: l.FailedHandshakes},
			{outcome: "missing", count: l.Measured.Missing}, {outcome: "waitingAtEnd", count: l.Measured.Waiting()},
		} {
			rows = append(rows, []any{"notification", l.Name, "", c.outcome, "", "", c.count})
		}
	}
	return writeCSV(w, "counts", []string{"kind", "target", "operation", "outcome", "status", "cause", "count"}, rows)
}

// cell returns a text of a server as a cell of CSV. A spreadsheet would execute a cell that begins like a formula, so
// such a text gets an apostrophe before it.
func cell(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r\n", text[0]) >= 0 {
		return "'" + text
	}
	return text
}

// operationsOf returns the operations of a report, or one for each step of the load if the report has no operations.
func operationsOf(r *runnerv1alpha1.Report) (out []runnerv1alpha1.OperationResult) {
	if len(r.Operations) > 0 {
		return r.Operations
	}
	for s := range stepsOf(r) {
		out = append(out, runnerv1alpha1.OperationResult{
			Operation: s.Chain + "/" + s.Step, Outcomes: s.Outcomes, StepEvents: s.StepEvents,
			StatusCodes: s.StatusCodes, Problems: s.Problems,
		})
	}
	return out
}

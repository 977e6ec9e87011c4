package export

import (
	"bytes"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// notifications writes what the listeners have received.
func notifications(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	for i := range r.Listeners {
		l := &r.Listeners[i]
		section(b, "Notifications: listener "+printable(l.Name))
		for _, row := range listenerCounts(l) {
			line(b, "  %-22s%14d  %s", row.name, row.count, row.meaning)
		}
		for _, by := range result.MostFrequent(l.FailedBy, len(l.FailedBy)) {
			line(b, "    %-20s%14d", "failed "+printable(by.Name), by.Count)
		}
		if t := &l.Time; t.Count > 0 {
			line(b, "  %-22s%9s%9s%9s%9s%9s", "", "mean", "p50", "p99", "p99.9", "max")
			line(b, "  %-22s%9s%9s%9s%9s%9s", "after the request", mean(t, narrow), narrow(t.P50), narrow(t.P99), narrow(t.P999), narrow(t.Max))
		}
	}
}

// listenerCount is a count of a listener and what it means.
type listenerCount struct {
	name    string
	count   int64
	meaning string
}

// listenerCounts returns the counts of a listener, those that are usually zero only if they are not.
func listenerCounts(l *runnerv1alpha1.ListenerResult) (out []listenerCount) {
	for _, c := range []struct {
		listenerCount
		always bool
	}{
		{listenerCount{"received", l.Received, ""}, true},
		{listenerCount{"  in time", l.InTime, "by the steps that awaited them"}, true},
		{listenerCount{"  late", l.Late, "after the timeout of their step"}, false},
		{listenerCount{"  duplicate", l.Duplicate, "after one with the same key"}, false},
		{listenerCount{"  unexpected", l.Unexpected, "no step awaited them"}, false},
		{listenerCount{"  early", l.Early, "no step awaits them yet"}, false},
		{listenerCount{"  refused: token", l.RefusedToken, "no valid access token"}, false},
		{listenerCount{"  refused: name", l.RefusedCertificate, "of the client certificate"}, false},
		{listenerCount{"missing", l.Missing, fmt.Sprintf("of %d that steps awaited", l.Awaited)}, true},
		{listenerCount{"failed checks", l.FailedChecks, "of those in time"}, l.FailedChecks > 0},
		{listenerCount{"failed handshakes", l.FailedHandshakes, "connections without a notification"}, false},
		{listenerCount{"awaited at the end", l.WaitingAtEnd + l.Waiting, ""}, false},
	} {
		if c.always || c.count > 0 {
			out = append(out, c.listenerCount)
		}
	}
	return out
}

// notificationTable returns the counts of listeners, or nil if there are none.
func notificationTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "notifications", Caption: "Notifications", Left: 1, Head: []string{
		"listener", "received", "in time", "late", "duplicate", "unexpected", "refused", "awaited", "missing", "failed checks", "p50", "p99", "p99.9", "max",
	}}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		row := []string{printable(l.Name)}
		for _, n := range []int64{l.Received, l.InTime, l.Late, l.Duplicate, l.Unexpected, l.RefusedToken + l.RefusedCertificate, l.Awaited, l.Missing, l.FailedChecks} {
			row = append(row, grouped(n))
		}
		for _, us := range []int64{l.Time.P50, l.Time.P99, l.Time.P999, l.Time.Max} {
			row = append(row, measured(l.Time.Count, us))
		}
		t.Rows = append(t.Rows, tableRow{Cells: row, Bad: l.ErrorRate() > 0})
	}
	return unlessEmpty(t)
}

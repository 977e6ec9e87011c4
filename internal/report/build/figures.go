package build

import (
	"errors"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Figures are what a threshold limits: counts and distributions of a part of the requests in a period.
type Figures struct {
	// Requests are the counts of requests. InFlightAtEnd requests count as failed, unless LeaveOutInFlight leaves them
	// out.
	Requests runnerv1alpha1.Requests
	// InClass counts the responses of the status class.
	InClass int64
	// Notifications are the counts of a listener; Requests are then those of the steps that awaited a notification.
	Notifications runnerv1alpha1.ListenerCounts
	// Reconnects, ChainsCompleted and ChainsAborted are those of the run.
	Reconnects, ChainsCompleted, ChainsAborted int64
	// Earlier counts the requests that were sent before the period, if it has the outcomes of all that were sent in it.
	// Nothing says which they are, so a maximum leaves out as many of the worst requests.
	Earlier int64
	// Rate is in requests per second. Seconds is the length of the period, without pauses and drain.
	Rate, Seconds float64

	// errorRate of a report; nil: that of the counts.
	errorRate *float64
	// time returns a distribution.
	time func(runnerv1alpha1.Metric) (*histogram.H, error)
}

// All returns the number of requests that were sent or should have been sent.
func (f *Figures) All() int64 { return f.Requests.Sent + f.Requests.Dropped }

// without returns a count without the earlier requests, if they are in it.
func (f *Figures) without(n int64) int64 { return max(0, n-f.Earlier) }

// ErrorRate returns 1 - succeeded / (sent + dropped).
func (f *Figures) ErrorRate() float64 {
	if f.errorRate != nil {
		return *f.errorRate
	}
	return f.ErrorRateWithout(0)
}

// ErrorRateWithout returns the error rate of the counts without so many of the dropped requests.
func (f *Figures) ErrorRateWithout(dropped int64) float64 {
	all := f.All() - dropped
	return ratio(f.without(all-f.Requests.Succeeded), f.without(all))
}

// LeaveOutInFlight leaves out the requests in flight, which can still succeed while a test runs.
func (f *Figures) LeaveOutInFlight() {
	f.Requests.Sent -= f.Requests.InFlightAtEnd
	f.Requests.InFlightAtEnd, f.errorRate = 0, nil
}

// Time returns the distribution of a metric, with the earlier requests.
func (f *Figures) Time(m runnerv1alpha1.Metric) (*histogram.H, error) { return f.time(m) }

// Count returns the value of a count, and what it is a share of. It returns false if the metric is not a count.
func (f *Figures) Count(m runnerv1alpha1.Metric) (n, all int64, ok bool) {
	n, all, ok = f.count(m)
	return f.without(n), f.without(all), ok
}

func (f *Figures) count(m runnerv1alpha1.Metric) (n, all int64, ok bool) {
	r := &f.Requests
	switch m {
	case runnerv1alpha1.MetricResponses:
		n = f.InClass
	case runnerv1alpha1.MetricSucceeded:
		n = r.Succeeded
	case runnerv1alpha1.MetricFailed:
		n = f.All() - r.Succeeded
	case runnerv1alpha1.MetricFailedChecks:
		n = r.FailedChecks
	case runnerv1alpha1.MetricTimedOut:
		n = r.TimedOut
	case runnerv1alpha1.MetricReset:
		n = r.Reset
	case runnerv1alpha1.MetricConnectionLost:
		n = r.ConnectionLost
	case runnerv1alpha1.MetricDropped:
		n = r.Dropped
	case runnerv1alpha1.MetricRetried:
		n = r.Retried
	case runnerv1alpha1.MetricReconnects:
		n = f.Reconnects
	case runnerv1alpha1.MetricChainsCompleted:
		return f.ChainsCompleted, f.ChainsCompleted + f.ChainsAborted, true
	case runnerv1alpha1.MetricChainsAborted:
		return f.ChainsAborted, f.ChainsCompleted + f.ChainsAborted, true
	case runnerv1alpha1.MetricNotificationsInTime:
		n = r.Done
	case runnerv1alpha1.MetricNotificationsMissing:
		n = r.TimedOut
	default:
		return f.notifications(m)
	}
	return n, f.All(), true
}

// notifications is Count for notifications that no step took.
func (f *Figures) notifications(m runnerv1alpha1.Metric) (n, all int64, ok bool) {
	switch m {
	case runnerv1alpha1.MetricNotificationsLate:
		n = f.Notifications.Late
	case runnerv1alpha1.MetricNotificationsDuplicate:
		n = f.Notifications.Duplicate
	case runnerv1alpha1.MetricNotificationsUnexpected:
		n = f.Notifications.Unexpected
	default:
		return 0, 0, false
	}
	return n, f.Notifications.Received, true
}

func notificationsOf(c *runnerv1alpha1.SelectionCounts) runnerv1alpha1.ListenerCounts {
	return runnerv1alpha1.ListenerCounts{Received: c.Received, Late: c.Late, Duplicate: c.Duplicate,
		Unexpected: c.Unexpected}
}

// FiguresOf returns the figures of a report. Selection is an index into Report.Selections, or -1 for those of the run.
func FiguresOf(r *runnerv1alpha1.Report, selection int) (Figures, error) {
	if selection < 0 {
		rate := float64(r.ErrorRate)
		return Figures{
			Requests: r.Requests, InClass: r.Requests.Done, Rate: r.Rate.Achieved, Seconds: r.Rate.WindowSeconds,
			errorRate:  &rate,
			Reconnects: r.Generator.Reconnects, ChainsCompleted: r.Chains.Completed, ChainsAborted: r.Chains.Aborted,
			time: func(m runnerv1alpha1.Metric) (*histogram.H, error) { return distribution(m, r.Histograms) },
		}, nil
	}
	if selection >= len(r.Selections) {
		return Figures{}, errors.New("the report does not have its figures")
	}
	s := &r.Selections[selection]
	return Figures{
		Requests: requestsOf(&s.SelectionCounts), InClass: s.InClass,
		Notifications: notificationsOf(&s.SelectionCounts),
		Rate:          ratio64(s.Sent-s.SentInDrain, s.WindowSeconds), Seconds: s.WindowSeconds,
		time: func(runnerv1alpha1.Metric) (*histogram.H, error) { return histogram.Decode(s.Time) },
	}, nil
}

// FiguresOfWindow returns the figures of a window of measured stages: of the requests that had their outcome in it.
// Without its histogram, a window has no times.
func FiguresOfWindow(w *runnerv1alpha1.Window) Figures {
	done, seconds := w.Succeeded+w.FailedChecks, float64(w.To-w.From)/1000
	out := Figures{
		Requests: runnerv1alpha1.Requests{Dropped: w.Dropped, Outcomes: runnerv1alpha1.Outcomes{
			Sent: done + w.TimedOut + w.Reset + w.ConnectionLost, Done: done, Succeeded: w.Succeeded,
			FailedChecks: w.FailedChecks,
			TimedOut:     w.TimedOut, Reset: w.Reset, ConnectionLost: w.ConnectionLost,
		}},
		Seconds: seconds,
		time:    func(runnerv1alpha1.Metric) (*histogram.H, error) { return histogram.Decode(w.Histogram) },
	}
	out.Rate = ratio64(out.Requests.Sent, seconds)
	return out
}

func requestsOf(c *runnerv1alpha1.SelectionCounts) runnerv1alpha1.Requests {
	return runnerv1alpha1.Requests{Dropped: c.Dropped, Outcomes: runnerv1alpha1.Outcomes{
		Sent: c.Sent, Done: c.Done, Succeeded: c.Succeeded, FailedChecks: c.Done - c.Succeeded, TimedOut: c.TimedOut,
		Reset:          c.Reset,
		ConnectionLost: c.ConnectionLost, InFlightAtEnd: c.Sent - c.Done - c.TimedOut - c.Reset - c.ConnectionLost,
	}}
}

func ratio64(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// distribution returns a distribution of the run. Those of targets are in selections.
func distribution(m runnerv1alpha1.Metric, all *runnerv1alpha1.ReportHistograms) (*histogram.H, error) {
	if all == nil {
		return nil, errors.New("the report has no histograms")
	}
	switch m {
	case runnerv1alpha1.MetricResponseTime:
		return histogram.Decode(all.ResponseTime)
	case runnerv1alpha1.MetricServiceTime:
		return histogram.Decode(all.ServiceTime)
	case runnerv1alpha1.MetricTimeToFirstByte:
		return histogram.Decode(all.TimeToFirstByte)
	case runnerv1alpha1.MetricLag:
		return histogram.Decode(all.Lag)
	}
	return nil, fmt.Errorf("metric %q is not known", m)
}

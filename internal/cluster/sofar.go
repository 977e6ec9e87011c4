package cluster

import (
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/render"
)

// SoFar makes Reports of the status of a test that runs. Status has no windows, so SoFar makes one of every two Looks
// with different figures.
type SoFar struct {
	windows []rv.Window
	// version is that of the last LoadTest, and counts and warmUp are its numbers of requests.
	version string
	counts  v1alpha1.RequestCounts
	warmUp  int64
	// width is the shortest window. It grows so that there are at most MaxWindows windows.
	width time.Duration
}

// Add takes a Look. It returns the report so far.
func (s *SoFar) Add(lt *v1alpha1.LoadTest, now time.Time) *rv.Report {
	if lt.Status.Results != nil && lt.Status.StartTime != nil && lt.ResourceVersion != s.version {
		s.version = lt.ResourceVersion
		s.window(lt, now)
	}
	out := reportOf(lt)
	out.Windows = append(out.Windows, s.windows...)
	return out
}

// window appends the window since the last one, unless it is too short.
func (s *SoFar) window(lt *v1alpha1.LoadTest, now time.Time) {
	r, from := lt.Status.Results, int64(0)
	if n := len(s.windows); n > 0 {
		from = s.windows[n-1].To
	}
	to := now.Sub(lt.Status.StartTime.Time).Milliseconds()
	if to <= from || to-from < s.width.Milliseconds() {
		return
	}
	q, before := &r.Requests, &s.counts
	w := rv.Window{
		From: from, To: to, Suspended: lt.Status.Phase == v1alpha1.PhaseSuspended,
		Sent: q.Sent + r.WarmUpSent - before.Sent - s.warmUp, Succeeded: q.Succeeded - before.Succeeded,
		FailedChecks: q.FailedChecks - before.FailedChecks, TimedOut: q.TimedOut - before.TimedOut,
		Reset:          q.Reset - before.Reset,
		ConnectionLost: q.ConnectionLost - before.ConnectionLost, Dropped: q.Dropped - before.Dropped,
		InFlight: q.InFlightAtEnd,
	}
	w.Achieved = float64(w.Sent) / (float64(to-from) / 1000)
	if n := lt.Status.Shards; n != nil {
		w.Shards = int(n.Ready)
	}
	if stage := StageAt(lt, now); stage.Known && !stage.Over {
		w.Stage, w.WarmUp = lt.Spec.Rates[stage.Index].Name, lt.Spec.Rates[stage.Index].WarmUp
		w.Asked, _ = strconv.ParseFloat(askedNow(lt, now), 64) // "max" is 0, as in a report
	}
	s.windows, s.counts, s.warmUp = append(s.windows, w), *q, r.WarmUpSent
	if len(s.windows) > rv.MaxWindows {
		s.windows = halve(s.windows)
		s.width = max(2*s.width, 2*Interval)
	}
}

// halve joins each window with an even index and the next one.
func halve(in []rv.Window) []rv.Window {
	out := in[:0]
	for i := 0; i < len(in); i += 2 {
		w := in[i]
		if i+1 < len(in) {
			w = joined(&w, &in[i+1])
		}
		out = append(out, w)
	}
	return out
}

// joined returns the window of two. Its rates are averages, and what is not a count is that of the later one.
func joined(a, b *rv.Window) rv.Window {
	out := *b
	part := float64(a.To-a.From) / float64(b.To-a.From)
	out.From, out.Suspended = a.From, a.Suspended && b.Suspended
	out.Asked = part*a.Asked + (1-part)*b.Asked
	out.Achieved = part*a.Achieved + (1-part)*b.Achieved
	out.Sent, out.Succeeded = a.Sent+b.Sent, a.Succeeded+b.Succeeded
	out.FailedChecks, out.TimedOut, out.Reset = a.FailedChecks+b.FailedChecks, a.TimedOut+b.TimedOut, a.Reset+b.Reset
	out.ConnectionLost, out.Dropped = a.ConnectionLost+b.ConnectionLost, a.Dropped+b.Dropped
	return out
}

// reportOf returns the figures of status as a Report without windows.
func reportOf(lt *v1alpha1.LoadTest) *rv.Report {
	out := &rv.Report{APIVersion: rv.APIVersion, Kind: rv.ReportKind, Name: lt.Namespace + "/" + lt.Name}
	st := &lt.Status
	if st.StartTime != nil {
		out.StartTime = st.StartTime.UTC().Format(time.RFC3339)
	}
	if st.Shards != nil {
		out.Generator.Shards, out.Generator.ShardsLost = int(st.Shards.Desired), int(st.Shards.Lost)
	}
	if g := st.Generator; g != nil {
		out.Generator.ExclusiveShards, out.Generator.LagP99Microseconds = int(g.ExclusiveShards), g.LagP99Microseconds
		out.Generator.ThrottledMicroseconds = g.ThrottledMicroseconds
	}
	if st.Results != nil {
		addResults(out, st.Results)
	}
	thresholds := st.Thresholds
	if v := st.Verdict; v != nil {
		out.Verdict, thresholds = rv.Verdict{Outcome: rv.Outcome(v.Outcome), Reason: v.Reason, Message: v.Message},
			v.Thresholds
	}
	out.Verdict.Thresholds = Thresholds(thresholds)
	return out
}

// Thresholds are those of a status as a report has them. Their metric is the text of their figure.
func Thresholds(all []v1alpha1.ThresholdStatus) (out []rv.ThresholdResult) {
	for _, t := range all {
		r := rv.ThresholdResult{Name: t.Name, Metric: rv.Metric(t.Figure), Limit: t.Limit, Observed: t.Observed,
			Passed: t.Passed}
		if t.Baseline != "" {
			r.Baseline = &rv.BaselineResult{Name: t.Baseline, NotCompared: t.NotCompared}
		}
		out = append(out, r)
	}
	return out
}

func addResults(out *rv.Report, r *v1alpha1.Results) {
	q := &r.Requests
	out.Requests = rv.Requests{
		Outcomes: rv.Outcomes{Sent: q.Sent, Done: q.Done, Succeeded: q.Succeeded, FailedChecks: q.FailedChecks,
			TimedOut: q.TimedOut, Reset: q.Reset,
			ConnectionLost: q.ConnectionLost, InFlightAtEnd: q.InFlightAtEnd}, Dropped: q.Dropped, Retried: q.Retried,
	}
	out.WarmUp.Sent, out.Exhausted, out.Partial = r.WarmUpSent, r.Exhausted, r.Partial
	out.Setup, out.Teardown = rv.OnceCounters{Sent: r.Setup.Sent, Succeeded: r.Setup.Succeeded},
		rv.OnceCounters{Sent: r.Teardown.Sent, Succeeded: r.Teardown.Succeeded}
	out.Rate.Asked, out.Rate.Achieved, out.ErrorRate = r.Rate.Asked, r.Rate.Achieved, rv.ErrorRate(r.ErrorRate)
	out.ResponseTime = timesOf(&r.ResponseTime)
	out.ResponseTime.Unanswered = q.TimedOut + q.Reset + q.ConnectionLost
	out.ResponseTime.Count = q.Done + out.ResponseTime.Unanswered
	out.Causes = counts(r.Causes)
	for _, f := range r.Failures {
		out.Failures = append(out.Failures, rv.FailureCount{Failure: rv.Failure{Of: rv.FailureOf(f.Of),
			Cause: rv.Cause(f.Cause), Detail: f.Detail, Address: f.Address}, Count: f.Count})
	}
	for i := range r.Chains {
		c := &r.Chains[i]
		out.Chains.Started += c.Started
		out.Chains.Completed += c.Completed
		out.Chains.Aborted += c.Aborted
		for reason, n := range counts(c.AbortedBy) {
			if out.Chains.AbortedBy == nil {
				out.Chains.AbortedBy = map[string]int64{}
			}
			out.Chains.AbortedBy[reason] += n
		}
	}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		out.Listeners = append(out.Listeners,
			rv.ListenerResult{Name: l.Name, Time: timesOf(&l.Time), ListenerCounts: rv.ListenerCounts{
				Received: l.Received, InTime: l.InTime, Late: l.Late, Duplicate: l.Duplicate,
				Unexpected: l.Unexpected, Answered: l.Answered, Awaited: l.Awaited,
				Missing: l.Missing, FailedChecks: l.FailedChecks, RefusedToken: l.RefusedToken,
				RefusedCertificate: l.RefusedCertificate, FailedHandshakes: l.FailedHandshakes,
				Early: l.Received - l.InTime - l.Late - l.Duplicate - l.Unexpected - l.Answered - l.RefusedToken -
					l.RefusedCertificate,
				Waiting: l.Awaited - l.InTime - l.Missing,
			}})
		out.Listeners[i].Time.Count = l.InTime + l.Missing
	}
	out.Chains.Unfinished = out.Chains.Started - out.Chains.Completed - out.Chains.Aborted
}

// timesOf returns times without counts. A time that is absent is above the limit.
func timesOf(in *v1alpha1.Times) rv.Times {
	value := func(us *int64) int64 {
		switch {
		case us != nil:
			return *us
		case in.AboveMicroseconds > 0:
			return rv.Above(in.AboveMicroseconds)
		}
		return 0
	}
	return rv.Times{
		P50: value(in.P50Microseconds), P90: value(in.P90Microseconds), P95: value(in.P95Microseconds),
		P99: value(in.P99Microseconds), P999: value(in.P999Microseconds), Max: value(in.MaxMicroseconds),
	}
}

func counts(in []v1alpha1.NamedCount) map[string]int64 {
	if len(in) == 0 {
		return nil
	}
	out := map[string]int64{}
	for _, c := range in {
		out[c.Name] = c.Count
	}
	return out
}

// Live returns the state of a test for a live page.
func (l *Look) Live(now time.Time) *render.Live {
	lt := l.Test
	out := &render.Live{Phase: phase(lt), Detail: age(lt, now).String()}
	if stage := stageText(lt, now); stage != "" {
		out.Detail = "stage " + stage
	}
	for _, c := range notable(lt) {
		out.Trouble += c.Type + " " + mask.Line(c.Reason) + ": " + mask.Line(c.Message) + ". "
	}
	if l.Trouble != nil {
		out.Trouble += "No answer from the API server: " + mask.Line(l.Trouble.Error())
	}
	return out
}

package cli

import (
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/usl"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/report/baseline"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/internal/version"
)

// conclusion is a judged report and what it means for the process.
type conclusion struct {
	report *rv.Report
	code   int
	// message and lines go to standard error: what a report does not make plain enough. The text report has the message,
	// too.
	message string
	lines   []string
}

// buildReport makes a report without a verdict of a snapshot and the windows so far. Now is the wall clock at the time
// of the snapshot.
func buildReport(j *job, s *rv.Snapshot, windows *build.Windows, now time.Time) (*rv.Report, error) {
	snapshots := []rv.Snapshot{*s}
	in := build.Input{
		Plan: j.plan, PlanHash: j.hash, Version: version.Get().Version,
		Snapshots: snapshots, ClockOffsets: map[build.Runner]int64{{Shard: s.Shard, Boot: s.Boot}: 0},
	}
	if s.StartedAt > 0 {
		in.StartWall, in.EndWall = onWall(s, s.StartedAt, now), onWall(s, s.EndedAt, now)
	}
	report, err := build.Build(in)
	if err != nil {
		return nil, err
	}
	if err := windows.Add(s); err != nil {
		return nil, err
	}
	report.Windows, report.WindowsFrom = windows.List()
	return report, nil
}

// soFar makes the report of a run that lasts. A request in flight is not an error, because it can still succeed. There
// is no verdict before the first outcome.
func soFar(j *job, s *rv.Snapshot, windows *build.Windows, facts verdict.Facts, now time.Time) (*rv.Report, error) {
	report, err := buildReport(j, s, windows, now)
	if err != nil {
		return nil, err
	}
	report.Partial, facts.Running = false, true
	leaveOutInFlight(report)
	if q := &report.Requests; q.Sent+q.Dropped > q.InFlightAtEnd {
		report.Verdict, err = verdict.Judge(j.plan, report, facts)
	}
	return report, err
}

// leaveOutInFlight sets the error rates of the run, its stages, steps and operations to those of the requests that have
// an outcome.
func leaveOutInFlight(r *rv.Report) {
	rate := func(sent, inFlight, succeeded int64) rv.ErrorRate {
		ended := sent - inFlight
		return rv.ErrorRate(float64(ended-succeeded) / float64(max(1, ended)))
	}
	q := &r.Requests
	r.ErrorRate = rate(q.Sent+q.Dropped, q.InFlightAtEnd, q.Succeeded)
	for i := range r.Stages {
		s := &r.Stages[i]
		if f := s.Figures; f != nil {
			f.ErrorRate = rate(s.Sent+s.Dropped, f.InFlightAtEnd, f.Succeeded)
		}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.ErrorRate = rate(s.Sent, s.InFlightAtEnd, s.Succeeded)
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		o.ErrorRate = rate(o.Sent, o.InFlightAtEnd, o.Succeeded)
	}
}

// conclude makes the judged report of a run of its last snapshot.
func conclude(j *job, s *rv.Snapshot, windows *build.Windows, limits *limits, searched *rv.SearchResult,
	interrupted bool, now time.Time) (*conclusion, error) {
	report, err := buildReport(j, s, windows, now)
	if err != nil {
		return nil, err
	}
	report.Windows, report.WindowsFrom = windows.Complete()
	report.Search, report.LoadChanged = searched, windows.RatesChanged()
	facts := verdict.FactsOf([]rv.Snapshot{*s})
	facts.Interrupted, facts.CPUs = interrupted, j.cpus
	limits.add(s) // it came after the last look
	limits.facts(&facts)
	if report.LoadHash, err = plan.LoadHash(j.plan); err != nil {
		return nil, err
	}
	if facts.Compared, err = baseline.Compare(j.plan, report, j.baselines); err != nil {
		return nil, err
	}
	if report.Verdict, err = verdict.Judge(j.plan, report, facts); err != nil {
		return nil, err
	}
	report.Scalability = usl.Of(j.plan, report)
	report.Verdict.Message = j.advise(report.Verdict.Message)
	for i := range report.Bounds {
		report.Bounds[i].Message = j.advise(report.Bounds[i].Message)
	}
	c := &conclusion{report: report}
	c.code = verdict.ExitCode(report)
	if needsMessage(report) {
		c.message = report.Verdict.Message
	}
	c.checkSums()
	return c, nil
}

// shown returns the lines for standard error. A terminal that shows the report already has the message.
func (c *conclusion) shown(reported bool) []string {
	if c.message == "" || reported {
		return c.lines
	}
	return append([]string{c.message}, c.lines...)
}

// needsMessage reports whether the verdict is about more than the thresholds of the LoadTest.
func needsMessage(r *rv.Report) bool {
	v := &r.Verdict
	return v.Outcome == rv.OutcomeError || v.Outcome == rv.OutcomeFailed && v.Reason != verdict.ReasonThresholdsFailed ||
		r.TeardownFailure != ""
}

// checkSums fails the run when the counters do not add up: then nothing in the report can be
// trusted, whatever the verdict says.
func (c *conclusion) checkSums() {
	err := build.Check(c.report)
	if err == nil {
		return
	}
	c.code = verdict.ExitError
	for line := range strings.SplitSeq(err.Error(), "\n") {
		c.lines = append(c.lines, "the counters do not add up, please report this: "+line)
	}
}

// onWall turns an instant of the runner's clock into one of the wall clock; zero stays so.
func onWall(s *rv.Snapshot, at int64, now time.Time) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(at - s.Clock))
}

package result

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/histogram"
)

// sum is what all snapshots together have counted.
type sum struct {
	counters    runnerv1alpha1.Counters
	steps       []step
	chains      []runnerv1alpha1.ChainCounters
	statusCodes map[string]int64
	causes      map[string]int64
	failures    failure.Counts
	times       distributions
}

type step struct {
	counters     runnerv1alpha1.StepCounters
	responseTime histogram.H
}

func add(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) (*sum, error) {
	out := &sum{
		steps:       make([]step, countSteps(plan)),
		chains:      make([]runnerv1alpha1.ChainCounters, len(plan.Chains)),
		statusCodes: map[string]int64{},
	}
	for i := range snapshots {
		if err := out.add(plan, &snapshots[i]); err != nil {
			return nil, fmt.Errorf("snapshot of shard %d: %w", snapshots[i].Shard, err)
		}
	}
	return out, nil
}

// Chains merges the counters of each chain of the plan, which a Report sums up. Snapshots that Build
// refuses must not come here.
func Chains(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) []runnerv1alpha1.ChainCounters {
	out := make([]runnerv1alpha1.ChainCounters, len(plan.Chains))
	for _, s := range latest(snapshots) {
		for i := range s.Chains {
			addChain(&out[i], &s.Chains[i])
		}
	}
	return out
}

func (s *sum) add(plan *runnerv1alpha1.Plan, from *runnerv1alpha1.Snapshot) error {
	if err := checkShape(plan, from); err != nil {
		return err
	}
	addCounters(&s.counters, &from.Counters)
	for code, n := range from.StatusCodes {
		s.statusCodes[code] += n
	}
	addCounts(&s.causes, from.Causes)
	s.failures.AddAll(fitFailures(from.Failures))
	for i := range from.Chains {
		addChain(&s.chains[i], &from.Chains[i])
	}
	for i := range from.Steps {
		addStep(&s.steps[i].counters, &from.Steps[i])
		if err := merge(&s.steps[i].responseTime, &from.Steps[i].ResponseTime); err != nil {
			return fmt.Errorf("response time of step %d: %w", i, err)
		}
	}
	return s.times.add(from)
}

func (d *distributions) add(from *runnerv1alpha1.Snapshot) error {
	if err := merge(&d.responseTime, &from.ResponseTime); err != nil {
		return fmt.Errorf("response time: %w", err)
	}
	h := from.Histograms
	if h == nil {
		return nil
	}
	for _, pair := range []struct {
		name string
		to   *histogram.H
		from *runnerv1alpha1.Histogram
	}{
		{"service time", &d.serviceTime, &h.ServiceTime},
		{"time to first byte", &d.timeToFirstByte, &h.TimeToFirstByte},
		{"lag", &d.lag, &h.Lag},
		{"reconnecting", &d.reconnecting, &h.Reconnecting},
		{"blocked", &d.blocked, &h.Blocked},
		{"connect", &d.connect, &h.Connect},
	} {
		if err := merge(pair.to, pair.from); err != nil {
			return fmt.Errorf("%s: %w", pair.name, err)
		}
	}
	return nil
}

func merge(to *histogram.H, from *runnerv1alpha1.Histogram) error {
	h, err := histogram.Decode(*from)
	if err != nil {
		return err
	}
	to.Merge(h)
	return nil
}

func addCounters(to, from *runnerv1alpha1.Counters) {
	to.Sent += from.Sent
	to.Done += from.Done
	to.Succeeded += from.Succeeded
	to.FailedChecks += from.FailedChecks
	to.TimedOut += from.TimedOut
	to.Reset += from.Reset
	to.ConnectionLost += from.ConnectionLost
	to.InFlightAtEnd += from.InFlightAtEnd
	to.Dropped += from.Dropped
	to.Retried += from.Retried
	to.Abandoned += from.Abandoned
	to.WarmUpSent += from.WarmUpSent
	to.WarmUpInFlight += from.WarmUpInFlight
	to.WarmUpSucceeded += from.WarmUpSucceeded
	addOnce(&to.Setup, &from.Setup)
	addOnce(&to.Teardown, &from.Teardown)
	to.BytesSent += from.BytesSent
	to.BytesReceived += from.BytesReceived
	to.Connects += from.Connects
	to.Reconnects += from.Reconnects
}

func addOnce(to, from *runnerv1alpha1.OnceCounters) {
	to.Sent += from.Sent
	to.Succeeded += from.Succeeded
}

func addStep(to, from *runnerv1alpha1.StepCounters) {
	to.Sent += from.Sent
	to.Done += from.Done
	to.Succeeded += from.Succeeded
	to.FailedChecks += from.FailedChecks
	to.TimedOut += from.TimedOut
	to.Reset += from.Reset
	to.ConnectionLost += from.ConnectionLost
	to.InFlightAtEnd += from.InFlightAtEnd
	addCounts(&to.FailedBy, from.FailedBy)
	to.Retries += from.Retries
	to.OccupiedMicroseconds += from.OccupiedMicroseconds
	for i, n := range from.StatusClasses {
		to.StatusClasses[i] += n
	}
}

func addChain(to, from *runnerv1alpha1.ChainCounters) {
	to.Started += from.Started
	to.Completed += from.Completed
	to.Aborted += from.Aborted
	to.Unfinished += from.Unfinished
	addCounts(&to.AbortedBy, from.AbortedBy)
}

func (s *sum) chainTotals() runnerv1alpha1.ChainTotals {
	var all runnerv1alpha1.ChainCounters
	for i := range s.chains {
		addChain(&all, &s.chains[i])
	}
	return runnerv1alpha1.ChainTotals{
		Started: all.Started, Completed: all.Completed, Aborted: all.Aborted, Unfinished: all.Unfinished,
		AbortedBy: all.AbortedBy,
	}
}

func requests(c *runnerv1alpha1.Counters) runnerv1alpha1.Requests {
	return runnerv1alpha1.Requests{
		Sent: c.Sent, Done: c.Done, Succeeded: c.Succeeded, FailedChecks: c.FailedChecks,
		TimedOut: c.TimedOut, Reset: c.Reset, ConnectionLost: c.ConnectionLost,
		InFlightAtEnd: c.InFlightAtEnd, Dropped: c.Dropped, Retried: c.Retried, Abandoned: c.Abandoned,
	}
}

func (s *sum) stepResults(plan *runnerv1alpha1.Plan) []runnerv1alpha1.StepResult {
	out := make([]runnerv1alpha1.StepResult, 0, len(s.steps))
	for c := range plan.Chains {
		for i := range plan.Chains[c].Steps {
			from := &s.steps[len(out)]
			n := &from.counters
			out = append(out, runnerv1alpha1.StepResult{
				Chain: plan.Chains[c].Name, Step: plan.Chains[c].Steps[i].Name, Phase: plan.Chains[c].Phase,
				Sent: n.Sent, Done: n.Done, Succeeded: n.Succeeded, FailedChecks: n.FailedChecks,
				TimedOut: n.TimedOut, Reset: n.Reset, ConnectionLost: n.ConnectionLost,
				InFlightAtEnd: n.InFlightAtEnd, FailedBy: n.FailedBy, Retries: n.Retries,
				ErrorRate:    runnerv1alpha1.ErrorRate(ratio(n.Sent-n.Succeeded, n.Sent)),
				ResponseTime: from.responseTime.Times(),
			})
		}
	}
	return out
}

// setTimes sums the distributions up and encodes them.
func (s *sum) setTimes(r *runnerv1alpha1.Report) {
	r.Histograms = &runnerv1alpha1.ReportHistograms{}
	for _, d := range []struct {
		from      *histogram.H
		times     *runnerv1alpha1.Times
		histogram *runnerv1alpha1.Histogram
	}{
		{&s.times.responseTime, &r.ResponseTime, &r.Histograms.ResponseTime},
		{&s.times.serviceTime, &r.ServiceTime, &r.Histograms.ServiceTime},
		{&s.times.timeToFirstByte, &r.TimeToFirstByte, &r.Histograms.TimeToFirstByte},
		{&s.times.lag, &r.Lag, &r.Histograms.Lag},
		{&s.times.reconnecting, &r.Reconnecting, &r.Histograms.Reconnecting},
		{&s.times.blocked, &r.Blocked, &r.Histograms.Blocked},
		{&s.times.connect, &r.Connect, &r.Histograms.Connect},
	} {
		*d.times, *d.histogram = d.from.Times(), d.from.Encode()
	}
}

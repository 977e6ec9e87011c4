package result

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/histogram"
)

// sum is what all snapshots together have counted.
type sum struct {
	counters runnerv1alpha1.Counters
	steps    []step
	// selections are those of selectionsOf. The first forThresholds are those of thresholds.
	selections    []selection
	forThresholds int
	chains        []runnerv1alpha1.ChainCounters
	statusCodes   map[string]int64
	causes        map[string]int64
	failures      failure.Counts
	times         distributions
	targets       []targetTimes
	listeners     []listener
}

type step struct {
	counters runnerv1alpha1.StepCounters
	times    stepTimes
}

// stepTimes are in the order of StepCounters.Distributions, and targetTimes in that of TargetTimes.Distributions.
type (
	stepTimes   [runnerv1alpha1.StepDistributions]histogram.H
	targetTimes [runnerv1alpha1.TargetDistributions]histogram.H
)

// The names of the distributions, for errors.
var (
	stepTimeNames   = [...]string{"response time", "service time", "time to first byte", "failed response time"}
	targetTimeNames = [...]string{"name resolution", "TCP connect", "TLS handshake", "SETTINGS", "connect", "reconnecting", "blocked", "body"}
)

type listener struct {
	runnerv1alpha1.ListenerCounts

	time histogram.H
}

type selection struct {
	runnerv1alpha1.Selection

	counters runnerv1alpha1.SelectionCounters
	time     histogram.H
}

func newSum(plan *runnerv1alpha1.Plan) *sum {
	selections, forThresholds := selectionsOf(plan)
	sums := make([]selection, len(selections))
	for i := range selections {
		sums[i].Selection = selections[i]
	}
	return &sum{
		steps:      make([]step, countSteps(plan)),
		targets:    make([]targetTimes, len(plan.Targets)),
		selections: sums, forThresholds: forThresholds,
		chains:      make([]runnerv1alpha1.ChainCounters, len(plan.Chains)),
		listeners:   make([]listener, len(plan.Listeners)),
		statusCodes: map[string]int64{},
	}
}

// add merges counters and distributions.
func add(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) (*sum, error) {
	out := newSum(plan)
	for i := range snapshots {
		s := &snapshots[i]
		err := checkShape(plan, s)
		if err == nil {
			out.addCounters(s)
			err = out.addTimes(s)
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot of shard %d: %w", s.Shard, err)
		}
	}
	return out, nil
}

// addCounters adds all but distributions. The snapshot must have the shape of the plan.
func (s *sum) addCounters(from *runnerv1alpha1.Snapshot) {
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
	}
	for i, c := range selectionsIn(from, s.forThresholds) {
		s.selections[i].counters.Add(c)
	}
	for i := range from.Listeners {
		s.listeners[i].Add(&from.Listeners[i].ListenerCounts)
		addCounts(&s.listeners[i].FailedBy, from.Listeners[i].FailedBy)
	}
}

func (s *sum) addTimes(from *runnerv1alpha1.Snapshot) error {
	for i := range from.Steps {
		for k, d := range from.Steps[i].Distributions() {
			if err := merge(&s.steps[i].times[k], d); err != nil {
				return fmt.Errorf("%s of step %d: %w", stepTimeNames[k], i, err)
			}
		}
	}
	for i := range from.Targets {
		for k, d := range from.Targets[i].Distributions() {
			if err := merge(&s.targets[i][k], d); err != nil {
				return fmt.Errorf("%s of target %d: %w", targetTimeNames[k], i, err)
			}
		}
	}
	for i, c := range selectionsIn(from, s.forThresholds) {
		if err := merge(&s.selections[i].time, &c.Time); err != nil {
			return fmt.Errorf("time of selection %d: %w", i, err)
		}
	}
	for i := range from.Listeners {
		if err := merge(&s.listeners[i].time, &from.Listeners[i].Time); err != nil {
			return fmt.Errorf("time of listener %d: %w", i, err)
		}
	}
	if err := merge(&s.times.responseTime, &from.ResponseTime); err != nil {
		return fmt.Errorf("response time: %w", err)
	}
	if from.Histograms == nil {
		return nil
	}
	for i, d := range s.times.final() {
		name, h := finalOf(from.Histograms, i)
		if err := merge(d, h); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// final are the distributions that only the final snapshot has, in the order of finalOf.
func (d *distributions) final() [finals]*histogram.H {
	return [finals]*histogram.H{&d.serviceTime, &d.timeToFirstByte, &d.lag, &d.reconnecting, &d.blocked, &d.connect}
}

const finals = 6

// finalOf is distribution i of a final snapshot.
func finalOf(h *runnerv1alpha1.Histograms, i int) (name string, from *runnerv1alpha1.Histogram) {
	switch i {
	case 0:
		return "service time", &h.ServiceTime
	case 1:
		return "time to first byte", &h.TimeToFirstByte
	case 2:
		return "lag", &h.Lag
	case 3:
		return "reconnecting", &h.Reconnecting
	case 4:
		return "blocked", &h.Blocked
	}
	return "connect", &h.Connect
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
	addGraceful(&to.Graceful, &from.Graceful)
	addOnce(&to.Setup, &from.Setup)
	addOnce(&to.Teardown, &from.Teardown)
	to.BytesSent += from.BytesSent
	to.BytesReceived += from.BytesReceived
	to.Connects += from.Connects
	to.Reconnects += from.Reconnects
}

func addGraceful(to, from *runnerv1alpha1.GracefulCounters) {
	to.Sent += from.Sent
	to.Succeeded += from.Succeeded
	to.Completed += from.Completed
	to.Aborted += from.Aborted
	to.CutOff += from.CutOff
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
	addCounts(&to.StatusCodes, from.StatusCodes)
	addCounts(&to.Problems, from.Problems)
	to.Retries += from.Retries
	to.Redirects += from.Redirects
	to.OverloadControl += from.OverloadControl
	to.LoadControl += from.LoadControl
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
	plan.EachStep(func(i int, chain *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		from := &s.steps[i]
		n := &from.counters
		out = append(out, runnerv1alpha1.StepResult{
			Chain: chain.Name, Step: step.Name, Phase: chain.Phase, Listener: awaitedBy(plan, step),
			Sent: n.Sent, Done: n.Done, Succeeded: n.Succeeded, FailedChecks: n.FailedChecks,
			TimedOut: n.TimedOut, Reset: n.Reset, ConnectionLost: n.ConnectionLost, InFlightAtEnd: n.InFlightAtEnd,
			FailedBy: n.FailedBy, StatusCodes: n.StatusCodes, Problems: Problems(n.Problems),
			Retries: n.Retries, Redirects: n.Redirects, OverloadControl: n.OverloadControl, LoadControl: n.LoadControl,
			ErrorRate:    runnerv1alpha1.ErrorRate(ratio(n.Sent-n.Succeeded, n.Sent)),
			ResponseTime: from.times[0].Times(), ServiceTime: from.times[1].Times(), TimeToFirstByte: from.times[2].Times(),
			SuccessfulResponseTime: successful(&from.times[0], &from.times[3], n.Done, n.FailedChecks).Times(),
		})
	})
	return out
}

func (s *sum) targetResults(plan *runnerv1alpha1.Plan) []runnerv1alpha1.TargetResult {
	out := make([]runnerv1alpha1.TargetResult, len(plan.Targets))
	for i := range out {
		t, r := &s.targets[i], s.requestTimes(plan, i)
		out[i] = runnerv1alpha1.TargetResult{
			Name: plan.Targets[i].Name, NameResolution: t[0].Times(), TCPConnect: t[1].Times(), TLSHandshake: t[2].Times(),
			Settings: t[3].Times(), Connect: t[4].Times(), Reconnecting: t[5].Times(), Blocked: t[6].Times(), Body: t[7].Times(),
			ResponseTime: r[0].Times(), ServiceTime: r[1].Times(), TimeToFirstByte: r[2].Times(),
		}
	}
	return out
}

func (s *sum) listenerResults(plan *runnerv1alpha1.Plan) (out []runnerv1alpha1.ListenerResult) {
	for i := range s.listeners {
		l := &s.listeners[i]
		out = append(out, runnerv1alpha1.ListenerResult{Name: plan.Listeners[i].Name, ListenerCounts: l.ListenerCounts, Time: l.time.Times()})
	}
	return out
}

// awaitedBy returns the listener whose notification a step awaits, or "".
func awaitedBy(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Step) string {
	if s.Await == nil {
		return ""
	}
	return plan.Listeners[s.Await.Listener].Name
}

// requestTimes adds up the times of the steps of a target.
func (s *sum) requestTimes(plan *runnerv1alpha1.Plan, target int) *stepTimes {
	var out stepTimes
	plan.EachStep(func(i int, _ *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		for k := range out {
			if step.Target == target {
				out[k].Merge(&s.steps[i].times[k])
			}
		}
	})
	return &out
}

// selectionResults returns the figures of the selections; their distributions only if times is true.
func (s *sum) selectionResults(plan *runnerv1alpha1.Plan, r *runnerv1alpha1.Report, snapshots []runnerv1alpha1.Snapshot, times bool) []runnerv1alpha1.SelectionResult {
	out := make([]runnerv1alpha1.SelectionResult, s.forThresholds)
	for i := range out {
		out[i] = runnerv1alpha1.SelectionResult{
			Selector: s.selections[i].Selector, Metric: s.selections[i].Time, SelectionCounters: s.selections[i].counters,
			WindowSeconds: r.Rate.WindowSeconds,
		}
		for k := range plan.Rates {
			if name := s.selections[i].Stage; name != "" && plan.Rates[k].Name == name {
				out[i].WindowSeconds = addStage(plan, snapshots, k).window.Seconds()
			}
		}
		if times {
			out[i].Time = s.selections[i].time.Encode()
		}
	}
	return out
}

// successful returns the response times of requests that succeeded: those of all responses without those of responses that failed a check.
// It is empty if a part of either is missing, as from the checkpoint of a lost runner.
func successful(all, failed *histogram.H, done, failedChecks int64) *histogram.H {
	if all.Count() == done && failed.Count() == failedChecks {
		if h := all.Without(failed); h != nil {
			return h
		}
	}
	return histogram.New()
}

func (s *sum) successful() *histogram.H {
	failed := histogram.New()
	for i := range s.steps {
		failed.Merge(&s.steps[i].times[3])
	}
	return successful(&s.times.responseTime, failed, s.counters.Done, s.counters.FailedChecks)
}

// setTimes sums the distributions up.
func (s *sum) setTimes(r *runnerv1alpha1.Report) {
	t := &s.times
	r.ResponseTime, r.ServiceTime, r.TimeToFirstByte, r.Lag = t.responseTime.Times(), t.serviceTime.Times(), t.timeToFirstByte.Times(), t.lag.Times()
	r.Reconnecting, r.Blocked, r.Connect = t.reconnecting.Times(), t.blocked.Times(), t.connect.Times()
}

// histograms encodes the distributions.
func (s *sum) histograms() *runnerv1alpha1.ReportHistograms {
	t := &s.times
	return &runnerv1alpha1.ReportHistograms{
		ResponseTime: t.responseTime.Encode(), ServiceTime: t.serviceTime.Encode(), TimeToFirstByte: t.timeToFirstByte.Encode(),
		Lag: t.lag.Encode(), Reconnecting: t.reconnecting.Encode(), Blocked: t.blocked.Encode(), Connect: t.connect.Encode(),
	}
}

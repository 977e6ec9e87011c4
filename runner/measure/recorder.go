// Package measure has the counters of each step and the histograms of times of a worker. Only one worker uses a
// Recorder while it records. For a snapshot the worker hands it over and continues with a spare one, so that another
// thread adds it up and encodes it.
package measure

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/runner/cacheline"
)

// Recorder counts the requests of measured stages. Durations are given in nanoseconds and kept in
// microseconds.
type Recorder struct {
	Steps   []Step
	Chains  []Chain
	Stages  []Stage
	Targets []Target
	// Listeners are those of the plan.
	Listeners []Listener
	// Selections are the figures of parts of the requests; see rv.Plan.Selections.
	Selections []Selection
	Lag        histogram.H

	// Counters are those of a snapshot. The outcomes, which Steps have, and the requests in flight are zero.
	rv.Counters

	// Batched is by how long the sleep interval delayed requests in all, which is a part of Lag. Naps counts the naps of
	// closed loops, and Napped is their length in all.
	Batched, Naps, Napped int64

	// Causes counts problem details by cause over all steps, at most rv.MaxCauses of them.
	Causes Names
	// Failures counts requests without a response, and connections that could not be opened, by cause.
	Failures failure.Counts
	// Exhausted is true if chains could not start instances because a variable has no more values.
	Exhausted bool
	// WarmUpDone counts the requests of warm-up stages that have an outcome.
	WarmUpDone int64
}

// Step has the counts of a step. Outcomes.InFlightAtEnd is zero.
type Step struct {
	rv.Outcomes
	rv.StepEvents

	ResponseTime histogram.H
	// ServiceTime and TimeToFirstByte are those of requests with a whole response.
	ServiceTime     histogram.H
	TimeToFirstByte histogram.H
	// FailedResponseTime is that of responses that failed a check.
	FailedResponseTime histogram.H
	// FirstMessage, BetweenMessages and LastMessage are those of rv.StepResult.
	FirstMessage, BetweenMessages, LastMessage histogram.H
	// Occupied is for how long requests have occupied a stream, in nanoseconds: from sent to their outcome.
	Occupied int64
	// Codes counts final responses by status code. Sessions accept three digits, 100 to 999.
	Codes Codes
	// Problems counts problem details by status and cause, at most rv.MaxProblems of them; see rv.StepCounters.
	Problems Names
	// FailedBy counts failed checks by name.
	FailedBy Names
}

// Chain counts instances that began in a measured stage.
type Chain struct {
	Started, Completed, Aborted int64
	// AbortedBy counts Aborted by reason.
	AbortedBy Names
	rv.AlwaysCounts
}

// Target has the times of a target of the plan, and of the authorities that were followed from it. The fields are those
// of rv.TargetTimes.
type Target struct {
	NameResolution, TCPConnect, TLSHandshake, Settings, Connect histogram.H
	Reconnecting, Blocked, Body                                 histogram.H

	// SentWithout counts requests without the authorization that the target should have.
	SentWithout int64
}

// Histograms are in the order of rv.TargetTimes.Distributions.
func (t *Target) Histograms() [rv.TargetDistributions]*histogram.H {
	return [...]*histogram.H{
		&t.NameResolution, &t.TCPConnect, &t.TLSHandshake, &t.Settings, &t.Connect, &t.Reconnecting, &t.Blocked, &t.Body,
	}
}

// Stage counts requests, of warm-up too, by the rate stage of their slot. SentInDrain are those of
// Sent that left after the last stage. Slots have come due.
type Stage struct {
	Slots, Sent, Dropped, SentInDrain int64
	// Started are slots of a stage of chainsPerSecond whose chain instance was started. StartedInDrain are those of
	// Started whose first request left after the last stage.
	Started, StartedInDrain int64
}

// Selection has the counts of a part of the requests, and the distribution of one of their times.
type Selection struct {
	rv.SelectionCounts

	Time histogram.H
}

// Listener has what is not in the counts of package notification: the time from the request before a step to its
// notification, the failed checks of notifications by name, and the counts of steps. All are of chain instances that
// began in a measured stage.
type Listener struct {
	rv.AwaitCounts

	Time     histogram.H
	FailedBy Names
}

// Shape has the numbers of the parts of a plan.
type Shape struct{ Steps, Chains, Stages, Targets, Selections, Listeners int }

// New makes an empty recorder for a plan of this shape.
func New(n Shape) *Recorder {
	return &Recorder{
		Steps: cacheline.Make[Step](n.Steps), Chains: cacheline.Make[Chain](n.Chains),
		Stages:  cacheline.Make[Stage](n.Stages),
		Targets: cacheline.Make[Target](n.Targets), Selections: cacheline.Make[Selection](n.Selections),
		Listeners: cacheline.Make[Listener](n.Listeners),
	}
}

// CountFailure counts a failure by its cause.
func (r *Recorder) CountFailure(of rv.FailureOf, why failure.Cause) {
	r.Failures.Add(rv.Failure{Of: of, Cause: why.Kind, Detail: why.Detail, Address: why.Address})
}

// FoldInto adds everything to total and leaves r empty. Both have the same shape.
func (r *Recorder) FoldInto(total *Recorder) {
	for i := range r.Steps {
		r.Steps[i].foldInto(&total.Steps[i])
	}
	for i := range r.Chains {
		from, to := &r.Chains[i], &total.Chains[i]
		to.Started += from.Started
		to.Completed += from.Completed
		to.Aborted += from.Aborted
		from.AbortedBy.foldInto(&to.AbortedBy)
		to.AlwaysCounts.Add(from.AlwaysCounts, 1)
		*from = Chain{AbortedBy: from.AbortedBy}
	}
	for i := range r.Stages {
		total.Stages[i].Slots += r.Stages[i].Slots
		total.Stages[i].Sent += r.Stages[i].Sent
		total.Stages[i].Dropped += r.Stages[i].Dropped
		total.Stages[i].SentInDrain += r.Stages[i].SentInDrain
		total.Stages[i].Started += r.Stages[i].Started
		total.Stages[i].StartedInDrain += r.Stages[i].StartedInDrain
		r.Stages[i] = Stage{}
	}
	for i := range r.Selections {
		r.Selections[i].foldInto(&total.Selections[i])
	}
	r.Causes.foldBounded(&total.Causes, rv.MaxCauses, rv.CauseOther)
	r.Failures.FoldInto(&total.Failures)
	total.Exhausted = total.Exhausted || r.Exhausted
	for i := range r.Targets {
		total.Targets[i].SentWithout += r.Targets[i].SentWithout
		r.Targets[i].SentWithout = 0
		to := total.Targets[i].Histograms()
		for k, from := range r.Targets[i].Histograms() {
			fold(from, to[k])
		}
	}
	for i := range r.Listeners {
		from, to := &r.Listeners[i], &total.Listeners[i]
		fold(&from.Time, &to.Time)
		from.FailedBy.foldInto(&to.FailedBy)
		to.Add(&from.AwaitCounts, 1)
		from.AwaitCounts = rv.AwaitCounts{}
	}
	fold(&r.Lag, &total.Lag)
	r.foldCounts(total)
}

// Histograms are in the order of rv.StepCounters.Distributions.
func (s *Step) Histograms() [rv.StepDistributions]*histogram.H {
	return [...]*histogram.H{&s.ResponseTime, &s.ServiceTime, &s.TimeToFirstByte, &s.FailedResponseTime,
		&s.FirstMessage, &s.BetweenMessages, &s.LastMessage}
}

func (s *Step) foldInto(total *Step) {
	total.Outcomes.Add(&s.Outcomes, 1)
	total.StepEvents.Add(&s.StepEvents, 1)
	s.Codes.foldInto(&total.Codes)
	s.Problems.foldBounded(&total.Problems, rv.MaxProblems, rv.CauseOther)
	total.Occupied += s.Occupied
	s.FailedBy.foldInto(&total.FailedBy)
	to := total.Histograms()
	for i, from := range s.Histograms() {
		fold(from, to[i])
	}
	*s = Step{
		ResponseTime: s.ResponseTime, ServiceTime: s.ServiceTime, TimeToFirstByte: s.TimeToFirstByte,
		FailedResponseTime: s.FailedResponseTime,
		FirstMessage:       s.FirstMessage, BetweenMessages: s.BetweenMessages, LastMessage: s.LastMessage,
		FailedBy: s.FailedBy, Codes: s.Codes, Problems: s.Problems,
	}
}

func (s *Selection) foldInto(total *Selection) {
	total.Add(&s.SelectionCounts, 1)
	fold(&s.Time, &total.Time)
	*s = Selection{Time: s.Time}
}

// fold adds a distribution to another one and leaves it empty.
func fold(from, to *histogram.H) {
	to.Merge(from)
	from.Reset()
}

func (r *Recorder) foldCounts(total *Recorder) {
	total.Counters.Add(&r.Counters, 1)
	r.Counters = rv.Counters{}
	for _, p := range [][2]*int64{
		{&r.WarmUpDone, &total.WarmUpDone}, {&r.Batched, &total.Batched}, {&r.Naps, &total.Naps}, {&r.Napped, &total.Napped},
	} {
		*p[1] += *p[0]
		*p[0] = 0
	}
}

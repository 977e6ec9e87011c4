// Package measure has the counters of each step and the histograms of times of a worker. Only one worker uses a Recorder
// while it records. For a snapshot the worker hands it over and continues with a spare one, so that another thread adds
// it up and encodes it.
package measure

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/histogram"
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

	Dropped   int64
	Retried   int64
	Abandoned int64

	// Batched is by how long the sleep interval delayed requests in all, which is a part of Lag. Naps counts the naps of
	// closed loops, and Napped is their length in all.
	Batched, Naps, Napped int64

	// Causes counts problem details by cause over all steps, at most rv.MaxCauses of them.
	Causes Names
	// Failures counts requests without a response, and connections that could not be opened, by cause.
	Failures failure.Counts
	// Exhausted is true if chains could not start instances because a variable has no more values.
	Exhausted bool
	// Setup and Teardown count the requests of chains that run once.
	Setup, Teardown Once
	// Graceful counts the requests that chain instances sent after the load, and GracefulChains these instances.
	Graceful       Once
	GracefulChains GracefulChains

	WarmUpSent      int64
	WarmUpDone      int64
	WarmUpSucceeded int64

	BytesSent     int64
	BytesReceived int64
	Connects      int64
	Reconnects    int64
}

// Step has the counts of a step: Sent = Done + TimedOut + Reset + ConnectionLost + (in flight), and
// Done = Succeeded + failed checks.
type Step struct {
	Sent           int64
	Done           int64
	Succeeded      int64
	TimedOut       int64
	Reset          int64
	ConnectionLost int64
	ResponseTime   histogram.H
	// ServiceTime and TimeToFirstByte are those of requests with a whole response.
	ServiceTime     histogram.H
	TimeToFirstByte histogram.H
	// FailedResponseTime is that of responses that failed a check.
	FailedResponseTime histogram.H
	// Occupied is for how long requests have occupied a stream, in nanoseconds: from sent to their outcome.
	Occupied int64
	// Codes counts final responses by status code. Sessions accept three digits, 100 to 999.
	Codes Codes
	// Problems counts problem details by status and cause, at most rv.MaxProblems of them; see rv.StepCounters.
	Problems Names
	// FailedBy counts failed checks by name; Retries are requests that followed a failure, Redirects those that
	// followed a redirect.
	FailedBy  Names
	Retries   int64
	Redirects int64
	// OverloadControl and LoadControl are responses with 3gpp-Sbi-Oci and 3gpp-Sbi-Lci (3GPP TS 29.500 5.2.3.2.9, 5.2.3.2.10).
	OverloadControl, LoadControl int64
}

// Chain counts instances that began in a measured stage.
type Chain struct {
	Started, Completed, Aborted int64
	// AbortedBy counts Aborted by reason.
	AbortedBy Names
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

// Once counts the requests of chains that run once for the whole test.
type Once struct{ Sent, Succeeded int64 }

// GracefulChains are the chain instances that continued after the load. CutOff had not ended when the time was over, or had
// no time to continue.
type GracefulChains struct{ Completed, Aborted, CutOff int64 }

// Stage counts requests, of warm-up too, by the rate stage of their slot. SentInDrain are those of
// Sent that left after the last stage. Slots have come due.
type Stage struct {
	Slots, Sent, Dropped, SentInDrain int64
	// Started are slots of a stage of chainsPerSecond whose chain instance was started. StartedInDrain are those of Started
	// whose first request left after the last stage.
	Started, StartedInDrain int64
}

// Selection has the counts of a part of the requests, and the distribution of one of their times. InClass counts the
// responses with the status class of the part, and SentInDrain those of Sent that left after the last stage.
type Selection struct {
	Sent, Done, Succeeded, TimedOut, Reset, ConnectionLost, Dropped, SentInDrain, InClass int64

	Time histogram.H
}

// Listener has what is not in the counts of package notification: the time from the request before a step to its
// notification, the failed checks of notifications by name, and the counts of steps. All are of chain instances that began in a
// measured stage.
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
		Steps: cacheline.Make[Step](n.Steps), Chains: cacheline.Make[Chain](n.Chains), Stages: cacheline.Make[Stage](n.Stages),
		Targets: cacheline.Make[Target](n.Targets), Selections: cacheline.Make[Selection](n.Selections), Listeners: cacheline.Make[Listener](n.Listeners),
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
		to.Add(&from.AwaitCounts)
		from.AwaitCounts = rv.AwaitCounts{}
	}
	fold(&r.Lag, &total.Lag)
	r.foldCounts(total)
}

// Histograms are in the order of rv.StepCounters.Distributions.
func (s *Step) Histograms() [rv.StepDistributions]*histogram.H {
	return [...]*histogram.H{&s.ResponseTime, &s.ServiceTime, &s.TimeToFirstByte, &s.FailedResponseTime}
}

func (s *Step) foldInto(total *Step) {
	total.Sent += s.Sent
	total.Done += s.Done
	total.Succeeded += s.Succeeded
	total.TimedOut += s.TimedOut
	total.Reset += s.Reset
	total.ConnectionLost += s.ConnectionLost
	s.Codes.foldInto(&total.Codes)
	s.Problems.foldBounded(&total.Problems, rv.MaxProblems, rv.CauseOther)
	total.Retries += s.Retries
	total.Redirects += s.Redirects
	total.OverloadControl += s.OverloadControl
	total.LoadControl += s.LoadControl
	total.Occupied += s.Occupied
	s.FailedBy.foldInto(&total.FailedBy)
	to := total.Histograms()
	for i, from := range s.Histograms() {
		fold(from, to[i])
	}
	*s = Step{
		ResponseTime: s.ResponseTime, ServiceTime: s.ServiceTime, TimeToFirstByte: s.TimeToFirstByte, FailedResponseTime: s.FailedResponseTime,
		FailedBy: s.FailedBy, Codes: s.Codes, Problems: s.Problems,
	}
}

func (s *Selection) foldInto(total *Selection) {
	total.Sent += s.Sent
	total.Done += s.Done
	total.Succeeded += s.Succeeded
	total.TimedOut += s.TimedOut
	total.Reset += s.Reset
	total.ConnectionLost += s.ConnectionLost
	total.Dropped += s.Dropped
	total.SentInDrain += s.SentInDrain
	total.InClass += s.InClass
	fold(&s.Time, &total.Time)
	*s = Selection{Time: s.Time}
}

// fold adds a distribution to another one and leaves it empty.
func fold(from, to *histogram.H) {
	to.Merge(from)
	from.Reset()
}

func (r *Recorder) foldCounts(total *Recorder) {
	for _, p := range [][2]*int64{
		{&r.Dropped, &total.Dropped},
		{&r.Retried, &total.Retried},
		{&r.Graceful.Sent, &total.Graceful.Sent},
		{&r.Graceful.Succeeded, &total.Graceful.Succeeded},
		{&r.GracefulChains.Completed, &total.GracefulChains.Completed},
		{&r.GracefulChains.Aborted, &total.GracefulChains.Aborted},
		{&r.GracefulChains.CutOff, &total.GracefulChains.CutOff},
		{&r.Setup.Sent, &total.Setup.Sent},
		{&r.Setup.Succeeded, &total.Setup.Succeeded},
		{&r.Teardown.Sent, &total.Teardown.Sent},
		{&r.Teardown.Succeeded, &total.Teardown.Succeeded},
		{&r.Abandoned, &total.Abandoned},
		{&r.WarmUpSent, &total.WarmUpSent},
		{&r.WarmUpDone, &total.WarmUpDone},
		{&r.WarmUpSucceeded, &total.WarmUpSucceeded},
		{&r.BytesSent, &total.BytesSent},
		{&r.BytesReceived, &total.BytesReceived},
		{&r.Batched, &total.Batched},
		{&r.Naps, &total.Naps},
		{&r.Napped, &total.Napped},
		{&r.Connects, &total.Connects},
		{&r.Reconnects, &total.Reconnects},
	} {
		*p[1] += *p[0]
		*p[0] = 0
	}
}

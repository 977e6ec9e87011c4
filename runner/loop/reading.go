package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/pace"
)

// Reading is what a worker shows of itself between two of its turns.
type Reading struct {
	// InFlight requests of measured stages by step, and of warm-up stages in all.
	InFlight       []int64
	WarmUpInFlight int64
	// Stages says when each stage began and ended, as offsets from the start.
	Stages []pace.Span
	// Streams is how many requests a connection to each target of the plan can hold; 0: not known yet.
	Streams []int64
	// Suspended is true if no slot is due until a change. Changed is true if there was a change after the start.
	Suspended, Changed bool
	// LeaseGaps are the pauses because the lease expired.
	LeaseGaps rv.LeaseGaps
	// Limited is what the request limit held back.
	Limited rv.Limited
	// Listeners are the counts of all listeners since the start, without the times.
	Listeners []rv.ListenerCounts
	// StartedAt is when the worker first saw that the start instant had passed, and EndedAt when its last stage ended, or
	// the worker if that came first; zero: not yet.
	StartedAt, EndedAt int64
	// Problem is why the worker is not ready: the last failure to connect, or to get an authorization, or what hangs;
	// empty: it is.
	Problem rv.Problem
	Message string
	// Lapsed is why the first credential without a value has none, and TeardownFailure the error of the first teardown
	// chain that failed.
	Lapsed, TeardownFailure string
	// Samples are those of failed responses, and Slowest the slowest requests with a traceparent.
	Samples []rv.Sample
	Slowest []rv.SlowRequest
	// Globals are the values that setup has captured. Published is true if this worker has completed setup.
	Globals   []string
	Published bool
}

// Read shows the worker as it is. It counts what is in flight by looking at every request: the counters play no part,
// so the counting law can be checked against it.
func (w *Worker) Read() Reading {
	startAt := w.slots.StartAt()
	r := Reading{
		InFlight: make([]int64, len(w.cfg.Program.Steps)), LeaseGaps: w.slots.Gaps(w.clock.now),
		Limited:   w.chooser.limit.Held(),
		Suspended: w.Suspended(), Changed: w.slots.Changed(), Listeners: w.listeners.Counts(),
		StartedAt: w.slots.StartedAt(), EndedAt: w.slots.EndedAt(), Lapsed: w.authorizations.lapsed(),
		TeardownFailure: w.instances.once.Teardown.Failure(), Samples: w.rec.Samples(startAt),
		Slowest: w.rec.Slowest(startAt),
	}
	r.Problem, r.Message = w.problem()
	r.Globals, r.Published = w.instances.once.Globals()
	w.requests.Outstanding(func(q *book.Request) {
		switch {
		case q.Stage < 0:
		case w.rec.IsWarm(q):
			r.WarmUpInFlight++
		default:
			r.InFlight[q.Step]++
		}
	})
	for i := range w.cfg.Program.Targets {
		r.Streams = append(r.Streams, w.conns.To(int32(i)).Streams())
	}
	for i := range w.cfg.Rates {
		r.Stages = append(r.Stages, w.slots.Span(i, w.clock.now))
	}
	return r
}

// problem returns the last failure to connect, or to get an authorization, or what hangs. It returns "" if neither
// keeps the worker from being ready.
func (w *Worker) problem() (kind rv.Problem, message string) {
	slow := w.conns.Slow()
	switch why := w.authorizations.lapsed(); {
	case w.conns.Problem() != "":
		return rv.ProblemConnect, w.conns.Problem()
	case slow != "":
		return rv.ProblemConnect, slow
	case !w.authorizations.suffice() && why != "":
		return rv.ProblemAuthorization, why
	case w.run.phase == Authorizing:
		if slow := w.authorizations.slow(w.clock.now); slow != "" {
			return rv.ProblemAuthorization, slow
		}
	}
	return "", ""
}

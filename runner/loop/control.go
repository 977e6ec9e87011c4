package loop

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/pace"
	"github.com/h2surge/h2surge/runner/slots"
)

// Do runs f on the worker's goroutine at its next turn, or returns false when the worker has
// ended. f must be short.
func (w *Worker) Do(f func(*Worker)) bool { return w.inbox.put(func() { f(w) }) }

// Serve gives the worker a connection that a peer has opened to a listener. Any goroutine may call it. It returns false
// when the worker has ended, so that the caller closes the socket.
func (w *Worker) Serve(listener int, c *dial.Connection) bool {
	return w.Do(func(w *Worker) { w.listeners.Serve(listener, c) })
}

// The other functions here are for use inside Do, on the worker's goroutine, or after Run has returned.

// Phase is where the worker is.
func (w *Worker) Phase() Phase { return w.run.phase }

// Start sets the instant of the first stage, and the values that setup has captured. Changes are what a
// worker has missed that starts late: it walks through the stages as those did that were there.
func (w *Worker) Start(at int64, globals []string, changes ...slots.Change) {
	w.slots.Start(at, changes)
	w.flow.Start(at)
	w.chooser.limit.Begin(w.cfg.Share.Slots.Portion(), w.clock.now)
	if len(globals) > 0 {
		w.sources.SetGlobals(globals)
	}
}

// Started is when the worker first saw that the start instant had passed, and Ended when its
// last stage ended; zero: not yet.
func (w *Worker) Started() int64 { return w.slots.StartedAt() }

// Ended is when the last stage ended, or the worker if that came first; zero: not yet.
func (w *Worker) Ended() int64 { return w.slots.EndedAt() }

// Problem returns the last failure to connect, or to get an authorization, or what hangs. It returns "" if neither keeps the worker from
// being ready.
func (w *Worker) Problem() (kind rv.Problem, message string) {
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

// DeadlineExceeded says that the plan's deadline ended the worker.
func (w *Worker) DeadlineExceeded() bool { return w.run.phase == Done && w.run.endedByDeadline }

// Stop ends the stages now. With drain, requests in flight are awaited; without, the worker ends
// at this turn and counts them as in flight.
func (w *Worker) Stop(drain bool) {
	if !drain || !w.slots.Begun() {
		w.clock.abort()
		return
	}
	w.slots.EndGap(w.clock.now, &w.chooser)
	over := w.slots.Over()
	w.slots.Halt(w.clock.now)
	if !over && w.cfg.GracefulStop == 0 { // else requests that wait are sent, as at the end of the last stage
		w.outcomes.dropWaiting(never)
	}
}

// Gauges are what is under way at this moment.
type Gauges struct {
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
}

// Gauge counts what is in flight, by looking at every request: the counters play no part, so the
// counting law can be checked against it.
func (w *Worker) Gauge() Gauges {
	g := Gauges{InFlight: make([]int64, len(w.cfg.Program.Steps))}
	w.requests.Outstanding(func(r *book.Request) {
		switch {
		case r.Stage < 0:
		case w.rec.IsWarm(r):
			g.WarmUpInFlight++
		default:
			g.InFlight[r.Step]++
		}
	})
	for i := range w.cfg.Program.Targets {
		g.Streams = append(g.Streams, w.conns.To(int32(i)).Streams())
	}
	for i := range w.cfg.Rates {
		g.Stages = append(g.Stages, w.slots.Span(i, w.clock.now))
	}
	g.LeaseGaps, g.Limited = w.slots.Gaps(w.clock.now), w.chooser.limit.Held()
	g.Listeners = w.listeners.Counts()
	g.Suspended, g.Changed = w.slots.Suspended(), w.slots.Changed()
	return g
}

// Swap hands out what has been recorded and goes on recording into spare, which is empty.
func (w *Worker) Swap(spare *measure.Recorder) *measure.Recorder {
	w.clock.setWall(time.Now().UnixNano(), w.net.Now())
	w.conns.Record(spare)
	w.listeners.Record(spare)
	return w.rec.Swap(spare)
}

// Samples returns a copy of the samples of failed responses.
func (w *Worker) Samples() []rv.Sample { return w.rec.Samples(w.slots.StartAt()) }

// Slowest returns the slowest requests with a traceparent.
func (w *Worker) Slowest() []rv.SlowRequest { return w.rec.Slowest(w.slots.StartAt()) }

// SetCredential sets the value of a credential, and replaces an earlier one.
func (w *Worker) SetCredential(c chain.Credential, value []byte) {
	w.authorizations.set(c)
	w.sources.SetCredential(c, value)
}

// Unauthorized removes the value of a credential, for example of a token that has expired. Requests are then sent without
// the field. Until the first value, Problem returns why.
func (w *Worker) Unauthorized(c chain.Credential, why string) {
	w.sources.SetCredential(c, nil)
	w.authorizations.lost(c, why)
}

// Globals returns the values that setup captured. It returns ok false unless this worker has completed setup.
func (w *Worker) Globals() (values []string, ok bool) { return w.instances.once.Globals() }

// TeardownFailure returns the error of the first teardown chain that failed, or "".
func (w *Worker) TeardownFailure() string { return w.instances.once.Teardown.Failure() }

// SetupFailure returns the error of the setup chains that ended the worker, or "".
func (w *Worker) SetupFailure() string {
	if why := w.instances.once.Setup.Failure(); why != "" {
		return "setup " + why
	}
	return ""
}

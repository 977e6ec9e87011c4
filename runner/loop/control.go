package loop

import (
	"time"

	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/measure"
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

// Suspended returns whether no slot is due until a change.
func (w *Worker) Suspended() bool { return w.slots.Suspended() }

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

// DeadlineExceeded says that the plan's deadline ended the worker.
func (w *Worker) DeadlineExceeded() bool { return w.run.phase == Done && w.run.endedByDeadline }

// Stop ends the stages now. With drain, requests in flight are awaited; without, the worker ends
// at this turn and counts them as in flight.
func (w *Worker) Stop(drain bool) {
	if !drain || !w.slots.Begun() {
		w.clock.aborted = true
		return
	}
	w.slots.EndGap(w.clock.now, &w.chooser)
	over := w.slots.Over()
	w.slots.Halt(w.clock.now)
	if !over && w.cfg.GracefulStop == 0 { // else requests that wait are sent, as at the end of the last stage
		w.outcomes.dropWaiting(never)
	}
}

// Swap hands out what has been recorded and goes on recording into spare, which is empty.
func (w *Worker) Swap(spare *measure.Recorder) *measure.Recorder {
	w.clock.setWall(time.Now().UnixNano(), w.net.Now())
	w.conns.Record(spare)
	w.listeners.Record(spare)
	return w.rec.Swap(spare)
}

// SetCredential sets the value of a credential, and replaces an earlier one.
func (w *Worker) SetCredential(c chain.Credential, value []byte) {
	w.authorizations.set(c)
	w.sources.SetCredential(c, value)
}

// Unauthorized removes the value of a credential, for example of a token that has expired. Requests are then sent
// without the field. Until the first value, Problem returns why.
func (w *Worker) Unauthorized(c chain.Credential, why string) {
	w.sources.SetCredential(c, nil)
	w.authorizations.lost(c, why)
}

// HasSetUp returns whether this worker has completed setup.
func (w *Worker) HasSetUp() bool {
	_, ok := w.instances.once.Globals()
	return ok
}

// SetupFailure returns the error of the setup chains that ended the worker, or "".
func (w *Worker) SetupFailure() string {
	if why := w.instances.once.Setup.Failure(); why != "" {
		return "setup " + why
	}
	return ""
}

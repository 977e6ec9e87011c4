package loop

import (
	"fmt"
	"runtime/debug"

	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/flow"
)

// Phase is where a worker is on its way.
type Phase uint8

const (
	// Connecting: not every connection is open.
	Connecting Phase = iota
	// SettingUp: the setup chains run.
	SettingUp
	// Authorizing: the next setup chain or, after setup, the load needs the authorization of a target.
	Authorizing
	// Ready: every connection has the peer's SETTINGS, every target has its authorization, and setup is done.
	Ready
	// Running: the start instant has passed.
	Running
	// Draining: the last slot has passed.
	Draining
	// Drained: the last response has come; Teardown is awaited.
	Drained
	// TearingDown: the teardown chains run.
	TearingDown
	// Done: the worker has ended.
	Done
)

// run is the way of the worker from connecting to its end.
type run struct {
	phase Phase
	// endedByDeadline: the plan's deadline has passed.
	endedByDeadline bool
	// mayTearDown: every shard has had its last response.
	mayTearDown bool
}

// advance derives the phase from what is there.
func (w *Worker) advance() {
	was := w.run.phase
	switch {
	case w.clock.now >= w.deadline():
		w.run.endedByDeadline = true
		w.finish()
	case w.clock.aborted || w.instances.once.Setup.Failure() != "":
		w.finish()
	case w.stopped():
		w.runTeardown()
	case w.slots.Over():
		w.run.phase = Draining
	case w.slots.Begun():
		w.run.phase = Running // again, if a late change continues a load that was over
	case w.conns.Awaited() > 0:
		w.run.phase = Connecting
	case !w.authorizations.suffice():
		w.run.phase = Authorizing
	case !w.instances.once.Setup.Over():
		w.run.phase = SettingUp
		w.runOnce(&w.instances.once.Setup)
	default:
		w.run.phase = Ready
	}
	if w.run.phase == Authorizing && was != Authorizing {
		w.authorizations.since = w.clock.now
	}
	if w.run.phase != was && w.cfg.Changed != nil {
		w.cfg.Changed()
	}
}

// deadline returns when the worker ends, whatever it is doing; never: it has no deadline. After its last response it
// waits for others, and the timeouts of the teardown chains bound what follows.
func (w *Worker) deadline() int64 {
	if w.run.phase >= Drained {
		return never
	}
	return w.slots.Deadline(w.cfg.Deadline)
}

// stopped reports that all stages are over, each request has its outcome, no chain instance continues, and
// listeners have waited for late notifications. That takes at most MaxWait for a request that waits for a stream, and
// its timeout after that, and then the timeouts of steps that await notifications and the time for late ones.
func (w *Worker) stopped() bool {
	return w.instances.loadOver || w.slots.Over() && w.requests.InUse() == 0 && !w.instances.unfinished() &&
		!w.listeners.Listens()
}

// runTeardown runs the teardown chains, once every shard has had its last response, and ends.
func (w *Worker) runTeardown() {
	w.instances.endLoad()
	switch {
	case w.instances.once.Teardown.Over():
		w.finish()
	case w.run.mayTearDown:
		if w.run.phase != TearingDown && w.flow.Numbered() {
			w.flow.Number(w.slots.NumberAfterAll()) // behind all slots
		}
		if w.run.phase != TearingDown {
			w.chooser.limit.Begin(1, w.clock.now)
		}
		w.run.phase = TearingDown
		w.runOnce(&w.instances.once.Teardown)
	default:
		w.run.phase = Drained
	}
}

// runOnce begins the next chain if none is under way. A setup chain waits for the authorizations that it needs.
func (w *Worker) runOnce(q *flow.Sequence) {
	for !q.Running() && !q.Over() && (q.Stage != book.StageSetup || w.authorizations.suffice()) {
		w.flow.Begin(q.Begin(), q.Stage)
	}
}

// finish closes everything. Requests still in flight stay so in the counts.
func (w *Worker) finish() {
	if w.run.phase == Done {
		return
	}
	w.slots.EndGap(w.clock.now, &w.chooser)
	w.instances.endLoad()
	w.instances.ended = true
	w.chooser.limit.Lift()
	w.chooser.admitUnpaced()
	w.outcomes.dropWaiting(never)
	w.outcomes.trial.InFlight()
	w.listeners.CloseAll()
	w.conns.CloseAll()
	w.run.phase = Done
	for _, f := range w.inbox.shut() {
		f()
	}
}

// recovered turns a panic of the worker's goroutine into the error of Run. The worker ends with its counters
// as they are: requests in flight stay in flight, so the counting law holds.
func (w *Worker) recovered(p any) error {
	w.cfg.Log.Error("a worker panicked", "panic", p, "stack", string(debug.Stack()))
	if !w.try(w.finish) { // its connections and queues are in no state to be used, and goroutines wait for their messages
		w.conns.AbandonAll()
		w.run.phase = Done
		for _, f := range w.inbox.shut() {
			w.try(f)
		}
	}
	return fmt.Errorf("panic: %v", p)
}

// try runs f and reports whether it returned without a panic.
func (w *Worker) try(f func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a worker panicked again", "panic", p)
		}
	}()
	f()
	return true
}

// Stalled says why the worker has ended its load before all requests were sent; empty: it has not.
func (w *Worker) Stalled() string { return w.stall.why }

// Teardown lets the worker go on from Drained.
func (w *Worker) Teardown() { w.run.mayTearDown = true }

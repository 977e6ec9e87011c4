package loop

import (
	"fmt"
	"runtime/debug"
	"time"

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
	// loadOver: the last response of the load has come, or been waited for. Teardown awaits mayTearDown.
	loadOver, mayTearDown bool
	stall                 stall
}

// advance derives the phase from what is there.
func (w *Worker) advance() {
	was := w.run.phase
	switch {
	case w.now >= w.slots.Deadline(w.cfg.Deadline):
		w.run.endedByDeadline = true
		w.finish()
	case w.aborted || w.once.Setup.Failure() != "":
		w.finish()
	case w.stopped():
		w.runTeardown()
	case w.slots.Over():
		w.run.phase = Draining
	case w.slots.Begun():
		w.run.phase = max(w.run.phase, Running) // a late change may continue a load that was over
	case w.conns.Awaited() > 0:
		w.run.phase = Connecting
	case !w.authorizations.suffice():
		w.run.phase = Authorizing
	case !w.once.Setup.Over():
		w.run.phase = SettingUp
		w.runOnce(&w.once.Setup)
	default:
		w.run.phase = Ready
	}
	if w.run.phase == Authorizing && was != Authorizing {
		w.authorizations.begin(w.now)
	}
	if w.run.phase != was && w.cfg.Changed != nil {
		w.cfg.Changed()
	}
}

// stopped reports that all stages are over, each request has its outcome, no chain instance continues, and
// listeners have waited for late notifications. That takes at most MaxWait for a request that waits for a stream, and its
// timeout after that, and then the timeouts of steps that await notifications and the time for late ones.
func (w *Worker) stopped() bool {
	return w.run.loadOver || w.slots.Over() && w.requests.InUse() == 0 && w.Unfinished() == 0 && !w.listeners.Listens()
}

// runTeardown runs the teardown chains, once every shard has had its last response, and ends.
func (w *Worker) runTeardown() {
	w.cutOff()
	w.run.loadOver = true
	w.slots.Halt(w.now)
	switch {
	case w.once.Teardown.Over():
		w.finish()
	case w.run.mayTearDown:
		if w.run.phase != TearingDown && w.flow.Numbered() {
			w.flow.Number(w.slots.NumberAfterAll()) // behind all slots
		}
		if w.run.phase != TearingDown {
			w.limit.Begin(1, w.now)
		}
		w.run.phase = TearingDown
		w.runOnce(&w.once.Teardown)
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
	w.slots.EndGap(w.now, w)
	if w.slots.Begun() {
		w.cutOff()
	}
	w.run.loadOver = true
	w.slots.Halt(w.now)
	w.limit.Lift()
	w.admitUnpaced()
	w.dropWaiting(never)
	w.trial.inFlight()
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
	if !w.try(w.finish) {
		w.finishBroken()
	}
	return fmt.Errorf("panic: %v", p)
}

// finishBroken ends a worker whose connections and queues are in no state to be used. It closes the sockets
// and runs what is in the inbox: the goroutine that put it there waits for it.
func (w *Worker) finishBroken() {
	w.conns.AbandonAll()
	w.run.phase = Done
	for _, f := range w.inbox.shut() {
		w.try(f)
	}
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

// stall watches for a load that cannot end: a stage that is bounded by its number of requests only, while nothing
// can be sent any more.
type stall struct {
	// limit is how long the worker waits for progress: the longest timeout, the longest connect timeout and the
	// longest delay of a chain.
	limit int64
	// rests is Worker.rests of the last turn. restedAt is when it was last true.
	rests    bool
	restedAt int64
	// why says why the load has ended; empty: it has not stalled.
	why string
}

// stallLimit returns how long the worker waits for progress.
func stallLimit(cfg *Config) int64 {
	var connect, delay time.Duration
	for i := range cfg.Program.Targets {
		connect = max(connect, cfg.Program.Targets[i].ConnectTimeout)
	}
	for i := range cfg.Program.Chains {
		delay = max(delay, time.Duration(cfg.Program.Chains[i].Delay))
	}
	return int64(cfg.MaxWait + connect + delay)
}

// rest notes whether the worker rests now, and that it has rested until now.
func (s *stall) rest(now bool, at int64) {
	if now || s.rests {
		s.restedAt = at
	}
	s.rests = now
}

// stallsAt is when the load has stalled if nothing happens until then, or never. A request in flight gets an outcome.
func (w *Worker) stallsAt() int64 {
	if !w.slots.MayStall() || w.run.stall.rests || w.requests.AnyInFlight() {
		return never
	}
	return max(w.requests.ProgressAt(), w.run.stall.restedAt) + w.run.stall.limit
}

// rests returns whether something is under way that lets requests be sent later: a think time, a back-off, a notification that a step awaits,
// or the pause of the lease or of the request limit.
func (w *Worker) rests() bool {
	return w.flow.Sleeps() || w.listeners.Waits() || w.slots.Paused() || w.limit.NextToken() != never
}

// endStalled ends a load that has stalled, so that the run ends with its drain and teardown. The time of a stage that may
// stall counts from its begin.
func (w *Worker) endStalled() {
	if !w.slots.MayStall() {
		w.requests.Progress(w.now)
		return
	}
	w.run.stall.rest(w.rests(), w.now)
	if w.now < w.stallsAt() {
		return
	}
	w.run.stall.why = fmt.Sprintf("no request was answered, timed out or was reset for %v", time.Duration(w.run.stall.limit))
	for i := range w.targets.all {
		if why := w.conns.Unconnected(int32(i)); why.Failed() {
			w.run.stall.why += "; target " + w.targets.all[i].Plan.Name + ": " + why.String()
			break
		}
	}
	w.slots.Halt(w.now)
	w.dropWaiting(never)
}

// Stalled says why the worker has ended its load before all requests were sent; empty: it has not.
func (w *Worker) Stalled() string { return w.run.stall.why }

// Teardown lets the worker go on from Drained.
func (w *Worker) Teardown() { w.run.mayTearDown = true }

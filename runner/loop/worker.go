package loop

import (
	"context"
	"runtime"
	"time"

	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/listen"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/slots"
	"github.com/h2surge/h2surge/runner/tally"
)

// Worker sends requests. All fields are owned by the goroutine that runs Run; others use Do. A turn takes in what has
// happened, ends what has taken too long, chooses requests, and writes them.
type Worker struct {
	cfg       Config
	net       netio.Net
	inbox     inbox
	clock     clock
	slots     slots.Slots
	requests  book.Book
	flow      *flow.Flow
	sources   *chain.Sources
	rec       tally.Recorder
	scripts   scripts
	targets   conns.Targets
	conns     *conns.Connections
	listeners *listen.Listeners

	authorizations authorizations
	instances      instances
	outcomes       outcomes
	chooser        chooser
	stall          stall
	run            run

	// giveBackAt is when memory that is not used is given back.
	giveBackAt int64
	events     [256]netio.Event
	ready      int // events of the last wait
}

// Run works until the plan is done, the context ends, or Abort. With Config.Pin, it locks its thread and leaves
// it locked, so that a pinned thread ends with it. A panic becomes its error.
func (w *Worker) Run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.recovered(p)
		}
	}()
	if w.cfg.Pin != nil {
		runtime.LockOSThread()
		if err := w.cfg.Pin(); err != nil {
			w.cfg.Log.Warn("a worker is not pinned", "err", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { w.Do(func(w *Worker) { w.clock.aborted = true }) })
	defer stop()
	w.readClock()
	w.clock.setWall(time.Now().UnixNano(), w.net.Now())
	defer w.scripts.close()
	w.conns.OpenNew(&w.targets, &w.cfg.Share)
	for w.run.phase != Done {
		if err := w.turn(); err != nil {
			w.finish()
			return err
		}
	}
	return nil
}

// readClock sets the time of the turn.
func (w *Worker) readClock() {
	w.clock.now = w.net.Now()
	w.conns.Begin(w.clock.now)
	w.listeners.Begin(w.clock.now)
	w.flow.Tick(w.clock.now, w.clock.wall())
}

// turn is one round of the loop. What frees streams or makes steps ready comes before the choice of requests, and what
// writes after it.
func (w *Worker) turn() error {
	if err := w.takeIn(); err != nil {
		return err
	}
	w.clock.skipsWait = false
	w.outcomes.expire()
	w.listeners.Expire()
	w.conns.Fire()
	w.choose()
	w.write()
	w.rec.Flush()
	w.advance()
	return nil
}

// takeIn waits for events and messages, and handles them.
func (w *Worker) takeIn() error {
	if d := w.nap(); d > 0 {
		w.rec.Nap(d)
		w.net.Nap(d)
	}
	w.requests.BeginTurn()
	n, woken, err := w.net.Wait(w.events[:], w.waitFor())
	if err != nil {
		return err
	}
	w.ready = n
	w.readClock()
	if woken {
		w.inbox.run()
	}
	for i := range n {
		if ev := &w.events[i]; ev.Data < listen.FirstData {
			w.conns.Ready(ev)
		} else {
			w.listeners.Ready(ev)
		}
		if w.clock.late() {
			w.readClock()
			w.inbox.run()
		}
		if w.clock.aborted {
			break
		}
	}
	return nil
}

// choose makes the requests of the turn. The end of a suspension, which a worker may learn of late, moves the deadline.
func (w *Worker) choose() {
	w.flow.Wake(w.clock.now)
	w.checkLease()
	w.applyChanges()
	if w.clock.now >= w.deadline() {
		return
	}
	if w.instances.releases() {
		w.flow.Release()
	}
	w.chooser.generate()
	w.flow.Within(w.instances.until()) // the load may just have ended
}

// write sends what the turn has left in the sessions, and gives back the memory of a burst, once a second. No pointer
// to a request may be held.
func (w *Worker) write() {
	w.conns.OpenNew(&w.targets, &w.cfg.Share)
	w.outcomes.calls.resume()
	w.conns.Flush()
	w.listeners.Flush()
	if w.stall.check() {
		w.slots.Halt(w.clock.now)
		w.outcomes.dropWaiting(never)
	}
	if w.clock.now >= w.giveBackAt {
		w.giveBackAt = w.clock.now + int64(time.Second)
		w.requests.Shrink()
		w.listeners.Shrink()
	}
}

package loop

import (
	"fmt"
	"runtime/debug"
)

// recovered turns a panic of the worker's goroutine into the error of Run. The worker ends with its counters
// as they are: requests in flight stay in flight, so the counting law holds.
func (w *Worker) recovered(p any) error {
	w.cfg.Log.Error("a worker panicked", "panic", p, "stack", string(debug.Stack()))
	if !w.try(func(w *Worker) { w.finish() }) {
		w.finishBroken()
	}
	return fmt.Errorf("panic: %v", p)
}

// finishBroken ends a worker whose connections and queues are in no state to be used. It closes the sockets
// and runs what is in the inbox: the goroutine that put it there waits for it.
func (w *Worker) finishBroken() {
	for i := range w.conns {
		if c := &w.conns[i]; c.fd >= 0 {
			w.net.Close(c.fd)
			c.fd, c.state = -1, closing
		}
	}
	w.phase = Done
	for _, f := range w.inbox.shut() {
		w.try(f)
	}
}

// try runs f and reports whether it returned without a panic.
func (w *Worker) try(f func(*Worker)) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a worker panicked again", "panic", p)
		}
	}()
	f(w)
	return true
}

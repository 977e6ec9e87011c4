package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/notification"
)

// A step with Await sends no request. It waits until a notification with its key comes to a listener of the worker, or
// until its timeout. It needs no slot, and its notification may come first: package notification keeps both sides.

// Serve gives the worker a connection that a peer has opened to a listener. Any goroutine may call it. It returns false
// when the worker has ended, so that the caller closes the socket.
func (w *Worker) Serve(listener int, c *dial.Connection) bool {
	return w.Do(func(w *Worker) { w.listeners.Serve(listener, c) })
}

// Await implements flow.Host. It begins to wait for the notification of a step.
func (w *Worker) Await(a chain.Activation) {
	in, s := w.flow.At(a.Instance), &w.program.Steps[a.Step]
	if in.Measured {
		w.rec.Awaited(s.Await.Listener)
	}
	key := s.Await.AppendKey(w.buffers.scratch[:0], &in.Instance)
	w.buffers.scratch = key
	w.listeners.Await(s.Await.Listener, key, s.Await.Timeout, notification.Waiter{Instance: a.Instance, Step: a.Step, Since: in.SentAt, Began: in.Began})
}

// Arrived implements listen.Host.
func (w *Worker) Arrived(to notification.Waiter, x *book.Exchange, at int64) bool {
	in, s := w.flow.At(to.Instance), &w.program.Steps[to.Step]
	took := max(0, at-to.Since)
	x.ResponseTime = took
	failed := s.Judge(w.program, &in.Instance, w.sources, &x.Exchange)
	why := ""
	switch {
	case failed != "":
		why = rv.AbortFailedCheck
	case s.TakeCaptures(w.program, &in.Instance, w.sources, &x.Exchange):
		why = rv.AbortMissingCapture
	}
	if in.Measured {
		w.rec.Notified(s.Await.Listener, took, failed)
	}
	a := chain.Activation{Instance: to.Instance, Step: to.Step}
	w.trial.notified(a, s, x, failed, why)
	w.requests.Progress(w.now)
	w.flow.Ended(a, why, 0)
	return failed != ""
}

// Missed implements listen.Host.
func (w *Worker) Missed(of notification.Waiter) {
	a := chain.Activation{Instance: of.Instance, Step: of.Step}
	if w.flow.At(of.Instance).Measured {
		w.rec.Missed(w.program.Steps[of.Step].Await.Listener)
	}
	w.trial.unsent(a, false, rv.AbortNotification)
	w.requests.Progress(w.now)
	w.flow.Ended(a, rv.AbortNotification, 0)
}

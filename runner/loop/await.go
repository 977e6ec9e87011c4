package loop

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/notification"
)

// A step with Await sends no request. It waits until a notification with its key comes to a listener of the worker, or
// until its timeout. It needs no slot, and its notification may come first: package notification keeps both sides.

const (
	// maxKeys bounds the keys of a listener that are kept to recognise late and duplicate notifications. It takes some
	// 100 MiB.
	maxKeys = 1 << 20
	// maxEarly bounds the notifications of a listener that no step awaits yet, and maxEarlySize the memory for those of all listeners.
	maxEarly, maxEarlySize = 1 << 14, 64 << 20
)

func (w *Worker) newListeners() listeners {
	ls := listeners{
		clock: &w.clock, net: w.net, log: w.cfg.Log, rec: &w.rec, notified: w.notified,
		exchanges: exchanges{limit: maxIncoming, largestIdle: largestIdleNotification},
	}
	for i := range w.program.Listeners {
		p := &w.program.Listeners[i]
		var policy *caller.Policy
		if i < len(w.cfg.Callers) {
			policy = w.cfg.Callers[i]
		}
		ls.all = append(ls.all, listener{plan: p, callers: caller.NewChecker(policy), table: notification.New(notification.Config{
			Timeouts: p.Timeouts, Keep: p.Keep, MaxEntries: maxKeys, MaxEarly: maxEarly, MaxEarlySize: maxEarlySize / len(w.program.Listeners),
			Missed:  w.missed,
			Discard: func(n notification.Notification) { w.listeners.exchanges.release(w.listeners.takeEarly(n.Handle).x) },
		})})
	}
	if len(ls.all) > 0 {
		ls.read = make([]byte, readSize)
	}
	return ls
}

// Serve gives the worker a connection that a peer has opened to a listener. Any goroutine may call it. It returns false
// when the worker has ended, so that the caller closes the socket.
func (w *Worker) Serve(listener int, c *dial.Connection) bool {
	return w.Do(func(w *Worker) { w.listeners.serve(int32(listener), c) })
}

// await begins to wait for the notification of a step, which may have come already.
func (w *Worker) await(a chain.Activation) {
	in, s := w.chains.at(a.Instance), &w.program.Steps[a.Step]
	l := &w.listeners.all[s.Await.Listener]
	l.awaited++
	if in.measured {
		w.rec.Listeners[s.Await.Listener].Awaited++
	}
	key := s.Await.AppendKey(w.buffers.scratch[:0], &in.Instance)
	w.buffers.scratch = key
	from := notification.Waiter{Instance: a.Instance, Step: a.Step, Since: in.sentAt, Began: in.began}
	n, ok := l.table.Await(key, s.Await.Timeout, from, w.now)
	if !ok {
		return
	}
	w.arrived(l, from, w.listeners.whole(w.listeners.takeEarly(n.Handle)), n.At)
}

// notified takes a notification.
func (w *Worker) notified(i int32, n notice) {
	l := &w.listeners.all[i]
	l.received++
	key, ok := l.plan.AppendKey(w.buffers.scratch[:0], &n.x.Exchange)
	w.buffers.scratch = key
	if !ok {
		l.table.Unexpected()
		w.listeners.exchanges.release(n.x)
		return
	}
	handle := w.listeners.keep(n)
	to, outcome := l.table.Notified(key, notification.Notification{Handle: handle, At: w.now, Size: n.earlySize()})
	switch outcome {
	case notification.Kept:
		w.listeners.keepEarly(handle)
	case notification.Received:
		w.arrived(l, to, w.listeners.take(handle).x, w.now)
	case notification.Dropped:
		w.listeners.exchanges.release(w.listeners.take(handle).x)
	}
}

// arrived ends a step with its notification, which came at an instant.
func (w *Worker) arrived(l *listener, to notification.Waiter, x *exchange, at int64) {
	in, s := w.chains.at(to.Instance), &w.program.Steps[to.Step]
	took := max(0, at-to.Since)
	x.ResponseTime = took
	failed := s.Judge(w.program, &in.Instance, w.sources, &x.Exchange)
	why := ""
	switch {
	case failed != "":
		why = rv.AbortFailedCheck
		l.failed++
	case s.TakeCaptures(w.program, &in.Instance, w.sources, &x.Exchange):
		why = rv.AbortMissingCapture
	}
	if in.measured {
		w.rec.notified(s.Await.Listener, took, failed)
	}
	a := chain.Activation{Instance: to.Instance, Step: to.Step}
	w.trial.notified(a, s, x, failed, why)
	w.requests.progress(w.now)
	w.listeners.exchanges.release(x)
	w.stepEnded(a, why, 0)
}

// missed ends a step whose notification has not come within its timeout.
func (w *Worker) missed(of notification.Waiter) {
	a := chain.Activation{Instance: of.Instance, Step: of.Step}
	if w.chains.at(of.Instance).measured {
		w.rec.Listeners[w.program.Steps[of.Step].Await.Listener].Missing++
	}
	w.trial.unsent(a, false, rv.AbortNotification)
	w.requests.progress(w.now)
	w.stepEnded(a, rv.AbortNotification, 0)
}

// expireWaits ends the waits whose timeout has passed.
func (w *Worker) expireWaits() {
	for i := range w.listeners.all {
		if t := w.listeners.all[i].table; t.Next() <= w.now {
			t.Expire(w.now)
		}
	}
}

// nextWait returns when a wait ends or, after the load, when the worker need not listen any more.
func (w *Worker) nextWait() int64 {
	next, over := int64(never), w.schedules.Over()
	for i := range w.listeners.all {
		t := w.listeners.all[i].table
		next = min(next, t.Next())
		if until := t.Until(); over && until > w.now {
			next = min(next, until)
		}
	}
	return next
}

// listens returns whether a step waits for a notification, or the last one waited a short time ago, so that late and
// duplicate notifications may come. Other notifications have no effect: a target may send them without an end.
func (w *Worker) listens() bool {
	for i := range w.listeners.all {
		if w.listeners.all[i].table.Until() > w.now {
			return true
		}
	}
	return false
}

// awaits returns whether a step waits for a notification.
func (w *Worker) awaits() bool {
	return slices.ContainsFunc(w.listeners.all, func(l listener) bool { return l.table.Waiting() > 0 })
}

// endWaits ends all waits and connections of listeners, because the worker ends.
func (w *Worker) endWaits() {
	for i := range w.listeners.all {
		w.listeners.all[i].table.Abandon(w.now)
	}
	w.listeners.closeAll()
}

// listenerCounters returns the counts of all listeners.
func (w *Worker) listenerCounters() (out []rv.ListenerCounts) {
	for i := range w.listeners.all {
		l := &w.listeners.all[i]
		c := l.table.Counts()
		out = append(out, rv.ListenerCounts{
			Received: l.received, InTime: c.InTime, FailedChecks: l.failed, Late: c.Late, Duplicate: c.Duplicate, Unexpected: c.Unexpected,
			Early: int64(l.table.Early()), Awaited: l.awaited, Missing: c.Missing, Waiting: int64(l.table.Waiting()), WaitingAtEnd: c.WaitingAtEnd,
			RefusedToken: l.refusedToken, RefusedCertificate: l.refusedCertificate,
		})
	}
	return out
}

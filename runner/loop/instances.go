package loop

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/listen"
	"github.com/h2surge/h2surge/runner/notification"
	"github.com/h2surge/h2surge/runner/tally"
)

// instances says where the steps of chain instances go, and how long instances continue after the load. It implements
// flow.Host.
type instances struct {
	cfg *Config
	*outcomes
	listeners *listen.Listeners
	// once are the chains of setup and teardown.
	once flow.Once
	// loadOver: the last response of the load has come, or been waited for.
	loadOver bool
	// ended: nothing is sent any more.
	ended bool
	// key is for the duration of one call.
	key []byte
}

// Route implements flow.Host.
func (i *instances) Route(a chain.Activation) (target int32, paced bool) {
	in, s := i.flow.At(a.Instance), &i.program.Steps[a.Step]
	ok := false
	if a.Hop > 0 {
		target, ok = i.redirect(in, s, a.Step)
	} else {
		target, ok = i.targets.Route(&in.Instance, s)
	}
	if !ok {
		target = flow.None
	}
	return target, !i.continues()
}

// Await implements flow.Host. A step with Await sends no request. It waits until a notification with its key comes to a
// listener of the worker, or until its timeout. It needs no slot, and its notification may come first: package
// notification keeps both sides.
func (i *instances) Await(a chain.Activation) {
	in, s := i.flow.At(a.Instance), &i.program.Steps[a.Step]
	if in.Measured {
		i.rec.Awaited(s.Await.Listener)
	}
	i.key = s.Await.AppendKey(i.key[:0], &in.Instance)
	i.listeners.Await(s.Await.Listener, i.key, s.Await.Timeout, notification.Waiter{Instance: a.Instance, Step: a.Step,
		Since: in.SentAt, Began: in.Began})
}

// ChainBegan implements flow.Host.
func (i *instances) ChainBegan(c int) { i.rec.Began(c) }

// Continues implements flow.Host.
func (i *instances) Continues(in *flow.Instance) bool {
	if in.Stage < 0 {
		return !i.ended
	}
	return !i.slots.Over() || i.continues()
}

// Always implements flow.Host.
func (i *instances) Always(in *flow.Instance, sent bool) { i.countAlways(in, i.slots.Over(), sent) }

// ChainEnded implements flow.Host.
func (i *instances) ChainEnded(instance int32, why string) {
	i.requests.Forget(i.scripts.forget(instance))
	i.conns.InstanceEnded(instance)
	in := i.flow.At(instance)
	switch {
	case in.Stage < 0:
		i.onceEnded(in, why)
	case i.loadOver && i.graceful(): // endLoad has counted it as cut off
	case in.Late:
		i.rec.EndedLate(why)
	case in.Measured:
		i.rec.Ended(in.Chain, why)
	}
}

// onceEnded ends an instance of setup or teardown, or of a trial.
func (i *instances) onceEnded(in *flow.Instance, why string) {
	i.trial.ChainEnded(int(in.Chain), why)
	if failed := i.once.Ended(in, explain(why, i.rec.Last())); failed != "" && in.Stage == book.StageTeardown {
		i.log.Warn("teardown failed", "why", failed)
	}
	i.skipWait() // the next chain begins at the end of a turn
}

// explain returns why an instance was aborted, with the failed check or the error of the connection.
func explain(why string, last tally.Outcome) string {
	switch {
	case why == rv.AbortFailedCheck && last.Failed != "":
		return fmt.Sprintf("failed check %s (status %d)", last.Failed, last.Status)
	case last.Cause.Failed() && (why == rv.AbortReset || why == rv.AbortConnectionLost):
		return why + ": " + last.Cause.String()
	}
	return why
}

// graceful returns whether chain instances may continue after the load.
func (i *instances) graceful() bool { return i.cfg.GracefulStop > 0 && i.trial == nil }

// continues returns whether chain instances continue now, after the load. Then they may send their remaining steps for
// the time of Config.GracefulStop. These requests need no slot and are in no figure but Graceful. Requests of the load
// that are in flight keep their counts.
func (i *instances) continues() bool {
	return i.graceful() && !i.loadOver && i.slots.Over() && i.now < i.slots.GracefulUntil(i.cfg.GracefulStop)
}

// endLoad ends the load for all instances. It counts those that have not ended as cut off.
func (i *instances) endLoad() {
	if i.graceful() && !i.loadOver && i.slots.Begun() {
		i.rec.CutOff(i.flow.Unfinished())
	}
	i.loadOver = true
	i.slots.Halt(i.now)
}

// releases returns whether steps that wait for slots need none any more, because the load has ended. The time after the
// load does not wait for a lease, but requests do.
func (i *instances) releases() bool { return !i.slots.Paused() && i.continues() }

// until returns when the last request may be sent after the load, or never.
func (i *instances) until() int64 {
	if !i.continues() {
		return never
	}
	return i.slots.GracefulUntil(i.cfg.GracefulStop)
}

// unfinished returns whether chain instances continue after the load.
func (i *instances) unfinished() bool { return i.continues() && i.flow.Unfinished() > 0 }

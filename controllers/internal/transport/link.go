package transport

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// Link is the connection to one runner, with what it knows of the runner's clock. Its calls are made one at a time.
type Link struct {
	client  Client
	clock   func() int64 // ours
	timeout time.Duration
	load    *Load
	// best is the best measurement of the runner's clock so far.
	best shards.Sample
	// least is added to our clock to get a time that the runner's clock has passed.
	least int64
	// startAt is the start in the runner's clock, as it was told; zero: not yet.
	startAt int64
	// waits is true while a snapshot waits for memory. large: the last answer takes memory for a large snapshot.
	waits atomic.Bool
	large bool
}

// NewLink returns a link that makes calls with a client. clock is that of the operator, and timeout bounds a call.
func NewLink(client Client, clock func() int64, timeout time.Duration, load *Load) *Link {
	return &Link{client: client, clock: clock, timeout: timeout, load: load}
}

// Close closes the connection.
func (l *Link) Close() { l.client.Close() }

// Waits returns whether the runner has answered a call, and its large snapshot waits to be read.
func (l *Link) Waits() bool { return l.waits.Load() }

// Release makes room for another large snapshot. The caller of Do must call it when it needs the answer no more.
func (l *Link) Release() {
	if l.large {
		<-l.load.large
		l.large = false
	}
}

// maxWait bounds how long a large snapshot waits. A runner closes the connection 30 seconds after the request.
const maxWait = 20 * time.Second

// Do makes a call within its timeout. The time in which a large snapshot waits for memory does not count: the runner
// has answered, and at the end of a large test all runners have a large snapshot.
func (l *Link) Do(ctx context.Context, c shards.Call) shards.Answer {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(l.timeout, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	x := exchange{Link: l, call: c, poll: Poll{Totals: c.Totals, Lease: c.Lease, Observe: c.Observe}}
	if c.Lease.Until != 0 {
		x.poll.Lease.Until += l.least
	}
	x.poll.Large = func() error {
		if l.large {
			return nil
		}
		timer.Reset(maxWait)
		l.waits.Store(true)
		defer l.waits.Store(false)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l.load.large <- struct{}{}:
			l.large = true
			timer.Reset(l.timeout)
			return nil
		}
	}
	x.do(ctx)
	l.learn(&x)
	return x.answer
}

// learn keeps what a call showed of the runner's clock.
func (l *Link) learn(x *exchange) {
	if x.best.Better(l.best) {
		l.best = x.best
	}
	if x.best.RTT > 0 {
		l.least = x.least
	}
	x.answer.Clock = l.best
}

// exchange is a call that is under way.
type exchange struct {
	*Link
	call   shards.Call
	poll   Poll
	answer shards.Answer
	best   shards.Sample // of this call
	least  int64
}

// do makes the call. All but an acknowledgement end with a snapshot, so that the next
// decision is made on what the runner then says.
func (x *exchange) do(ctx context.Context) {
	var err error
	switch x.call.Kind {
	case shards.CallUpdate:
		x.answer.Err = x.update(ctx)
		return
	case shards.CallStop:
		err = x.client.Stop(ctx, x.call.Stop)
	case shards.CallTeardown:
		err = x.client.Teardown(ctx, runnerv1alpha1.Teardown{})
	case shards.CallStart:
		err = x.start(ctx)
	case shards.CallAck:
		x.answer.Err = x.client.Ack(ctx, x.call.Ack)
		return
	}
	// A conflict means that an earlier message got through; the snapshot tells which.
	if err == nil || errors.Is(err, ErrConflict) {
		err = x.look(ctx)
	}
	x.answer.Err = err
}

// update looks at the runner even when it refuses: one that cannot change what it does is not
// out of reach.
func (x *exchange) update(ctx context.Context) error {
	refused := x.client.Update(ctx, x.call.Update)
	if err := x.look(ctx); err != nil {
		return errors.Join(refused, err)
	}
	if !errors.Is(refused, ErrConflict) {
		x.answer.Refused = refused
	}
	return nil
}

// start measures the runner's clock right before it is told the instant. An instant that was
// told once stays the same: another one would contradict it.
func (x *exchange) start(ctx context.Context) error {
	if x.startAt == 0 {
		if err := x.measure(ctx); err != nil {
			return err
		}
		x.startAt = x.call.Start.At - x.best.Offset
	}
	m := x.call.Start
	m.At, m.LeaseUntil, m.Term = x.startAt, x.poll.Lease.Until, x.poll.Lease.Term
	return x.client.Start(ctx, m)
}

// measure compares the runner's clock with ours. A measurement of long ago would not do: clocks drift.
func (x *exchange) measure(ctx context.Context) error {
	const measurements = 3
	for range measurements {
		if err := x.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) look(ctx context.Context) error {
	sent := x.clock()
	snapshot, err := x.client.Snapshot(ctx, x.poll)
	if err != nil {
		return err
	}
	received := x.clock()
	// The snapshot is taken somewhere in between; the middle is wrong by at most half the
	// round trip.
	s := shards.Sample{Offset: sent + (received-sent)/2 - snapshot.Clock, RTT: max(1, time.Duration(received-sent))}
	if s.Better(x.best) {
		x.best = s
	}
	x.least = snapshot.Clock - received // its clock was later than that when we got the answer
	x.answer.Snapshot = snapshot
	return nil
}

// reasonDeleted is told to runners whose LoadTest was deleted.
const reasonDeleted = "deleted"

// Dismiss stops a runner without a drain and lets it go without its result: nobody is left who
// wants it, and a runner that waits for an acknowledgement would hold its pod up.
func Dismiss(ctx context.Context, c Client) {
	for ctx.Err() == nil {
		_ = c.Stop(ctx, runnerv1alpha1.Stop{Reason: reasonDeleted}) // the snapshot tells
		snapshot, err := c.Snapshot(ctx, Poll{})
		if err == nil && snapshot.State == runnerv1alpha1.StateDone &&
			c.Ack(ctx, runnerv1alpha1.Ack{Sequence: snapshot.Sequence}) == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(hurry):
		}
	}
}

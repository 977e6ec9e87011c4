package collect

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// reasonDeleted is told to runners whose LoadTest was deleted.
const reasonDeleted = "deleted"

// reasonTooLate is told to runners that were on their way when the test ended.
const reasonTooLate = "the test is over"

// errRestarted: the process behind an address is another one than before.
var errRestarted = errors.New("the runner has been restarted")

// request is everything a call needs; it shares nothing with the run's state.
type request struct {
	of     *runner // only the goroutine of the run may use it
	call   call
	client Client
	update runnerv1alpha1.Update
	// missed are the changes since the start that a runner gets with it.
	missed   []runnerv1alpha1.Update
	stop     runnerv1alpha1.Stop
	sequence uint64
	// start is the instant to begin at, in our clock; startAt the same in the runner's, when
	// it was told before.
	start   int64
	startAt int64
	globals []string
	poll    Poll
	clock   func() int64 // ours
	timeout time.Duration
	// large has an element for each large snapshot in memory, of all runs; nil: any number is allowed. waits is true while the
	// runner's snapshot waits for that.
	large chan struct{}
	waits *atomic.Bool
}

// outcome is what came of a call.
type outcome struct {
	of       *runner
	call     call
	snapshot *runnerv1alpha1.Snapshot
	startAt  int64
	best     sample
	least    int64 // added to our clock: a time that the runner's clock has passed
	err      error
	// refused is what the runner had against an update, although it answers.
	refused error
	// large: the snapshot is an element of request.large.
	large bool
}

// sample is one measurement of a runner's clock.
type sample struct {
	offset int64
	rtt    time.Duration // zero: no measurement
}

func (s sample) better(than sample) bool {
	return s.rtt > 0 && (than.rtt == 0 || s.rtt < than.rtt)
}

// maxWait bounds how long a large snapshot waits. A runner closes the connection 30 seconds after the request.
const maxWait = 20 * time.Second

// perform makes the call within its timeout. The time in which a large snapshot waits for memory does not count: the runner has
// answered, and at the end of a large test all runners have a large snapshot.
func perform(ctx context.Context, r request) (out outcome) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(r.timeout, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	large := false
	r.poll.Large = func() error {
		if large || r.large == nil {
			return nil
		}
		timer.Reset(maxWait)
		r.waits.Store(true)
		defer r.waits.Store(false)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case r.large <- struct{}{}:
			large = true
			timer.Reset(r.timeout)
			return nil
		}
	}
	defer func() { out.large = large }()
	return exchange(ctx, r)
}

// exchange makes the call. All but an acknowledgement end with a snapshot, so that the next
// decision is made on what the runner then says.
func exchange(ctx context.Context, r request) outcome {
	out := outcome{of: r.of, call: r.call, startAt: r.startAt}
	switch r.call {
	case callUpdate:
		return out.updateCall(ctx, r)
	case callStop:
		out.err = r.client.Stop(ctx, r.stop)
	case callTeardown:
		out.err = r.client.Teardown(ctx, runnerv1alpha1.Teardown{})
	case callStart:
		out.err = out.startCall(ctx, r)
	case callAck:
		out.err = r.client.Ack(ctx, runnerv1alpha1.Ack{Sequence: r.sequence})
		return out
	}
	// A conflict means that an earlier message got through; the snapshot tells which.
	if out.err == nil || errors.Is(out.err, ErrConflict) {
		out.err = out.look(ctx, r)
	}
	return out
}

// updateCall looks at the runner even when it refuses: one that cannot change what it does is not
// out of reach.
func (o outcome) updateCall(ctx context.Context, r request) outcome {
	err := r.client.Update(ctx, r.update)
	if o.err = o.look(ctx, r); o.err != nil {
		o.err = errors.Join(err, o.err)
		return o
	}
	if err != nil && !errors.Is(err, ErrConflict) {
		o.refused = err
	}
	return o
}

// startCall measures the runner's clock right before it is told the instant. An instant that was
// told once stays the same: another one would contradict it.
func (o *outcome) startCall(ctx context.Context, r request) error {
	if o.startAt == 0 {
		if err := o.measure(ctx, r); err != nil {
			return err
		}
		o.startAt = r.start - o.best.offset
	}
	return r.client.Start(ctx, runnerv1alpha1.Start{At: o.startAt, Globals: r.globals, Changes: r.missed, LeaseUntil: r.poll.Lease.Until, Term: r.poll.Lease.Term})
}

// measure compares the runner's clock with ours. A measurement of long ago would not do: clocks drift.
func (o *outcome) measure(ctx context.Context, r request) error {
	const measurements = 3
	for range measurements {
		if err := o.look(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (o *outcome) look(ctx context.Context, r request) error {
	sent := r.clock()
	snapshot, err := r.client.Snapshot(ctx, r.poll)
	if err != nil {
		return err
	}
	received := r.clock()
	// The snapshot is taken somewhere in between; the middle is wrong by at most half the
	// round trip.
	s := sample{offset: sent + (received-sent)/2 - snapshot.Clock, rtt: max(1, time.Duration(received-sent))}
	if s.better(o.best) {
		o.best = s
	}
	o.least = snapshot.Clock - received // its clock was later than that when we got the answer
	o.snapshot = snapshot
	return nil
}

// dismiss stops a runner without a drain and lets it go without its result: nobody is left who
// wants it, and a runner that waits for an acknowledgement would hold its pod up.
func release(ctx context.Context, c Client) {
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

package collect

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/transport"
)

// Options are the times of a run, and who decides in it.
type Options struct {
	shards.Options
	// Interval between two looks at a runner that works.
	Interval time.Duration
	// Term returns a number that grows with each change of the leader.
	Term func() int64
	// Leading returns whether no other operator can be the leader.
	Leading func() bool
}

// run is one run. All fields below the line belong to its goroutine.
type run struct {
	opts   Options
	dial   transport.Dial
	uid    types.UID
	log    logr.Logger
	wake   func()
	cancel context.CancelFunc
	load   *transport.Load // of all runs

	mu     sync.Mutex
	wanted shards.Desired // guarded by mu
	signal chan struct{}  // wanted has changed; capacity 1
	aborts chan struct{}  // ends the load at once and then the run; closed by Registry.Abort, once
	view   atomic.Pointer[shards.View]

	// ---
	group    *shards.Group
	zero     time.Time // of our clock
	links    map[shards.ID]*transport.Link
	outcomes chan outcome
	calls    sync.WaitGroup
	counted  int // runners of this run in load
}

// outcome is the answer to a call.
type outcome struct {
	of     shards.ID
	answer shards.Answer
}

func newRun(d shards.Desired, opts Options, dial transport.Dial, load *transport.Load, log logr.Logger,
	wake func()) *run {
	now := time.Now()
	r := &run{
		opts: opts, dial: dial, uid: d.UID, log: log, wake: wake, load: load, wanted: d,
		signal: make(chan struct{}, 1), aborts: make(chan struct{}),
		group: shards.New(d, opts.Options, now),
		zero:  now, links: map[shards.ID]*transport.Link{}, outcomes: make(chan outcome),
	}
	r.view.Store(&shards.View{})
	return r
}

// want replaces what is desired.
func (r *run) want(d shards.Desired) {
	r.mu.Lock()
	r.wanted = d
	r.mu.Unlock()
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// desired returns what is desired.
func (r *run) desired() shards.Desired {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

// isOf returns whether the runners are those of the Job in d.
func (r *run) isOf(d *shards.Desired) bool {
	have := r.desired()
	return have.Record.Attempt == d.Record.Attempt && have.Job == d.Job
}

// loop is the goroutine of the run. When ctx ends, the runners continue, and the next operator takes over.
func (r *run) loop(ctx context.Context) {
	defer r.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	r.accept()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.aborts:
			r.stopAll(ctx)
			return
		case <-r.signal:
			r.accept()
		case o := <-r.outcomes:
			r.hear(o)
		case <-timer.C:
		}
		if now := time.Now(); r.group.Due(now) {
			timer.Reset(r.round(ctx, now))
		}
	}
}

// hear takes over an answer and all others that wait, so that one round follows from all of them: a round looks at all
// runners, and at the end of a test all of them answer at the same time.
func (r *run) hear(o outcome) {
	for more := true; more; {
		r.group.Heard(o.of, o.answer, time.Now())
		r.links[o.of].Release()
		select {
		case o = <-r.outcomes:
		default:
			more = false
		}
	}
}

func (r *run) close() {
	r.cancel()
	r.count(0)
	done := make(chan struct{})
	go func() { r.calls.Wait(); close(done) }()
	for {
		select {
		case o := <-r.outcomes:
			r.links[o.of].Release()
		case <-done:
			for _, link := range r.links {
				link.Close()
			}
			return
		}
	}
}

func (r *run) clock() int64 { return int64(time.Since(r.zero)) }

// accept takes over what is desired.
func (r *run) accept() {
	r.group.Accept(r.desired(), time.Now())
}

// round makes the calls that are due and publishes what is known. It returns the time until there is something to do.
func (r *run) round(ctx context.Context, now time.Time) time.Duration {
	for id, link := range r.links {
		if link.Waits() {
			r.group.Waits(id, now)
		}
	}
	next := r.group.Next(shards.Moment{Now: now, Pace: r.load.Pace(r.opts.Interval), Leading: r.opts.Leading(),
		Term: r.opts.Term()})
	for _, c := range next.Calls {
		r.call(ctx, c)
	}
	for _, n := range next.Notes {
		if n.Err != nil {
			r.log.Error(n.Err, n.Message, n.Values...)
		} else {
			r.log.Info(n.Message, n.Values...)
		}
	}
	r.count(next.Polled)
	if next.View != nil {
		r.view.Store(next.View)
		r.wake()
	}
	return next.Wait
}

func (r *run) call(ctx context.Context, c shards.Call) {
	link := r.links[c.ID]
	if link == nil {
		link = transport.NewLink(r.dial(r.uid, c.Address), r.clock, r.opts.Timeout, r.load)
		r.links[c.ID] = link
	}
	r.calls.Go(func() { r.outcomes <- outcome{c.ID, link.Do(ctx, c)} })
}

// count tells the load how many runners of the run are polled.
func (r *run) count(n int) {
	r.load.Count(n - r.counted)
	r.counted = n
}

// stopAll stops every runner at once. Kubernetes ends their pods, too; this is faster.
func (r *run) stopAll(ctx context.Context) {
	r.accept()
	var all sync.WaitGroup
	for _, address := range r.group.Addresses() {
		client := r.dial(r.uid, address) // the other client may be in a call
		all.Go(func() {
			defer client.Close()
			ctx, cancel := context.WithTimeout(ctx, 3*r.opts.Timeout)
			defer cancel()
			transport.Dismiss(ctx, client)
		})
	}
	all.Wait()
}

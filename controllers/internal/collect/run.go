package collect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/shard"
)

// Options are the times of a run.
type Options struct {
	// Interval between two looks at a runner that works.
	Interval time.Duration
	// Timeout of one call.
	Timeout time.Duration
	// Unreachable is how long a runner may be silent while its pod seems to run.
	Unreachable time.Duration
	// Lead is the time between telling the runners to start and the start.
	Lead time.Duration
}

// hurry is the interval while something is awaited: connections, the start, an end. A runner
// then has little else to do.
const hurry = 100 * time.Millisecond

// run is one run. All fields below the line belong to its goroutine.
type run struct {
	opts   Options
	dial   Dial
	log    logr.Logger
	wake   func()
	cancel context.CancelFunc

	mu     sync.Mutex
	wanted Desired       // guarded by mu
	signal chan struct{} // wanted has changed; capacity 1
	aborts chan struct{} // closed by abort
	once   sync.Once
	view   atomic.Pointer[View]

	// ---
	d Desired
	// shards are the present runners by shard, former those whose shard has another one since.
	shards, former []*stateful
	outcomes       chan outcome
	calls          sync.WaitGroup
	windows        *series
	zero           time.Time // of our clock
	startAt        int64     // in our clock, of the test; zero: not chosen yet
	nextWake       time.Time
	// changes are all that were made of the run, oldest first, never empty; applied are those that were
	// told, oldest first.
	changes []*change
	applied []Applied
	// synced: every runner that was there when this process took over has been asked.
	synced bool
	// joinSince is since when a shard is ready to join; failed and undealt are the deal that cannot be
	// made, and why.
	joinSince time.Time
	failed    []int
	undealt   string
	// dealt are the parts of the members that were asked for last; see sharesOf.
	dealt struct {
		members []int
		shares  []runnerv1alpha1.Share
	}
}

func newRun(d Desired, opts Options, dial Dial, log logr.Logger, wake func()) *run {
	r := &run{
		opts: opts, dial: dial, log: log, wake: wake, wanted: d,
		signal: make(chan struct{}, 1), aborts: make(chan struct{}),
		outcomes: make(chan outcome), zero: time.Now(), windows: newSeries(&d),
	}
	// What the runners are told first follows from the plan and from the shards that the test started with; runners that an earlier
	// operator has told more report it.
	members := shard.All(d.Plan.Shards)
	if d.MayStart && len(d.StartWith) > 0 {
		members = d.StartWith
	}
	r.changes = []*change{{Update: runnerv1alpha1.Update{Revision: firstRevision, Members: members}, early: true}}
	r.enlist(members)
	r.view.Store(&View{})
	return r
}

// want replaces what is desired.
func (r *run) want(d Desired) {
	r.mu.Lock()
	r.wanted = d
	r.mu.Unlock()
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// abort ends the load at once and then the run.
func (r *run) abort() { r.once.Do(func() { close(r.aborts) }) }

// loop is the goroutine of the run. When ctx ends it leaves the runners alone: they go on, and
// whoever comes next picks them up.
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
			r.learn(o)
		case <-timer.C:
		}
		timer.Reset(r.advance(ctx, time.Now()))
	}
}

func (r *run) close() {
	r.cancel()
	done := make(chan struct{})
	go func() { r.calls.Wait(); close(done) }()
	for {
		select {
		case <-r.outcomes:
		case <-done:
			for _, s := range slices.Concat(r.shards, r.former) {
				if s.client != nil {
					s.client.Close()
				}
			}
			return
		}
	}
}

func (r *run) clock() int64 { return int64(time.Since(r.zero)) }

// accept takes over what is desired, and what is new about pods.
func (r *run) accept() {
	r.mu.Lock()
	r.d = r.wanted
	r.mu.Unlock()
	for i := range r.d.Pods {
		r.at(i)
	}
	r.at(max(0, r.d.Shards-1))
	r.remember()
	for i, s := range r.shards {
		s.see(r.d.Pods[i])
	}
	r.hasten()
}

// advance decides about losses and shares, begins the calls that are due and tells the reconciler. It
// returns the time until there is something to do.
func (r *run) advance(ctx context.Context, now time.Time) time.Duration {
	changed := r.judge(now)
	r.leave()
	r.enqueue()
	r.deal(now)
	m := moment{newest: r.newest().Revision, tell: r.mayTell(), start: r.startNow(), drained: r.allDrained()}
	r.schedule()
	r.settle()
	pause := r.opts.Interval
	for i, s := range r.shards {
		if s.dueAt.After(now) {
			pause = min(pause, s.dueAt.Sub(now))
			continue
		}
		m.change = r.due(s) != nil
		if c := s.next(&r.d, m); c != callNone {
			s.busy = true
			r.begin(ctx, r.request(i, c))
		}
		s.dueAt = now.Add(r.interval(s))
		pause = min(pause, r.interval(s))
	}
	r.publish(now, changed)
	return pause
}

// judge marks what is lost.
func (r *run) judge(now time.Time) (changed bool) {
	for i, s := range r.shards {
		why := s.loss(&r.d, now, r.opts.Unreachable)
		if why == "" {
			continue
		}
		s.lost = &Loss{Pod: s.pod.Name, Node: s.pod.Node, Message: why, Time: now}
		r.log.Info("Runner lost", "shard", i, "pod", s.pod.Name, "reason", why)
		changed = true
	}
	return changed
}

// startNow: a runner that is ready may start. The instant is chosen once, for all, when the start is
// decided and nobody who has a part is on the way to being ready any more. When some have started already,
// the others follow them, be it that a predecessor did not get to telling them or that they join.
func (r *run) startNow() bool {
	if !r.d.MayStart {
		return false
	}
	r.findStart()
	if r.startAt != 0 {
		return true
	}
	if !r.canBegin() {
		return false
	}
	r.startAt = r.clock() + int64(r.opts.Lead)
	r.log.Info("Starting runners", "shards", r.newest().Members, "lead", r.opts.Lead)
	return true
}

// findStart takes the start instant over from a runner that knows it.
func (r *run) findStart() {
	for _, s := range r.shards {
		if r.startAt == 0 && s.hasStart() && s.rtt > 0 {
			r.startAt = s.snapshot.StartAt + s.offset
		}
	}
}

// canBegin: nobody who is to begin the test is on its way to being ready any more, and somebody is.
func (r *run) canBegin() bool {
	ready := 0
	for _, i := range r.newest().Members {
		switch s := r.at(i); {
		case r.ready(s):
			ready++
		case !s.over() && !s.isDone():
			return false
		}
	}
	return ready > 0
}

// allReady: everybody who is to begin the test is ready. One that has ended is not, such as the one whose
// setup has failed.
func (r *run) allReady() bool {
	return !slices.ContainsFunc(r.newest().Members, func(i int) bool { return !r.ready(r.at(i)) })
}

// ready: the runner has the part that it is to begin with, and all connections.
func (r *run) ready(s *stateful) bool {
	return !s.over() && s.snapshot != nil && isReady(s.snapshot) && s.snapshot.Revision >= r.beforeStart().Revision
}

// globals are what setup has captured, by the shard that ran it.
func (r *run) globals() []string {
	for _, s := range r.shards {
		if s.globals != nil {
			return s.globals
		}
	}
	return nil
}

// allDrained: nobody has a request of the load in flight any more, so that teardown may begin.
func (r *run) allDrained() bool {
	for _, s := range r.shards {
		if (s.member || s.hasStart()) && !s.over() && !s.isDone() && (s.snapshot == nil || s.snapshot.State != runnerv1alpha1.StateDrained) {
			return false
		}
	}
	return true
}

func (r *run) interval(s *stateful) time.Duration {
	working := s.snapshot != nil && s.snapshot.State == runnerv1alpha1.StateRunning && r.d.Stop == "" && !s.pod.Terminating
	if r.pending(s) != nil || !slices.Contains(r.newest().Members, s.index) { // it is to change, join or leave
		working = false
	}
	// A container whose endpoint does not listen yet refuses connections: no reason to hammer.
	if working || s.trouble != "" && s.snapshot == nil && time.Since(r.zero) > time.Minute {
		return r.opts.Interval
	}
	return min(hurry, r.opts.Interval)
}

func (r *run) request(i int, c call) request {
	s := r.shards[i]
	if s.client == nil {
		s.client = r.dial(r.d.UID, s.pod.Address)
	}
	q := request{
		of: s, call: c, client: s.client, clock: r.clock, timeout: r.opts.Timeout,
		stop:  runnerv1alpha1.Stop{Reason: orElse(r.d.Stop, reasonTooLate), Drain: true},
		start: r.startAt, startAt: s.startAt, globals: r.globals(),
	}
	switch c {
	case callUpdate:
		q.update = r.update(i)
	case callStart:
		q.missed = r.missed(s)
	case callAck:
		q.sequence = s.snapshot.Sequence
	}
	return q
}

func (r *run) begin(ctx context.Context, q request) {
	r.calls.Go(func() {
		o := perform(ctx, q)
		r.outcomes <- o
	})
}

// learn takes over what came of a call.
func (r *run) learn(o outcome) {
	s := o.of
	s.busy, s.trouble, s.startAt = false, "", o.startAt
	if o.best.better(sample{s.offset, s.rtt}) {
		s.offset, s.rtt = o.best.offset, o.best.rtt
	}
	err := o.err
	switch {
	case err == nil && o.call == callAck:
		s.acked = true
		return
	case err == nil && o.call == callChanges:
		r.recall(o.told)
		return
	}
	if err == nil {
		err = result.Fits(r.d.Plan, o.snapshot)
	}
	before := s.snapshot
	if err == nil {
		s.lastSeen = time.Now()
		err = s.take(o.snapshot)
	}
	if s.snapshot != nil && HadSlots(s.snapshot) {
		s.member = true // a predecessor dealt it a part, and perhaps away
	}
	if err == nil {
		err = r.windows.Add(o.snapshot)
	}
	if errors.Is(err, errRestarted) {
		s.pod.Ended, s.pod.Why = true, err.Error()
	}
	if err = cmp.Or(err, o.refused); err != nil {
		s.trouble = err.Error()
	}
	if first := r.changes[0]; s.snapshot != nil && first.Generation == 0 && s.snapshot.Revision == first.Revision {
		first.Generation = s.snapshot.Generation
	}
	if s.snapshot != nil && (before == nil || s.snapshot.State != before.State) {
		s.dueAt = time.Time{} // the next step need not wait
		r.nextWake = time.Time{}
	}
}

// publish hands out a new view, and wakes the reconciler at once when somebody's state changed,
// else once an interval.
func (r *run) publish(now time.Time, changed bool) {
	v := &View{ShardsRevision: r.d.ShardsRevision, Offsets: map[int]int64{}, Undealt: r.undealt, allReady: r.allReady()}
	if r.mayTell() {
		v.Members = r.newest().Members
	}
	for _, s := range r.former {
		v.Former = append(v.Former, s.seen())
	}
	for i, s := range r.shards {
		v.Shards = append(v.Shards, s.seen())
		if s.rtt > 0 {
			v.Offsets[i] = s.offset
		}
		if !s.over() {
			v.Rate += s.rate
		}
		if s.snapshot != nil && s.snapshot.StartedAt != 0 && s.rtt > 0 {
			at := r.zero.Add(time.Duration(s.snapshot.StartedAt + s.offset))
			if v.StartedAt.IsZero() || at.Before(v.StartedAt) {
				v.StartedAt = at
			}
		}
	}
	v.Generation, v.Newest = r.generations()
	v.Applied = slices.Clone(r.applied)
	v.Windows, v.WindowsFrom = r.windows.of(v)
	r.view.Store(v)
	if changed || !r.nextWake.After(now) {
		r.nextWake = now.Add(r.opts.Interval)
		r.wake()
	}
}

// stopAll tells every runner to stop at once. Their pods are about to be ended too; this is
// faster.
func (r *run) stopAll(ctx context.Context) {
	r.accept()
	var all sync.WaitGroup
	for _, s := range r.shards {
		if s.pod.Address == "" || s.over() || s.isDone() {
			continue
		}
		client := r.dial(r.d.UID, s.pod.Address) // the other one may be in the middle of a call
		all.Go(func() {
			defer client.Close()
			ctx, cancel := context.WithTimeout(ctx, 3*r.opts.Timeout)
			defer cancel()
			dismiss(ctx, client)
		})
	}
	all.Wait()
}

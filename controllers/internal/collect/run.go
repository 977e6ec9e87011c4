package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/state"
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

const (
	// hurry is the interval while the operator waits for connections, the start, or an end. A runner
	// then has little else to do.
	hurry = 100 * time.Millisecond
	// roundEvery bounds how often a run looks at all its runners when nothing happened to them.
	roundEvery = 25 * time.Millisecond
	// fullDetail is how many steps on all shards a test can have whose live snapshots have the response times of steps. A response time
	// has some kilobytes.
	fullDetail = 256
)

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
	load   *load // of all runs; nil in tests of one run
	view   atomic.Pointer[View]

	// ---
	// counted is how many runners of this run load counts.
	counted int64
	d       Desired
	// shards are the present runners by shard, former those whose shard has another one since.
	shards, former []*runner
	outcomes       chan outcome
	calls          sync.WaitGroup
	merge          *result.Merge
	zero           time.Time // of our clock
	startAt        int64     // in our clock, of the test; zero: not chosen yet
	steps          int       // of all chains
	// news: something happened that the next round must look at, and that the next view shows at once.
	news bool
	// nextRound and nextView are when the next round and the next view are due without news.
	nextRound, nextView time.Time
	// changes are all changes of the run, oldest first, never empty; applied are those that were
	// sent, oldest first.
	changes []*change
	applied []Applied
	// synced: every runner that was there when this process took over has answered.
	synced bool
	// joinSince is since when a shard is ready to join. failed are members that cannot share the load, and
	// notDistributed says why.
	joinSince      time.Time
	failed         []int
	notDistributed string
	// shares caches the result of sharesOf.
	shares struct {
		members []int
		shares  []runnerv1alpha1.Share
	}
}

func newRun(d Desired, opts Options, dial Dial, log logr.Logger, wake func()) *run {
	r := &run{
		opts: opts, dial: dial, log: log, wake: wake, wanted: d,
		signal: make(chan struct{}, 1), aborts: make(chan struct{}),
		outcomes: make(chan outcome), zero: time.Now(), merge: result.NewMerge(d.Plan, d.Plan.Shards),
	}
	// The first members follow from the plan and from the shards that the test started with. Runners that got newer changes from an earlier
	// operator report them.
	for i := range d.Plan.Chains {
		r.steps += len(d.Plan.Chains[i].Steps)
	}
	members := shard.All(d.Plan.Shards)
	if d.MayStart && len(d.StartWith) > 0 {
		members = d.StartWith
	}
	r.changes = []*change{{Update: runnerv1alpha1.Update{Revision: firstRevision, Members: members}, early: true}}
	r.addMembers(members)
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
			r.handle(o)
		case <-timer.C:
		}
		if now := time.Now(); r.news || !now.Before(r.nextRound) {
			pause := r.round(ctx, now)
			r.nextRound = now.Add(pause)
			timer.Reset(pause)
		}
	}
}

func (r *run) close() {
	r.cancel()
	r.countRunners(0)
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
	before := r.d
	r.mu.Lock()
	r.d = r.wanted
	r.mu.Unlock()
	for i := range r.d.Pods {
		r.at(i)
	}
	r.at(max(0, r.d.Shards-1))
	r.takeStored()
	for i, s := range r.shards {
		s.see(r.d.Pods[i])
	}
	r.nextRound = time.Time{}
	if !before.sameOrders(&r.d) {
		r.pollNow()
	}
}

// sameOrders returns whether two Desired ask the runners for the same. Pods can differ.
func (d *Desired) sameOrders(other *Desired) bool {
	return d.MayStart == other.MayStart && d.Stop == other.Stop && d.Stored == other.Stored && d.Shards == other.Shards &&
		d.ShardsRevision == other.ShardsRevision && d.Live.Generation == other.Live.Generation && d.Redeal == other.Redeal &&
		len(d.Recorded) == len(other.Recorded) && slices.Equal(d.StartWith, other.StartWith)
}

// round decides about losses and shares, begins the calls that are due and publishes a view. It
// returns the time until there is something to do.
func (r *run) round(ctx context.Context, now time.Time) time.Duration {
	published := r.news
	r.news = false
	r.findEnds(now)
	r.findLeft()
	r.enqueue()
	r.distribute(now)
	m := round{newest: r.newest().Revision, tell: r.mayTell(), start: r.startNow(), drained: r.allDrained()}
	r.schedule()
	r.settle()
	polled := int64(0)
	pause := r.opts.Interval
	for i, s := range r.shards {
		if !s.final() && s.pod.Address != "" {
			polled++
		}
		if s.pollAt.After(now) {
			pause = min(pause, s.pollAt.Sub(now))
			continue
		}
		m.change = r.due(s) != nil
		if c := s.next(&r.d, m); c != callNone {
			s.busy = true
			r.begin(ctx, r.request(i, c))
		}
		after := r.interval(s, now)
		s.pollAt = now.Add(after)
		pause = min(pause, after)
	}
	r.countRunners(polled)
	if published || r.news || !r.nextView.After(now) {
		r.publish(now)
	}
	if r.news {
		return 0
	}
	return max(min(pause, r.nextView.Sub(now)), roundEvery)
}

// findEnds finds the runners that are lost, and those whose counts are final.
func (r *run) findEnds(now time.Time) {
	for i, s := range r.shards {
		if s.state == state.Done || s.state == state.Lost {
			continue
		}
		why := s.findLoss(&r.d, now, r.opts.Unreachable)
		switch {
		case why != "":
			s.loss = &Loss{Pod: s.pod.Name, Node: s.pod.Node, Message: why, Time: now}
			r.happen(s, state.GaveUp)
			r.log.Info("Runner lost", "shard", i, "pod", s.pod.Name, "reason", why)
		case s.final() && (r.d.MayStart || r.d.Stored):
			r.happen(s, state.Ended)
			if slices.Contains(r.newest().Members, i) {
				s.slim()
			}
		}
	}
}

// startNow: a runner that is ready may start. The time of the start is chosen once, for all runners, when the start is
// decided and every member is ready or has ended. If some runners know a time already, the others get the same.
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
		if r.startAt == 0 && s.knowsStart() && s.rtt > 0 {
			r.startAt = s.snapshot.StartAt + s.offset
		}
	}
}

// canBegin: each member is ready or has ended, and at least one is ready.
func (r *run) canBegin() bool {
	ready := 0
	for _, i := range r.newest().Members {
		switch s := r.at(i); {
		case r.ready(s):
			ready++
		case !s.over() && !s.final():
			return false
		}
	}
	return ready > 0
}

// allReady: every member is ready. A runner that has ended is not ready, for example one whose setup failed.
func (r *run) allReady() bool {
	return !slices.ContainsFunc(r.newest().Members, func(i int) bool { return !r.ready(r.at(i)) })
}

// ready: the runner has the share that it begins with, and all connections, or is past that.
func (r *run) ready(s *runner) bool {
	return !s.over() && s.snapshot != nil && isReady(s.snapshot) && s.snapshot.Revision >= r.beforeStart().Revision
}

// globals are what setup captured, on the shard that ran it.
func (r *run) globals() []string {
	for _, s := range r.shards {
		if s.globals != nil {
			return s.globals
		}
	}
	return nil
}

// allDrained: no runner has a request of the load in flight any more, so that teardown may begin.
func (r *run) allDrained() bool {
	for _, s := range r.shards {
		if (s.member || s.knowsStart()) && !s.over() && !s.final() && (s.snapshot == nil || s.snapshot.State != runnerv1alpha1.StateDrained) {
			return false
		}
	}
	return true
}

func (r *run) interval(s *runner, now time.Time) time.Duration {
	working := s.snapshot != nil && s.snapshot.State == runnerv1alpha1.StateRunning && r.d.Stop == "" && !s.pod.Terminating
	if r.pending(s) != nil || !slices.Contains(r.newest().Members, s.index) { // a change is pending, or it joins or leaves
		working = false
	}
	// A container whose endpoint does not listen yet refuses connections.
	if working || s.trouble != "" && s.snapshot == nil && time.Since(r.zero) > time.Minute {
		return r.spread(s.index, now)
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
		poll:  Poll{Totals: len(r.shards)*r.steps > fullDetail},
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

// handle takes over the outcome of a call.
func (r *run) handle(o outcome) {
	s := o.of
	s.busy, s.startAt = false, o.startAt
	if o.best.better(sample{s.offset, s.rtt}) {
		s.offset, s.rtt = o.best.offset, o.best.rtt
	}
	err := o.err
	switch {
	case err == nil && o.call == callAck:
		s.acked, s.trouble = true, ""
		return
	case err == nil && o.call == callChanges:
		r.recall(o.told)
		s.trouble = ""
		return
	case err == nil:
		err = r.take(s, o.snapshot)
	}
	trouble := ""
	if err = cmp.Or(err, o.refused); err != nil {
		trouble = err.Error()
	}
	r.news = r.news || (trouble == "") != (s.trouble == "")
	s.trouble = trouble
}

// take accepts a snapshot of a runner. It returns what is wrong with it.
func (r *run) take(s *runner, n *runnerv1alpha1.Snapshot) error {
	before := s.snapshot
	switch {
	case n.Shard != s.index && n.Revision != 0:
		return fmt.Errorf("the snapshot belongs to shard %d", n.Shard)
	case before != nil && before.Boot != n.Boot:
		s.pod.Ended, s.pod.Why = true, errRestarted.Error()
		r.news = true
		return errRestarted
	}
	s.lastSeen = time.Now()
	if before != nil && n.Sequence < before.Sequence {
		return nil // overtaken
	}
	if err := r.merge.Add(n); err != nil {
		return err
	}
	s.rate = rate(before, n)
	if n.Globals != nil {
		s.globals, n.Globals = n.Globals, nil
	}
	n.ServiceTime = runnerv1alpha1.Histogram{} // only runners show it while they run
	s.snapshot = n
	s.member = s.member || HadSlots(n) // an earlier operator gave it a share, and perhaps took it again
	if !s.final() {
		r.happen(s, reported(n))
	}
	if first := r.changes[0]; first.Generation == 0 && n.Revision == first.Revision {
		first.Generation = n.Generation
	}
	if before == nil || n.State != before.State || n.Revision != before.Revision {
		s.pollAt = time.Time{} // the next step need not wait
		r.news = true
	}
	return nil
}

// publish makes a new view and wakes the reconciler.
func (r *run) publish(now time.Time) {
	v := &View{ShardsRevision: r.d.ShardsRevision, Offsets: map[int]int64{}, Undealt: r.notDistributed, allReady: r.allReady()}
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
	if r.d.MayStart {
		if err := v.summarize(r.merge, r.d.LossTolerated); err != nil {
			r.log.Error(err, "Cannot merge the snapshots of the runners")
		}
	}
	r.view.Store(v)
	r.nextView = now.Add(r.opts.Interval)
	r.wake()
}

// stopAll stops every runner at once. Kubernetes ends their pods, too; this is faster.
func (r *run) stopAll(ctx context.Context) {
	r.accept()
	var all sync.WaitGroup
	for _, s := range r.shards {
		if s.pod.Address == "" || s.over() || s.final() {
			continue
		}
		client := r.dial(r.d.UID, s.pod.Address) // the other client may be in a call
		all.Go(func() {
			defer client.Close()
			ctx, cancel := context.WithTimeout(ctx, 3*r.opts.Timeout)
			defer cancel()
			release(ctx, client)
		})
	}
	all.Wait()
}

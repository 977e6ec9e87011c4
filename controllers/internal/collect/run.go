package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/transport"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/internal/verdict"
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
	// Term returns a number that grows with each change of the leader; nil: 0.
	Term func() int64
	// Leading returns whether no other operator can be the leader; nil: it always is so.
	Leading func() bool
}

func (o *Options) term() int64 {
	if o.Term == nil {
		return 0
	}
	return o.Term()
}

func (o *Options) leading() bool { return o.Leading == nil || o.Leading() }

const (
	// roundEvery bounds how often a run looks at all its runners when nothing happened to them.
	roundEvery = 25 * time.Millisecond
	// fullDetail is how many steps on all shards a test can have whose live snapshots have the response times of steps. A response time
	// has some kilobytes.
	fullDetail = 256
)

// reasonTooLate is told to runners that were on their way when the test ended.
const reasonTooLate = "the test is over"

// errRestarted: the process behind an address is another one than before.
var errRestarted = errors.New("the runner has been restarted")

// run is one run. All fields below the line belong to its goroutine.
type run struct {
	opts   Options
	dial   transport.Dial
	log    logr.Logger
	wake   func()
	cancel context.CancelFunc

	mu     sync.Mutex
	wanted Desired       // guarded by mu
	signal chan struct{} // wanted has changed; capacity 1
	aborts chan struct{} // closed by abort
	once   sync.Once
	load   *transport.Load // of all runs
	view   atomic.Pointer[View]

	// ---
	// counted is how many runners of this run load counts.
	counted int
	// pace is that of the present round.
	pace shards.Pace
	d    Desired
	// shards are the present runners by shard, former those whose shard has another one since.
	shards, former []*runner
	outcomes       chan outcome
	calls          sync.WaitGroup
	merge          *result.Merge
	limits         *verdict.Live
	zero           time.Time // of our clock
	startAt        int64     // in our clock, of the test; zero: not chosen yet
	steps          int       // of all chains
	// news: something happened that the next round must look at, and that the next view shows at once.
	news bool
	// nextRound and nextView are when the next round and the next view are due without news.
	nextRound, nextView time.Time
	// changes are those of the run record, oldest first, never empty. accepted is the last revision of them, settled the last that every
	// runner has. applied are the last ones that every runner has.
	changes           []runnerv1alpha1.Update
	accepted, settled int64
	applied           []Applied
	// proposal is the change that the reconciler must store next; nil: none. begins is true if it begins a probe.
	proposal *runnerv1alpha1.Update
	begins   bool
	probing  probing
	// silence are the changes between silent and answering that are not in the log yet.
	silence silence
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

func newRun(d Desired, opts Options, dial transport.Dial, load *transport.Load, log logr.Logger, wake func()) *run {
	r := &run{
		d: d, opts: opts, dial: dial, load: load, log: log, wake: wake, wanted: d,
		signal: make(chan struct{}, 1), aborts: make(chan struct{}),
		outcomes: make(chan outcome), zero: time.Now(), merge: result.NewMerge(d.Plan, d.Plan.Shards),
		limits: verdict.NewLive(d.Plan, d.Plan.Shards),
	}
	for name, o := range d.Failed {
		r.limits.Restore(name, o)
	}
	r.changes = []runnerv1alpha1.Update{{Revision: 1, Members: shard.All(d.Plan.Shards)}} // until there is a record
	for i := range d.Plan.Chains {
		r.steps += len(d.Plan.Chains[i].Steps)
	}
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
		case o := <-r.outcomes:
			o.of.link.Release()
		case <-done:
			for _, s := range slices.Concat(r.shards, r.former) {
				if s.link != nil {
					s.link.Close()
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
	r.acceptChanges()
	r.takeStored()
	for i, s := range r.shards {
		if p := r.d.Pods[i]; !s.stored || p.UID == s.pod.UID {
			s.see(p)
		}
		// A former operator may have removed its share, and this process did not ask it yet.
		if s.pod.UID != "" && r.d.Owners[i] == s.pod.UID && !s.state.Over() && !s.member {
			s.member = true
			r.happen(s, shards.Removed)
		}
	}
	r.nextRound = time.Time{}
	if !before.sameOrders(&r.d) {
		r.pollNow()
	}
}

// sameOrders returns whether two Desired ask the runners for the same. Pods can differ.
func (d *Desired) sameOrders(other *Desired) bool {
	return d.MayStart == other.MayStart && d.Stop == other.Stop && d.Stored == other.Stored && d.Shards == other.Shards &&
		d.ShardsRevision == other.ShardsRevision && d.Live.Generation == other.Live.Generation && d.Rebalance == other.Rebalance &&
		len(d.Recorded) == len(other.Recorded) && len(d.Probes.Ended) == len(other.Probes.Ended)
}

// round decides about losses and shares, begins the calls that are due and publishes a view. It
// returns the time until there is something to do.
func (r *run) round(ctx context.Context, now time.Time) time.Duration {
	published := r.news
	r.news, r.pace = false, r.load.Pace(r.opts.Interval)
	r.findSilent(now)
	r.findEnds(now)
	r.findLeft()
	m := round{start: r.startNow(), drained: r.allDrained()}
	r.probe()
	r.propose(now)
	r.settle()
	for s := range r.all() {
		m.watch = m.watch || s.silent
	}
	pause := r.opts.Interval
	if r.proposal != nil {
		pause = min(pause, proposalLife/2)
	}
	polled := 0
	for s := range r.all() {
		if !s.final() && s.pod.Address != "" {
			polled++
		}
		if s.pollAt.After(now) {
			pause = min(pause, s.pollAt.Sub(now))
			continue
		}
		m.change = r.pending(s) != nil
		if kind := s.next(&r.d, m); kind != shards.CallNone {
			r.begin(ctx, s, r.call(s, kind, now))
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
		if s.state.Final() || s.state == shards.Lost {
			continue
		}
		why := r.findLoss(s, now)
		switch {
		case why != "":
			s.loss = &Loss{Pod: s.pod.Name, Node: s.pod.Node, Message: why, Time: now}
			r.happen(s, shards.GaveUp)
		case s.final() && (r.d.MayStart || r.d.Stored):
			r.happen(s, shards.Ended)
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
		if r.startAt == 0 && s.knowsStart() && s.clock.RTT > 0 {
			r.startAt = s.snapshot.StartAt + s.clock.Offset
		}
	}
}

// canBegin: each member is ready or has ended, and at least one is ready. A runner that this process did not ask yet could know the start.
func (r *run) canBegin() bool {
	if slices.ContainsFunc(r.shards, func(s *runner) bool {
		return s.pod.Address != "" && !s.pod.Ended && s.snapshot == nil && s.trouble == ""
	}) {
		return false
	}
	ready := 0
	for _, i := range r.newest().Members {
		switch s := r.at(i); {
		case r.ready(s):
			ready++
		case !s.state.Over() && !s.final():
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
	return !s.state.Over() && s.snapshot != nil && isReady(s.snapshot) && s.snapshot.Revision >= r.beforeStart().Revision
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
		if (s.member || s.knowsStart()) && !s.state.Over() && !s.final() && (s.snapshot == nil || s.snapshot.State != runnerv1alpha1.StateDrained) {
			return false
		}
	}
	return true
}

// interval is the time between two polls of a runner.
func (r *run) interval(s *runner, now time.Time) time.Duration {
	if s.silent || s.state == shards.Lost || s.final() {
		return r.opts.Interval
	}
	working := s.snapshot != nil && s.snapshot.State == runnerv1alpha1.StateRunning && r.d.Stop == "" && !s.pod.Terminating
	if r.probeIsOver() || r.pending(s) != nil || !slices.Contains(r.newest().Members, s.index) { // a change is pending, or it joins or leaves
		working = false
	}
	// A container whose endpoint does not listen yet refuses connections.
	if working || s.trouble != "" && s.snapshot == nil && time.Since(r.zero) > time.Minute {
		return r.spread(s.index, now)
	}
	return r.pace.Hurried
}

// call returns the call with which a runner gets a message.
func (r *run) call(s *runner, kind shards.Kind, now time.Time) shards.Call {
	c := shards.Call{
		ID: shards.ID{Shard: s.index, Pod: s.pod.UID}, Address: s.pod.Address, Kind: kind,
		Totals: len(r.shards)*r.steps > fullDetail && !r.probeIsOver(), Lease: r.lease(s, now),
	}
	switch kind {
	case shards.CallUpdate:
		c.Update = r.update(s)
	case shards.CallStart:
		c.Start = runnerv1alpha1.Start{At: r.startAt, Globals: r.globals(), Changes: r.missed(s)}
	case shards.CallStop:
		c.Stop = runnerv1alpha1.Stop{Reason: orElse(r.d.Stop, reasonTooLate), Drain: true}
	case shards.CallAck:
		c.Ack.Sequence = s.snapshot.Sequence
	}
	return c
}

// begin makes a call.
func (r *run) begin(ctx context.Context, s *runner, c shards.Call) {
	s.busy = true
	if s.link == nil {
		s.link = transport.NewLink(r.dial(r.d.UID, c.Address), r.clock, r.opts.Timeout, r.load)
	}
	link := s.link
	r.calls.Go(func() { r.outcomes <- outcome{s, c.Kind, link.Do(ctx, c)} })
}

// outcome is the answer to a call.
type outcome struct {
	of     *runner // only the goroutine of the run may use it
	kind   shards.Kind
	answer shards.Answer
}

// handle takes over the outcome of a call.
func (r *run) handle(o outcome) {
	s, err := o.of, o.answer.Err
	defer s.link.Release()
	s.busy, s.clock = false, o.answer.Clock
	switch {
	case err == nil && o.kind == shards.CallAck:
		s.acked, s.trouble = true, ""
		return
	case err == nil:
		err = r.take(s, o.answer.Snapshot)
	}
	trouble := ""
	if err = cmp.Or(err, o.answer.Refused); err != nil {
		trouble = err.Error()
	}
	r.news = r.news || (trouble == "") != (s.trouble == "")
	if s.trouble = trouble; trouble != "" {
		s.pollAt = r.again(s.pollAt, time.Now())
	}
}

// take accepts a snapshot of a runner. It returns what is wrong with it.
func (r *run) take(s *runner, n *runnerv1alpha1.Snapshot) error {
	before := s.snapshot
	if err := shards.Oversized(r.d.Plan, n); err != nil {
		return err
	}
	switch {
	case n.Shard != s.index && n.Revision != 0:
		return fmt.Errorf("the snapshot belongs to shard %d", n.Shard)
	case before != nil && before.Boot != n.Boot:
		s.pod.Ended, s.pod.Why = true, errRestarted.Error()
		r.news = true
		return errRestarted
	}
	s.lastSeen = time.Now()
	s.answered = s.lastSeen
	if before != nil && n.Sequence < before.Sequence {
		return nil // overtaken
	}
	if err := r.merge.Add(n); err != nil {
		return err
	}
	if err := r.limits.Add(n); err != nil {
		r.log.Error(err, "Cannot compare the thresholds while the test runs", "shard", s.index)
	}
	s.meter.add(n)
	if n.Globals != nil {
		s.globals, n.Globals = n.Globals, nil
	}
	n.ServiceTime = runnerv1alpha1.Histogram{} // only runners show it while they run
	s.snapshot, s.received = n, s.answered
	s.member = s.member || HadSlots(n) // an earlier operator gave it a share, and perhaps took it again
	switch {
	case !s.final():
		r.happen(s, reported(n))
	case s.state == shards.Lost:
		r.happen(s, shards.Ended)
	}
	if before == nil || n.State != before.State || n.Revision != before.Revision {
		s.pollAt = time.Time{} // the next step need not wait
		r.news = true
	}
	return nil
}

// publish makes a new view and wakes the reconciler.
func (r *run) publish(now time.Time) {
	v := &View{
		ShardsRevision: r.d.ShardsRevision, Offsets: map[int]int64{}, NotDistributed: r.notDistributed, allReady: r.allReady(),
		Members: r.newest().Members, Proposal: r.proposal, Begins: r.begins, Probe: r.probing.ended, Generation: r.generation(), Applied: slices.Clone(r.applied),
		Shards: make([]Shard, 0, len(r.shards)),
	}
	for _, s := range r.former {
		v.Former = append(v.Former, s.seen())
	}
	for i, s := range r.shards {
		v.Shards = append(v.Shards, s.seen())
		if s.clock.RTT > 0 {
			v.Offsets[i] = s.clock.Offset
		}
		if !s.state.Over() && !s.silent {
			v.Rate += s.meter.rate
		}
		if s.snapshot != nil && s.snapshot.StartedAt != 0 && s.clock.RTT > 0 {
			at := r.zero.Add(time.Duration(s.snapshot.StartedAt + s.clock.Offset))
			if v.StartedAt.IsZero() || at.Before(v.StartedAt) {
				v.StartedAt = at
			}
		}
	}
	if r.d.MayStart {
		if err := v.summarize(r.merge, r.d.LossTolerated); err != nil {
			r.log.Error(err, "Cannot merge the snapshots of the runners")
		}
		v.compare(r.limits)
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
		if s.pod.Address == "" || s.state.Over() || s.final() {
			continue
		}
		client := r.dial(r.d.UID, s.pod.Address) // the other client may be in a call
		all.Go(func() {
			defer client.Close()
			ctx, cancel := context.WithTimeout(ctx, 3*r.opts.Timeout)
			defer cancel()
			transport.Dismiss(ctx, client)
		})
	}
	all.Wait()
}

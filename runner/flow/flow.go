package flow

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/dueheap"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/bitmap"
	"github.com/h2surge/h2surge/runner/chain"
)

// Host is the worker that has the instances.
type Host interface {
	// Route returns the target of the request of a step, or None if the request cannot be sent. If paced is true, the
	// request waits for a slot.
	Route(a chain.Activation) (target int32, paced bool)
	// Await waits for the notification of a step, which may have come already. Ended reports it.
	Await(a chain.Activation)
	// ChainBegan counts an instance of a measured stage.
	ChainBegan(chain int)
	// Continues returns whether an aborted instance can send its always steps.
	Continues(in *Instance) bool
	// Always counts an always step that sends no request: one that awaits a notification after an abort (sent), or one
	// that lacks a captured value.
	Always(in *Instance, sent bool)
	// ChainEnded counts an instance that has ended. The parameter why is what aborted it, or "" if it completed.
	ChainEnded(instance int32, why string)
}

// Config is what a Flow is made from.
type Config struct {
	Program *chain.Program
	Sources *chain.Sources
	Share   *rv.Share
	// Chains has, for each schedule, which chains it has: those with this value of Chain.Stages.
	Chains []int
	// Targets is how many targets there can be, with those that are followed.
	Targets int
	Host    Host
	// Unsent is called with each step that makes no request, because its conditions are false (skipped) or because it
	// cannot.
	Unsent func(a chain.Activation, skipped bool, why string)
}

// Flow has the chain instances of a worker, and the steps that they have come to.
type Flow struct {
	chains
	instances
	host   Host
	unsent func(a chain.Activation, skipped bool, why string)
	// wall is the time of the turn in nanoseconds since 1970.
	wall int64
	// waiting are the ready steps that wait for a slot, by schedule. scheduleOf has the index of the schedule of each
	// chain.
	waiting    []Queues
	scheduleOf []int32
	// unpaced are ready steps that need no slot: those of chains that run once for the test, and of the load after its
	// end.
	unpaced ring.Ring[Ready]
	// fresh is true if a step has become unpaced since the last call of Wake.
	fresh bool
	// sleepers are steps that become ready later.
	sleepers dueheap.Heap[chain.Activation]
	// until is when the last request may be sent; see Within.
	until int64
	// direct is true for the chains that beginNext starts with a step that takes the slot at once.
	direct []bool
	// numbered is true after the first change of a share, if there are values that occur once in the test: these follow
	// from the numbers of slots. number is the first number of the slot that was numbered last.
	numbered bool
	number   int64
	_        [32]byte // whole cache lines
}

// New returns what a worker knows of its chains before the load.
func New(cfg Config) *Flow {
	p := cfg.Program
	f := &Flow{
		instances: instances{inUse: bitmap.New()}, host: cfg.Host, unsent: cfg.Unsent,
		waiting: make([]Queues, len(cfg.Chains)), scheduleOf: make([]int32, len(p.Chains)),
		direct: make([]bool, len(p.Chains)), until: never,
	}
	f.init(p, cfg.Sources, cfg.Chains)
	for i := range f.waiting {
		f.waiting[i] = newQueues(len(p.Targets), cfg.Targets)
	}
	for i := range p.Chains {
		f.direct[i] = beginsDirect(p, i)
		f.scheduleOf[i] = int32(max(0, slices.Index(cfg.Chains, p.Chains[i].Stages))) // chains that run once use none
	}
	f.setShare(cfg.Share)
	return f
}

// SetShare sets the bounds of the chains. It is numbered after a change of a share if there are values that occur once
// in the test: these follow from the numbers of slots from now on.
func (f *Flow) SetShare(share *rv.Share, numbered bool) {
	f.numbered = numbered
	f.setShare(share)
}

// Start sets the start instant.
func (f *Flow) Start(at int64) { f.startAt = at }

// Tick sets the time of the turn.
func (f *Flow) Tick(now, wall int64) { f.now, f.wall = now, wall }

// Begin starts an instance of a chain that runs once for the test, and its first group. The stage is negative.
func (f *Flow) Begin(c int, stage int16) {
	i := f.begin(c)
	f.all[i].Stage = stage
	f.proceed(i)
}

// Ended ends an activation. The parameter why is the reason of a failure, or "". The instance then retries the step,
// repeats it, continues with the next group, or ends. A retry waits for the backoff or for pause, whichever is longer.
func (f *Flow) Ended(a chain.Activation, why string, pause int64) {
	in := f.all[a.Instance]
	s := &f.program.Steps[a.Step]
	in.outstanding--
	switch {
	case why == "" && in.aborted == "" && s.Repeat < 2: // the most frequent case
	case in.stale():
	case why != "" && int(a.Attempt) < s.Retries:
		pause = max(pause, s.Backoff(int(a.Attempt)))
		a.Attempt++
		a.Hop = 0
		f.activate(a, pause)
		return
	case why != "" && !s.Continue:
		in.abort(why)
	case why == "" && f.mustRepeat(in, s):
		in.Repeated++
		a.Attempt, a.Hop = 0, 0
		f.activate(a, f.pauseBefore(in, s))
		return
	}
	f.continueAfter(a.Instance, s)
}

// Redirected ends an activation whose response redirects its request. The step is ready again, with the next hop.
func (f *Flow) Redirected(a chain.Activation) {
	in := f.all[a.Instance]
	in.outstanding--
	if in.stale() {
		f.continueAfter(a.Instance, &f.program.Steps[a.Step])
		return
	}
	a.Hop++
	f.activate(a, 0)
}

// BeginStep draws the values of the request of a step. A request that follows a redirect has those of the first one.
func (f *Flow) BeginStep(a chain.Activation) {
	in := f.all[a.Instance]
	in.begun = true
	if a.Hop == 0 {
		in.BeginStep(&f.program.Steps[a.Step], f.wall)
	}
}

// Abort ends an activation that cannot become a request, and aborts the instance.
func (f *Flow) Abort(i int32, why string) {
	f.all[i].abort(why)
	f.drop(i)
}

// drop removes an activation of an aborted instance. After the last one, the instance continues with its always steps,
// or ends.
func (f *Flow) drop(i int32) {
	in := f.all[i]
	if in.outstanding--; in.outstanding == 0 {
		in.Step, in.Repeated = f.following(in), 0
		f.proceed(i)
	}
}

// proceed activates the next group of steps of an instance, or ends the instance after its last group. It skips steps
// whose conditions are false, and always steps that lack a captured value. The instance must have no activation.
func (f *Flow) proceed(i int32) {
	in := f.all[i]
	c := &f.program.Chains[in.Chain]
	for int(in.Step) < c.Len {
		first := c.First + int(in.Step)
		end := f.program.Steps[first].GroupEnd
		pause := f.pauseBefore(in, &f.program.Steps[first])
		in.always = in.always || f.program.Steps[first].Always
		in.outstanding++ // so that a step that aborts at once does not end the instance in this loop
		for s := first; s < end; s++ {
			f.arrive(chain.Activation{Instance: i, Step: int32(s)}, pause)
		}
		if in.outstanding--; in.outstanding > 0 {
			return
		}
		in.Step = f.following(in)
	}
	f.end(i, in.aborted)
}

// arrive activates a step, or skips it.
func (f *Flow) arrive(a chain.Activation, pause int64) {
	in, s := f.all[a.Instance], &f.program.Steps[a.Step]
	switch {
	case len(s.When) > 0 && !in.Holds(s.When):
		f.unsent(a, true, "")
	case s.Always && s.Lacks(&in.Instance):
		f.host.Always(in, false)
		f.unsent(a, true, rv.AbortMissingCapture)
	default:
		f.activate(a, pause)
	}
}

// following returns the position of the next group of an instance without activations: after an abort, that of its
// first always step. It is behind all steps if the instance must end.
func (f *Flow) following(in *Instance) int16 {
	c := &f.program.Chains[in.Chain]
	switch {
	case !in.stale():
		return int16(f.program.Steps[c.First+int(in.Step)].GroupEnd - c.First)
	case c.Always < c.Len && f.host.Continues(in):
		return int16(c.Always)
	}
	return int16(c.Len)
}

// pauseBefore returns the think time before a step. There is none before the first request of an instance.
func (f *Flow) pauseBefore(in *Instance, s *chain.Step) int64 {
	if s.Think == nil || !in.begun {
		return 0
	}
	return s.Think.Draw(f.sources)
}

// activate makes a step ready after a pause. A pause for which there is too little time is left out; see Within.
func (f *Flow) activate(a chain.Activation, pause int64) {
	f.all[a.Instance].outstanding++
	if pause > 0 && (f.now+pause <= f.until || !f.hurry(a)) {
		f.sleepers.Push(a, f.now+pause)
		return
	}
	f.makeReady(a)
}

// makeReady lets a step wait for a slot. A step of a chain that runs once, and a step after the load, needs no slot and
// waits for the worker only.
func (f *Flow) makeReady(a chain.Activation) {
	in := f.all[a.Instance]
	switch {
	case in.stale():
		f.drop(a.Instance)
		return
	case f.program.Steps[a.Step].Await != nil:
		if f.FollowsAbort(a) {
			f.host.Always(in, true)
		}
		f.host.Await(a)
		return
	}
	t, paced := f.host.Route(a)
	r := Ready{Activation: a, Target: t, Since: f.now}
	switch {
	case t == None:
		f.unsent(a, false, rv.AbortLocation)
		f.Abort(a.Instance, rv.AbortLocation)
	case in.Stage < 0 || !paced:
		f.unpaced.Push(r)
		f.fresh = true
	default:
		f.wait(r)
	}
}

// mustRepeat returns true if a step that has succeeded must be sent again.
func (f *Flow) mustRepeat(in *Instance, s *chain.Step) bool {
	if int(in.Repeated)+1 >= s.Repeat {
		return false
	}
	return len(s.Until) == 0 || !in.Holds(s.Until)
}

// continueAfter ends the group of s after its last activation: the instance continues with the next group, or ends.
func (f *Flow) continueAfter(i int32, s *chain.Step) {
	in := f.all[i]
	switch {
	case in.outstanding > 0:
	case s.Last && !in.stale():
		f.end(i, in.aborted)
	default:
		in.Step, in.Repeated = f.following(in), 0
		f.proceed(i)
	}
}

// end releases an instance. The parameter why is what aborted it, or "" if it completed.
func (f *Flow) end(i int32, why string) {
	f.live[f.all[i].Chain]--
	f.release(i)
	f.host.ChainEnded(i, why)
}

package loop

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/cookie"
	"github.com/h2surge/h2surge/runner/slots"
)

// instance is a chain instance with the worker's bookkeeping.
type instance struct {
	chain.Instance
	// stage is setupStage or teardownStage for the chains that run once, and else not negative.
	stage int16
	// outstanding counts the activations; see chain.Activation.
	outstanding int16
	// repeated counts how often the present step has succeeded and been repeated.
	repeated int32
	// sentAt is when the last request was sent, or else when the instance began.
	sentAt int64
	// began is when the instance began.
	began int64
	// measured is true if the instance started in a measured stage.
	measured bool
	// begun is true after the first request of the instance.
	begun bool
	// late is true after the first request of the instance that was sent after the load.
	late bool
	// aborted is why the instance ends after its last activation. It is "" while the instance is not aborted.
	aborted string
	cookies cookie.Jar
	// next is the next number for values that occur once in the test, for requests that need no slot; see nextNumber.
	next int64
	// previous is the last exchange, which scripts look at; nil where none does.
	previous *book.Exchange
	// redirects are those of the steps that were redirected.
	redirects []redirect
}

// chains are the worker's chain instances and the steps that they have come to.
type chains struct {
	// all has all instances with their buffers. idle has the indexes of those that can be used again.
	all  []*instance
	idle []int32
	// live is the number of instances of each chain that have not ended.
	live []int
	// ready steps of load chains wait for a slot, by schedule. scheduleOf has the index of the schedule of each chain.
	ready      []readySteps
	scheduleOf []int32
	targets    *targets
	// unpaced are ready steps of chains that run once for the test. They need no slot.
	unpaced ring.Ring[readyStep]
	// sleepers are steps that become ready later.
	sleepers dueHeap[sleeper]
	// mayBegin returns true if a chain may start an instance. It is nil if each chain always may.
	mayBegin func(chain int) bool
	// direct is true for the chains that beginDirect can start.
	direct  []bool
	sources *chain.Sources
	// numbered is true after the first change of a share, if there are values that occur once in the test: these follow from
	// the numbers of slots.
	numbered bool
	// numberOfSlot is the first number of the slot that was numbered last.
	numberOfSlot int64
}

// nextNumber returns the number that the next request of an instance draws, if it needs no slot. It is zero if the instance
// has no numbers of its own, because it started before the first change of a share.
func (s *chains) nextNumber(i int32) int64 {
	in := s.all[i]
	if in.next > 0 {
		in.next++
	}
	return max(in.next-1, 0)
}

// renumber notes that there was a change of a share. It is numbered if there are values that occur once in the test: these follow
// from the numbers of slots from now on.
func (s *chains) renumber(numbered bool) { s.numbered = numbered }

// number sets the number that the next request with a slot draws from.
func (s *chains) number(n int64) {
	s.numberOfSlot = n
	s.sources.Slot(n)
}

// numberLater sets the numbers that a request without a slot draws from. They belong to the slot that started the
// instance.
func (s *chains) numberLater(i int32) {
	if s.numbered {
		s.sources.Slot(s.nextNumber(i))
	}
}

// at returns an instance.
func (s *chains) at(i int32) *instance { return s.all[i] }

func (s *chains) alloc() int32 {
	if n := len(s.idle); n > 0 {
		i := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return i
	}
	s.all = append(s.all, &instance{})
	return int32(len(s.all) - 1)
}

// wait lets a ready step wait for a slot of the schedule of its chain.
func (s *chains) wait(r readyStep) {
	s.ready[s.scheduleOf[s.all[r.Instance].Chain]][r.target].Push(r)
}

// readyFor returns the steps that wait for slots of a schedule.
func (s *chains) readyFor(own *slots.Schedule) readySteps {
	return s.ready[own.Index()][:len(s.targets.all)]
}

// servesTarget returns whether a chain may begin with a request to a target.
func (s *chains) servesTarget(p *chain.Program, i int) func(chain int) bool {
	return func(c int) bool { return p.Chains[c].Target == i && (s.mayBegin == nil || s.mayBegin(c)) }
}

// sleep lets a step become ready after a pause.
func (s *chains) sleep(a chain.Activation, now, pause int64) {
	s.sleepers.push(sleeper{at: now + pause, Activation: a})
}

// beginDirect starts an instance of a chain whose first step has no condition, no parallel steps, and the target of the
// chain. It returns the activation of this step, which takes the slot at once.
func (w *Worker) beginDirect(c int) chain.Activation {
	i := w.beginLoad(c)
	w.chains.at(i).outstanding = 1
	return chain.Activation{Instance: i, Step: int32(w.program.Chains[c].First)}
}

func (w *Worker) beginLoad(c int) int32 {
	i := w.begin(c, 0)
	if !w.slots.Of(c).InWarmUp() {
		w.chains.at(i).measured = true
		w.rec.Chains[c].Started++
	}
	return i
}

// begin returns a new instance of a chain.
func (w *Worker) begin(c int, stage int16) int32 {
	i := w.chains.alloc()
	w.chains.live[c]++
	in := w.chains.at(i)
	in.Start(w.program, c, w.sources, w.wall())
	in.cookies.Clear()
	in.stage, in.outstanding, in.repeated, in.begun, in.measured, in.late, in.aborted = stage, 0, 0, false, false, false, ""
	in.next, in.began, in.sentAt, in.redirects = 0, w.now, w.now, in.redirects[:0]
	if w.chains.numbered {
		in.next = w.chains.numberOfSlot + maxBegins + 1
	}
	return i
}

// end counts and releases an instance. The parameter why is what aborted it, or "" if it completed.
func (w *Worker) end(i int32, why string) {
	in := w.chains.at(i)
	w.requests.Forget(in.previous)
	in.previous = nil
	w.chains.live[in.Chain]--
	w.chains.idle = append(w.chains.idle, i)
	if in.stage < 0 {
		w.once.ended(in, why)
		return
	}
	if in.late {
		if !w.run.loadOver { // else it is cut off
			w.rec.EndedLate(why)
		}
		return
	}
	if in.measured {
		w.rec.Ended(in.Chain, why)
	}
}

// newChains prepares what is known of the chains before the load.
func (w *Worker) newChains() chains {
	p := w.program
	s := chains{
		live: cacheline.Make[int](len(p.Chains)), idle: cacheline.Make[int32](0),
		direct: make([]bool, len(p.Chains)), scheduleOf: w.slots.OfChains(), targets: &w.targets, sources: w.sources,
	}
	for range w.slots.All() {
		s.ready = append(s.ready, make(readySteps, len(p.Targets)+maxFollowed))
	}
	for i := range p.Chains {
		s.direct[i] = beginsDirect(p, i)
	}
	return s
}

// beginsDirect returns whether beginDirect can start a chain.
func beginsDirect(p *chain.Program, c int) bool {
	first := &p.Steps[p.Chains[c].First]
	return len(first.When) == 0 && first.GroupEnd == p.Chains[c].First+1 && !first.BeginsWithURI && !first.HasAuthority
}

// valuesPerSlot returns how many values of a variable one slot can draw, at most. If unslotted is true, steps may be sent without a
// slot, and draw from the numbers of the slot that started their instance.
func valuesPerSlot(p *chain.Program, unslotted bool) (n int64) {
	n = 1
	for i := range p.Chains {
		c := &p.Chains[i]
		switch {
		case c.Phase != rv.PhaseLoad:
		case unslotted:
			n = max(n, maxBegins+1+mostRequests(p, c))
		case !beginsDirect(p, i):
			n = max(n, maxBegins+1)
		}
	}
	return n
}

// mostRequests returns how many requests an instance sends, at most.
func mostRequests(p *chain.Program, c *chain.Chain) (n int64) {
	for i := range p.Steps[c.First : c.First+c.Len] {
		s := &p.Steps[c.First+i]
		n += int64(max(s.Repeat, 1)) * int64(s.Retries+1) * int64(s.MaxRedirects+1)
	}
	return n
}

// bound sets mayBegin for the current share. It stays nil if each chain may start an instance at any time.
func (w *Worker) bound() {
	w.chains.mayBegin = nil
	for i := range w.program.Chains {
		c := &w.program.Chains[i]
		if c.Phase == rv.PhaseLoad && (c.Delay > 0 || w.maxInFlight(i) != 0 || c.Ends) {
			w.chains.mayBegin = w.chainMayBegin
		}
	}
}

// maxInFlight returns how many instances of a chain this worker may have at a time, or 0 if there is no bound.
func (w *Worker) maxInFlight(c int) int {
	if len(w.cfg.Share.MaxInFlight) == 0 {
		return 0
	}
	return w.cfg.Share.MaxInFlight[c]
}

// chainMayBegin returns true if an instance of a chain may start now.
func (w *Worker) chainMayBegin(c int) bool {
	p := &w.program.Chains[c]
	most := w.maxInFlight(c)
	return (most == 0 || w.chains.live[c] < most) && w.now >= w.slots.StartAt()+p.Delay && !w.chainEnded(c)
}

// chainEnded returns true if a variable of the chain has no more values.
func (w *Worker) chainEnded(c int) bool { return w.program.Chains[c].Ends && w.sources.Ended(c) }

// exhausted returns true if no chain of a schedule can start an instance again, because each uses a variable that has no
// more values.
func (w *Worker) exhausted(s *slots.Schedule) bool {
	for _, c := range s.Chains() {
		if !w.chainEnded(c) {
			return false
		}
	}
	return true
}

// hasLoadInstance returns true if an instance of a chain of a schedule has not ended.
func (w *Worker) hasLoadInstance(s *slots.Schedule) bool {
	for _, c := range s.Chains() {
		if w.chains.live[c] > 0 {
			return true
		}
	}
	return false
}

// noStartCause returns why no chain instance could start for a slot of a schedule.
func (w *Worker) noStartCause(s *slots.Schedule) failure.Cause {
	for _, i := range s.Chains() {
		if most := w.maxInFlight(i); most > 0 && w.chains.live[i] >= most {
			return failure.Cause{Kind: rv.CauseMaxInFlight, Detail: w.program.Chains[i].Name}
		}
	}
	return failure.Cause{Kind: rv.CauseNoChain}
}

// stallLimit returns how long the worker waits for progress.
func (w *Worker) stallLimit() int64 {
	var connect, delay time.Duration
	for i := range w.program.Targets {
		connect = max(connect, w.program.Targets[i].ConnectTimeout)
	}
	for i := range w.program.Chains {
		delay = max(delay, time.Duration(w.program.Chains[i].Delay))
	}
	return int64(w.cfg.MaxWait + connect + delay)
}

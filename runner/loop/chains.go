package loop

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/cookie"
)

// instance is a chain instance with the worker's bookkeeping.
type instance struct {
	chain.Instance
	// stage is setupStage or teardownStage for the chains that run once, and else not negative.
	stage int16
	// outstanding counts the activations; see activation.
	outstanding int16
	// repeated counts how often the present step has succeeded and been repeated.
	repeated int32
	// measured: it began in a measured stage.
	measured bool
	// begun: a request of it has been made.
	begun bool
	// aborted is why the instance ends when nothing is outstanding any more; "": it does not.
	aborted string
	cookies cookie.Jar
	// previous is the last exchange, which scripts look at; nil where none does.
	previous *exchange

	_ [40]byte // whole cache lines
}

// chains are the worker's chain instances and the steps that they have come to.
type chains struct {
	// wheel chooses the chain of the next instance.
	wheel *chain.WeightedRoundRobin
	// all instances, buffers included; idle ones are used again.
	all  []*instance
	idle []int32
	// live counts those under way, by chain.
	live []int
	// ready steps wait for a slot, by target.
	ready []ring[readyStep]
	// unpaced are ready steps of chains that run once for the test. They need no slot.
	unpaced ring[readyStep]
	// sleepers are steps that become ready later.
	sleepers dueHeap[sleeper]
	// pausedUntil is when the last of the sleeps ends that are longer than longPause.
	pausedUntil, longPause int64
	// mayBegin says which chains may begin an instance; nil: all.
	mayBegin func(chain int) bool
	// direct says for each chain whether beginDirect may be used.
	direct []bool
	// perSlot bounds the values of a variable that are drawn for one slot.
	perSlot int64
}

func (s *chains) alloc() int32 {
	if n := len(s.idle); n > 0 {
		i := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return i
	}
	s.all = append(s.all, &instance{})
	return int32(len(s.all) - 1)
}

// sleep lets a step become ready after a pause.
func (s *chains) sleep(a activation, now, pause int64) {
	if pause > s.longPause {
		s.pausedUntil = max(s.pausedUntil, now+pause)
	}
	s.sleepers.push(sleeper{at: now + pause, activation: a})
}

// beginDirect starts an instance of a chain whose first step is always sent, by itself, and to the
// chain's target. It need not wait to be ready.
func (w *Worker) beginDirect(c int) activation {
	i := w.beginLoad(c)
	w.chains.all[i].outstanding = 1
	return activation{instance: i, step: int32(w.program.Chains[c].First)}
}

func (w *Worker) beginLoad(c int) int32 {
	i := w.begin(c, 0)
	if !w.schedule.warmUp() {
		w.chains.all[i].measured = true
		w.rec.Chains[c].Started++
	}
	return i
}

// begin makes an instance of a chain.
func (w *Worker) begin(c int, stage int16) int32 {
	i := w.chains.alloc()
	w.chains.live[c]++
	in := w.chains.all[i]
	in.Start(w.program, c, w.sources, w.wall())
	in.cookies.Clear()
	in.stage, in.outstanding, in.repeated, in.begun, in.measured, in.aborted = stage, 0, 0, false, false, ""
	return i
}

// end releases an instance; why says what aborted it, "" that it ran to its end.
func (w *Worker) end(i int32, why string) {
	in := w.chains.all[i]
	w.requests.exchanges.release(in.previous)
	in.previous = nil
	w.chains.live[in.Chain]--
	w.chains.idle = append(w.chains.idle, i)
	if in.stage < 0 {
		w.onceEnded(in, why)
		return
	}
	if !in.measured {
		return
	}
	c := &w.rec.Chains[in.Chain]
	if why == "" {
		c.Completed++
		return
	}
	c.Aborted++
	c.AbortedBy.Add(why)
}

// newChains prepares what is known of the chains before the load.
func (w *Worker) newChains() chains {
	p := w.program
	s := chains{
		wheel: chain.NewWeightedRoundRobin(p), live: cacheline.Make[int](len(p.Chains)), idle: cacheline.Make[int32](0), ready: make([]ring[readyStep], len(p.Targets)+maxFollowed),
		direct: make([]bool, len(p.Chains)), perSlot: 1, longPause: w.stallLimit(),
	}
	for i := range p.Chains {
		c := &p.Chains[i]
		first := &p.Steps[c.First]
		s.direct[i] = len(first.When) == 0 && first.GroupEnd == c.First+1 && !first.BeginsWithURI
		if c.Phase == rv.PhaseLoad && !s.direct[i] {
			s.perSlot = maxBegins + 1
		}
	}
	return s
}

// bound makes mayBegin follow the share. It stays nil if each chain may begin at any time.
func (w *Worker) bound() {
	w.chains.mayBegin = nil
	for i := range w.program.Chains {
		c := &w.program.Chains[i]
		if c.Phase == rv.PhaseLoad && (c.Delay > 0 || w.maxInFlight(i) != 0 || c.Ends) {
			w.chains.mayBegin = w.chainMayBegin
		}
	}
}

// maxInFlight is the bound on a chain's instances on this worker; zero: none.
func (w *Worker) maxInFlight(c int) int {
	if len(w.cfg.Share.MaxInFlight) == 0 {
		return 0
	}
	return w.cfg.Share.MaxInFlight[c]
}

// chainMayBegin says whether an instance of a chain may begin now.
func (w *Worker) chainMayBegin(c int) bool {
	p := &w.program.Chains[c]
	most := w.maxInFlight(c)
	return (most == 0 || w.chains.live[c] < most) && w.now >= w.schedule.startAt+p.Delay && !w.chainEnded(c)
}

// chainEnded says that the values of a chain have been used up.
func (w *Worker) chainEnded(c int) bool { return w.program.Chains[c].Ends && w.sources.Ended(c) }

// exhausted says that no chain will ever begin an instance again, because each lacks the values of
// a variable that does not begin again.
func (w *Worker) exhausted() bool {
	for i := range w.program.Chains {
		if c := &w.program.Chains[i]; c.Phase == rv.PhaseLoad && !w.chainEnded(i) {
			return false
		}
	}
	return true
}

// underWay says whether an instance of a load chain is.
func (w *Worker) underWay() bool {
	for i, n := range w.chains.live {
		if n > 0 && w.program.Chains[i].Phase == rv.PhaseLoad {
			return true
		}
	}
	return false
}

// unbegun returns why no chain instance could start for a slot.
func (w *Worker) unbegun() failure.Cause {
	for i := range w.program.Chains {
		if most := w.maxInFlight(i); most > 0 && w.chains.live[i] >= most && w.program.Chains[i].Phase == rv.PhaseLoad {
			return failure.Cause{Kind: rv.CauseMaxInFlight, Detail: w.program.Chains[i].Name}
		}
	}
	return failure.Cause{Kind: rv.CauseNoChain}
}

// stallLimit is how long the worker waits for progress, and the shortest pause that it knows of.
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

package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/slots"
)

// none is the index of no target.
const none int32 = -1

// readyStep is an activation that waits for a slot.
type readyStep struct {
	chain.Activation
	target int32
	since  int64
}

// readySteps are ready steps by target, in the order in which they became ready.
type readySteps []ring.Ring[readyStep]

// popLongest removes and returns the step that has been ready longest. The target is none if no step is ready.
func (r readySteps) popLongest() (a chain.Activation, t int32) {
	best := none
	for i := range r {
		if q := &r[i]; q.Len() > 0 && (best == none || q.Front().since < r[best].Front().since) {
			best = int32(i)
		}
	}
	if best == none {
		return a, none
	}
	return r[best].Pop().Activation, best
}

// len returns how many steps are ready.
func (r readySteps) len() (n int) {
	for i := range r {
		n += r[i].Len()
	}
	return n
}

// proceed activates the next group of steps of an instance, or ends the instance after its last group. It skips steps
// whose conditions are false. The instance must have no activation.
func (w *Worker) proceed(i int32) {
	in := w.chains.at(i)
	c := &w.program.Chains[in.Chain]
	for int(in.Step) < c.Len {
		first := c.First + int(in.Step)
		end := w.program.Steps[first].GroupEnd
		pause := w.pauseBefore(in, &w.program.Steps[first])
		in.outstanding++ // so that a step that aborts at once does not end the instance in this loop
		for s := first; s < end; s++ {
			if when := w.program.Steps[s].When; len(when) == 0 || w.program.Holds(when, &in.Instance, w.sources) {
				w.activate(chain.Activation{Instance: i, Step: int32(s)}, pause)
			} else {
				w.trial.unsent(chain.Activation{Instance: i, Step: int32(s)}, true, "")
			}
		}
		if in.outstanding--; in.outstanding > 0 {
			return
		}
		if in.aborted != "" {
			break
		}
		in.Step = int16(end - c.First)
	}
	w.end(i, in.aborted)
}

// pauseBefore returns the think time before a step. There is none before the first request of an instance.
func (w *Worker) pauseBefore(in *instance, s *chain.Step) int64 {
	if s.Think == nil || !in.begun {
		return 0
	}
	return s.Think.Draw(w.sources)
}

// activate makes a step ready after a pause.
func (w *Worker) activate(a chain.Activation, pause int64) {
	w.chains.at(a.Instance).outstanding++
	if pause > 0 {
		w.chains.sleep(a, w.now, pause)
		return
	}
	w.makeReady(a)
}

// makeReady appends a step to the queue of its target, where it waits for a slot. A step of a chain that runs once, and a
// step after the load, needs no slot and waits for a stream only.
func (w *Worker) makeReady(a chain.Activation) {
	in := w.chains.at(a.Instance)
	if in.aborted != "" {
		w.dropActivation(a.Instance)
		return
	}
	if w.program.Steps[a.Step].Await != nil {
		w.await(a)
		return
	}
	t := w.routeOf(a)
	switch {
	case t == none:
		w.trial.unsent(a, false, rv.AbortLocation)
		w.abortStep(a.Instance, rv.AbortLocation)
	case in.stage < 0 || w.finishesChains():
		w.chains.unpaced.Push(readyStep{a, t, w.now})
		w.skipWait()
	default:
		w.chains.wait(readyStep{a, t, w.now})
	}
}

// routeOf returns the target of the request of a step, or none if it cannot be sent.
func (w *Worker) routeOf(a chain.Activation) int32 {
	if a.Hop > 0 {
		return w.redirectTarget(a)
	}
	return w.targets.route(w.chains.at(a.Instance), &w.program.Steps[a.Step])
}

// maxBegins is how many instances the worker starts for one slot, at most, until a step is ready for the slot. An
// instance has none if the conditions of all its steps are false, or if its first step is for another target.
const maxBegins = 16

// nextStep returns the step that gets a slot of a schedule: the step that has been ready longest, or else the first step of a new
// instance.
func (w *Worker) nextStep(s *slots.Schedule) (a chain.Activation, t int32) {
	for begins := 0; ; {
		if a, t = w.chains.readyFor(s).popLongest(); t == none {
			c := s.Chain(w.chains.mayBegin)
			switch begins++; {
			case c < 0 || begins > maxBegins:
				return a, none
			case w.chains.direct[c]:
				return w.beginDirect(c), int32(w.program.Chains[c].Target)
			}
			w.beginNext(c)
			continue
		}
		if w.chains.at(a.Instance).aborted == "" {
			return a, t
		}
		w.dropActivation(a.Instance)
	}
}

// nextStepOf is nextStep for one target.
func (w *Worker) nextStepOf(s *slots.Schedule, i int32) (a chain.Activation, ok bool) {
	t, ready := &w.targets.all[i], &w.chains.readyFor(s)[i]
	for begins := 0; ; {
		if ready.Len() == 0 {
			c := s.Chain(t.serves)
			switch begins++; {
			case c < 0 || begins > maxBegins:
				return a, false
			case w.chains.direct[c]:
				return w.beginDirect(c), true
			}
			w.beginNext(c)
			continue
		}
		if a = ready.Pop().Activation; w.chains.at(a.Instance).aborted == "" {
			return a, true
		}
		w.dropActivation(a.Instance)
	}
}

// stepEnded ends an activation. The parameter why is the reason of a failure, or "". The instance then retries the step,
// repeats it, continues with the next group, or ends. A retry waits for the backoff or for pause, whichever is longer.
func (w *Worker) stepEnded(a chain.Activation, why string, pause int64) {
	in := w.chains.at(a.Instance)
	s := &w.program.Steps[a.Step]
	in.outstanding--
	switch {
	case why == "" && in.aborted == "" && s.Repeat < 2: // the most frequent case
	case in.aborted != "":
	case why != "" && int(a.Attempt) < s.Retries:
		pause = max(pause, s.Backoff(int(a.Attempt)))
		a.Attempt++
		a.Hop = 0
		w.activate(a, pause)
		return
	case why != "" && !s.Continue:
		in.aborted = why
	case why == "" && w.mustRepeat(in, s):
		in.repeated++
		a.Attempt, a.Hop = 0, 0
		w.activate(a, w.pauseBefore(in, s))
		return
	}
	w.continueAfter(a.Instance, s)
}

// mustRepeat returns true if a step that has succeeded must be sent again.
func (w *Worker) mustRepeat(in *instance, s *chain.Step) bool {
	if int(in.repeated)+1 >= s.Repeat {
		return false
	}
	return len(s.Until) == 0 || !w.program.Holds(s.Until, &in.Instance, w.sources)
}

// continueAfter ends the group of s after its last activation: the instance continues with the next group, or ends.
func (w *Worker) continueAfter(i int32, s *chain.Step) {
	in := w.chains.at(i)
	switch {
	case in.outstanding > 0:
	case in.aborted != "":
		w.end(i, in.aborted)
	case s.Last:
		w.end(i, "")
	default:
		in.Step, in.repeated = int16(s.GroupEnd-w.program.Chains[in.Chain].First), 0
		w.proceed(i)
	}
}

// abortStep ends an activation that cannot become a request, and aborts the instance.
func (w *Worker) abortStep(i int32, why string) {
	if in := w.chains.at(i); in.aborted == "" {
		in.aborted = why
	}
	w.dropActivation(i)
}

// dropActivation removes an activation of an aborted instance, and ends the instance after the last one.
func (w *Worker) dropActivation(i int32) {
	in := w.chains.at(i)
	if in.outstanding--; in.outstanding == 0 {
		w.end(i, in.aborted)
	}
}

// sleeper is an activation in a pause. It becomes ready at an instant.
type sleeper struct {
	at int64
	chain.Activation
}

func (s sleeper) due() int64 { return s.at }

// wakeSleepers makes the activations ready whose pauses are over.
func (w *Worker) wakeSleepers() {
	for w.chains.sleepers.next() <= w.now {
		w.makeReady(w.chains.sleepers.pop().Activation)
	}
}

// beginNext starts an instance of a load chain, and its first group.
func (w *Worker) beginNext(c int) { w.proceed(w.beginLoad(c)) }

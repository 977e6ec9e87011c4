package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
)

// activation is a step that an instance has come to and that has no outcome yet: the instance
// thinks or backs off before it, it waits for a slot, or it is a request. An instance has several
// at a time only in a parallel group.
type activation struct {
	instance int32
	// step is an index into Program.Steps.
	step int32
	// attempt counts the failures of the step that came before.
	attempt uint8
}

// readyStep is an activation that waits for a slot.
type readyStep struct {
	activation
	target int32
	since  int64
}

// proceed takes an instance to its next step, past those whose conditions do not hold, or to its
// end. Nothing of the instance is outstanding.
func (w *Worker) proceed(i int32) {
	in := w.chains.all[i]
	c := &w.program.Chains[in.Chain]
	for int(in.Step) < c.Len {
		first := c.First + int(in.Step)
		end := w.program.Steps[first].GroupEnd
		pause := w.pauseBefore(in, &w.program.Steps[first])
		in.outstanding++ // a step that comes to nothing must not end the instance here
		for s := first; s < end; s++ {
			if when := w.program.Steps[s].When; len(when) == 0 || w.program.Holds(when, &in.Instance, w.sources) {
				w.activate(activation{instance: i, step: int32(s)}, pause)
			} else if w.trial != nil {
				w.showUnsent(activation{instance: i, step: int32(s)}, true, "")
			}
		}
		if in.outstanding--; in.outstanding > 0 {
			return
		}
		if in.aborted != "" {
			break
		}
		in.Step = int32(end - c.First)
	}
	w.end(i, in.aborted)
}

// pauseBefore is the think time before a step; an instance does not think before its first
// request.
func (w *Worker) pauseBefore(in *instance, s *chain.Step) int64 {
	if s.Think == nil || !in.begun {
		return 0
	}
	return s.Think.Draw(w.sources)
}

// activate makes a step ready after a pause.
func (w *Worker) activate(a activation, pause int64) {
	w.chains.all[a.instance].outstanding++
	if pause > 0 {
		w.chains.sleep(a, w.now, pause)
		return
	}
	w.makeReady(a)
}

// makeReady gives a step to those that wait for a slot. The chains that run once need none.
func (w *Worker) makeReady(a activation) {
	in := w.chains.all[a.instance]
	if in.aborted != "" {
		w.abandon(a.instance)
		return
	}
	t := w.route(in, &w.program.Steps[a.step])
	switch {
	case t == none:
		if w.trial != nil {
			w.showUnsent(a, false, rv.AbortLocation)
		}
		w.abortStep(a.instance, rv.AbortLocation)
	case in.stage < 0:
		w.chains.unpaced.push(readyStep{a, t, w.now})
		w.skipWait()
	default:
		w.chains.ready[t].push(readyStep{a, t, w.now})
	}
}

// longestReady takes the step that has been ready longest, over all targets.
func (w *Worker) longestReady() (a activation, t int32) {
	best := none
	ready := w.chains.ready
	for i := range w.targets {
		r := &ready[i]
		if r.len() > 0 && (best == none || r.front().since < ready[best].front().since) {
			best = int32(i)
		}
	}
	if best == none {
		return a, none
	}
	return ready[best].pop().activation, best
}

// maxBegins bounds the instances that are begun in vain for one slot, because the conditions of
// all their steps are false or their first steps go elsewhere.
const maxBegins = 16

// nextStep finds what to do with a slot: the step that has been ready longest, else a new
// instance's first.
func (w *Worker) nextStep() (a activation, t int32) {
	for begins := 0; ; {
		if a, t = w.longestReady(); t == none {
			c := w.chains.wheel.Next(w.chains.mayBegin)
			switch begins++; {
			case c < 0 || begins > maxBegins:
				return a, none
			case w.chains.direct[c]:
				return w.beginDirect(c), int32(w.program.Chains[c].Target)
			}
			w.beginNext(c)
			continue
		}
		if w.chains.all[a.instance].aborted == "" {
			return a, t
		}
		w.abandon(a.instance)
	}
}

// nextStepOf is nextStep for one target.
func (w *Worker) nextStepOf(i int32) (a activation, ok bool) {
	t, ready := &w.targets[i], &w.chains.ready[i]
	for begins := 0; ; {
		if ready.len() == 0 {
			c := w.chains.wheel.Next(t.serves)
			switch begins++; {
			case c < 0 || begins > maxBegins:
				return a, false
			case w.chains.direct[c]:
				return w.beginDirect(c), true
			}
			w.beginNext(c)
			continue
		}
		if a = ready.pop().activation; w.chains.all[a.instance].aborted == "" {
			return a, true
		}
		w.abandon(a.instance)
	}
}

// stepEnded gives a step its outcome: why it failed, or "". The instance tries it again, repeats
// it, goes on or ends.
func (w *Worker) stepEnded(a activation, why string) {
	in := w.chains.all[a.instance]
	s := &w.program.Steps[a.step]
	in.outstanding--
	switch {
	case why == "" && in.aborted == "" && s.Repeat < 2: // the usual
	case in.aborted != "":
	case why != "" && int(a.attempt) < s.Retries:
		backoff := s.Backoff(int(a.attempt))
		a.attempt++
		w.activate(a, backoff)
		return
	case why != "" && !s.Continue:
		in.aborted = why
	case why == "" && w.repeats(in, s):
		in.repeated++
		a.attempt = 0
		w.activate(a, w.pauseBefore(in, s))
		return
	}
	w.goOn(a.instance, s)
}

// repeats says whether a step that has succeeded is to be sent once more.
func (w *Worker) repeats(in *instance, s *chain.Step) bool {
	if int(in.repeated)+1 >= s.Repeat {
		return false
	}
	return len(s.Until) == 0 || !w.program.Holds(s.Until, &in.Instance, w.sources)
}

// goOn takes an instance past the group of s once nothing of the group is outstanding.
func (w *Worker) goOn(i int32, s *chain.Step) {
	in := w.chains.all[i]
	switch {
	case in.outstanding > 0:
	case in.aborted != "":
		w.end(i, in.aborted)
	case s.Last:
		w.end(i, "")
	default:
		in.Step, in.repeated = int32(s.GroupEnd-w.program.Chains[in.Chain].First), 0
		w.proceed(i)
	}
}

// abortStep ends an activation that came to no request, and the instance with it.
func (w *Worker) abortStep(i int32, why string) {
	if in := w.chains.all[i]; in.aborted == "" {
		in.aborted = why
	}
	w.abandon(i)
}

// abandon ends an activation of an instance that is aborted.
func (w *Worker) abandon(i int32) {
	in := w.chains.all[i]
	if in.outstanding--; in.outstanding == 0 {
		w.end(i, in.aborted)
	}
}

// sleeper is a step that becomes ready at an instant: after think time, or before a retry.
type sleeper struct {
	at int64
	activation
}

func (s sleeper) due() int64 { return s.at }

// wakeSleepers makes ready what has slept long enough.
func (w *Worker) wakeSleepers() {
	for w.chains.sleepers.next() <= w.now {
		w.makeReady(w.chains.sleepers.pop().activation)
	}
}

// beginNext starts an instance of a load chain.
func (w *Worker) beginNext(c int) { w.proceed(w.beginLoad(c)) }

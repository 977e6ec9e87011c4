package loop

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// The stages of requests that run once for the whole test, outside of all rate stages.
const (
	setupStage    int16 = -1
	teardownStage int16 = -2
)

// once runs the setup or teardown chains, one instance of each, one after another. Their steps need
// no slot.
type once struct {
	stage  int16
	chains []int
	// next is the chain that begins when the one under way has ended.
	next    int
	running bool
	// failure says what went wrong; "": nothing so far.
	failure string
}

// newOnce gathers the chains of a phase, for the worker that runs them.
func (w *Worker) newOnce(phase rv.Phase, stage int16) once {
	o := once{stage: stage}
	if !w.cfg.Share.Once {
		return o
	}
	for i := range w.program.Chains {
		if w.program.Chains[i].Phase == phase {
			o.chains = append(o.chains, i)
		}
	}
	return o
}

// begin returns the next chain, which is now under way.
func (o *once) begin() int {
	c := o.chains[o.next]
	o.next++
	o.running = true
	return c
}

// over says that nothing is left to do.
func (o *once) over() bool {
	return !o.running && (o.failure != "" || o.next == len(o.chains))
}

// onceEnded takes what a chain that runs once has come to. A setup chain that fails is the end of the
// test; after a teardown chain that fails the others are tried all the same.
func (w *Worker) onceEnded(in *instance, why string) {
	o := &w.chains.setup
	if in.stage == teardownStage {
		o = &w.chains.teardown
	}
	o.running = false
	if w.trial != nil {
		w.trial.Ended(int(in.Chain), why)
	}
	c := &w.program.Chains[in.Chain]
	switch {
	case why != "" && in.stage == setupStage:
		o.failure = fmt.Sprintf("setup chain %s: step %s: %s", c.Name, w.program.Steps[c.First+int(in.Step)].Name, w.onceProblem(why))
	case why != "":
		failed := fmt.Sprintf("chain %s: step %s: %s", c.Name, w.program.Steps[c.First+int(in.Step)].Name, w.onceProblem(why))
		w.cfg.Log.Warn("teardown failed", "why", failed)
		if w.chains.teardownFailure == "" {
			w.chains.teardownFailure = failed
		}
	case in.stage == setupStage:
		w.publish(in)
	}
	w.again = true // the next chain begins at the end of a turn
}

// onceProblem says more about a response that was no success, and a connection that failed.
func (w *Worker) onceProblem(why string) string {
	if why == rv.AbortFailedCheck && w.chains.onceFailed != "" {
		return fmt.Sprintf("failed check %s (status %d)", w.chains.onceFailed, w.chains.onceStatus)
	}
	if w.chains.onceCause.Failed() && (why == rv.AbortReset || why == rv.AbortConnectionLost) {
		return why + ": " + w.chains.onceCause.String()
	}
	return why
}

// publish keeps what a setup chain has captured for all other chains.
func (w *Worker) publish(in *instance) {
	for slot, global := range w.program.Chains[in.Chain].Publish {
		if global > 0 {
			w.chains.globals[global-1] = in.Published(slot)
		}
	}
	w.sources.SetGlobals(w.chains.globals)
}

// Globals are what setup has captured, and whether this worker has run it to its end.
func (w *Worker) Globals() (values []string, ok bool) {
	return w.chains.globals, len(w.chains.setup.chains) > 0 && w.chains.setup.over() && w.chains.setup.failure == ""
}

// TeardownFailure is why the first teardown chain that failed did; "": none failed.
func (w *Worker) TeardownFailure() string { return w.chains.teardownFailure }

// SetupFailure says why the setup chains ended the worker; "": they did not.
func (w *Worker) SetupFailure() string { return w.chains.setup.failure }

// Teardown lets the worker go on from Drained.
func (w *Worker) Teardown() { w.run.mayTearDown = true }

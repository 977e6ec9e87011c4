package loop

import (
	"fmt"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// The stages of requests outside of all rate stages. Those of setup and teardown run once for the whole test.
const (
	setupStage    int16 = -1
	teardownStage int16 = -2
	// gracefulStage is for requests of load chains after the load; see graceful.go.
	gracefulStage int16 = -3
)

// once has the chains that run once for the whole test. Their steps need no slot.
type once struct {
	setup, teardown sequence
	// globals are the values that setup has captured.
	globals []string
	// failed is the failed check of the last response, status its status. cause is why the last request without a whole
	// response failed.
	failed string
	status int
	cause  failure.Cause
	// teardownFailure is the error of the first teardown chain that failed.
	teardownFailure string
}

// sequence runs chains, one instance of each, one after another.
type sequence struct {
	stage  int16
	chains []int
	// next is the chain that starts when the current one has ended.
	next    int
	running bool
	// failure is the error that ended the sequence, or "".
	failure string
}

// newOnce returns the chains of setup and teardown, if this worker runs them, and of a trial.
func (w *Worker) newOnce() once {
	o := once{
		setup: w.sequenceOf(rv.PhaseSetup, setupStage), teardown: w.sequenceOf(rv.PhaseTeardown, teardownStage),
		globals: make([]string, len(w.program.Globals)),
	}
	if w.trial != nil && w.cfg.Share.Once {
		o.teardown.chains = append(slices.Clone(w.trial.Chains), o.teardown.chains...)
	}
	return o
}

func (w *Worker) sequenceOf(phase rv.Phase, stage int16) sequence {
	o := sequence{stage: stage}
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

// assignTeardown makes this worker run the teardown chains, unless it already does.
func (w *Worker) assignTeardown() {
	if !w.once.teardown.running {
		w.once.teardown = w.sequenceOf(rv.PhaseTeardown, teardownStage)
	}
}

// dropTeardown leaves the teardown chains to other workers.
func (w *Worker) dropTeardown() { w.once.teardown = sequence{stage: teardownStage} }

// begin returns the next chain, which is running from now on.
func (o *sequence) begin() int {
	c := o.chains[o.next]
	o.next++
	o.running = true
	return c
}

// over returns true if no chain is running or left.
func (o *sequence) over() bool {
	return !o.running && (o.failure != "" || o.next == len(o.chains))
}

// onceEnded ends a chain that runs once. The first setup chain that fails ends the test. If a teardown chain fails, the
// worker still runs the other ones.
func (w *Worker) onceEnded(in *instance, why string) {
	o := &w.once.setup
	if in.stage == teardownStage {
		o = &w.once.teardown
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
		if w.once.teardownFailure == "" {
			w.once.teardownFailure = failed
		}
	case in.stage == setupStage:
		w.publish(in)
	}
	w.skipWait() // the next chain begins at the end of a turn
}

// onceProblem returns why a chain was aborted, with the failed check or the error of the connection.
func (w *Worker) onceProblem(why string) string {
	if why == rv.AbortFailedCheck && w.once.failed != "" {
		return fmt.Sprintf("failed check %s (status %d)", w.once.failed, w.once.status)
	}
	if w.once.cause.Failed() && (why == rv.AbortReset || why == rv.AbortConnectionLost) {
		return why + ": " + w.once.cause.String()
	}
	return why
}

// publish makes the captured values of a setup chain available to all other chains.
func (w *Worker) publish(in *instance) {
	for slot, global := range w.program.Chains[in.Chain].Publish {
		if global > 0 {
			w.once.globals[global-1] = in.Published(slot)
		}
	}
	w.sources.SetGlobals(w.once.globals)
}

// answered and failedBy store the last outcome of a request.
func (o *once) answered(failed string, status int) { o.failed, o.status = failed, status }
func (o *once) failedBy(cause failure.Cause)       { o.cause = cause }

// Globals returns the values that setup captured. It returns ok false unless this worker has completed setup.
func (w *Worker) Globals() (values []string, ok bool) {
	return w.once.globals, len(w.once.setup.chains) > 0 && w.once.setup.over() && w.once.setup.failure == ""
}

// TeardownFailure returns the error of the first teardown chain that failed, or "".
func (w *Worker) TeardownFailure() string { return w.once.teardownFailure }

// SetupFailure returns the error of the setup chains that ended the worker, or "".
func (w *Worker) SetupFailure() string { return w.once.setup.failure }

package loop

import (
	"fmt"
	"log/slog"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/tally"
)

// once has the chains that run once for the whole test. Their steps need no slot.
type once struct {
	*clock
	program         *chain.Program
	sources         *chain.Sources
	log             *slog.Logger
	trial           *trial
	setup, teardown sequence
	// globals are the values that setup has captured.
	globals []string
	// rec has the last outcome of a request.
	rec *tally.Recorder
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
func (w *Worker) newOnce(cfg *Config) once {
	o := once{
		clock: &w.clock, program: cfg.Program, sources: w.sources, log: cfg.Log, trial: w.trial, rec: &w.rec,
		setup: sequence{stage: book.StageSetup}, teardown: sequence{stage: book.StageTeardown}, globals: make([]string, len(cfg.Program.Globals)),
	}
	if cfg.Share.Once {
		o.setup.chains = o.chainsOf(rv.PhaseSetup)
		o.teardown.chains = slices.Concat(o.trial.load(), o.chainsOf(rv.PhaseTeardown))
	}
	return o
}

func (o *once) chainsOf(phase rv.Phase) (out []int) {
	for i := range o.program.Chains {
		if o.program.Chains[i].Phase == phase {
			out = append(out, i)
		}
	}
	return out
}

// assignTeardown lets this worker run the teardown chains, unless it already does, or leaves them to other workers.
func (o *once) assignTeardown(own bool) {
	if o.teardown.running {
		return
	}
	o.teardown = sequence{stage: book.StageTeardown}
	if own {
		o.teardown.chains = o.chainsOf(rv.PhaseTeardown)
	}
}

// dropTeardown leaves the teardown chains to other workers.
func (o *once) dropTeardown() { o.teardown = sequence{stage: book.StageTeardown} }

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

// ended ends a chain that runs once. The first setup chain that fails ends the test. If a teardown chain fails, the
// worker still runs the other ones.
func (o *once) ended(in *flow.Instance, why string) {
	s := &o.setup
	if in.Stage == book.StageTeardown {
		s = &o.teardown
	}
	s.running = false
	o.trial.ended(int(in.Chain), why)
	switch {
	case why != "" && in.Stage == book.StageSetup:
		s.failure = "setup " + o.problem(in, why)
	case why != "":
		failed := o.problem(in, why)
		o.log.Warn("teardown failed", "why", failed)
		if o.teardownFailure == "" {
			o.teardownFailure = failed
		}
	case in.Stage == book.StageSetup:
		o.publish(in)
	}
	o.skipWait() // the next chain begins at the end of a turn
}

// problem returns which step of a chain aborted it and why, with the failed check or the error of the connection.
func (o *once) problem(in *flow.Instance, why string) string {
	switch last := o.rec.Last(); {
	case why == rv.AbortFailedCheck && last.Failed != "":
		why = fmt.Sprintf("failed check %s (status %d)", last.Failed, last.Status)
	case last.Cause.Failed() && (why == rv.AbortReset || why == rv.AbortConnectionLost):
		why += ": " + last.Cause.String()
	}
	c := &o.program.Chains[in.Chain]
	return fmt.Sprintf("chain %s: step %s: %s", c.Name, o.program.Steps[c.First+int(in.Step)].Name, why)
}

// publish makes the captured values of a setup chain available to all other chains.
func (o *once) publish(in *flow.Instance) {
	for slot, global := range o.program.Chains[in.Chain].Publish {
		if global > 0 {
			o.globals[global-1] = in.Published(slot)
		}
	}
	o.sources.SetGlobals(o.globals)
}

// Globals returns the values that setup captured. It returns ok false unless this worker has completed setup.
func (w *Worker) Globals() (values []string, ok bool) {
	return w.once.globals, len(w.once.setup.chains) > 0 && w.once.setup.over() && w.once.setup.failure == ""
}

// TeardownFailure returns the error of the first teardown chain that failed, or "".
func (w *Worker) TeardownFailure() string { return w.once.teardownFailure }

// SetupFailure returns the error of the setup chains that ended the worker, or "".
func (w *Worker) SetupFailure() string { return w.once.setup.failure }

package flow

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
)

// Sequence runs chains once for the whole test, one instance of each, one after another. Their steps need no slot.
type Sequence struct {
	// Stage is that of the instances. It is negative.
	Stage int16
	// Chains are indexes into Program.Chains.
	Chains []int
	// next is the chain that starts when the current one has ended.
	next    int
	running bool
	// failure is the error of the first chain that failed, or "".
	failure string
}

// Begin returns the next chain, which is running from now on.
func (q *Sequence) Begin() int {
	c := q.Chains[q.next]
	q.next++
	q.running = true
	return c
}

// Begun returns how many chains have begun.
func (q *Sequence) Begun() int { return q.next }

// Running returns whether a chain is running.
func (q *Sequence) Running() bool { return q.running }

// Over returns whether no chain is running or left.
func (q *Sequence) Over() bool { return !q.running && q.next == len(q.Chains) }

// Failure returns the error of the first chain that failed, or "".
func (q *Sequence) Failure() string { return q.failure }

// Once has the chains of setup and teardown.
type Once struct {
	program         *chain.Program
	sources         *chain.Sources
	Setup, Teardown Sequence
	// globals are the values that setup has captured.
	globals []string
}

// NewOnce returns the chains of setup and teardown, if this worker runs them, with the stages of their instances.
func NewOnce(p *chain.Program, src *chain.Sources, own bool, setup, teardown int16) Once {
	o := Once{program: p, sources: src, Setup: Sequence{Stage: setup}, Teardown: Sequence{Stage: teardown},
		globals: make([]string, len(p.Globals))}
	if own {
		o.Setup.Chains, o.Teardown.Chains = o.chainsOf(rv.PhaseSetup), o.chainsOf(rv.PhaseTeardown)
	}
	return o
}

// Continue takes the place of a worker that has completed setup.
func (o *Once) Continue(earlier *Once) {
	o.Setup.next, o.globals = len(o.Setup.Chains), earlier.globals
	o.sources.SetGlobals(o.globals)
	o.sources.Continue(earlier.sources)
}

func (o *Once) chainsOf(phase rv.Phase) (out []int) {
	for i := range o.program.Chains {
		if o.program.Chains[i].Phase == phase {
			out = append(out, i)
		}
	}
	return out
}

// AssignTeardown lets this worker run the teardown chains, unless it already does, or leaves them to other workers.
func (o *Once) AssignTeardown(own bool) {
	if o.Teardown.running {
		return
	}
	o.DropTeardown()
	if own {
		o.Teardown.Chains = o.chainsOf(rv.PhaseTeardown)
	}
}

// DropTeardown leaves the teardown chains to other workers.
func (o *Once) DropTeardown() { o.Teardown = Sequence{Stage: o.Teardown.Stage} }

// Ended ends a chain. The parameter why is what aborted it, or "". If a setup chain fails, no further one begins. If a
// teardown chain fails, the worker still runs the other ones. It returns the error of the chain, or "".
func (o *Once) Ended(in *Instance, why string) (failed string) {
	q := &o.Teardown
	if in.Stage == o.Setup.Stage {
		q = &o.Setup
	}
	q.running = false
	if why != "" {
		c := &o.program.Chains[in.Chain]
		failed = fmt.Sprintf("chain %s: step %s: %s", c.Name, o.program.Steps[c.First+int(in.abortedAt)].Name, why)
		if q.failure == "" {
			q.failure = failed
		}
	}
	switch {
	case q != &o.Setup:
	case failed != "":
		q.Chains = q.Chains[:q.next]
	default:
		o.publish(in)
	}
	return failed
}

// publish makes the captured values of a setup chain available to all other chains.
func (o *Once) publish(in *Instance) {
	for slot, global := range o.program.Chains[in.Chain].Publish {
		if global > 0 {
			o.globals[global-1] = in.Published(slot)
		}
	}
	o.sources.SetGlobals(o.globals)
}

// Globals returns the values that setup has captured. It returns ok false unless this worker has completed setup.
func (o *Once) Globals() (values []string, ok bool) {
	return o.globals, len(o.Setup.Chains) > 0 && o.Setup.Over() && o.Setup.failure == ""
}

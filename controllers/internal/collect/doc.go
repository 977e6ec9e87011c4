// Package collect polls the runners of runs: it sends shares, starts all runners at the same time, merges cumulative snapshots, finds silent
// and lost runners, stops runners, and acknowledges results.
//
// Each run has one goroutine, which owns all of its state. The reconciler says what it wants
// (Desired) and gets what is known (View, immutable); neither waits for a runner. Each call has its own goroutine, with at most one call a runner
// at a time, so that a silent runner does not delay the others.
//
// The collector observes and proposes, and the reconciler decides: a change of the load goes to the runners only when the run record has it. A
// process that takes over reads the record and asks the runners. Nothing that it needs was only in the memory of the process before it.
package collect

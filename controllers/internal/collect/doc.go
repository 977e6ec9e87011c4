// Package collect polls the runners of runs. Package shards says what to ask them, and package transport asks.
//
// Each run has one goroutine, which owns all of its state. The reconciler says what it wants
// (Desired) and gets what is known (View, immutable); neither waits for a runner. Each call has its own goroutine, with
// at most one call a runner at a time, so that a silent runner does not delay the others.
package collect

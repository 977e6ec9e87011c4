// Package collect speaks to the runners of the runs that are under way: it hands out shares,
// starts all runners at one instant, pulls cumulative snapshots, notices losses, stops, and
// acknowledges results.
//
// Each run has one goroutine, which owns all of its state. The reconciler says what it wants
// (Desired) and gets what is known (View, immutable); neither waits for a runner. Calls are made
// in goroutines of their own, at most one a runner at a time, so that a silent runner holds
// nobody up.
//
// What has happened is read off the runners alone. A process that takes over sees which have
// started and carries on; nothing it needs was only in the memory of its predecessor.
package collect

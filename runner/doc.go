// Package runner executes a plan's share: it connects, waits for the start instant, sends the
// warm-up and measured stages, drains, and counts.
//
// A Runner is steered by the messages of api/runner/v1alpha1 and answers with snapshots. Its
// workers (package loop) share nothing; a snapshot asks each for what it has recorded since the
// last one and adds that up here, away from the workers' threads.
package runner

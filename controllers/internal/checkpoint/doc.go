// Package checkpoint stores the last counts of runners as LoadTestCheckpoints, so that a run loses little if a runner
// and the operator end together.
//
// Encode and Decode convert a runner's snapshot. Store reads and writes the objects. Writer stores the snapshots of all
// running shards in turn, within a budget of bytes per second.
package checkpoint

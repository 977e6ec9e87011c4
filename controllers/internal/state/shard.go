package state

// Shard is the state of a shard's runner.
type Shard string

// States of a shard.
const (
	// Absent: the runner did not answer yet.
	Absent Shard = "Absent"
	// Connecting: the runner opens its connections.
	Connecting Shard = "Connecting"
	// Ready: the runner has all its connections and waits for the start, or for a share.
	Ready Shard = "Ready"
	// Active: the runner has a share of the load.
	Active Shard = "Active"
	// Leaving: the runner must send nothing more and waits for responses.
	Leaving Shard = "Leaving"
	// Done: the counts of the runner are final.
	Done Shard = "Done"
	// Lost: the runner ended early, or the operator cannot reach it any more.
	Lost Shard = "Lost"
)

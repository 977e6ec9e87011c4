package shards

// State is the state of a shard's runner. The table says what follows from it. Another pod of the same shard is another
// runner, which begins as Absent.
type State uint8

// States of a shard; see the table.
const (
	Absent State = iota
	Connecting
	Ready
	Active
	Leaving
	Draining
	Done
	Left
	Lost
	Recovered
)

// Event is what happens to a shard.
type Event string

// Events of a shard.
const (
	// Connects: the runner reports that it waits for a share, connects, or runs setup.
	Connects Event = "Connects"
	// Connected: the runner reports that it is ready.
	Connected Event = "Connected"
	// Started: the runner reports that it knows the start.
	Started Event = "Started"
	// Removed: a change of the run record takes the share of the shard.
	Removed Event = "Removed"
	// Drains: the runner reports that it sent its last request.
	Drains Event = "Drains"
	// Ended: the runner reports final counts, and the start is decided.
	Ended Event = "Ended"
	// Departed: the final counts are those of a runner whose share a change took.
	Departed Event = "Departed"
	// GaveUp: the runner ended before its time, or it is silent and proved to have stopped, or the record has its loss.
	GaveUp Event = "GaveUp"
)

func (s State) String() string { return table[s].Name }

// Next returns the state after an event; false: the event has no effect in this state.
func (s State) Next(on Event) (State, bool) {
	next, ok := table[s].On[on]
	if !ok {
		return s, false
	}
	return next, true
}

// Over returns whether the test goes on without the runner.
func (s State) Over() bool { return table[s].Over }

// Final returns whether the counts of the runner are final.
func (s State) Final() bool { return table[s].Final }

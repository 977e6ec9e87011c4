package state

import "fmt"

// Shard is the state of a shard's runner. Another pod of the same shard is another runner, which begins as Absent.
type Shard string

// States of a shard.
const (
	// Absent: the runner did not answer yet.
	Absent Shard = "Absent"
	// Connecting: the runner waits for its share, opens its connections, or runs the setup chains.
	Connecting Shard = "Connecting"
	// Ready: the runner has all its connections and waits for the start.
	Ready Shard = "Ready"
	// Active: the runner knows the start. It sends its share of the load, or waits for one.
	Active Shard = "Active"
	// Leaving: the runner sends nothing more after a known time, and waits for responses.
	Leaving Shard = "Leaving"
	// Done: the counts of the runner are final.
	Done Shard = "Done"
	// Lost: the runner ended early, or its lease ran out while it did not answer.
	Lost Shard = "Lost"
)

// ShardEvent is what happens to a shard.
type ShardEvent string

// Events of a shard.
const (
	// Connects: the runner reports that it waits for a share, connects, or runs setup.
	Connects ShardEvent = "Connects"
	// Connected: the runner reports that it is ready.
	Connected ShardEvent = "Connected"
	// Started: the runner reports that it knows the start.
	Started ShardEvent = "Started"
	// Removed: a change of the run record takes the share of the shard.
	Removed ShardEvent = "Removed"
	// Drains: the runner reports that it sent its last request.
	Drains ShardEvent = "Drains"
	// Ended: the runner reports final counts.
	Ended ShardEvent = "Ended"
	// GaveUp: the runner ended before its time, or it is silent and proved to have stopped.
	GaveUp ShardEvent = "GaveUp"
)

// ShardTransition is an edge of the table of a shard's states.
type ShardTransition struct {
	From Shard
	On   ShardEvent
	To   Shard
	// Stores is what the operator stores with the transition, Tells what it tells the runner in the new state, Sees what users see.
	Stores, Tells, Sees string
}

const (
	tellsShare = "`Update` with its share"
	tellsStart = "`Start`, once the start is stored"
	tellsLoad  = "each change of the record; a lease"
	tellsLeave = "the change that removes its share; `Stop`; `Teardown`"
	tellsAck   = "`Ack`, once its counts are stored"
	tellsStop  = "the change that removes its share, or `Stop`, when it answers"
	storesEnd  = "its final snapshot, if it ends before the test"
	storesLoss = "the loss, its last snapshot"
	seesReady  = "`RunnersReady` counts it"
	seesActive = "its rate is part of the totals"
	seesLoss   = "`runners[].message`, event `RunnerLost`"
)

// ShardTransitions are all edges. An event without an edge changes nothing.
var ShardTransitions = []ShardTransition{
	{Absent, Connects, Connecting, "", tellsShare, ""},
	{Absent, Connected, Ready, "", tellsStart, seesReady},
	{Absent, Started, Active, "", tellsLoad, seesActive},
	{Absent, Drains, Leaving, "", tellsLeave, ""},
	{Absent, Ended, Done, storesEnd, tellsAck, ""},
	{Absent, GaveUp, Lost, storesLoss, tellsStop, seesLoss},
	{Connecting, Connected, Ready, "", tellsStart, seesReady},
	{Connecting, Started, Active, "", tellsLoad, seesActive},
	{Connecting, Drains, Leaving, "", tellsLeave, ""},
	{Connecting, Ended, Done, storesEnd, tellsAck, ""},
	{Connecting, GaveUp, Lost, storesLoss, tellsStop, seesLoss},
	{Ready, Connects, Connecting, "", tellsShare, ""},
	{Ready, Started, Active, "", tellsLoad, seesActive},
	{Ready, Drains, Leaving, "", tellsLeave, ""},
	{Ready, Ended, Done, storesEnd, tellsAck, ""},
	{Ready, GaveUp, Lost, storesLoss, tellsStop, seesLoss},
	{Active, Removed, Leaving, "", tellsLeave, ""},
	{Active, Drains, Leaving, "", tellsLeave, ""},
	{Active, Ended, Done, storesEnd, tellsAck, ""},
	{Active, GaveUp, Lost, storesLoss, tellsStop, seesLoss},
	{Leaving, Ended, Done, storesEnd, tellsAck, ""},
	{Leaving, GaveUp, Lost, storesLoss, tellsStop, seesLoss},
	{Lost, Ended, Done, storesEnd, tellsAck, "its counts are complete; the loss stays in the record"},
}

// Next returns the state after an event; false: the event has no effect in this state.
func (s Shard) Next(on ShardEvent) (Shard, bool) {
	for i := range ShardTransitions {
		if t := &ShardTransitions[i]; t.From == s && t.On == on {
			return t.To, true
		}
	}
	return s, false
}

// Validate returns an error if s is not a state.
func (s Shard) Validate() error {
	switch s {
	case Absent, Connecting, Ready, Active, Leaving, Done, Lost:
		return nil
	}
	return fmt.Errorf("state: %q is not a state of a shard", s)
}

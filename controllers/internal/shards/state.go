package shards

import "fmt"

// State is the state of a shard's runner. Another pod of the same shard is another runner, which begins as Absent.
type State string

// States of a shard.
const (
	// Absent: the runner did not answer yet.
	Absent State = "Absent"
	// Connecting: the runner waits for its share, opens its connections, or runs the setup chains.
	Connecting State = "Connecting"
	// Ready: the runner has all its connections and waits for the start.
	Ready State = "Ready"
	// Active: the runner knows the start. It sends its share of the load, or waits for one.
	Active State = "Active"
	// Leaving: the runner sends nothing more after a known time, and waits for responses.
	Leaving State = "Leaving"
	// Done: the counts of the runner are final.
	Done State = "Done"
	// Left: the counts of the runner are final, and it ended because a change took its share.
	Left State = "Left"
	// Lost: the runner ended early, or its lease ran out while it did not answer.
	Lost State = "Lost"
	// Recovered: the counts of a runner that was given up are final after all.
	Recovered State = "Recovered"
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
	// Ended: the runner reports final counts.
	Ended Event = "Ended"
	// Departed: the final counts are those of a runner whose share a change took.
	Departed Event = "Departed"
	// GaveUp: the runner ended before its time, or it is silent and proved to have stopped, or the record has its loss.
	GaveUp Event = "GaveUp"
)

// Transition is an edge of the table of a shard's states.
type Transition struct {
	From State
	On   Event
	To   State
	// Stores is what the operator stores with the transition, Sends what it sends the runner in the new state, Sees what users see.
	Stores, Sends, Sees string
}

const (
	sendsShare = "`Update` with its share"
	sendsStart = "`Start`, once the start is stored"
	sendsLoad  = "each change of the record; a lease"
	sendsLeave = "the change that removes its share; `Stop`; `Teardown`"
	sendsAck   = "`Ack`, once its counts are stored"
	sendsStop  = "the change that removes its share, or `Stop`, when it answers"
	storesEnd  = "its final snapshot, if it ends before the test"
	storesLoss = "the loss, its last snapshot"
	seesReady  = "`RunnersReady` counts it"
	seesActive = "its rate is part of the totals"
	seesLoss   = "`runners[].message`, event `RunnerLost`"
	seesWhole  = "its counts are complete; the loss stays in the record"
)

// Transitions are all edges. An event without an edge changes nothing.
var Transitions = []Transition{
	{Absent, Connects, Connecting, "", sendsShare, ""},
	{Absent, Connected, Ready, "", sendsStart, seesReady},
	{Absent, Started, Active, "", sendsLoad, seesActive},
	{Absent, Drains, Leaving, "", sendsLeave, ""},
	{Absent, Ended, Done, storesEnd, sendsAck, ""},
	{Absent, GaveUp, Lost, storesLoss, sendsStop, seesLoss},
	{Connecting, Connected, Ready, "", sendsStart, seesReady},
	{Connecting, Started, Active, "", sendsLoad, seesActive},
	{Connecting, Drains, Leaving, "", sendsLeave, ""},
	{Connecting, Ended, Done, storesEnd, sendsAck, ""},
	{Connecting, GaveUp, Lost, storesLoss, sendsStop, seesLoss},
	{Ready, Connects, Connecting, "", sendsShare, ""},
	{Ready, Started, Active, "", sendsLoad, seesActive},
	{Ready, Drains, Leaving, "", sendsLeave, ""},
	{Ready, Ended, Done, storesEnd, sendsAck, ""},
	{Ready, GaveUp, Lost, storesLoss, sendsStop, seesLoss},
	{Active, Removed, Leaving, "", sendsLeave, ""},
	{Active, Drains, Leaving, "", sendsLeave, ""},
	{Active, Ended, Done, storesEnd, sendsAck, ""},
	{Active, GaveUp, Lost, storesLoss, sendsStop, seesLoss},
	{Leaving, Ended, Done, storesEnd, sendsAck, ""},
	{Leaving, GaveUp, Lost, storesLoss, sendsStop, seesLoss},
	{Done, Departed, Left, storesEnd, sendsAck, ""},
	{Done, GaveUp, Recovered, "", sendsAck, seesWhole},
	{Left, GaveUp, Recovered, "", sendsAck, seesWhole},
	{Lost, Ended, Recovered, storesEnd, sendsAck, seesWhole},
}

// Next returns the state after an event; false: the event has no effect in this state.
func (s State) Next(on Event) (State, bool) {
	for i := range Transitions {
		if t := &Transitions[i]; t.From == s && t.On == on {
			return t.To, true
		}
	}
	return s, false
}

// Over returns whether the test goes on without the runner.
func (s State) Over() bool { return s == Left || s == Lost || s == Recovered }

// Final returns whether the counts of the runner are final.
func (s State) Final() bool { return s == Done || s == Left || s == Recovered }

// Validate returns an error if s is not a state.
func (s State) Validate() error {
	switch s {
	case Absent, Connecting, Ready, Active, Leaving, Done, Left, Lost, Recovered:
		return nil
	}
	return fmt.Errorf("shards: %q is not a state of a shard", s)
}

package record

import "fmt"

// State is the state of a run.
type State string

// States of a run.
const (
	// Pending: no runner was created, or the operator deleted the runners again before the start.
	Pending State = "Pending"
	// Preparing: runners are created and connect.
	Preparing State = "Preparing"
	// Running: the start is decided. The run cannot start again.
	Running State = "Running"
	// Stopping: the run ends early.
	Stopping State = "Stopping"
	// Finishing: the runners sent the last request. They wait for responses, and the operator collects counts.
	Finishing State = "Finishing"
	// Finished: the result is stored.
	Finished State = "Finished"
)

// Event is what happens to a run.
type Event string

// Events of a run.
const (
	// EventPrepare: the operator creates runners, or replaces the Job before the start.
	EventPrepare Event = "Prepare"
	// EventHold: the test must not have runners before its start, because of spec.suspend, its lock or an invalid spec.
	EventHold Event = "Hold"
	// EventBegin: all runners that the test needs are ready.
	EventBegin Event = "Begin"
	// EventStop: spec.stop, the deadline or a lost shard ends the run early.
	EventStop Event = "Stop"
	// EventLoadEnded: every runner sent its last request.
	EventLoadEnded Event = "LoadEnded"
	// EventEnd: the result is known, and the report is stored.
	EventEnd Event = "End"
)

// transition is an edge of the table of a run's states.
type transition struct {
	From State
	On   Event
	To   State
	// Stores is what the run record gets with the transition, Sends what the runners get after it, Sees what
	// users see of it.
	Stores, Sends, Sees string
}

// transitions are all edges. An event without an edge changes nothing.
var transitions = []transition{
	{Pending, EventPrepare, Preparing, "plan, attempt, first change", "", "phase `Starting`"},
	{Pending, EventEnd, Finished, "end", "", "`Finished=True`"},
	{Preparing, EventPrepare, Preparing, "plan, attempt, losses, first change", "", "phase `Starting`"},
	{Preparing, EventHold, Pending, "", "", "phase `Suspended`, `Pending` or `Invalid`"},
	{Preparing, EventBegin, Running, "start", "`Start`", "phase `Running`, `startTime`"},
	{Preparing, EventEnd, Finished, "end", "`Stop`", "`Finished=True`"},
	{Running, EventStop, Stopping, "stop", "`Stop`", "the runners send nothing more"},
	{Running, EventLoadEnded, Finishing, "", "", "phase `Finishing`"},
	{Running, EventEnd, Finished, "end", "`Ack`", "`Finished=True`"},
	{Stopping, EventLoadEnded, Finishing, "", "", "phase `Finishing`"},
	{Stopping, EventEnd, Finished, "end", "`Ack`", "`Finished=True`"},
	{Finishing, EventStop, Finishing, "stop", "`Stop`", ""},
	{Finishing, EventEnd, Finished, "end", "`Ack`", "`Finished=True`"},
}

// Next returns the state after an event; false: the event has no effect in this state.
func (s State) Next(on Event) (State, bool) {
	for i := range transitions {
		if t := &transitions[i]; t.From == s && t.On == on {
			return t.To, true
		}
	}
	return s, false
}

// Validate returns an error if s is not a state.
func (s State) Validate() error {
	switch s {
	case Pending, Preparing, Running, Stopping, Finishing, Finished:
		return nil
	}
	return fmt.Errorf("%q is not a state of a run", s)
}

package state

import "fmt"

// Run is the state of a run. The run record stores it.
type Run string

// States of a run.
const (
	// Pending: no runner was created, or spec.suspend removed the runners again.
	Pending Run = "Pending"
	// Preparing: runners are created and connect.
	Preparing Run = "Preparing"
	// Running: the start is decided. The run cannot start again.
	Running Run = "Running"
	// Stopping: the run ends early.
	Stopping Run = "Stopping"
	// Finishing: the runners sent the last request. They wait for responses, and the operator collects counts.
	Finishing Run = "Finishing"
	// Finished: the result is stored.
	Finished Run = "Finished"
)

// RunEvent is what happens to a run.
type RunEvent string

// Events of a run.
const (
	// Prepare: the operator creates runners, or replaces the Job before the start.
	Prepare RunEvent = "Prepare"
	// Hold: spec.suspend is true before the start.
	Hold RunEvent = "Hold"
	// Begin: all runners that the test needs are ready.
	Begin RunEvent = "Begin"
	// Stop: spec.stop, the deadline or a lost shard ends the run early.
	Stop RunEvent = "Stop"
	// LoadEnded: every runner sent its last request.
	LoadEnded RunEvent = "LoadEnded"
	// End: the result is known, and the report is stored.
	End RunEvent = "End"
)

// RunTransition is an edge of the table of a run's states.
type RunTransition struct {
	From Run
	On   RunEvent
	To   Run
	// Stores is what the run record gets with the transition, Sends what the runners get after it, Sees what
	// users see of it.
	Stores, Sends, Sees string
}

// RunTransitions are all edges. An event without an edge changes nothing.
var RunTransitions = []RunTransition{
	{Pending, Prepare, Preparing, "plan, attempt, first change", "", "phase `Starting`"},
	{Pending, End, Finished, "end", "", "`Finished=True`"},
	{Preparing, Prepare, Preparing, "plan, attempt, losses, first change", "", "phase `Starting`"},
	{Preparing, Hold, Pending, "", "", "phase `Suspended`"},
	{Preparing, Begin, Running, "start", "`Start`", "phase `Running`, `startTime`"},
	{Preparing, End, Finished, "end", "`Stop`", "`Finished=True`"},
	{Running, Stop, Stopping, "stop", "`Stop`", "the runners send nothing more"},
	{Running, LoadEnded, Finishing, "", "", "phase `Finishing`"},
	{Running, End, Finished, "end", "`Ack`", "`Finished=True`"},
	{Stopping, LoadEnded, Finishing, "", "", "phase `Finishing`"},
	{Stopping, End, Finished, "end", "`Ack`", "`Finished=True`"},
	{Finishing, Stop, Finishing, "stop", "`Stop`", ""},
	{Finishing, End, Finished, "end", "`Ack`", "`Finished=True`"},
}

// Next returns the state after an event; false: the event has no effect in this state.
func (r Run) Next(on RunEvent) (Run, bool) {
	for i := range RunTransitions {
		if t := &RunTransitions[i]; t.From == r && t.On == on {
			return t.To, true
		}
	}
	return r, false
}

// Started returns whether the start was decided. A finished run may have ended before its start: see the record.
func (r Run) Started() bool { return r == Running || r == Stopping || r == Finishing }

// Validate returns an error if r is not a state.
func (r Run) Validate() error {
	switch r {
	case Pending, Preparing, Running, Stopping, Finishing, Finished:
		return nil
	}
	return fmt.Errorf("state: %q is not a state of a run", r)
}

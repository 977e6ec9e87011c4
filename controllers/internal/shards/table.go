package shards

// Behaviour is what follows from the state of a shard's runner.
type Behaviour struct {
	Name string
	// Means says in the docs what is known of the runner.
	Means string
	// On are the states after events. Other events have no effect.
	On map[Event]State
	// Sends: it may have requests of the load to send, or did not answer yet. A change matters to it.
	Sends bool
	// Over: the test continues without it. Final: its counts are final.
	Over, Final bool
	Poll        Frequency
	// Orders are tried in this order, and the first one that is due is sent. If none is due, the runner is asked for a
	// snapshot, but one whose counts are final only while another runner is silent, so that it shows whether the operator
	// reaches any.
	Orders []Order
	// Stores says in the docs what the operator stores of the runner, Sees what users see.
	Stores, Sees string
}

// Frequency says how often a runner is polled.
type Frequency string

// Frequencies of polls.
const (
	// Hurried: it will soon report something else.
	Hurried Frequency = "hurried"
	// Regular: as often as the number of runners allows, but hurried if a change or the end is near.
	Regular Frequency = "regular"
	// Plain: at the interval of the operator.
	Plain Frequency = "plain"
)

// table has the behaviour of each state.
var table = [...]Behaviour{
	Absent: {
		Name: "Absent", Means: "it did not answer yet", Sends: true, Poll: Hurried,
		On: map[Event]State{Connects: Connecting, Connected: Ready, Started: Active, Drains: Draining, Ended: Done,
			GaveUp: Lost},
	},
	Connecting: {
		Name: "Connecting", Means: "it waits for its share, opens its connections, or runs the setup chains", Sends: true,
		Poll:   Hurried,
		On:     map[Event]State{Connected: Ready, Started: Active, Drains: Draining, Ended: Done, GaveUp: Lost},
		Orders: []Order{sendTooLate, sendShare, sendStop, sendChange},
	},
	Ready: {
		Name: "Ready", Means: "it has all its connections and waits for the start", Sends: true, Poll: Hurried,
		On:     map[Event]State{Connects: Connecting, Started: Active, Drains: Draining, Ended: Done, GaveUp: Lost},
		Orders: []Order{sendTooLate, sendShare, sendStart, sendStop, sendChange},
		Sees:   "`RunnersReady` counts it",
	},
	Active: {
		Name: "Active", Means: "it knows the start, and sends its share of the load or waits for one", Sends: true,
		Poll:   Regular,
		On:     map[Event]State{Removed: Leaving, Drains: Draining, Ended: Done, GaveUp: Lost},
		Orders: []Order{sendTooLate, sendStop, sendChange},
		Stores: "its checkpoints", Sees: "its rate is part of the totals",
	},
	Leaving: {
		Name: "Leaving", Means: "a change took its share, and it sends until the change takes effect", Sends: true,
		Poll:   Hurried,
		On:     map[Event]State{Drains: Draining, Ended: Done, GaveUp: Lost},
		Orders: []Order{sendTooLate, sendStop, sendChange},
		Stores: "its checkpoints",
	},
	Draining: {
		Name:   "Draining",
		Means:  "it sent its last request, and waits for responses, runs the teardown chains, or sends its last figures",
		Poll:   Hurried,
		On:     map[Event]State{Started: Active, Ended: Done, GaveUp: Lost},
		Orders: []Order{sendTooLate, sendStop, sendTeardown},
		Stores: "its checkpoints",
	},
	Done: {
		Name: "Done", Means: "its counts are final", Final: true, Poll: Plain,
		On:     map[Event]State{Departed: Left, GaveUp: Recovered},
		Orders: []Order{sendAck},
		Stores: "its checkpoints",
	},
	Left: {
		Name: "Left", Means: "its counts are final, and it ended because a change took its share", Over: true, Final: true,
		Poll:   Plain,
		On:     map[Event]State{GaveUp: Recovered},
		Orders: []Order{sendAck, sendAckLeft},
		Stores: "its final snapshot",
	},
	Lost: {
		Name: "Lost", Means: "it ended early, or its lease ran out while it did not answer", Over: true, Poll: Plain,
		On:     map[Event]State{Ended: Recovered},
		Orders: []Order{sendAckLost, sendTeardownBack, sendStopBack, sendChangeBack},
		Stores: "the loss, its last snapshot", Sees: "`runners[].message`, event `RunnerLost`",
	},
	Recovered: {
		Name: "Recovered", Means: "it was given up, and its counts are final after all", Over: true, Final: true, Poll: Plain,
		Orders: []Order{sendAck},
		Stores: "its final snapshot", Sees: "its counts are complete; the loss stays in the record",
	},
}

// behaviour is that of the state. A runner that ends before the start keeps its state, because its end may still be a
// loss; it is treated like one that is done.
func (s *runner) behaviour() *Behaviour {
	if s.final() && !s.state.Over() {
		return &table[Done]
	}
	return &table[s.state]
}

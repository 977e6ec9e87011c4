package notification

// state is where the entry of a key is in its lifecycle. The table of transitions below is the only place that changes
// it.
type state uint8

const (
	// free: the record has no entry.
	free state = iota
	// waiting: a step waits for the notification.
	waiting
	// early: the notification has come, and no step waits for it yet. A server may notify before its response to the
	// request that subscribes has come. If no step takes the notification, it is late, a duplicate or unexpected.
	early
	// received: the step has its notification. The entry is kept to recognise duplicates.
	received
	// missing: no notification came within the timeout of the step. The entry is kept to recognise a late one.
	missing

	states = iota
)

// event is what happens to an entry.
type event uint8

const (
	// awaited: a step begins to wait for the key.
	awaited event = iota
	// notified: a notification with the key has come.
	notified
	// expired: the time of the state is over.
	expired
	// abandoned: the step does not wait any longer, because the run ends.
	abandoned

	events = iota
)

// counter is what a transition counts.
type counter uint8

const (
	nothing counter = iota
	countInTime
	// countLeftOver is the counter of entry.leftOver.
	countLeftOver
	countDuplicate
	countLate
	countUnexpected
	// countAnswered is as countUnexpected, but of a notification that a rule answered.
	countAnswered
	countMissing
	countWaitingAtEnd
)

// transition is an edge of the lifecycle.
type transition struct {
	from   state
	on     event
	to     state
	counts counter
}

// transitions are all edges. An event without an edge for the entries of its key begins a new entry. So several steps
// can wait for a key, and several notifications for steps.
var transitions = [...]transition{
	{free, awaited, waiting, nothing},
	{free, notified, early, nothing},
	{waiting, notified, received, countInTime},
	{waiting, expired, missing, countMissing},
	{waiting, abandoned, missing, countWaitingAtEnd},
	{early, awaited, received, countInTime},
	{early, expired, free, countLeftOver},
	{early, abandoned, free, countLeftOver},
	{received, expired, free, nothing},
	{missing, expired, free, nothing},
}

var (
	stateNames = [states]string{free: "Free", waiting: "Waiting", early: "Early", received: "Received", missing: "Missing"}
	eventNames = [events]string{awaited: "awaited", notified: "notified", expired: "expired", abandoned: "abandoned"}
	countNames = [...]string{
		nothing: "", countInTime: "in time", countLeftOver: "late, duplicate, unexpected or answered",
		countDuplicate:  "duplicate",
		countLate:       "late",
		countUnexpected: "unexpected", countAnswered: "answered", countMissing: "missing",
		countWaitingAtEnd: "waiting at the end",
	}
)

func (s state) String() string { return stateNames[s] }
func (e event) String() string { return eventNames[e] }

// next has the edge for each state and event; nil: no edge.
var next = func() (n [states][events]*transition) {
	for i := range transitions {
		t := &transitions[i]
		n[t.from][t.on] = t
	}
	return n
}()

package v1alpha1

import "time"

// Paths of a runner's control endpoint. All are served over mutual TLS only. Bodies are JSON.
//
//	PUT  PathUpdate    Update    the share to work on; the first one makes the runner connect
//	PUT  PathStart     Start     the instant to begin at
//	PUT  PathStop      Stop      end now, keep the results
//	PUT  PathTeardown  Teardown  every runner has had its last response: run the teardown chains
//	GET  PathSnapshot  Snapshot  what has happened so far
//	GET  PathChanges   Changes   the updates that were accepted so far
//	PUT  PathAck       Ack       the final snapshot is safe, the runner may exit
//
// Every message is idempotent: the same one twice is one. A message that contradicts what was
// accepted (another start instant, an older revision) is answered 409 with an Error.
const (
	PathUpdate   = "/v1alpha1/update"
	PathStart    = "/v1alpha1/start"
	PathStop     = "/v1alpha1/stop"
	PathTeardown = "/v1alpha1/teardown"
	PathSnapshot = "/v1alpha1/snapshot"
	PathChanges  = "/v1alpha1/changes"
	PathAck      = "/v1alpha1/ack"
)

// ControlPort and MetricsPort are where a runner pod listens.
const (
	ControlPort = 8443
	MetricsPort = 9090
)

// Slots says which of the test's request slots belong to somebody: slot n does when n modulo Of
// is one of Residues. Slots of all shares together are all slots, none twice. It is general
// enough to deal a lost shard's slots out again.
type Slots struct {
	Of int64 `json:"of"`
	// Residues is sorted, each in [0, Of).
	Residues []int64 `json:"residues"`
}

// Span is the half-open interval [From, To) of indices into a variable's sequence.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Share is one shard's part of a plan.
type Share struct {
	// Shard is this shard's index, below Shards.
	Shard  int `json:"shard"`
	Shards int `json:"shards"`
	// Slots of every rate stage that are this shard's.
	Slots Slots `json:"slots"`
	// Connections to each target, in the order of Plan.Targets.
	Connections []int `json:"connections"`
	// FirstConnection of each target is the number, in the whole test, of this shard's first
	// connection; it decides which endpoint a connection goes to.
	FirstConnection []int `json:"firstConnection"`
	// Variables has, for each of Plan.Variables, the part of the sequence that is this shard's; nothing
	// for what is no sequence.
	Variables [][]Span `json:"variables,omitempty"`
	// MaxInFlight has, for each of Plan.Chains, the instances that this shard may have under way; zero
	// where the plan has no bound.
	MaxInFlight []int `json:"maxInFlight,omitempty"`
	// Once: this shard runs the setup and teardown chains. Exactly one does.
	Once bool `json:"once,omitempty"`
}

// Update puts a share in force at an instant.
type Update struct {
	// Revision orders updates: a runner refuses one that is not newer than what it has, and
	// takes the same one twice for one.
	Revision int64 `json:"revision"`
	// Generation of the spec that the update follows. A runner only remembers and tells it.
	Generation int64 `json:"generation,omitempty"`
	// At is an offset from the start instant, in nanoseconds. It is the same number for every shard,
	// so that all agree on which slots come before it, however well their clocks were compared. One
	// that hears of it late catches up: with another share it may then send what is another's by now.
	// Zero: at once, which fits what comes before the start, and a test of one shard. Not before the At of
	// the update that was accepted last, nor other than zero before the start: both are conflicts.
	At int64 `json:"at,omitempty"`
	// Members are the shards that have a part of the load from At on, sorted. A runner only remembers
	// and tells them.
	Members []int `json:"members,omitempty"`
	// Share of this runner from At on. One without residues has no slots: a runner with such a one
	// waits for another, or for the end of the test.
	Share Share `json:"share,omitzero"`
	// Leave ends the runner's load at At, as if the last stage had ended then: nothing more comes due,
	// responses in flight are awaited, and it is done, without teardown. Share may be absent, and is not
	// looked at. Another share behind it is a conflict.
	Leave bool `json:"leave,omitempty"`
	// Rates replaces the rates of Plan when it is not empty: only Count and Period may differ, and not
	// the mode. The stage in force bends at At: what was due before stays so, the next slot is due at
	// At, and from then on the new rate counts.
	Rates []Rate `json:"rates,omitempty"`
	// Suspended: from At on nothing comes due. An Update without it lets the stage in force go on
	// where it was; it lasts longer by the pause.
	Suspended bool `json:"suspended,omitempty"`
}

// Start begins the test.
type Start struct {
	// At is the instant in the runner's own monotonic clock (Snapshot.Clock), in nanoseconds.
	At int64 `json:"at"`
	// Globals has a value for each of Plan.Globals: what setup captured.
	Globals []string `json:"globals,omitempty"`
	// Changes are what a runner has missed that begins after At has passed, oldest first, without
	// shares: it comes to the same instants for all slots as those that were there.
	Changes []Update `json:"changes,omitempty"`
}

// Changes are the updates that a runner has accepted, oldest first, without shares. Whoever takes over
// from another operator learns from them what the runners were told.
type Changes struct {
	Changes []Update `json:"changes,omitempty"`
}

// Teardown lets the shard that runs setup and teardown go on from StateDrained. Without teardown
// chains it is not needed, and ignored.
type Teardown struct{}

// Stop ends the test: nothing more is sent.
type Stop struct {
	// Reason is told in the report, for instance "spec.stop".
	Reason string `json:"reason"`
	// Drain waits for responses in flight, each until its timeout; false: ends at once, and
	// what is in flight is counted so.
	Drain bool `json:"drain"`
}

// Ack tells a runner that its final snapshot has been stored.
type Ack struct {
	// Sequence of the snapshot that was stored.
	Sequence uint64 `json:"sequence"`
}

// Error is the body of every answer that is not 2xx.
type Error struct {
	Message string `json:"message"`
}

// State is where a runner is on its way. A runner only ever moves forward.
type State string

const (
	// StateWaiting: no share yet, nothing is connected.
	StateWaiting State = "Waiting"
	// StateConnecting: has a share and opens its connections.
	StateConnecting State = "Connecting"
	// StateSettingUp: connected, and the setup chains run.
	StateSettingUp State = "SettingUp"
	// StateReady: every connection is open and has the peer's SETTINGS, and setup is done.
	StateReady State = "Ready"
	// StateRunning: the start instant is known; load begins at it.
	StateRunning State = "Running"
	// StateDraining: the last request has been sent.
	StateDraining State = "Draining"
	// StateDrained: the last response has come; the shard waits for Teardown.
	StateDrained State = "Drained"
	// StateTearingDown: the teardown chains run.
	StateTearingDown State = "TearingDown"
	// StateDone: the snapshot is final.
	StateDone State = "Done"
)

// Clock reads the monotonic clock that Start.At and Update.At refer to. Its zero is arbitrary
// and differs between processes.
func Clock() int64 { return int64(time.Since(clockZero)) + clockBase }

// clockBase keeps instants from before a process began positive: a runner can join a test that has run
// for years.
const clockBase = int64(10 * 365 * 24 * time.Hour)

var clockZero = time.Now()

package v1alpha1

import "time"

// Paths of a runner's control endpoint. All are served over mutual TLS only. Bodies are JSON.
//
//	PUT  PathUpdate    Update    the runner's share; the first update makes the runner connect
//	PUT  PathStart     Start     the time of the start
//	PUT  PathStop      Stop      end now, keep the results
//	PUT  PathTeardown  Teardown  all runners got their last response: run the teardown chains
//	GET  PathSnapshot  Snapshot  the counts so far; the query can renew the lease (Lease)
//	PUT  PathAck       Ack       the final snapshot is stored: the runner may exit
//
// A client that accepts MediaTypeSnapshot gets the snapshot in its binary form.
//
// Every message is idempotent. A message that contradicts an accepted one (another start time, an older revision)
// gets the answer 409 with an Error.
const (
	PathUpdate   = "/v1alpha1/update"
	PathStart    = "/v1alpha1/start"
	PathStop     = "/v1alpha1/stop"
	PathTeardown = "/v1alpha1/teardown"
	PathSnapshot = "/v1alpha1/snapshot"
	PathAck      = "/v1alpha1/ack"
)

// ProtocolVersion is the version of the messages in this package. It grows with a change that an earlier build does not
// understand. Builds that report no version have version 1.
const ProtocolVersion = 8

// DefaultResultRetention is how long a runner keeps its final snapshot if spec.runner.resultRetention is not set.
const DefaultResultRetention = time.Hour

// ControlPort and MetricsPort are where a runner pod listens.
const (
	ControlPort = 8443
	MetricsPort = 9090
)

// Slots is a set of the test's request slots: slot n is in the set if n modulo Of is one of Residues. The sets of all
// shares together contain every slot exactly once.
type Slots struct {
	Of int64 `json:"of"`
	// Residues is sorted, each in [0, Of).
	Residues []int64 `json:"residues"`
}

// Portion is which part of all slots are in the set: from 0 to 1.
func (s *Slots) Portion() float64 { return float64(len(s.Residues)) / float64(max(s.Of, 1)) }

// Span is the half-open interval [From, To) of indices into a variable's sequence.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Share is the share of one shard in a plan.
type Share struct {
	// Shard is this shard's index, below Shards.
	Shard  int `json:"shard"`
	Shards int `json:"shards"`
	// Slots are the slots of this shard, in every rate stage.
	Slots Slots `json:"slots"`
	// Connections to each target, in the order of Plan.Targets.
	Connections []int `json:"connections"`
	// FirstConnection of each target is the number, in the whole test, of this shard's first
	// connection; it decides which endpoint a connection goes to.
	FirstConnection []int `json:"firstConnection"`
	// Variables has the values of this shard for each of Plan.Variables. An entry is empty if the variable is not a
	// sequence.
	Variables [][]Span `json:"variables,omitempty"`
	// MaxInFlight has the maximum number of instances on this shard for each of Plan.Chains. Zero: no limit.
	MaxInFlight []int `json:"maxInFlight,omitempty"`
	// Once makes this shard run the setup and teardown chains. Exactly one shard runs them.
	Once bool `json:"once,omitempty"`
}

// Update changes the share of a runner at a point in time.
type Update struct {
	// Revision orders updates. A runner rejects an update that is older than its last one, and ignores a repeated
	// one.
	Revision int64 `json:"revision"`
	// Generation is the generation of the spec that the update results from. A runner only stores and returns it.
	Generation int64 `json:"generation,omitempty"`
	// At is when the update takes effect: an offset from the start of the test, in nanoseconds. It is the same number
	// for all shards, so all shards agree on the slots before it, even if their clocks differ. A runner that receives
	// the update late catches up; if its share changes, it may then send slots that belong to another shard. Zero
	// means immediately: use it before the start, and in a test of one shard. An At before the At of the last
	// accepted update is a conflict. A value other than zero before the start is a conflict.
	At int64 `json:"at,omitempty"`
	// Members are the shards that have a share of the load after At, sorted. A runner only stores and returns them.
	Members []int `json:"members,omitempty"`
	// Share is the share of this runner after At. A share without residues has no slots: the runner then waits for
	// another share or for the end of the test.
	Share Share `json:"share,omitzero"`
	// Leave ends the load of this runner at At. The runner sends no more slots, waits for the responses in flight,
	// and is done, without teardown. It ignores Share. A later update with a share is a conflict.
	Leave bool `json:"leave,omitempty"`
	// Rates replaces the rates of Plan if it is not empty. Only Count and Period may differ. The rate of the active
	// stage changes at At: earlier slots keep their due times, the next slot is due at At, and later slots follow at
	// the new rate.
	Rates []Rate `json:"rates,omitempty"`
	// Suspended pauses the load at At. An Update without Suspended continues the active stage, which ends later by
	// the length of the pause.
	Suspended bool `json:"suspended,omitempty"`
}

// Start starts the test.
type Start struct {
	// At is the time of the start in the runner's monotonic clock (Snapshot.Clock), in nanoseconds.
	At int64 `json:"at"`
	// Globals has the value that setup captured for each of Plan.Globals.
	Globals []string `json:"globals,omitempty"`
	// LeaseUntil and Term are the first lease of the runner. LeaseUntil must be zero if Plan.LeaseDuration is zero. If it
	// is zero and Plan.LeaseDuration is not, the runner starts paused.
	LeaseUntil int64 `json:"leaseUntil,omitempty"`
	Term       int64 `json:"term,omitempty"`
	// Changes are the updates that a runner missed because it joins after At, oldest first, without shares. With
	// them, the runner computes the same due times for all slots as the other runners.
	Changes []Update `json:"changes,omitempty"`
}

// Lease allows a runner to send requests until an instant. Only a runner whose plan has a LeaseDuration needs a lease,
// from the start on. Without a valid lease the runner is paused: it sends no requests, and it drops the slots that
// become due. A renewal ends the pause. Then the runner continues with the slots that become due after that.
//
// A query of PathSnapshot renews the lease: leaseUntil=NANOSECONDS&term=NUMBER.
type Lease struct {
	// Until is when the lease ends, in the runner's monotonic clock (Snapshot.Clock), in nanoseconds. It is an
	// instant, so a message that a stopped process reads late renews nothing after Until. A renewal never shortens
	// the lease.
	Until int64
	// Term grows each time another operator process becomes the leader. A runner ignores a renewal with a lower term
	// than the highest term that it received.
	Term int64
}

// The parameters of the query of PathSnapshot. QueryLeaseUntil and QueryTerm renew the lease. QueryObserve is true for
// the runner that reads the observations of the plan, and false for the others; without it, the runner with Share.Once
// reads them. QueryDetail=DetailTotals leaves out the distributions of steps and targets, which are the largest part of
// a snapshot, and ServiceTime. A final snapshot is always complete.
const (
	QueryLeaseUntil = "leaseUntil"
	QueryTerm       = "term"
	QueryObserve    = "observe"
	QueryDetail     = "detail"
	DetailTotals    = "totals"
)

// Teardown makes the shard that runs setup and teardown leave StateDrained and run the teardown chains. The shard
// ignores it if the plan has no teardown chains.
type Teardown struct{}

// Stop ends the test: the runner sends no more requests.
type Stop struct {
	// Reason is shown in the report, for example "spec.stop".
	Reason string `json:"reason"`
	// Drain makes the runner wait for responses in flight, each until its timeout. If false, the runner ends
	// immediately, and counts these requests as in flight.
	Drain bool `json:"drain"`
}

// Ack confirms that the final snapshot of a runner is stored.
type Ack struct {
	// Sequence is the sequence number of the stored snapshot.
	Sequence uint64 `json:"sequence"`
}

// Error is the body of answers with a status other than 2xx.
type Error struct {
	Message string `json:"message"`
}

// State is the state of a runner. A runner only moves forward, in the order below.
type State string

const (
	// StateWaiting: no share yet, nothing is connected.
	StateWaiting State = "Waiting"
	// StateConnecting: has a share and opens its connections, or gets the authorizations of targets.
	StateConnecting State = "Connecting"
	// StateSettingUp: connected, and the setup chains run.
	StateSettingUp State = "SettingUp"
	// StateReady: every connection is open and has the peer's SETTINGS, and setup is done.
	StateReady State = "Ready"
	// StateRunning: the time of the start is known, and the load starts then.
	StateRunning State = "Running"
	// StateDraining: the last request has been sent.
	StateDraining State = "Draining"
	// StateDrained: the last response has come; the shard waits for Teardown.
	StateDrained State = "Drained"
	// StateTearingDown: the teardown chains run, or the last figures are sent to the receiver of Plan.OTLP.
	StateTearingDown State = "TearingDown"
	// StateDone: the snapshot is final.
	StateDone State = "Done"
)

// Clock reads the monotonic clock that Start.At and Update.At refer to. Its zero is arbitrary
// and differs between processes.
func Clock() int64 { return int64(time.Since(clockZero)) + clockBase }

// clockBase makes times before the start of this process positive, because a runner can join a test that has run for
// years.
const clockBase = int64(10 * 365 * 24 * time.Hour)

var clockZero = time.Now()

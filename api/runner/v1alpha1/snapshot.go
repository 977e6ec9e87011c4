package v1alpha1

// Snapshot is what a runner has counted since its start. Snapshots are cumulative: a later one
// replaces an earlier one of the same boot, and a lost one costs nothing.
type Snapshot struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Shard      int    `json:"shard"`
	// Boot identifies the process: after a restart it differs and counting began anew.
	Boot string `json:"boot"`
	// Sequence grows by one with each snapshot of a boot.
	Sequence uint64 `json:"sequence"`
	// Revision of the last update that was accepted; zero: none yet. Generation is what that one said.
	Revision   int64 `json:"revision"`
	Generation int64 `json:"generation,omitempty"`
	State      State `json:"state"`
	// Clock is the runner's monotonic clock, in nanoseconds, when the snapshot was taken.
	Clock int64 `json:"clock"`
	// StartAt is the start instant as it was told, in the runner's clock; zero: not yet. All offsets
	// count from it. It lies before StartedAt for as long as a runner joined late.
	StartAt int64 `json:"startAt,omitempty"`
	// StartedAt is the runner's clock at its first turn at or after the start instant; EndedAt
	// when it sent nothing more. Zero: not yet.
	StartedAt int64 `json:"startedAt,omitempty"`
	EndedAt   int64 `json:"endedAt,omitempty"`
	// Problem says what keeps the runner from being ready, or what ended it before its time
	// (ProblemX constants), with the text in Message. Empty: nothing.
	Problem Problem `json:"problem,omitempty"`
	Message string  `json:"message,omitempty"`
	// Stopped is the reason of the Stop that ended the run early; empty: it ran to its end.
	Stopped string `json:"stopped,omitempty"`

	// Suspended: nothing comes due at present. Changed: rates have changed since the start, or a pause was
	// made, so that Plan.Rates does not tell what was asked for.
	Suspended bool `json:"suspended,omitempty"`
	Changed   bool `json:"changed,omitempty"`

	Counters Counters `json:"counters"`
	// Stages has one entry for each of Plan.Rates.
	Stages []StageCounters `json:"stages,omitempty"`
	// Steps has one entry for each step of each chain, in the plan's order.
	Steps []StepCounters `json:"steps,omitempty"`
	// Chains has one entry for each chain of the plan.
	Chains []ChainCounters `json:"chains,omitempty"`
	// Globals has a value for each of Plan.Globals when this shard has run setup, until it is done. It may hold
	// secrets: it is handed on by Start and kept nowhere else.
	Globals []string `json:"globals,omitempty"`
	// Samples are a few failed responses of each step, in the final snapshot only.
	Samples []Sample `json:"samples,omitempty"`
	// TeardownFailure is why the first teardown chain that failed did; empty: none failed so far.
	TeardownFailure string `json:"teardownFailure,omitempty"`
	// Exhausted: a variable that does not begin again was used up, and a chain that draws it began no
	// more instances, on this runner.
	Exhausted bool `json:"exhausted,omitempty"`
	// Causes counts problem details (RFC 9457) by their member "cause" (3GPP TS 29.500 5.2.7.2), or their
	// "type" without one; at most MaxCauses different ones, the others under CauseOther.
	Causes map[string]int64 `json:"causes,omitempty"`
	// Failures counts by cause what got no response: at most MaxFailures different ones.
	Failures []FailureCount `json:"failures,omitempty"`
	// Streams is how many requests a connection to each target of the plan can hold, which the peer may limit;
	// 0: not known.
	Streams []int64 `json:"streams,omitempty"`
	// StatusCodes counts final responses by status code.
	StatusCodes map[string]int64 `json:"statusCodes,omitempty"`
	// ResponseTime is in every snapshot, Histograms in the final one.
	ResponseTime Histogram `json:"responseTime"`
	// Lag and ServiceTime are in every snapshot but the final one, whose Histograms have them.
	Lag         Histogram   `json:"lag,omitzero"`
	ServiceTime Histogram   `json:"serviceTime,omitzero"`
	Histograms  *Histograms `json:"histograms,omitempty"`
	Generator   Generator   `json:"generator"`
}

// SnapshotKind is the kind of a Snapshot document.
const SnapshotKind = "Snapshot"

// MaxCauses bounds Snapshot.Causes, and the length of one in octets.
const (
	MaxCauses      = 64
	MaxCauseLength = 64
	CauseOther     = "other"
)

// Problem is a short CamelCase reason.
type Problem string

const (
	// ProblemConnect: a target could not be reached.
	ProblemConnect Problem = "ConnectFailed"
	// ProblemPlan: the plan cannot be executed by this runner.
	ProblemPlan Problem = "PlanRejected"
	// ProblemDeadline: the plan's deadline passed.
	ProblemDeadline Problem = "DeadlineExceeded"
	// ProblemStalled: the load ended before all its requests, because nothing could be sent any more.
	ProblemStalled Problem = "Stalled"
	// ProblemSetup: a setup chain failed.
	ProblemSetup Problem = "SetupFailed"
	// ProblemInternal: the runner itself failed.
	ProblemInternal Problem = "InternalError"
)

// Counters count requests of the measured stages. Each request that was sent is in exactly one
// of the terms of the law
//
//	Sent = Done + TimedOut + Reset + ConnectionLost + InFlightAtEnd
//	Done = Succeeded + FailedChecks
//
// In a snapshot of a running test InFlightAtEnd is what is in flight now.
type Counters struct {
	Sent           int64 `json:"sent"`
	Done           int64 `json:"done"`
	Succeeded      int64 `json:"succeeded"`
	FailedChecks   int64 `json:"failedChecks"`
	TimedOut       int64 `json:"timedOut"`
	Reset          int64 `json:"reset"`
	ConnectionLost int64 `json:"connectionLost"`
	InFlightAtEnd  int64 `json:"inFlightAtEnd"`
	// Dropped slots were never sent: no stream came free within the bound.
	Dropped int64 `json:"dropped"`
	// Retried requests were given back unprocessed by the peer (GOAWAY, REFUSED_STREAM) and
	// sent again; they count once in Sent.
	Retried int64 `json:"retried"`
	// Abandoned timed-out streams were not reset, to stay below what servers tolerate; they
	// are in TimedOut too.
	Abandoned int64 `json:"abandoned,omitempty"`
	// WarmUpSent counts requests of warm-up stages, which are in no other counter;
	// WarmUpInFlight those of them that have no outcome yet.
	WarmUpSent     int64 `json:"warmUpSent"`
	WarmUpInFlight int64 `json:"warmUpInFlight"`
	// WarmUpSucceeded counts those that succeeded.
	WarmUpSucceeded int64 `json:"warmUpSucceeded"`

	// Setup and Teardown count requests of setup and teardown chains, which are in no other counter.
	Setup    OnceCounters `json:"setup,omitzero"`
	Teardown OnceCounters `json:"teardown,omitzero"`

	BytesSent     int64 `json:"bytesSent"`
	BytesReceived int64 `json:"bytesReceived"`
	// Connects counts connections opened, Reconnects those opened to replace a lost one.
	Connects   int64 `json:"connects"`
	Reconnects int64 `json:"reconnects"`
}

// OnceCounters count the requests of chains that run once: those that were sent, and of them those that succeeded.
type OnceCounters struct {
	Sent      int64 `json:"sent"`
	Succeeded int64 `json:"succeeded"`
}

// StageCounters is what one rate stage did on this runner.
type StageCounters struct {
	// Sent counts the requests whose slot was in the stage, Dropped its slots that were not sent.
	Sent    int64 `json:"sent"`
	Dropped int64 `json:"dropped"`
	// SentInDrain are those of Sent that had waited for a stream and left only after the last
	// stage had ended; the achieved rate leaves them out.
	SentInDrain int64 `json:"sentInDrain,omitempty"`
	// Slots of the stage have come due. It is what was asked for, also where the rate has changed on the
	// way.
	Slots int64 `json:"slots,omitempty"`
	// Paused is how long nothing came due because the test was suspended, in nanoseconds.
	Paused int64 `json:"paused,omitempty"`
	// Begun and Ended are offsets from the start instant, in nanoseconds. Ended is zero while
	// the stage lasts.
	Begun int64 `json:"begun"`
	Ended int64 `json:"ended,omitempty"`
}

// StepCounters obey the same law as Counters.
type StepCounters struct {
	Sent           int64 `json:"sent"`
	Done           int64 `json:"done"`
	Succeeded      int64 `json:"succeeded"`
	FailedChecks   int64 `json:"failedChecks"`
	TimedOut       int64 `json:"timedOut"`
	Reset          int64 `json:"reset"`
	ConnectionLost int64 `json:"connectionLost"`
	InFlightAtEnd  int64 `json:"inFlightAtEnd"`
	// FailedBy counts FailedChecks by the name of the first check that failed; the sum is FailedChecks.
	FailedBy map[string]int64 `json:"failedBy,omitempty"`
	// Retries are those of Sent that followed a failure of the same step (OnFailure.Retries).
	Retries int64 `json:"retries,omitempty"`
	// StatusClasses counts final responses by class: 1xx at index 0 to 5xx at index 4. Codes from 600 on
	// count as 5xx.
	StatusClasses [5]int64 `json:"statusClasses"`
	// OccupiedMicroseconds is for how long requests that have an outcome occupied a stream, in all.
	OccupiedMicroseconds int64     `json:"occupiedMicroseconds,omitempty"`
	ResponseTime         Histogram `json:"responseTime"`
}

// ChainCounters count chain instances that began in measured stages.
// Started = Completed + Aborted + Unfinished.
type ChainCounters struct {
	Started   int64 `json:"started"`
	Completed int64 `json:"completed"`
	Aborted   int64 `json:"aborted"`
	// AbortedBy counts Aborted by reason (AbortX constants).
	AbortedBy map[string]int64 `json:"abortedBy,omitempty"`
	// Unfinished instances were under way when the run ended (or are, while it runs).
	Unfinished int64 `json:"unfinished"`
}

// Why a chain instance was aborted.
const (
	// AbortFailedCheck: a response was no success.
	AbortFailedCheck = "failedCheck"
	// AbortMissingCapture: a response was a success and lacked what a capture needs.
	AbortMissingCapture = "missingCapture"
	AbortTimedOut       = "timedOut"
	AbortReset          = "reset"
	AbortConnectionLost = "connectionLost"
	// AbortDropped: a slot of it found no stream in time.
	AbortDropped = "dropped"
	// AbortScript: the script that makes the request failed; nothing was sent.
	AbortScript = "script"
	// AbortLocation: a captured location is on an authority that cannot be followed.
	AbortLocation = "location"
)

// Histogram is a distribution of microseconds. Counts is an HdrHistogram V2 compressed payload
// (1 us to 1 h, 3 significant digits), base64; Min, Max and Sum are exact.
type Histogram struct {
	Count  int64  `json:"count"`
	Min    int64  `json:"min"`
	Max    int64  `json:"max"`
	Sum    int64  `json:"sum"`
	Counts string `json:"counts,omitempty"`
}

// Histograms are the distributions that only the final snapshot carries.
type Histograms struct {
	ServiceTime     Histogram `json:"serviceTime"`
	TimeToFirstByte Histogram `json:"timeToFirstByte"`
	Lag             Histogram `json:"lag"`
	Reconnecting    Histogram `json:"reconnecting"`
	Blocked         Histogram `json:"blocked"`
	Connect         Histogram `json:"connect"`
}

// Generator says how well the load generator itself was doing.
type Generator struct {
	Workers int `json:"workers"`
	// CPUs the workers are pinned to, in the order of the workers; empty: not pinned.
	CPUs []int `json:"cpus,omitempty"`
	// Exclusive: the kernel lets this process use exactly the CPUs it asked for, and fewer
	// than the machine has. ExclusiveWanted: the plan asked for it.
	Exclusive       bool `json:"exclusive"`
	ExclusiveWanted bool `json:"exclusiveWanted"`
	// CPUSeconds is user and system time of the process since it began to connect.
	CPUSeconds float64 `json:"cpuSeconds"`
	// ThrottledMicroseconds is how long the CPU quota kept the process from running.
	ThrottledMicroseconds int64 `json:"throttledMicroseconds"`
	// LagP99 is the 99th percentile of lag so far, in microseconds.
	LagP99 int64 `json:"lagP99"`
	// GCPauseMicroseconds is the sum of the runtime's stop-the-world pauses.
	GCPauseMicroseconds int64 `json:"gcPauseMicroseconds"`
	// Node and Pod say where the runner is, when it knows.
	Node string `json:"node,omitempty"`
	Pod  string `json:"pod,omitempty"`
}

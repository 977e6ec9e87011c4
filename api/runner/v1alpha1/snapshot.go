package v1alpha1

// Snapshot has the counts of a runner since its start. Snapshots are cumulative: a later one replaces an earlier one
// of the same boot, so a lost snapshot does no harm.
type Snapshot struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Protocol is the ProtocolVersion of the runner. Zero means version 1. Version is the build of the runner.
	Protocol int    `json:"protocol,omitempty"`
	Version  string `json:"version,omitempty"`
	Shard    int    `json:"shard"`
	// Boot identifies the process. After a restart it differs, and the counts start at zero.
	Boot string `json:"boot"`
	// Sequence grows by one with each snapshot of a boot.
	Sequence uint64 `json:"sequence"`
	// Revision of the last update that was accepted; zero: none yet. Generation is the generation of this update.
	Revision   int64 `json:"revision"`
	Generation int64 `json:"generation,omitempty"`
	State      State `json:"state"`
	// Clock is the runner's monotonic clock, in nanoseconds, when the snapshot was taken, or when the final one was sent.
	Clock int64 `json:"clock"`
	// StartAt is the time of the start that Start gave, in the runner's clock; zero: not yet. All offsets count from
	// it. If the runner joined late, it is before StartedAt.
	StartAt int64 `json:"startAt,omitempty"`
	// StartedAt is the runner's clock when it started to send. EndedAt is its clock when it stopped sending. Zero:
	// not yet.
	StartedAt int64 `json:"startedAt,omitempty"`
	EndedAt   int64 `json:"endedAt,omitempty"`
	// LeaseUntil is when the lease of the runner ends, in its clock. Zero: the runner has no lease. Term is the highest
	// term that the runner received.
	LeaseUntil int64 `json:"leaseUntil,omitempty"`
	Term       int64 `json:"term,omitempty"`
	// LeaseExpired is true while the runner is paused because its lease expired. LeaseGaps are all pauses for this
	// reason so far.
	LeaseExpired bool      `json:"leaseExpired,omitempty"`
	LeaseGaps    LeaseGaps `json:"leaseGaps,omitzero"`
	// Limited is what Plan.RequestLimit held back.
	Limited Limited `json:"limited,omitzero"`
	// Problem is why the runner does not become ready, or why it ended early (ProblemX constants). Message is the
	// text. Empty: no problem.
	Problem Problem `json:"problem,omitempty"`
	Message string  `json:"message,omitempty"`
	// Stopped is the reason of the Stop that ended the run early; empty: it ran to its end.
	Stopped string `json:"stopped,omitempty"`

	// Suspended is true while the load is paused. Changed is true if the rates changed after the start or the load
	// was paused, so that Plan.Rates differs from what was asked for.
	Suspended bool `json:"suspended,omitempty"`
	Changed   bool `json:"changed,omitempty"`

	Counters Counters `json:"counters"`
	// Stages has one entry for each of Plan.Rates.
	Stages []StageCounters `json:"stages,omitempty"`
	// Steps has one entry for each step of each chain, in the plan's order.
	Steps []StepCounters `json:"steps,omitempty"`
	// Targets has one entry for each target of the plan. It is left out of a snapshot with DetailTotals.
	Targets []TargetTimes `json:"targets,omitempty"`
	// Listeners has one entry for each listener of the plan.
	Listeners []ListenerCounters `json:"listeners,omitempty"`
	// Chains has one entry for each chain of the plan.
	Chains []ChainCounters `json:"chains,omitempty"`
	// Selections has one entry for each of Plan.Selections.
	Selections []SelectionCounters `json:"selections,omitempty"`
	// StageSelections has one entry for each of Plan.StageSelections. The distributions are left out of a snapshot with
	// DetailTotals. A runner of an earlier build leaves out all of it; the report then has no figures of these stages.
	StageSelections []SelectionCounters `json:"stageSelections,omitempty"`
	// Observations has one entry for each of Plan.Observe, on the runners that read them.
	Observations []ObservationSamples `json:"observations,omitempty"`
	// Globals has a value for each of Plan.Globals on the shard that ran setup, until the shard is done. It can
	// contain secrets: Start passes it on, and it is stored nowhere.
	Globals []string `json:"globals,omitempty"`
	// Samples are a few failed responses of each step, in the final snapshot only.
	Samples []Sample `json:"samples,omitempty"`
	// Slowest are the slowest requests with a traceparent, in the final snapshot only.
	Slowest []SlowRequest `json:"slowest,omitempty"`
	// Authorizations has one entry for each target with an Auth or a ClientAssertion.
	Authorizations []Authorization `json:"authorizations,omitempty"`
	// Protocols has what the runner found at each endpoint of each target of the plan, or what the server chose by ALPN.
	// It is empty where the plan has the protocol, or the runner has no answer.
	Protocols [][]EndpointProtocol `json:"protocols,omitempty"`
	// TeardownFailure is why the first teardown chain failed. Empty: no teardown chain failed so far.
	TeardownFailure string `json:"teardownFailure,omitempty"`
	// Exhausted is true if all values of a variable with Stop were used on this runner, so that a chain starts no
	// more instances.
	Exhausted bool `json:"exhausted,omitempty"`
	// Causes counts problem details (RFC 9457) by their member "cause" (3GPP TS 29.500 5.2.7.2), or their
	// "type", "title" or "status" without one; at most MaxCauses different ones, the others under CauseOther.
	Causes map[string]int64 `json:"causes,omitempty"`
	// Failures counts failures without a response by cause, with at most MaxFailures different entries.
	Failures []FailureCount `json:"failures,omitempty"`
	// Streams is how many requests a connection to each target of the plan can hold, which the peer may limit;
	// 0: not known.
	Streams []int64 `json:"streams,omitempty"`
	// StatusCodes counts final responses by status code.
	StatusCodes map[string]int64 `json:"statusCodes,omitempty"`
	// ResponseTime is in every snapshot, Histograms in the final one.
	ResponseTime Histogram `json:"responseTime"`
	// Lag and ServiceTime are in every snapshot but the final one, whose Histograms have them. A snapshot with
	// DetailTotals has no ServiceTime.
	Lag         Histogram   `json:"lag,omitzero"`
	ServiceTime Histogram   `json:"serviceTime,omitzero"`
	Histograms  *Histograms `json:"histograms,omitempty"`
	Generator   Generator   `json:"generator"`
	// ExportFailure is why the receiver of Plan.OTLP did not accept the last figures; empty: it did, or none were sent.
	ExportFailure string `json:"exportFailure,omitempty"`
}

// MaxExportFailure bounds Snapshot.ExportFailure, in bytes.
const MaxExportFailure = 256

// LeaseGaps are the times in which a runner was paused because its lease expired.
type LeaseGaps struct {
	// Count is the number of pauses, including the current pause. Nanoseconds is their total length.
	Count       int64 `json:"count"`
	Nanoseconds int64 `json:"nanoseconds"`
	// Dropped counts the slots that became due in these pauses. Counters.Dropped includes those of measured stages. A
	// runner counts the slots of a pause when the pause ends, when an update takes effect, or when the load ends.
	Dropped int64 `json:"dropped"`
}

// Limited counts the requests that Plan.RequestLimit held back.
type Limited struct {
	// Dropped counts the requests that were due and not sent, those of warm-up stages too.
	Dropped int64 `json:"dropped,omitempty"`
	// Waited counts the requests that had no due time, and waited until the limit allowed them.
	Waited int64 `json:"waited,omitempty"`
}

// SnapshotKind is the kind of a Snapshot document.
const SnapshotKind = "Snapshot"

// MaxCauses bounds Snapshot.Causes, and the length of one in octets.
const (
	MaxCauses      = 64
	MaxCauseLength = 64
	CauseOther     = "other"
	// MaxProblems bounds StepCounters.Problems.
	MaxProblems = 32
)

// Problem is a short CamelCase reason.
type Problem string

const (
	// ProblemConnect: a target could not be reached.
	ProblemConnect Problem = "ConnectFailed"
	// ProblemAuthorization: a target has no authorization, because its token endpoint or its file did not give one.
	ProblemAuthorization Problem = "NotAuthorized"
	// ProblemPlan: the plan cannot be executed by this runner.
	ProblemPlan Problem = "PlanRejected"
	// ProblemDeadline: the plan's deadline passed.
	ProblemDeadline Problem = "DeadlineExceeded"
	// ProblemStalled: the load ended before all its requests, because nothing could be sent any more.
	ProblemStalled Problem = "Stalled"
	// ProblemSetup: a setup chain failed.
	ProblemSetup Problem = "SetupFailed"
	// ProblemPolicy: the policy of the plan denies a connection.
	ProblemPolicy Problem = "DeniedByPolicy"
	// ProblemInternal: the runner itself failed.
	ProblemInternal Problem = "InternalError"
)

// StageCounters is what one rate stage did on this runner.
type StageCounters struct {
	// Sent counts the requests whose slot was in the stage, Dropped its slots that were not sent.
	Sent    int64 `json:"sent"`
	Dropped int64 `json:"dropped"`
	// SentInDrain are those of Sent that had waited for a stream and left only after the last
	// stage had ended; the achieved rate leaves them out.
	SentInDrain int64 `json:"sentInDrain,omitempty"`
	// Slots is how many slots of the stage have become due: what was asked for, also after a change of the rate.
	Slots int64 `json:"slots,omitempty"`
	// Started counts the slots of a stage of chainsPerSecond whose chain instance was started, with its first request
	// sent. StartedInDrain are those of Started whose first request left after the last stage had ended.
	Started        int64 `json:"started,omitempty"`
	StartedInDrain int64 `json:"startedInDrain,omitempty"`
	// Paused is how long the test was suspended in this stage, in nanoseconds.
	Paused int64 `json:"paused,omitempty"`
	// Begun and Ended are offsets from the start instant, in nanoseconds. Both are zero before the stage begins, and Ended
	// while it lasts. The first stage begins at zero.
	Begun int64 `json:"begun"`
	Ended int64 `json:"ended,omitempty"`
}

// StepCounters satisfy the equations of Outcomes.
type StepCounters struct {
	Outcomes
	// FailedBy counts FailedChecks by the name of the first check that failed; the sum is FailedChecks.
	FailedBy map[string]int64 `json:"failedBy,omitempty"`
	StepEvents
	// StatusClasses counts final responses by class: 1xx at index 0 to 5xx at index 4. Codes from 600 on
	// count as 5xx.
	StatusClasses [5]int64 `json:"statusClasses"`
	// StatusCodes counts final responses by status code.
	StatusCodes map[string]int64 `json:"statusCodes,omitempty"`
	// Problems counts problem details (RFC 9457) of measured requests by status code and cause, such as
	// "403 SUBSCRIPTION_NOT_FOUND"; at most MaxProblems different ones, the others under CauseOther. Causes are those of
	// Snapshot.Causes.
	Problems map[string]int64 `json:"problems,omitempty"`
	// OccupiedMicroseconds is for how long requests that have an outcome occupied a stream, in all.
	OccupiedMicroseconds int64 `json:"occupiedMicroseconds,omitempty"`
	// The distributions are left out of a snapshot with DetailTotals. FailedResponseTime is that of responses that failed
	// a check; ResponseTime includes them.
	ResponseTime       Histogram `json:"responseTime,omitzero"`
	ServiceTime        Histogram `json:"serviceTime,omitzero"`
	TimeToFirstByte    Histogram `json:"timeToFirstByte,omitzero"`
	FailedResponseTime Histogram `json:"failedResponseTime,omitzero"`
	// FirstMessage, BetweenMessages and LastMessage are of calls of gRPC with a stream of the server; see StepResult.
	FirstMessage    Histogram `json:"firstMessage,omitzero"`
	BetweenMessages Histogram `json:"betweenMessages,omitzero"`
	LastMessage     Histogram `json:"lastMessage,omitzero"`
}

// StepDistributions is the number of distributions of StepCounters.
const StepDistributions = 7

// Distributions are in the order of the fields.
func (c *StepCounters) Distributions() [StepDistributions]*Histogram {
	return [...]*Histogram{&c.ResponseTime, &c.ServiceTime, &c.TimeToFirstByte, &c.FailedResponseTime,
		&c.FirstMessage, &c.BetweenMessages, &c.LastMessage}
}

// TargetTimes are the times of a target of the plan, and of the authorities that were followed from it. Those of
// connections include all connections that were opened, the others only requests of measured stages.
type TargetTimes struct {
	// NameResolution, TCPConnect and TLSHandshake are the phases of opening a connection. A connection has only the phases
	// that it needs. Settings is the time from the connection to the SETTINGS of an HTTP/2 peer.
	NameResolution Histogram `json:"nameResolution,omitzero"`
	TCPConnect     Histogram `json:"tcpConnect,omitzero"`
	TLSHandshake   Histogram `json:"tlsHandshake,omitzero"`
	Settings       Histogram `json:"settings,omitzero"`
	// Connect is the whole time to open a connection, without Settings. It includes addresses that failed.
	Connect Histogram `json:"connect,omitzero"`
	// Reconnecting and Blocked are the waits of requests before they were sent.
	Reconnecting Histogram `json:"reconnecting,omitzero"`
	Blocked      Histogram `json:"blocked,omitzero"`
	// Body is the time from the headers of a response to its end.
	Body Histogram `json:"body,omitzero"`
}

// TargetDistributions is the number of distributions of TargetTimes.
const TargetDistributions = 8

// Distributions are in the order of the fields.
func (t *TargetTimes) Distributions() [TargetDistributions]*Histogram {
	return [...]*Histogram{
		&t.NameResolution, &t.TCPConnect, &t.TLSHandshake, &t.Settings, &t.Connect, &t.Reconnecting, &t.Blocked, &t.Body,
	}
}

// Authorization counts how a target got its Authorization field and its client assertion.
type Authorization struct {
	Target string `json:"target"`
	// Tokens counts the tokens that the token endpoint granted. It is zero for the other kinds.
	Tokens int64 `json:"tokens"`
	// Failures counts the attempts to get a token, or to read a file, that failed. LastFailure is the error of one of the
	// last ones, without secrets.
	Failures    int64  `json:"failures"`
	LastFailure string `json:"lastFailure,omitempty"`
	// SentWithout counts the requests of all stages, setup and teardown that were sent without one of the fields, because
	// the last value had expired or the runner had not received one.
	SentWithout int64 `json:"sentWithout"`
}

// Add adds the counts of another runner if sign is 1. If sign is -1, it subtracts those of an earlier snapshot.
func (a *Authorization) Add(b *Authorization, sign int64) {
	a.Tokens += sign * b.Tokens
	a.Failures += sign * b.Failures
	a.SentWithout += sign * b.SentWithout
	if a.LastFailure == "" {
		a.LastFailure = b.LastFailure
	}
}

// ListenerCounters are the counts of a listener and the distribution of its times.
type ListenerCounters struct {
	ListenerCounts
	// Time is from sending the request before the step to the notification InTime, which can come before the response to
	// the request.
	Time Histogram `json:"time,omitzero"`
}

// Why a chain instance was aborted.
const (
	// AbortFailedCheck: a response failed a check.
	AbortFailedCheck = "failedCheck"
	// AbortMissingCapture: a response succeeded, but does not contain what a capture needs.
	AbortMissingCapture = "missingCapture"
	AbortTimedOut       = "timedOut"
	AbortReset          = "reset"
	AbortConnectionLost = "connectionLost"
	// AbortDropped: a slot of the instance did not get a stream in time.
	AbortDropped = "dropped"
	// AbortScript: the script that makes the request failed; nothing was sent.
	AbortScript = "script"
	// AbortNotification: no notification came within the timeout of the step.
	AbortNotification = "notification"
	// AbortLocation: a captured location is on an authority that cannot be followed.
	AbortLocation = "location"
	// AbortStopped: after the load, a pause was longer than gracefulStop, and the instance continued with its always
	// steps.
	AbortStopped = "stopped"
)

// Histogram is a distribution of microseconds. Counts is an HdrHistogram V2 compressed payload
// (1 us to 1 h, 3 significant digits), in JSON as base64; Min, Max and Sum are exact.
type Histogram struct {
	Count  int64  `json:"count"`
	Min    int64  `json:"min"`
	Max    int64  `json:"max"`
	Sum    int64  `json:"sum"`
	Counts []byte `json:"counts,omitempty"`
	// Unanswered requests have no time, so Count does not include them. They count as longer than every measured time, and
	// are shown as longer than UnansweredAbove microseconds. Only reports have them: a snapshot has the counters.
	Unanswered      int64 `json:"unanswered,omitempty"`
	UnansweredAbove int64 `json:"unansweredAbove,omitempty"`
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

// Generator has the health of the load generator.
type Generator struct {
	Workers int `json:"workers"`
	// CPUs the workers are pinned to, in the order of the workers; empty: not pinned.
	CPUs []int `json:"cpus,omitempty"`
	// Exclusive: the kernel lets this process use exactly the CPUs it asked for, and fewer
	// than the machine has. ExclusiveWanted: the plan asked for it.
	Exclusive       bool `json:"exclusive"`
	ExclusiveWanted bool `json:"exclusiveWanted"`
	// IdleStrategy is IdleSpin or IdleSleep. Empty: the runner is of an earlier build, which sleeps.
	IdleStrategy IdleStrategy `json:"idleStrategy,omitempty"`
	// BatchedNanoseconds is by how long the sleep interval delayed the requests of measured stages in all. The lag
	// includes it.
	BatchedNanoseconds int64 `json:"batchedNanoseconds,omitempty"`
	// Naps counts the naps of closed loops, with which a worker lets responses gather. NapNanoseconds is their length in
	// all.
	Naps           int64 `json:"naps,omitempty"`
	NapNanoseconds int64 `json:"napNanoseconds,omitempty"`
	// CPUSeconds is user and system time of the process since it started to connect.
	CPUSeconds float64 `json:"cpuSeconds"`
	// ThrottledMicroseconds is how long the CPU quota stopped the process.
	ThrottledMicroseconds int64 `json:"throttledMicroseconds"`
	// LagP99 is the 99th percentile of lag so far, in microseconds.
	LagP99 int64 `json:"lagP99"`
	// GCPauseMicroseconds is the sum of the runtime's stop-the-world pauses.
	GCPauseMicroseconds int64 `json:"gcPauseMicroseconds"`
	// Node and Pod are the names of the runner's node and pod, if known.
	Node string `json:"node,omitempty"`
	Pod  string `json:"pod,omitempty"`
}

// EndpointProtocol is what a runner found at an endpoint.
type EndpointProtocol struct {
	Protocol Protocol `json:"protocol,omitempty"`
	// URL is scheme and authority of the endpoint if its URL in the plan has placeholders, with their values on this
	// runner. It has at most MaxFoundURL octets; the rest is left out.
	URL string `json:"url,omitempty"`
}

// MaxFoundURL is the maximum length of EndpointProtocol.URL in octets.
const MaxFoundURL = 512

// Found returns what the runner found at an endpoint of a target of the plan. The protocol is empty if it found
// nothing.
func (s *Snapshot) Found(target, endpoint int) EndpointProtocol {
	if target >= len(s.Protocols) || endpoint >= len(s.Protocols[target]) {
		return EndpointProtocol{}
	}
	return s.Protocols[target][endpoint]
}

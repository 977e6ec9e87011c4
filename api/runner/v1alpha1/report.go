package v1alpha1

import (
	"strconv"
	"strings"
)

// Report is the result of a run, merged over its shards.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Name is "namespace/name" of the LoadTest.
	Name string `json:"name"`
	// PlanHash is the hash of the plan without Policy and RequestLimit, PolicyHash that of these two.
	PlanHash   string `json:"planHash,omitempty"`
	PolicyHash string `json:"policyHash,omitempty"`
	// LoadHash is the hash of what the plan sends: without name, seeds, thresholds, shards, time limits, Policy and
	// RequestLimit. Runs with the same LoadHash can be compared.
	LoadHash string `json:"loadHash,omitempty"`
	// LoadChanged is true if runners sent at other rates than those of the plan, because a user changed the rates while
	// the test ran. Such a run is not compared with its baseline, and is not the baseline of another run.
	LoadChanged bool `json:"loadChanged,omitempty"`
	// Version of h2surge that made the report.
	Version string `json:"version,omitempty"`
	// StartTime and EndTime are RFC 3339 instants of the first and the last request.
	StartTime string `json:"startTime,omitempty"`
	EndTime   string `json:"endTime,omitempty"`
	// Partial is true if a shard was lost, so that its last figures are missing.
	Partial bool `json:"partial"`
	// Stopped is the reason of an early end. Empty: the plan was completed.
	Stopped string `json:"stopped,omitempty"`

	Requests    Requests         `json:"requests"`
	WarmUp      WarmUp           `json:"warmUp"`
	Chains      ChainCounters    `json:"chains"`
	StatusCodes map[string]int64 `json:"statusCodes"`
	// Causes counts problem details by cause; see Snapshot.Causes.
	Causes map[string]int64 `json:"causes,omitempty"`
	// Failures counts failures without a response by cause; see Snapshot.Failures. Those of requests add up to
	// Requests.Reset, ConnectionLost and Dropped.
	Failures []FailureCount `json:"failures,omitempty"`
	// Samples are a few failed responses of each step and cause, with secrets masked.
	Samples []Sample `json:"samples,omitempty"`
	// Slowest are the slowest requests with a traceparent. Those with the sampled flag are first.
	Slowest []SlowRequest `json:"slowest,omitempty"`
	// Graceful counts what chain instances sent after the load, within gracefulStop.
	Graceful GracefulCounters `json:"graceful,omitzero"`
	// Setup and Teardown count what ran once for the whole test.
	Setup    OnceCounters `json:"setup,omitzero"`
	Teardown OnceCounters `json:"teardown,omitzero"`
	// Authorizations has one entry for each target with an authorization or a client assertion.
	Authorizations []Authorization `json:"authorizations,omitempty"`
	// Protocols has the protocols that runners found at http URLs, and the URLs over HTTP/3.
	Protocols []FoundProtocol `json:"protocols,omitempty"`
	// ExportFailure is why the receiver of OTLP did not accept the last figures of a shard. Empty: it accepted them, or
	// none were sent.
	ExportFailure string `json:"exportFailure,omitempty"`
	// TeardownFailure is why the first teardown chain failed. Empty: no teardown chain failed.
	TeardownFailure string `json:"teardownFailure,omitempty"`
	// Exhausted is true if all values of a variable with Stop were used on at least one shard.
	Exhausted bool       `json:"exhausted,omitempty"`
	Rate      RateResult `json:"rate"`
	// Bounds are the limits of the test on requests in flight that caused dropped requests, and the connections of
	// HTTP/1.1 that cannot carry the rate.
	Bounds []BoundResult `json:"bounds,omitempty"`
	// ErrorRate is 1 - succeeded / (sent + dropped).
	ErrorRate ErrorRate `json:"errorRate"`

	ResponseTime Times `json:"responseTime"`
	// SuccessfulResponseTime is of the requests that succeeded. Absent: nothing succeeded, or a part of the distributions
	// is missing.
	SuccessfulResponseTime Times `json:"successfulResponseTime,omitzero"`
	ServiceTime            Times `json:"serviceTime"`
	TimeToFirstByte        Times `json:"timeToFirstByte"`
	Lag                    Times `json:"lag"`
	Reconnecting           Times `json:"reconnecting"`
	Blocked                Times `json:"blocked"`
	Connect                Times `json:"connect"`

	Bytes      Bytes   `json:"bytes"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// Stages has one entry for each rate stage.
	Stages []StageResult `json:"stages"`
	// Windows show the run second by second. WindowsFrom is the start of the first window, in milliseconds since the
	// start, if the operator did not watch the run before.
	Windows     []Window `json:"windows,omitempty"`
	WindowsFrom int64    `json:"windowsFrom,omitempty"`
	// Steps has one entry for each step of each chain.
	Steps []StepResult `json:"steps"`
	// Operations has one entry for each service operation of each target. Empty: no step has an operation.
	Operations []OperationResult `json:"operations,omitempty"`
	// Targets has one entry for each target: where the time goes.
	Targets []TargetResult `json:"targets,omitempty"`
	// Listeners has one entry for each listener.
	Listeners []ListenerResult `json:"listeners,omitempty"`
	// Selections are the figures of parts of the requests that thresholds are on.
	Selections []SelectionResult `json:"selections,omitempty"`
	Generator  GeneratorResult   `json:"generator"`
	// Shards has one entry for each runner. A shard that was removed and added again has several entries.
	Shards  []ShardResult `json:"shards,omitempty"`
	Verdict Verdict       `json:"verdict"`
	// Search is the result of a search. Nil: the test has no search.
	Search *SearchResult `json:"search,omitempty"`
	// Observations has one entry for each of Plan.Observe.
	Observations []ObservationResult `json:"observations,omitempty"`
	// Scalability says how the rate of the target follows from its concurrency. Nil: the run had too few loads.
	Scalability *Scalability `json:"scalability,omitempty"`
	// Histograms are the merged distributions, from which other percentiles can be computed.
	Histograms *ReportHistograms `json:"histograms,omitempty"`
}

// ReportKind is the kind of a Report document.
const ReportKind = "Report"

// WarmUp counts what the warm-up stages sent. No other figure includes it.
type WarmUp struct {
	Sent int64 `json:"sent"`
}

// RateResult compares the rate asked for with the rate sent, in requests per second over the measured window, without
// drain and pauses. Asked is zero if a stage was a closed loop or had chainsPerSecond.
type RateResult struct {
	Asked    float64 `json:"asked"`
	Achieved float64 `json:"achieved"`
	// AskedChains and AchievedChains are in chain instances started per second, if all measured stages have
	// chainsPerSecond.
	AskedChains    float64 `json:"askedChains,omitempty"`
	AchievedChains float64 `json:"achievedChains,omitempty"`
	// WindowSeconds is the length of the measured window.
	WindowSeconds float64 `json:"windowSeconds"`
}

// BoundName is a limit of the test on what is in flight at the same time.
type BoundName string

const (
	// BoundStreams bounds requests to a target by its connections and their streams. The number of streams is
	// maxConcurrentStreams.
	BoundStreams BoundName = "streams"
	// BoundConnections is BoundStreams if only the number of connections can be raised: the peer allows no more
	// streams per connection, or the protocol is HTTP/1.1.
	BoundConnections BoundName = "connections"
	// BoundMaxInFlight bounds the instances of a chain.
	BoundMaxInFlight BoundName = "maxInFlight"
)

// BoundResult is a limit that was reached.
type BoundResult struct {
	Bound BoundName `json:"bound"`
	// Of is the name of the target or the chain.
	Of string `json:"of"`
	// Allowed is how many requests, or chain instances, could be in flight at the same time.
	Allowed int64 `json:"allowed"`
	// Needed is how many the rate asked for needs, computed from the measured times (Little's law).
	Needed int64 `json:"needed"`
	// Dropped counts the requests that were never sent because of it.
	Dropped int64 `json:"dropped"`
	// Message says what to raise.
	Message string `json:"message"`
}

// Times summarizes a distribution, in integer microseconds. All are zero if Count is zero.
//
// A figure that falls among the unanswered requests is Above a limit. In JSON it is a text such as "> 5s".
type Times struct {
	// Count includes Unanswered: the requests without a response. They count as longer than every measured time.
	Count      int64 `json:"count"`
	Unanswered int64 `json:"unanswered,omitempty"`
	Min        int64 `json:"min"`
	// Mean is of the measured times: those of requests with a response.
	Mean int64 `json:"mean"`
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P95  int64 `json:"p95"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Bytes counts what went over the sockets.
type Bytes struct {
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

// StageResult is one rate stage over all shards.
type StageResult struct {
	Name string `json:"name"`
	// Chain is the chain whose own stage it is. It is empty for a stage of the mix.
	Chain    string  `json:"chain,omitempty"`
	WarmUp   bool    `json:"warmUp,omitempty"`
	Asked    float64 `json:"asked"`
	Achieved float64 `json:"achieved"`
	// Pause is true if the rate of the stage was 0. Otherwise a zero Asked is that of a closed loop, or of
	// chainsPerSecond.
	Pause bool `json:"pause,omitempty"`
	// AskedChains and AchievedChains are the rates of a stage with chainsPerSecond, in chain instances started per
	// second. Asked is then zero, and Achieved counts all requests.
	AskedChains    float64 `json:"askedChains,omitempty"`
	AchievedChains float64 `json:"achievedChains,omitempty"`
	Sent           int64   `json:"sent"`
	Dropped        int64   `json:"dropped"`
	// Paused is how long the test was suspended in this stage, in seconds. Neither rate includes this time.
	Paused float64 `json:"paused,omitempty"`
	// Probe is the number of the probe of a search that the stage belongs to, from 1. Zero: it is a stage of the spec.
	Probe int `json:"probe,omitempty"`
	// Figures are absent if the stage is a warm-up stage or a probe of a search, whose figures are in SearchResult.
	Figures *StageFigures `json:"figures,omitempty"`
	// NoFigures is why a stage that is neither of them has no Figures, or no ResponseTime.
	NoFigures string `json:"noFigures,omitempty"`
}

// StageFigures are the outcomes and the times of the requests of a stage over all shards. A request belongs to the
// stage of its slot, also if its response comes later. Together with StageResult.Sent, the counts satisfy the equations
// of Outcomes.
type StageFigures struct {
	Done           int64 `json:"done"`
	Succeeded      int64 `json:"succeeded"`
	FailedChecks   int64 `json:"failedChecks"`
	TimedOut       int64 `json:"timedOut"`
	Reset          int64 `json:"reset"`
	ConnectionLost int64 `json:"connectionLost"`
	InFlightAtEnd  int64 `json:"inFlightAtEnd"`
	// ErrorRate is 1 - succeeded / (sent + dropped).
	ErrorRate ErrorRate `json:"errorRate"`
	// ResponseTime is absent if the stage has no requests, while the test runs, or if a part of the distribution is
	// missing.
	ResponseTime Times `json:"responseTime,omitzero"`
}

// StepResult is one step of one chain over all shards.
type StepResult struct {
	Chain string `json:"chain"`
	Step  string `json:"step"`
	// Phase of the chain. Report.Setup and Report.Teardown count what these chains send, so the counts of their
	// entries are zero.
	Phase Phase `json:"phase,omitempty"`
	Outcomes
	// FailedBy counts FailedChecks by the first check that failed.
	FailedBy map[string]int64 `json:"failedBy,omitempty"`
	StepEvents
	// StatusCodes counts final responses by status code, and Problems their problem details (RFC 9457) by status code and
	// cause.
	StatusCodes  map[string]int64 `json:"statusCodes,omitempty"`
	Problems     []ProblemResult  `json:"problems,omitempty"`
	ErrorRate    ErrorRate        `json:"errorRate"`
	ResponseTime Times            `json:"responseTime"`
	// Listener is the listener whose notification the step awaits. Such a step sends no request, so it has no counts and
	// no times.
	Listener string `json:"listener,omitempty"`
	// SuccessfulResponseTime is as that of the report.
	SuccessfulResponseTime Times `json:"successfulResponseTime,omitzero"`
	// ServiceTime and TimeToFirstByte are absent if no request of the step got a response.
	ServiceTime     Times `json:"serviceTime,omitzero"`
	TimeToFirstByte Times `json:"timeToFirstByte,omitzero"`
	// FirstMessage is from sending a call of gRPC with a stream of the server to the first message of the response,
	// BetweenMessages from each message to the next one, and LastMessage from sending the call to the last message. Those
	// of calls that got no whole response count, except for LastMessage.
	FirstMessage    Times `json:"firstMessage,omitzero"`
	BetweenMessages Times `json:"betweenMessages,omitzero"`
	LastMessage     Times `json:"lastMessage,omitzero"`
}

// ProblemResult counts responses with problem details (RFC 9457) of one status code and cause.
type ProblemResult struct {
	// Status is the status code. Zero: Cause is CauseOther, which counts the kinds above the limit of a step.
	Status int `json:"status,omitempty"`
	// Cause is the member "cause", or "type", "title" or "status" without one; see Snapshot.Causes.
	Cause string `json:"cause"`
	Count int64  `json:"count"`
}

// OperationResult is one service operation of one target, over all its steps and all shards. It satisfies the equations
// of Outcomes.
type OperationResult struct {
	Target string `json:"target"`
	// Operation is Step.Operation, or CHAIN/STEP for a step without one.
	Operation string `json:"operation"`
	Outcomes
	StepEvents
	ErrorRate ErrorRate `json:"errorRate"`
	// StatusCodes counts final responses by status code, and Problems their problem details (RFC 9457) by status code and
	// cause.
	StatusCodes map[string]int64 `json:"statusCodes,omitempty"`
	Problems    []ProblemResult  `json:"problems,omitempty"`
	// ResponseTime is that of all requests of the operation.
	ResponseTime Times `json:"responseTime"`
}

// FoundProtocol is what the server at a URL speaks. A URL has several if shards found different protocols there.
type FoundProtocol struct {
	Target   string   `json:"target"`
	URL      string   `json:"url"`
	Protocol Protocol `json:"protocol"`
}

// String is a sentence for users.
func (f FoundProtocol) String() string {
	return "target " + f.Target + " speaks " + f.Protocol.HTTP() + " at " + f.URL
}

// TargetResult has the times of one target over all shards. A time without values is absent.
type TargetResult struct {
	Name string `json:"name"`
	// NameResolution, TCPConnect, TLSHandshake and Settings are the phases of opening a connection; see TargetTimes.
	NameResolution Times `json:"nameResolution,omitzero"`
	TCPConnect     Times `json:"tcpConnect,omitzero"`
	TLSHandshake   Times `json:"tlsHandshake,omitzero"`
	Settings       Times `json:"settings,omitzero"`
	// Connect is NameResolution, TCPConnect and TLSHandshake together, with addresses that failed.
	Connect Times `json:"connect,omitzero"`
	// TLSHandshakesPerSecond is the mean rate of completed TLS handshakes from the start to the end of the load, warm-up
	// included, if chain instances open the connections.
	TLSHandshakesPerSecond float64 `json:"tlsHandshakesPerSecond,omitempty"`
	// Reconnecting, Blocked, TimeToFirstByte and Body are the phases of a request after it was picked up.
	Reconnecting    Times `json:"reconnecting,omitzero"`
	Blocked         Times `json:"blocked,omitzero"`
	TimeToFirstByte Times `json:"timeToFirstByte,omitzero"`
	Body            Times `json:"body,omitzero"`
	// ServiceTime is TimeToFirstByte and Body together. ResponseTime is from the scheduled time to done.
	ServiceTime  Times `json:"serviceTime,omitzero"`
	ResponseTime Times `json:"responseTime,omitzero"`
}

// ListenerResult has the counts and the times of one listener over all shards.
type ListenerResult struct {
	Name string `json:"name"`
	ListenerCounts
	// Time is from sending the request before a step to the notification that the step received. A missing
	// notification counts as longer than every measured time. Absent if no step awaited one.
	Time Times `json:"time,omitzero"`
}

// ErrorRate returns the share of the measured steps that awaited a notification and did not receive one that passed
// their checks.
func (l *ListenerResult) ErrorRate() float64 {
	m := &l.Measured
	if m.Awaited == 0 {
		return 0
	}
	return float64(m.Awaited-m.InTime+m.FailedChecks) / float64(m.Awaited)
}

// ErrorRateSoFar is ErrorRate without the steps that still wait.
func (l *ListenerResult) ErrorRateSoFar() float64 {
	m := &l.Measured
	ended := m.Awaited - m.Waiting()
	if ended == 0 {
		return 0
	}
	return float64(m.Missing+m.FailedChecks) / float64(ended)
}

// SelectionResult has the figures of a part of the requests over all shards.
type SelectionResult struct {
	Selector
	// Metric is the metric of the distribution. Empty: counts only.
	Metric Metric `json:"metric,omitempty"`
	SelectionCounters
	// WindowSeconds is the length of the stage, or of the measured window.
	WindowSeconds float64 `json:"windowSeconds"`
}

// GeneratorResult summarizes the health of the generator over all shards.
type GeneratorResult struct {
	// Shards is the number of different shards that had, or should have had, a share of the load. Example: 2 for a
	// test with 1, then 2, then 1 shards. A shard that was removed and added again counts once.
	Shards int `json:"shards"`
	// ShardsLost is the number of shards whose runner was lost.
	ShardsLost int `json:"shardsLost"`
	// ShardsJoined and ShardsLeft count the runners that began more than a second after the start
	// instant, and those that left before the load ended.
	ShardsJoined int `json:"shardsJoined,omitempty"`
	ShardsLeft   int `json:"shardsLeft,omitempty"`
	// LeaseExpired sums up the pauses of runners whose lease expired. Such a runner sends nothing.
	LeaseExpired LeaseExpiredResult `json:"leaseExpired,omitzero"`
	// Limited sums up what limits.requestsPerSecond of the operator's configuration held back.
	Limited Limited `json:"limited,omitzero"`
	// Workers of all runners.
	Workers int `json:"workers"`
	// CPUs of all workers that were pinned, shard after shard.
	CPUs []int `json:"cpus"`
	// ExclusiveShards had their CPUs for themselves; ExclusiveWanted: the plan asked for it.
	ExclusiveShards int  `json:"exclusiveShards"`
	ExclusiveWanted bool `json:"exclusiveWanted"`
	// Idle is what the workers did while they waited, and what that added to response times.
	Idle IdleResult `json:"idle,omitzero"`
	// LagP99Microseconds is the 99th percentile of lag of the shard with the highest value, which the merged
	// distribution can hide.
	LagP99Microseconds    int64 `json:"lagP99Microseconds"`
	ThrottledMicroseconds int64 `json:"throttledMicroseconds"`
	GCPauseMicroseconds   int64 `json:"gcPauseMicroseconds"`
	// StartSkewMicroseconds is the time between the first and the last shard's start, without those that
	// joined later.
	StartSkewMicroseconds int64 `json:"startSkewMicroseconds"`
	Connects              int64 `json:"connects"`
	Reconnects            int64 `json:"reconnects"`
	// Resumed counts connections whose handshake resumed a session of TLS, and EarlyData those of them whose early data
	// the server accepted.
	Resumed   int64 `json:"resumed,omitempty"`
	EarlyData int64 `json:"earlyData,omitempty"`
}

// IdleResult sums up over all runners what workers did while they waited.
type IdleResult struct {
	// SpinShards and SleepShards are the numbers of shards with IdleSpin and IdleSleep.
	SpinShards  int `json:"spinShards"`
	SleepShards int `json:"sleepShards"`
	// SleepIntervalMicroseconds is the sleep interval. Zero: no shard slept.
	SleepIntervalMicroseconds int64 `json:"sleepIntervalMicroseconds,omitempty"`
	// BatchMeanMicroseconds is how much later the requests of rates were sent on average because a runner sends the
	// requests of a sleep interval together. Lag and response times include it.
	BatchMeanMicroseconds int64 `json:"batchMeanMicroseconds,omitempty"`
	// Naps counts the naps with which closed loops let responses gather. NapMeanMicroseconds is their average length.
	// Service times and response times include at most one nap.
	Naps                int64 `json:"naps,omitempty"`
	NapMeanMicroseconds int64 `json:"napMeanMicroseconds,omitempty"`
}

// LeaseExpiredResult sums up Snapshot.LeaseGaps over all runners.
type LeaseExpiredResult struct {
	// Shards is the number of shards that were paused.
	Shards int `json:"shards"`
	// Seconds is the total length of the pauses of the shard with the longest pauses.
	Seconds float64 `json:"seconds"`
	// Dropped counts the slots that became due in the pauses, those of warm-up stages too.
	Dropped int64 `json:"dropped"`
}

// Outcome is the verdict in one word.
type Outcome string

const (
	// OutcomePassed: the plan was completed, all thresholds and the default limit on errors passed, and the generator
	// was not the bottleneck.
	OutcomePassed Outcome = "Passed"
	// OutcomeFailed: a threshold or the default limit on errors was exceeded, no chain was completed, or
	// teardown failed.
	OutcomeFailed Outcome = "Failed"
	// OutcomeInconclusive: the generator was the bottleneck, or a part of the result is
	// missing, so that the numbers say nothing about the target.
	OutcomeInconclusive Outcome = "Inconclusive"
	// OutcomeError: the test could not be completed, for example because the target was unreachable, no request
	// succeeded, or a shard was lost.
	OutcomeError Outcome = "Error"
	// OutcomeStopped: a user ended the test early.
	OutcomeStopped Outcome = "Stopped"
)

// Verdict is the judgement of a run.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	// Reason is a CamelCase word, Message a sentence.
	Reason     string            `json:"reason"`
	Message    string            `json:"message"`
	Thresholds []ThresholdResult `json:"thresholds,omitempty"`
}

// ThresholdResult compares one threshold with what was observed.
type ThresholdResult struct {
	Name       string `json:"name"`
	Metric     Metric `json:"metric"`
	Percentile string `json:"percentile,omitempty"`
	// Observation and PerUnit are those of Threshold.
	Observation string `json:"observation,omitempty"`
	PerUnit     bool   `json:"perUnit,omitempty"`
	// Of is the part of the requests that the threshold is on, and Window the length of its windows, such as 30s.
	Of     Selector `json:"of,omitzero"`
	Window string   `json:"window,omitempty"`
	// Limit is the threshold's max or min, with its comparison: "<= 20ms".
	Limit    string `json:"limit"`
	Observed string `json:"observed"`
	Passed   bool   `json:"passed"`
	// Baseline is the run that the threshold compares with. Nil: the threshold has a limit of its own.
	Baseline *BaselineResult `json:"baseline,omitempty"`
	// Ramp is where the threshold first failed while the rate rose, also if it passed over the whole run. Nil: it did not
	// fail in a window of a stage whose rate rises, or windows do not have its figure.
	Ramp *RampBreak `json:"ramp,omitempty"`
}

// BaselineResult says what a threshold was compared with.
type BaselineResult struct {
	// Name is the name of the run, such as "default/nightly-29345", or where its report should be if there is no report.
	Name string `json:"name"`
	// StartTime is that of the run.
	StartTime string `json:"startTime,omitempty"`
	// Value is the value of the run, and Change the difference to it, such as "+42.5%".
	Value  string `json:"value,omitempty"`
	Change string `json:"change,omitempty"`
	// NotCompared is why there is no comparison. ThresholdResult.Passed is false then.
	NotCompared string `json:"notCompared,omitempty"`
}

// NotCompared returns why the threshold was not compared with its baseline; "": it was, or has none.
func (t *ThresholdResult) NotCompared() string {
	if t.Baseline == nil {
		return ""
	}
	return t.Baseline.NotCompared
}

// NotObserved returns whether the threshold is on an observation without samples.
func (t *ThresholdResult) NotObserved() bool {
	return t.Metric == MetricObserved && t.Observed == ObservedNone
}

// RampBreak is the first window of a stage with a rising rate in which a threshold failed.
type RampBreak struct {
	Stage string `json:"stage"`
	// Asked is the rate that was asked for in this window, in requests per second.
	Asked float64 `json:"asked"`
	// From and To are the begin and the end of the window of the report, in milliseconds since the start. A threshold with
	// a window of its own failed for the first time within it.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Observed is the value in the window. Windows is the number of windows of the stage that were compared, and Failed
	// the number of those that failed. All are absent for a threshold with a window of its own.
	Observed string `json:"observed,omitempty"`
	Failed   int    `json:"failed,omitempty"`
	Windows  int    `json:"windows,omitempty"`
}

// ObservedNone is the observed value if nothing was measured. No limit accepts it.
const ObservedNone = "none"

// Figure returns what the threshold is on: "p99 of ResponseTime of step app/create in stage hold". It is empty if the
// result has only name, limit and observed value.
func (t *ThresholdResult) Figure() string {
	out := string(t.Metric)
	switch {
	case t.Percentile != "":
		out = t.Percentile + " of " + out
	case t.PerUnit:
		out = "succeeded requests per second and unit of " + t.Observation
	case t.Observation != "":
		out = "mean of " + t.Observation
	}
	if c := t.Of.StatusClass; c != 0 {
		out += " with status " + strconv.Itoa(c) + "xx"
	}
	switch {
	case t.Of.Step != "":
		out += " of step " + t.Of.Chain + "/" + t.Of.Step
	case t.Of.Chain != "":
		out += " of chain " + t.Of.Chain
	case t.Of.Target != "":
		out += " of target " + t.Of.Target
	case t.Of.Listener != "":
		out += " of listener " + t.Of.Listener
	}
	if t.Of.Stage != "" {
		out += " in stage " + t.Of.Stage
	}
	if t.Window != "" {
		out += " in a window of " + t.Window
	}
	return out
}

// String returns "fast: p99 of ResponseTime 31.2ms > 20ms", or "fast: p99 of ResponseTime 8.4ms <= 20ms" if the
// threshold passed.
func (t *ThresholdResult) String() string {
	if t.Baseline == nil {
		return ThresholdText(t.Name, t.Figure(), t.Observed, t.Limit, t.Passed)
	}
	return ComparedText(t.Name, t.Figure(), t.Observed, t.Limit, t.Passed, t.Baseline.Name, t.Baseline.NotCompared)
}

// ComparedText is ThresholdText of a threshold with a baseline: "same: p99 of ResponseTime 12ms > 8.42ms + 10%
// (baseline default/nightly-29345)".
func ComparedText(name, figure, observed, limit string, passed bool, baseline, notCompared string) string {
	if notCompared != "" {
		return name + ": " + figure + " was not compared: " + notCompared
	}
	return ThresholdText(name, figure, observed, limit, passed) + " (baseline " + baseline + ")"
}

// ThresholdText is the text of a ThresholdResult with a figure, which may be empty.
func ThresholdText(name, figure, observed, limit string, passed bool) string {
	out := name + ": "
	if figure != "" {
		out += figure + " "
	}
	if observed == ObservedNone {
		return out + "was not measured, limit " + limit
	}
	if strings.HasPrefix(observed, AboveText("")) {
		absent := "response"
		if strings.Contains(figure+" ", " of "+string(MetricNotificationTime)+" ") {
			absent = "notification"
		}
		return out + observed + " (no " + absent + "), limit " + limit
	}
	if !passed {
		limit = strings.NewReplacer("<=", ">", ">=", "<").Replace(limit)
	}
	return out + observed + " " + limit
}

// ReportHistograms are merged over the shards.
type ReportHistograms struct {
	ResponseTime           Histogram `json:"responseTime"`
	SuccessfulResponseTime Histogram `json:"successfulResponseTime,omitzero"`
	ServiceTime            Histogram `json:"serviceTime"`
	TimeToFirstByte        Histogram `json:"timeToFirstByte"`
	Lag                    Histogram `json:"lag"`
	Reconnecting           Histogram `json:"reconnecting"`
	Blocked                Histogram `json:"blocked"`
	Connect                Histogram `json:"connect"`
}

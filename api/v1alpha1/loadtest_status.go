package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Phase is the state of a run in one word, for people. The operator derives it from the conditions. Programs read
// conditions, and the operator does not read the phase.
//
// +kubebuilder:validation:Enum=Pending;Invalid;Starting;Running;Suspended;Finishing;Completed;Stopped;Failed
type Phase string

const (
	// PhasePending means that the operator accepted the test, and no runner exists yet.
	PhasePending Phase = "Pending"
	// PhaseInvalid means that the operator cannot compile the spec to a plan. Condition PlanReady says why.
	PhaseInvalid Phase = "Invalid"
	// PhaseStarting means that the operator creates runners, and the runners open their connections.
	PhaseStarting Phase = "Starting"
	// PhaseRunning means that runners send the load.
	PhaseRunning Phase = "Running"
	// PhaseSuspended means that spec.suspend prevents the start of the test, or pauses it.
	PhaseSuspended Phase = "Suspended"
	// PhaseFinishing means that the runners sent the last request. Runners wait for responses, and the operator
	// collects the results.
	PhaseFinishing Phase = "Finishing"
	// PhaseCompleted means that the runners completed the plan.
	PhaseCompleted Phase = "Completed"
	// PhaseStopped means that a user ended the test early. The operator keeps the results.
	PhaseStopped Phase = "Stopped"
	// PhaseFailed means that the runners could not complete the plan. Condition Succeeded says why.
	PhaseFailed Phase = "Failed"
)

// LoadTestStatus is the observed state of a LoadTest. Only the operator writes it. Each update is one patch.
// The operator writes a transition at once, and figures of a running test once a second. If more than 10 tests run, it
// writes the figures of each test less often, so that it writes 10 times a second for all tests together.
type LoadTestStatus struct {
	// observedGeneration is the generation of the spec that this status describes. If it is lower than
	// metadata.generation, the operator has not processed the latest edit yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the state of the run in one word: Pending, Invalid, Starting, Running, Suspended, Finishing,
	// Completed, Stopped or Failed. It is for people. Programs read conditions.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// conditions are PlanReady, RunnersReady, Finished, Succeeded, Passed, Reconciling, Stalled and ReportStored.
	// docs/reference/loadtest/status.md lists their values in each state. Wait for Finished: it is True when the test has
	// ended, for any reason. Each condition has an observedGeneration.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// startTime is the time at which all runners start the load together. From startTime until completionTime the
	// spec is frozen, except for the fields that can change during a run. Absent: the load has not started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is the time at which the run had ended and the operator stored its result. It is set for
	// every end: completed, stopped or failed. Absent: the run has not ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// shards are the numbers of desired, ready and lost shards. They do not include shards that were removed by
	// scaling.
	// +optional
	Shards *ShardCounts `json:"shards,omitempty"`
	// selector is the label selector of the runner pods, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Selector string `json:"selector,omitempty"`
	// planHash is the SHA-256 of the plan's canonical bytes without the operator's address policy and limits, in
	// hexadecimal. Two runs with the same hash executed the same plan. The command line prints the same hash for the same
	// manifest.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PlanHash string `json:"planHash,omitempty"`
	// startedGeneration is the generation of the spec with which the run started. The field changes shows what
	// later generations changed during the run. After the end an edit has no effect, and the message of condition
	// Finished and an event report it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartedGeneration int64 `json:"startedGeneration,omitempty"`
	// summary has the strings that kubectl get shows. Programs read results instead.
	// +optional
	Summary *Summary `json:"summary,omitempty"`
	// results are the figures so far while the test runs, and the final figures after its end. Absent: nothing was
	// measured yet.
	// +optional
	Results *Results `json:"results,omitempty"`
	// search is the progress and the result of spec.search. Absent: the test has no search, or it has not started.
	// +optional
	Search *SearchStatus `json:"search,omitempty"`
	// thresholds compare the thresholds with the figures so far, while the test runs. A threshold on windows has the worst
	// window so far. After the end they are in verdict.thresholds. A test with spec.search has them for each probe only.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Thresholds []ThresholdStatus `json:"thresholds,omitempty"`
	// verdict is the judgement of the run. Absent: the run has not ended.
	// +optional
	Verdict *Verdict `json:"verdict,omitempty"`
	// generator has figures about the load generator over all shards. Absent: no runner exists yet.
	// +optional
	Generator *GeneratorStatus `json:"generator,omitempty"`
	// runners are the runners of shards, in the order of the shards. While the test runs, it has only the shards
	// with a problem, at most 16: lost shards, shards with a message, and shards that have no share of the load
	// yet. shards.unhealthy counts all of them. After the end it has one entry for each shard, which includes
	// shards that were removed by scaling. If a shard has had several runners, the entry describes the newest.
	// +optional
	// +listType=map
	// +listMapKey=shard
	// +kubebuilder:validation:MaxItems=256
	Runners []RunnerStatus `json:"runners,omitempty"`
	// protocols are the protocols that the runners found at the http:// URLs of targets with protocol Auto. A URL has
	// two entries if shards found different protocols there. Such URLs are first. Bounds: 32 entries; the report has
	// all. Absent: the runners asked no URL, or have no answer yet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Protocols []FoundProtocol `json:"protocols,omitempty"`
	// startSkewMicroseconds is the time between the start of the first shard and the start of the last shard. It
	// shows how exactly the shards started together. Absent: not known yet.
	// +optional
	StartSkewMicroseconds *int64 `json:"startSkewMicroseconds,omitempty"`
	// changes are the changes of the spec during the run, the newest last. Bounds: 32 entries. If there are more,
	// the operator keeps the first and the last change of each field.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Changes []Change `json:"changes,omitempty"`
	// report is where the complete report is. Absent: the report is not stored yet.
	// +optional
	Report *ReportStatus `json:"report,omitempty"`
}

// Change is one change of one field of the spec while the test ran.
type Change struct {
	// generation is the generation of the spec that has the new value.
	// +required
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation"`
	// time is the time at which the operator saw the new value.
	// +required
	Time metav1.MicroTime `json:"time"`
	// field is the field that changed: suspend, runner.shards, or a rate such as rates[1].requestsPerSecond.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Field string `json:"field"`
	// from is the old value: true or false, a number of shards, requests per second such as "1000", or count and
	// period such as "1 per 1m0s".
	// +required
	// +kubebuilder:validation:MaxLength=64
	From string `json:"from"`
	// to is the new value, in the form of from.
	// +required
	// +kubebuilder:validation:MaxLength=64
	To string `json:"to"`
	// appliedAt is the time at which this change, or a newer one that replaced it, took effect on all runners. If
	// the operator restarted meanwhile, it is the time at which the new operator saw this. For runner.shards, it
	// is the time from which all of these shards, except lost ones, and no other shards have a share of the load.
	// Absent: the change has not taken effect yet, or the load ended before.
	// +optional
	AppliedAt *metav1.MicroTime `json:"appliedAt,omitempty"`
}

// ShardCounts are numbers of shards. A lost shard is not ready.
type ShardCounts struct {
	// desired is the value of spec.runner.shards that took effect last.
	// +required
	// +kubebuilder:validation:Minimum=0
	Desired int32 `json:"desired"`
	// ready is the number of shards whose runner has opened all its connections. A runner that has finished stays
	// ready.
	// +required
	// +kubebuilder:validation:Minimum=0
	Ready int32 `json:"ready"`
	// lost is the number of shards whose runner had a share of the load and ended before it returned its final
	// snapshot.
	// +required
	// +kubebuilder:validation:Minimum=0
	Lost int32 `json:"lost"`
	// joining is the number of shards that have no share of the load yet although the test has started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Joining int32 `json:"joining,omitempty"`
	// leaving is the number of shards that scaling removes and whose runner waits for responses.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Leaving int32 `json:"leaving,omitempty"`
	// left is the number of shards that were removed by scaling. Their counts are part of the results.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Left int32 `json:"left,omitempty"`
	// unhealthy is the number of shards with a problem. While the test runs, status.runners lists at most 16 of
	// them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unhealthy int32 `json:"unhealthy,omitempty"`
}

// GeneratorStatus has figures about the load generator over all shards.
type GeneratorStatus struct {
	// exclusiveShards is the number of shards whose runner verified that no other container uses its CPUs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ExclusiveShards int32 `json:"exclusiveShards,omitempty"`
	// lagP99Microseconds is the greatest lagP99Microseconds of all runners.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LagP99Microseconds int64 `json:"lagP99Microseconds,omitempty"`
	// throttledMicroseconds is the time for which CPU quotas have stopped the runners so far, in microseconds. It
	// is the sum over all shards.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ThrottledMicroseconds int64 `json:"throttledMicroseconds,omitempty"`
}

// Summary has the strings that kubectl get shows and printer columns cannot compute.
type Summary struct {
	// shards is the number of ready and of desired shards, such as "2/2".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Shards string `json:"shards,omitempty"`
	// rate is the number of requests sent in the last second while the test runs. After the end, it is the
	// achieved rate of the measured stages.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Rate string `json:"rate,omitempty"`
	// p50 is the median of the response time, such as "1.1ms".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P50 string `json:"p50,omitempty"`
	// p99 is the 99th percentile of the response time.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P99 string `json:"p99,omitempty"`
	// errors is the error rate so far, such as "0.02%".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Errors string `json:"errors,omitempty"`
}

// Results are figures over all shards. Only warmUpSent includes requests of warm-up stages.
type Results struct {
	// requests are the numbers of requests by outcome. They count each request of the measured stages exactly
	// once.
	// +required
	Requests RequestCounts `json:"requests"`
	// warmUpSent is the number of requests that were sent in warm-up stages.
	// +optional
	WarmUpSent int64 `json:"warmUpSent,omitempty"`
	// setup are the numbers of requests of setup chains. No other figure includes these requests.
	// +optional
	Setup OnceResult `json:"setup,omitzero"`
	// teardown are the numbers of requests of teardown chains. No other figure includes these requests.
	// +optional
	Teardown OnceResult `json:"teardown,omitzero"`
	// causes are the numbers of problem details (RFC 9457) by cause (3GPP TS 29.500 5.2.7.2), the most frequent
	// cause first. Bounds: 16 entries.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Causes []NamedCount `json:"causes,omitempty"`
	// failures are the numbers of failures without a response by cause, the most frequent cause first. Bounds: 16
	// entries.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Failures []FailureCount `json:"failures,omitempty"`
	// exhausted is true if a chain ended because all values of a variable with atEnd Stop were used.
	// +optional
	Exhausted bool `json:"exhausted,omitempty"`
	// rate compares the asked with the achieved rate.
	// +required
	Rate RateStatus `json:"rate"`
	// errorRate is 1 - succeeded / (sent + dropped), such as 0.0002 for 0.02%. While the test runs, it leaves out what is
	// in flight. It is 0 if the runners sent nothing.
	// +required
	ErrorRate float64 `json:"errorRate"`
	// responseTime has the response times of all steps. A response time starts at the scheduled time of a request
	// and ends with the end of its response, so it includes the time in which the request waited for a stream.
	// +required
	ResponseTime Times `json:"responseTime"`
	// stages has one entry for each measured stage, in the order of the spec: first the stages of spec.rates, then those
	// of each chain. Bounds: the first 32 measured stages. Absent: the test has not ended, it has a search (status.search
	// has the figures of its probes), or runners of an earlier version did not report them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Stages []StageResult `json:"stages,omitempty"`
	// chains has one entry for each chain of the spec, in the order of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Chains []ChainResult `json:"chains,omitempty"`
	// listeners has one entry for each listener of the spec, in the order of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Listeners []ListenerResult `json:"listeners,omitempty"`
	// observations are those with samples. They are in the order of the spec.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Observations []ObservationStatus `json:"observations,omitempty"`
	// partial is true if a shard with a share of the load was lost. The results then do not include what this
	// shard did after its last snapshot.
	// +optional
	Partial bool `json:"partial,omitempty"`
}

// ObservationStatus has the figures of one observation over the measured stages: those of the series with the highest
// mean.
type ObservationStatus struct {
	// name is the name of the observation.
	// +required
	// +kubebuilder:validation:MaxLength=50
	Name string `json:"name"`
	// mean is the mean.
	// +required
	Mean float64 `json:"mean"`
	// p95 is the 95th percentile.
	// +required
	P95 float64 `json:"p95"`
	// max is the maximum.
	// +required
	Max float64 `json:"max"`
}

// ListenerResult has the notifications of one listener over all shards. The counts include warm-up stages.
type ListenerResult struct {
	// name is the name of the listener.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// received is the number of notifications that were received.
	// +required
	// +kubebuilder:validation:Minimum=0
	Received int64 `json:"received"`
	// inTime is the number of notifications that a step awaited and received.
	// +required
	// +kubebuilder:validation:Minimum=0
	InTime int64 `json:"inTime"`
	// late is the number of notifications that came after the timeout of their step.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Late int64 `json:"late,omitempty"`
	// duplicate is the number of notifications that came again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Duplicate int64 `json:"duplicate,omitempty"`
	// unexpected is the number of notifications that no step awaited.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unexpected int64 `json:"unexpected,omitempty"`
	// answered is the number of requests that a rule answered and no step awaited.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Answered int64 `json:"answered,omitempty"`
	// refusedToken is the number of notifications without a valid access token.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RefusedToken int64 `json:"refusedToken,omitempty"`
	// refusedCertificate is the number of notifications of peers whose client certificate has none of the required names.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RefusedCertificate int64 `json:"refusedCertificate,omitempty"`
	// failedHandshakes is the number of connections whose TLS handshake failed. They brought no notification.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedHandshakes int64 `json:"failedHandshakes,omitempty"`
	// awaited is the number of steps that began to wait for a notification.
	// +required
	// +kubebuilder:validation:Minimum=0
	Awaited int64 `json:"awaited"`
	// missing is the number of steps that did not receive their notification within their timeout.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Missing int64 `json:"missing,omitempty"`
	// failedChecks is the number of notifications in time that did not pass the checks of their step.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedChecks int64 `json:"failedChecks,omitempty"`
	// errorRate is the share of the steps of measured stages whose wait has ended and that did not receive a
	// notification that passed its checks, such as 0.0002 for 0.02%.
	// +required
	ErrorRate float64 `json:"errorRate"`
	// time has the times from sending the request before a step to its notification, in measured stages.
	// +required
	Time Times `json:"time"`
}

// FailureCount is the number of failures with the same cause.
type FailureCount struct {
	// of is what failed: connect (an attempt to open a connection), connection (an open connection), or the
	// counter of requests that includes the failure: reset, connectionLost or dropped.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Of string `json:"of"`
	// cause is the cause in one word, such as refused, tlsAlert, goAway or noStream.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Cause string `json:"cause"`
	// detail is the error code, TLS alert or protocol rule behind cause. It can be empty.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Detail string `json:"detail,omitempty"`
	// address is the address of the target. It can be empty.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Address string `json:"address,omitempty"`
	// count is the number of failures.
	// +required
	Count int64 `json:"count"`
}

// OnceResult counts the requests of chains that run once in a test.
type OnceResult struct {
	// sent is the number of requests that were sent.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent"`
	// succeeded is the number of requests whose response was as expected.
	// +required
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
}

// NamedCount is a count with a name.
type NamedCount struct {
	// name is the name of what is counted.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// count is the number.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int64 `json:"count"`
}

// RequestCounts count each request of the measured stages in exactly one term of sent = done + timedOut + reset +
// connectionLost + inFlightAtEnd. The requests of done are succeeded + failedChecks. Dropped requests were not
// sent, so sent does not include them.
type RequestCounts struct {
	// sent is the number of requests that left the runner.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent"`
	// done is the number of requests that got a complete response.
	// +required
	// +kubebuilder:validation:Minimum=0
	Done int64 `json:"done"`
	// succeeded is the number of requests whose response was as expected.
	// +required
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
	// failedChecks is the number of requests that got a complete response that was not as expected.
	// +required
	// +kubebuilder:validation:Minimum=0
	FailedChecks int64 `json:"failedChecks"`
	// timedOut is the number of requests that got no complete response in time.
	// +required
	// +kubebuilder:validation:Minimum=0
	TimedOut int64 `json:"timedOut"`
	// reset is the number of requests that the target refused with RST_STREAM.
	// +required
	// +kubebuilder:validation:Minimum=0
	Reset int64 `json:"reset"`
	// connectionLost is the number of requests that were in flight on a connection that closed.
	// +required
	// +kubebuilder:validation:Minimum=0
	ConnectionLost int64 `json:"connectionLost"`
	// inFlightAtEnd is the number of requests without an outcome at the end of the run. While the test runs, it is
	// the number of requests without an outcome so far.
	// +required
	// +kubebuilder:validation:Minimum=0
	InFlightAtEnd int64 `json:"inFlightAtEnd"`
	// dropped is the number of slots whose request was not sent, because no stream was free in time.
	// +required
	// +kubebuilder:validation:Minimum=0
	Dropped int64 `json:"dropped"`
	// retried is how often a request was returned unprocessed by the target and sent again. The target counts at most
	// sent + warmUpSent + retried requests.
	// +required
	// +kubebuilder:validation:Minimum=0
	Retried int64 `json:"retried"`
}

// RateStatus compares the rate that the spec asks for with the rate that the runners achieved. Both are numbers of
// requests per second.
type RateStatus struct {
	// asked is the rate of the spec over the measured stages. It is 0 if one of these stages is a closed loop or
	// has chainsPerSecond.
	// +required
	Asked float64 `json:"asked"`
	// achieved is the rate at which the runners sent requests in the measured stages, without the drain.
	// +required
	Achieved float64 `json:"achieved"`
	// askedChains is the rate of the spec in chain instances per second, if all measured stages have chainsPerSecond.
	// +optional
	AskedChains float64 `json:"askedChains,omitempty"`
	// achievedChains is the rate at which the runners started chain instances. It is set together with askedChains.
	// +optional
	AchievedChains float64 `json:"achievedChains,omitempty"`
}

// Times are figures of a distribution of times, in whole microseconds. Percentiles are exact to three significant
// digits. A request without a response counts as longer than every measured time. All figures are 0 if there was no
// request.
type Times struct {
	// p50Microseconds is the median.
	// +optional
	// +kubebuilder:validation:Minimum=0
	P50Microseconds *int64 `json:"p50Microseconds,omitempty"`
	// p90Microseconds is the 90th percentile.
	// +optional
	// +kubebuilder:validation:Minimum=0
	P90Microseconds *int64 `json:"p90Microseconds,omitempty"`
	// p95Microseconds is the 95th percentile.
	// +optional
	// +kubebuilder:validation:Minimum=0
	P95Microseconds *int64 `json:"p95Microseconds,omitempty"`
	// p99Microseconds is the 99th percentile.
	// +optional
	// +kubebuilder:validation:Minimum=0
	P99Microseconds *int64 `json:"p99Microseconds,omitempty"`
	// p999Microseconds is the 99.9th percentile.
	// +optional
	// +kubebuilder:validation:Minimum=0
	P999Microseconds *int64 `json:"p999Microseconds,omitempty"`
	// maxMicroseconds is the longest time, exact to the microsecond.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxMicroseconds *int64 `json:"maxMicroseconds,omitempty"`
	// aboveMicroseconds is set if at least one of the figures falls among the requests without a response. These figures
	// are absent: they are longer than aboveMicroseconds, which is the longest timeout of these requests.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AboveMicroseconds int64 `json:"aboveMicroseconds,omitempty"`
}

// StageResult has the results of one measured stage over all shards. A request belongs to the stage of its slot, also
// if its response came in the next stage.
type StageResult struct {
	// name is the name of the stage.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// rate compares the rate of the stage with the rate that the runners achieved.
	// +required
	Rate RateStatus `json:"rate"`
	// sent is the number of requests of this stage that were sent.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent"`
	// dropped is the number of slots of this stage whose request was not sent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Dropped int64 `json:"dropped,omitempty"`
	// succeeded is the number of requests of this stage whose response was as expected.
	// +required
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
	// errorRate is 1 - succeeded / (sent + dropped), such as 0.0002 for 0.02%. It is 0 if the runners sent
	// nothing in this stage.
	// +required
	ErrorRate float64 `json:"errorRate"`
	// responseTime has the times from the scheduled time of a request to the end of its response. Absent: the stage had
	// no request, or a runner was lost before it reported them.
	// +optional
	ResponseTime *Times `json:"responseTime,omitempty"`
}

// ChainResult has the results of one chain over all shards. A chain instance that started and neither completed
// nor aborted is unfinished: started = completed + aborted + unfinished.
type ChainResult struct {
	// name is the name of the chain.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// started is the number of chain instances that started.
	// +required
	// +kubebuilder:validation:Minimum=0
	Started int64 `json:"started"`
	// completed is the number of chain instances that ran all their steps.
	// +required
	// +kubebuilder:validation:Minimum=0
	Completed int64 `json:"completed"`
	// aborted is the number of chain instances that ended at a step that failed.
	// +required
	// +kubebuilder:validation:Minimum=0
	Aborted int64 `json:"aborted"`
	// abortedBy are the numbers of aborted chain instances by reason, the most frequent reason first. The reasons
	// are failedCheck, missingCapture, timedOut, reset, connectionLost, dropped, script, location, notification and
	// stopped.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	AbortedBy []NamedCount `json:"abortedBy,omitempty"`
	// steps has one entry for each step of the chain, in the order of the spec. Absent: the test runs.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Steps []StepResult `json:"steps,omitempty"`
}

// StepResult has the results of one step of a chain over all shards.
type StepResult struct {
	// name is the name of the step.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// sent is the number of requests of this step that were sent.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent"`
	// succeeded is the number of requests of this step whose response was as expected.
	// +required
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
	// failed is the number of requests of this step that have another outcome.
	// +required
	// +kubebuilder:validation:Minimum=0
	Failed int64 `json:"failed"`
	// failedBy are the numbers of responses that failed a check, by the first check that failed, the most frequent
	// check first. Bounds: 8 entries.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	FailedBy []NamedCount `json:"failedBy,omitempty"`
	// errorRate is 1 - succeeded / sent, such as 0.0002 for 0.02%. While the test runs, it leaves out what is in flight.
	// +required
	ErrorRate float64 `json:"errorRate"`
	// responseTime has the times from the scheduled time of a request to the end of its response.
	// +required
	ResponseTime Times `json:"responseTime"`
}

// RunnerStatus is the state of the runner of one shard.
type RunnerStatus struct {
	// shard is the index of the shard, from 0. It is the completion index of the Job.
	// +required
	// +kubebuilder:validation:Minimum=0
	Shard int32 `json:"shard"`
	// pod is the name of the runner's pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`
	// node is the name of the node on which the pod runs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
	// state is the state of the runner. The runner reports Waiting, Connecting, SettingUp, Ready, Running,
	// Draining, Drained, TearingDown or Done. The operator sets Joining (the test runs, and the runner has no
	// share of the load yet), Left (removed by scaling, with its counts kept) or Lost.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`
	// member is true while the shard has a share of the load. It becomes false for a lost shard when the others
	// take over its share.
	// +optional
	Member bool `json:"member,omitempty"`
	// cpus are the CPUs to which the runner pinned its workers, as a list such as "1,3". Empty: the workers are
	// not pinned.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CPUs string `json:"cpus,omitempty"`
	// exclusive is true if the runner verified that no other container uses these CPUs.
	// +optional
	Exclusive bool `json:"exclusive,omitempty"`
	// lagP99Microseconds is the 99th percentile of the lag of this runner so far, in microseconds. The lag is the
	// time from the scheduled time of a request until a worker picks it up.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LagP99Microseconds int64 `json:"lagP99Microseconds,omitempty"`
	// throttledMicroseconds is the time for which the CPU quota has stopped the runner so far, in microseconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ThrottledMicroseconds int64 `json:"throttledMicroseconds,omitempty"`
	// message says what is wrong with the runner. Empty: nothing is wrong.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// Verdict is the judgement of a finished run.
type Verdict struct {
	// outcome is Passed, Failed, Inconclusive, Error or Stopped. Failed means that a threshold failed.
	// Inconclusive means that the generator was the bottleneck, so the figures say nothing about the target, or
	// that the last figures of a lost runner are missing. Error means that the runners could not complete the
	// plan.
	// +required
	// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive;Error;Stopped
	Outcome string `json:"outcome"`
	// reason is the cause of the outcome in one CamelCase word.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message is an explanation for people.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
	// thresholds has one entry for each threshold of the spec, in the order of the spec. Those with baseline come last.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Thresholds []ThresholdStatus `json:"thresholds,omitempty"`
}

// ThresholdStatus compares a threshold with the observed value.
type ThresholdStatus struct {
	// name is the name of the threshold.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// figure is what the threshold is on, such as "p99 of ResponseTime of step session/create in stage hold".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Figure string `json:"figure,omitempty"`
	// limit is the threshold's max or min with its comparison, such as "<= 20ms".
	// +required
	// +kubebuilder:validation:MaxLength=64
	Limit string `json:"limit"`
	// observed is the observed value, with as many digits as a comparison with limit needs. It is "none" if nothing was
	// measured.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Observed string `json:"observed"`
	// passed is true if the observed value is within the limit.
	// +required
	Passed bool `json:"passed"`
	// baseline is the earlier run that the observed value was compared with, such as "default/nightly-29345".
	// +optional
	// +kubebuilder:validation:MaxLength=320
	Baseline string `json:"baseline,omitempty"`
	// notCompared is why the observed value could not be compared with the baseline. passed is false then.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	NotCompared string `json:"notCompared,omitempty"`
}

// KeyReport is the key of the report in its ConfigMap: JSON, compressed with gzip.
const KeyReport = "report.json.gz"

// ReportStatus is where the complete report is.
type ReportStatus struct {
	// configMapRef names the ConfigMap with the report, in the namespace of the LoadTest. Its binaryData has the report as
	// report.json.gz.
	// +required
	ConfigMapRef ConfigMapReference `json:"configMapRef"`
	// url is the URL of the uploaded HTML report. The same folder has report.json and report.csv. The storage
	// can require credentials to read it. Absent: the operator has no storage, or has not uploaded the report.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url,omitempty"`
	// dropped are the details that the operator left out because the report was too large.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Dropped []string `json:"dropped,omitempty"`
}

// ConfigMapReference names a ConfigMap in the namespace of the LoadTest.
type ConfigMapReference struct {
	// name is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

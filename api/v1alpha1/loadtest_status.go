package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Phase is the state of a run in one word, for people. Programs read conditions: a phase is
// derived from them and steers nothing.
//
// +kubebuilder:validation:Enum=Pending;Invalid;Starting;Running;Suspended;Finishing;Completed;Stopped;Failed
type Phase string

const (
	// PhasePending: accepted, no runner exists yet.
	PhasePending Phase = "Pending"
	// PhaseInvalid: the plan cannot be made from the spec; PlanReady says why.
	PhaseInvalid Phase = "Invalid"
	// PhaseStarting: runners are being created and open their connections.
	PhaseStarting Phase = "Starting"
	// PhaseRunning: load is being sent.
	PhaseRunning Phase = "Running"
	// PhaseSuspended: spec.suspend keeps the test from starting, or pauses it.
	PhaseSuspended Phase = "Suspended"
	// PhaseFinishing: the last request was sent; responses and results are being collected.
	PhaseFinishing Phase = "Finishing"
	// PhaseCompleted: the plan was completed.
	PhaseCompleted Phase = "Completed"
	// PhaseStopped: a user ended the test early; results are kept.
	PhaseStopped Phase = "Stopped"
	// PhaseFailed: the plan could not be completed; Succeeded says why.
	PhaseFailed Phase = "Failed"
)

// LoadTestStatus is what has been observed. The operator alone writes it, in one patch for each
// change, at most about once a second while the test runs.
type LoadTestStatus struct {
	// observedGeneration is the generation of the spec that this status is about. When it is
	// behind metadata.generation, the operator has not seen the latest edit yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the state in one word: Pending, Invalid, Starting, Running, Suspended, Finishing,
	// Completed, Stopped or Failed. It is for people; programs read conditions.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// conditions are PlanReady, RunnersReady, Finished, Succeeded, Passed, Reconciling and Stalled.
	// docs/spec/loadtest.md has the truth table. Wait for Finished: it is True when the test has ended,
	// for any reason. Each condition has an observedGeneration.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// startTime is the time at which all runners start the load together. From startTime until completionTime the
	// spec is frozen, except for the fields that can change during a run. Absent: the load has not started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the run ended, in whatever way, and its result was stored. Absent:
	// it has not ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// shards counts runners: how many there should be, are ready, were lost. Those that left because
	// the test was scaled down are in none of them.
	// +optional
	Shards *ShardCounts `json:"shards,omitempty"`
	// planHash is the SHA-256 of the plan's canonical bytes, in hexadecimal. Two runs with the
	// same hash executed the same plan; the command line shows the same hash for the same
	// manifest.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PlanHash string `json:"planHash,omitempty"`
	// startedGeneration is the generation of the spec that was run. What later generations changed
	// while the test ran is in changes; after the end an edit has no effect, which
	// the message of Finished and an event report.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartedGeneration int64 `json:"startedGeneration,omitempty"`
	// summary has the strings that kubectl get shows. Programs read results instead.
	// +optional
	Summary *Summary `json:"summary,omitempty"`
	// results are the figures so far while the test runs, and the final ones afterwards.
	// Absent: nothing has been measured.
	// +optional
	Results *Results `json:"results,omitempty"`
	// verdict is the judgement. Absent until the run has finished.
	// +optional
	Verdict *Verdict `json:"verdict,omitempty"`
	// runners has one entry for each shard, in the order of the shards, also for one that was scaled
	// away. Of a shard that has had several runners it is about the newest.
	// +optional
	// +listType=map
	// +listMapKey=shard
	// +kubebuilder:validation:MaxItems=256
	Runners []RunnerStatus `json:"runners,omitempty"`
	// startSkewMicroseconds is the time between the first and the last shard's first turn, that
	// is, by how much the shards missed their common start. Absent: not known yet.
	// +optional
	StartSkewMicroseconds *int64 `json:"startSkewMicroseconds,omitempty"`
	// changes are the changes of the spec that took effect while the test ran, the newest last. At most 32 are kept.
	// If there are more, the operator keeps the first and the last change of each field.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Changes []Change `json:"changes,omitempty"`
	// reportRef names the ConfigMap with the complete report. Absent: the report is not stored yet.
	// +optional
	ReportRef *ReportReference `json:"reportRef,omitempty"`
}

// Change is one field of spec that changed while the test ran.
type Change struct {
	// generation of the spec that has the new value.
	// +required
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation"`
	// time at which the operator saw it.
	// +required
	Time metav1.MicroTime `json:"time"`
	// field that changed: suspend, runner.shards, or a rate such as rates[1].requestsPerSecond.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Field string `json:"field"`
	// from is the old value: true or false, a number of shards, requests a second such as "1000", or
	// count and period such as "1 per 1m0s".
	// +required
	// +kubebuilder:validation:MaxLength=64
	From string `json:"from"`
	// to is the new value.
	// +required
	// +kubebuilder:validation:MaxLength=64
	To string `json:"to"`
	// appliedAt is the time at which this change, or a newer one that replaced it, took effect on all runners. If the
	// operator restarted meanwhile, it is the time at which the new operator saw this. For runner.shards, it is the
	// time at which all of these shards, except lost ones, and no others had a share of the load. Absent: not yet.
	// +optional
	AppliedAt *metav1.MicroTime `json:"appliedAt,omitempty"`
}

// ShardCounts counts runners. Lost ones are not ready.
type ShardCounts struct {
	// desired is the value of spec.runner.shards that took effect last.
	// +required
	// +kubebuilder:validation:Minimum=0
	Desired int32 `json:"desired"`
	// ready runners have opened all their connections. Those that finished stay ready.
	// +required
	// +kubebuilder:validation:Minimum=0
	Ready int32 `json:"ready"`
	// lost is the number of runners that had a share of the load and ended before they returned their final snapshot.
	// +required
	// +kubebuilder:validation:Minimum=0
	Lost int32 `json:"lost"`
}

// Summary has strings that printer columns cannot compute.
type Summary struct {
	// reason is why the test is in its phase: the reason of the condition that explains it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message is the message of that condition.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// shards is "ready/desired", such as "2/2".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Shards string `json:"shards,omitempty"`
	// rate is the requests sent in the last second while the test runs, later the rate achieved
	// over the measured stages.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Rate string `json:"rate,omitempty"`
	// p50 is the median of the response time: "1.1ms".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P50 string `json:"p50,omitempty"`
	// p99 is the 99th percentile of the response time.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P99 string `json:"p99,omitempty"`
	// errors is the error rate so far: "0.02%".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Errors string `json:"errors,omitempty"`
}

// Results are figures merged over all shards. Warm-up is in none of them.
type Results struct {
	// requests counts every request exactly once.
	// +required
	Requests RequestCounts `json:"requests"`
	// warmUpSent counts the requests of warm-up stages.
	// +optional
	WarmUpSent int64 `json:"warmUpSent,omitempty"`
	// setup counts the requests of setup chains, teardown those of teardown chains.
	// +optional
	Setup OnceResult `json:"setup,omitzero"`
	// teardown counts the requests of teardown chains.
	// +optional
	Teardown OnceResult `json:"teardown,omitzero"`
	// causes counts problem details (RFC 9457) by their cause (3GPP TS 29.500 5.2.7.2), the most
	// frequent first, at most 16 of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Causes []NamedCount `json:"causes,omitempty"`
	// failures counts by cause what got no response, the most frequent first, at most 16 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Failures []FailureCount `json:"failures,omitempty"`
	// exhausted is true when a variable with atEnd stop was used up.
	// +optional
	Exhausted bool `json:"exhausted,omitempty"`
	// rate compares asked and achieved.
	// +required
	Rate RateStatus `json:"rate"`
	// errorRate is 1 - succeeded / (sent + dropped), a percentage such as "0.02%". It is "0%" if the runners
	// sent nothing.
	// +required
	// +kubebuilder:validation:MaxLength=32
	ErrorRate string `json:"errorRate"`
	// responseTime is the distribution over all steps, from the instant a request was due to the
	// end of its response, so that time spent waiting for a stream counts.
	// +required
	ResponseTime Times `json:"responseTime"`
	// chains has one entry for each chain of the spec, in its order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Chains []ChainResult `json:"chains,omitempty"`
	// partial is true if a shard with a share of the load was lost, so that what it did after its last snapshot is
	// missing.
	// +optional
	Partial bool `json:"partial,omitempty"`
}

// FailureCount is how often something failed for the same cause.
type FailureCount struct {
	// of is what failed: connect (an attempt to open a connection), connection (one that was open), or
	// the counter of requests that counts it: reset, connectionLost or dropped.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Of string `json:"of"`
	// cause is a word, such as refused, tlsAlert, goAway or noStream.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Cause string `json:"cause"`
	// detail is the code, alert or rule behind cause.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Detail string `json:"detail,omitempty"`
	// address is the address of the target.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Address string `json:"address,omitempty"`
	// count is how often it happened.
	// +required
	Count int64 `json:"count"`
}

// OnceResult counts the requests of chains that run once for the whole test.
type OnceResult struct {
	// sent requests left the runner.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent"`
	// succeeded responses were as expected.
	// +required
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
}

// NamedCount is a count of something that has a name.
type NamedCount struct {
	// name of what is counted.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// count of it.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int64 `json:"count"`
}

// RequestCounts count each request of the measured stages in exactly one term of sent = done + timedOut + reset +
// connectionLost + inFlightAtEnd, where done = succeeded + failedChecks. Dropped ones were never sent.
type RequestCounts struct {
	// sent requests left the runner.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent"`
	// done requests got a whole response.
	// +required
	// +kubebuilder:validation:Minimum=0
	Done int64 `json:"done"`
	// succeeded responses were as expected.
	// +required
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
	// failedChecks responses were not.
	// +required
	// +kubebuilder:validation:Minimum=0
	FailedChecks int64 `json:"failedChecks"`
	// timedOut requests got no whole response in time.
	// +required
	// +kubebuilder:validation:Minimum=0
	TimedOut int64 `json:"timedOut"`
	// reset requests were refused by the peer's RST_STREAM.
	// +required
	// +kubebuilder:validation:Minimum=0
	Reset int64 `json:"reset"`
	// connectionLost requests were in flight on a connection that closed.
	// +required
	// +kubebuilder:validation:Minimum=0
	ConnectionLost int64 `json:"connectionLost"`
	// inFlightAtEnd requests had no outcome when the run ended, or have none yet.
	// +required
	// +kubebuilder:validation:Minimum=0
	InFlightAtEnd int64 `json:"inFlightAtEnd"`
	// dropped slots were never sent, because no stream came free in time.
	// +required
	// +kubebuilder:validation:Minimum=0
	Dropped int64 `json:"dropped"`
	// retried requests were given back unprocessed by the peer and sent again.
	// +required
	// +kubebuilder:validation:Minimum=0
	Retried int64 `json:"retried"`
}

// RateStatus is in requests a second, as decimal strings.
type RateStatus struct {
	// asked is the rate of the spec over the measured stages; "0" when one of them is a closed loop.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Asked string `json:"asked"`
	// achieved is what was sent in the measured window, drain excluded.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Achieved string `json:"achieved"`
}

// Times sums up a distribution in integer microseconds. Percentiles are exact to three
// significant digits. All are 0 when nothing was measured.
type Times struct {
	// p50 is the median.
	// +required
	// +kubebuilder:validation:Minimum=0
	P50 int64 `json:"p50"`
	// p90 is the 90th percentile.
	// +required
	// +kubebuilder:validation:Minimum=0
	P90 int64 `json:"p90"`
	// p95 is the 95th percentile.
	// +required
	// +kubebuilder:validation:Minimum=0
	P95 int64 `json:"p95"`
	// p99 is the 99th percentile.
	// +required
	// +kubebuilder:validation:Minimum=0
	P99 int64 `json:"p99"`
	// p999 is the 99.9th percentile.
	// +required
	// +kubebuilder:validation:Minimum=0
	P999 int64 `json:"p999"`
	// max is the greatest time, exact.
	// +required
	// +kubebuilder:validation:Minimum=0
	Max int64 `json:"max"`
}

// ChainResult is one chain over all shards.
type ChainResult struct {
	// name of the chain.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// started instances = completed + aborted + unfinished.
	// +required
	// +kubebuilder:validation:Minimum=0
	Started int64 `json:"started"`
	// completed instances ran all their steps.
	// +required
	// +kubebuilder:validation:Minimum=0
	Completed int64 `json:"completed"`
	// aborted instances ended at a step that failed.
	// +required
	// +kubebuilder:validation:Minimum=0
	Aborted int64 `json:"aborted"`
	// abortedBy counts aborted by reason: failedCheck, missingCapture, timedOut, reset,
	// connectionLost, dropped, script or location; the most frequent first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	AbortedBy []NamedCount `json:"abortedBy,omitempty"`
	// steps has one entry for each step, in the order of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Steps []StepResult `json:"steps,omitempty"`
}

// StepResult is one step of a chain over all shards.
type StepResult struct {
	// name of the step.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// sent requests of this step.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sent int64 `json:"sent"`
	// succeeded requests of this step.
	// +required
	// +kubebuilder:validation:Minimum=0
	Succeeded int64 `json:"succeeded"`
	// failed requests are all others that have an outcome.
	// +required
	// +kubebuilder:validation:Minimum=0
	Failed int64 `json:"failed"`
	// failedBy counts the responses that failed by the first check that did not hold; the most
	// frequent first, at most 8 of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	FailedBy []NamedCount `json:"failedBy,omitempty"`
	// errorRate is 1 - succeeded / sent, a percentage such as "0.02%".
	// +required
	// +kubebuilder:validation:MaxLength=32
	ErrorRate string `json:"errorRate"`
	// responseTime is the distribution from due to done.
	// +required
	ResponseTime Times `json:"responseTime"`
}

// RunnerStatus is one shard's runner.
type RunnerStatus struct {
	// shard is the index, from 0; it is the Job's completion index.
	// +required
	// +kubebuilder:validation:Minimum=0
	Shard int32 `json:"shard"`
	// pod is the name of the pod that runs it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`
	// node is the name of the node the pod is on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
	// state is Waiting, Connecting, SettingUp, Ready, Running, Draining, Drained, TearingDown or Done, as the runner
	// reports it. The operator sets Joining (the test runs, and the runner has no share of the load yet), Left
	// (removed by scaling, with its counts kept) or Lost.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`
	// member is true while the runner has a share of the load. It becomes false for a lost runner when the others
	// take over its share.
	// +optional
	Member bool `json:"member,omitempty"`
	// cpus are those the workers are pinned to, as a list such as "1,3"; empty: not pinned.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CPUs string `json:"cpus,omitempty"`
	// exclusive is true when the runner verified that these CPUs are its own.
	// +optional
	Exclusive bool `json:"exclusive,omitempty"`
	// lagP99Microseconds is the 99th percentile of lag on it so far: how late its workers pick up
	// what is due.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LagP99Microseconds int64 `json:"lagP99Microseconds,omitempty"`
	// throttledMicroseconds is how long the CPU quota has kept it from running so far.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ThrottledMicroseconds int64 `json:"throttledMicroseconds,omitempty"`
	// message says what is wrong with it; empty: nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// Verdict is the judgement of a finished run.
type Verdict struct {
	// outcome is Passed, Failed (a threshold failed), Inconclusive (the generator was the
	// bottleneck, so the figures say nothing about the target, or a lost runner's last part is
	// missing), Error (the plan could not be executed) or Stopped.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Outcome string `json:"outcome"`
	// reason is one CamelCase word.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message is a sentence for people.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
	// thresholds has one entry for each threshold of the spec, in its order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Thresholds []ThresholdStatus `json:"thresholds,omitempty"`
}

// ThresholdStatus compares a threshold with what was observed.
type ThresholdStatus struct {
	// name of the threshold.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// limit is the threshold's max or min with its comparison, such as "<= 20ms".
	// +required
	// +kubebuilder:validation:MaxLength=64
	Limit string `json:"limit"`
	// observed is the value that was found, in the limit's unit.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Observed string `json:"observed"`
	// passed is true when the limit holds.
	// +required
	Passed bool `json:"passed"`
}

// ReportReference names a ConfigMap of the same namespace.
type ReportReference struct {
	// name of the ConfigMap; its binaryData holds report.json.gz.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// dropped lists the details left out because the report was too large.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Dropped []string `json:"dropped,omitempty"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Phase is the state of a run in one word, for people. Programs read conditions.
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
	// PhaseFinishing: the last request was sent; responses and results are being collected.
	PhaseFinishing Phase = "Finishing"
	// PhaseCompleted: executed whole.
	PhaseCompleted Phase = "Completed"
	// PhaseStopped: ended early on request; results are kept.
	PhaseStopped Phase = "Stopped"
	// PhaseFailed: could not be executed whole; Succeeded says why.
	PhaseFailed Phase = "Failed"
)

// LoadTestStatus is what has been observed.
type LoadTestStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the state in one word. It is derived and steers nothing.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// conditions are PlanReady, RunnersReady, Running, ThresholdsMet, Finished, Succeeded,
	// Passed, Reconciling and Stalled; docs/spec has the truth table.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// startTime is the instant at which the runners were told to begin.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the run ended, in whatever way.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// shards counts runners.
	// +optional
	Shards *ShardCounts `json:"shards,omitempty"`
	// planHash is the SHA-256 of the plan's canonical bytes, in hexadecimal.
	// +optional
	PlanHash string `json:"planHash,omitempty"`
	// startedGeneration is the generation of the spec that was run. A later generation has
	// been accepted but changes nothing.
	// +optional
	StartedGeneration int64 `json:"startedGeneration,omitempty"`
	// summary has the strings that kubectl get shows.
	// +optional
	Summary *Summary `json:"summary,omitempty"`
	// results are the figures so far while the test runs, and the final ones afterwards.
	// +optional
	Results *Results `json:"results,omitempty"`
	// verdict is the judgement, once the run has finished.
	// +optional
	Verdict *Verdict `json:"verdict,omitempty"`
	// runners has one entry for each shard.
	// +optional
	// +listType=map
	// +listMapKey=shard
	Runners []RunnerStatus `json:"runners,omitempty"`
	// startSkewMicroseconds is the time between the first and the last shard's first turn.
	// +optional
	StartSkewMicroseconds *int64 `json:"startSkewMicroseconds,omitempty"`
	// reportRef names the ConfigMap with the whole Report.
	// +optional
	ReportRef *ReportReference `json:"reportRef,omitempty"`
}

// ShardCounts counts runners. Lost ones are not ready.
type ShardCounts struct {
	// desired is spec.runner.shards of the generation that runs.
	Desired int32 `json:"desired"`
	// ready runners have opened all their connections.
	Ready int32 `json:"ready"`
	// lost runners ended before they had returned their final snapshot.
	Lost int32 `json:"lost"`
}

// Summary has strings that printer columns cannot compute.
type Summary struct {
	// shards is "ready/desired".
	// +optional
	Shards string `json:"shards,omitempty"`
	// rate is the requests sent in the last second, later the rate achieved over the test.
	// +optional
	Rate string `json:"rate,omitempty"`
	// p50 is the median of the response time: "1.1ms".
	// +optional
	P50 string `json:"p50,omitempty"`
	// p99 is the 99th percentile of the response time.
	// +optional
	P99 string `json:"p99,omitempty"`
	// errors is the error ratio in percent: "0.02%".
	// +optional
	Errors string `json:"errors,omitempty"`
}

// Results are figures merged over all shards. Warm-up is in none of them.
type Results struct {
	// requests counts every request exactly once.
	Requests RequestCounts `json:"requests"`
	// warmUpSent counts the requests of warm-up stages.
	// +optional
	WarmUpSent int64 `json:"warmUpSent,omitempty"`
	// rate compares asked and achieved.
	Rate RateStatus `json:"rate"`
	// errorRatio is 1 - succeeded / (sent + dropped), a decimal string.
	ErrorRatio string `json:"errorRatio"`
	// responseTime is the distribution over all steps, from due to done.
	ResponseTime Times `json:"responseTime"`
	// chains has one entry for each chain of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	Chains []ChainResult `json:"chains,omitempty"`
	// partial is true when a shard was lost, so that its last part is missing.
	// +optional
	Partial bool `json:"partial,omitempty"`
}

// RequestCounts obey sent = done + timedOut + reset + connectionLost + inFlightAtEnd and
// done = succeeded + failedChecks.
type RequestCounts struct {
	// sent requests left the runner.
	Sent int64 `json:"sent"`
	// done requests got a whole response.
	Done int64 `json:"done"`
	// succeeded responses were as expected.
	Succeeded int64 `json:"succeeded"`
	// failedChecks responses were not.
	FailedChecks int64 `json:"failedChecks"`
	// timedOut requests got no whole response in time.
	TimedOut int64 `json:"timedOut"`
	// reset requests were refused by the peer's RST_STREAM.
	Reset int64 `json:"reset"`
	// connectionLost requests were in flight on a connection that closed.
	ConnectionLost int64 `json:"connectionLost"`
	// inFlightAtEnd requests had no outcome when the run ended, or have none yet.
	InFlightAtEnd int64 `json:"inFlightAtEnd"`
	// dropped slots were never sent, because no stream came free in time.
	Dropped int64 `json:"dropped"`
	// retried requests were given back unprocessed by the peer and sent once more.
	Retried int64 `json:"retried"`
}

// RateStatus is in requests a second, as decimal strings.
type RateStatus struct {
	// asked is the rate of the spec over the measured stages; "0" when as fast as possible.
	Asked string `json:"asked"`
	// achieved is what was sent in the measured window, drain excluded.
	Achieved string `json:"achieved"`
}

// Times sums up a distribution in integer microseconds.
type Times struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P95  int64 `json:"p95"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// ChainResult is one chain over all shards.
type ChainResult struct {
	// name of the chain.
	Name string `json:"name"`
	// started instances = completed + aborted + unfinished.
	Started int64 `json:"started"`
	// completed instances ran all their steps.
	Completed int64 `json:"completed"`
	// aborted instances ended at a step that failed.
	Aborted int64 `json:"aborted"`
	// steps has one entry for each step.
	// +optional
	// +listType=map
	// +listMapKey=name
	Steps []StepResult `json:"steps,omitempty"`
}

// StepResult is one step of a chain over all shards.
type StepResult struct {
	// name of the step.
	Name string `json:"name"`
	// sent requests of this step.
	Sent int64 `json:"sent"`
	// succeeded requests of this step.
	Succeeded int64 `json:"succeeded"`
	// failed requests are all others that have an outcome.
	Failed int64 `json:"failed"`
	// errorRatio is 1 - succeeded / sent, a decimal string.
	ErrorRatio string `json:"errorRatio"`
	// responseTime from due to done.
	ResponseTime Times `json:"responseTime"`
}

// RunnerStatus is one shard's runner.
type RunnerStatus struct {
	// shard is the index.
	Shard int32 `json:"shard"`
	// pod that runs it.
	// +optional
	Pod string `json:"pod,omitempty"`
	// node the pod is on.
	// +optional
	Node string `json:"node,omitempty"`
	// state as the runner tells it, or Lost.
	// +optional
	State string `json:"state,omitempty"`
	// cpus the workers are pinned to, as a list such as "1,3"; empty: not pinned.
	// +optional
	CPUs string `json:"cpus,omitempty"`
	// exclusive is true when the runner verified that these CPUs are its own.
	// +optional
	Exclusive bool `json:"exclusive,omitempty"`
	// message says what is wrong with it.
	// +optional
	Message string `json:"message,omitempty"`
}

// Verdict is the judgement of a finished run.
type Verdict struct {
	// outcome is Passed, Failed, Inconclusive, Error or Stopped.
	Outcome string `json:"outcome"`
	// reason is one CamelCase word.
	Reason string `json:"reason"`
	// message is a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// thresholds has one entry for each threshold of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	Thresholds []ThresholdStatus `json:"thresholds,omitempty"`
}

// ThresholdStatus compares a threshold with what was observed.
type ThresholdStatus struct {
	// name of the threshold.
	Name string `json:"name"`
	// limit with its comparison: "<= 20ms".
	Limit string `json:"limit"`
	// observed value, in the limit's unit.
	Observed string `json:"observed"`
	// passed is true when the limit holds.
	Passed bool `json:"passed"`
}

// ReportReference names a ConfigMap of the same namespace.
type ReportReference struct {
	// name of the ConfigMap; its binaryData holds report.json.gz.
	Name string `json:"name"`
	// dropped lists the details left out because the report was too large.
	// +optional
	// +listType=atomic
	Dropped []string `json:"dropped,omitempty"`
}

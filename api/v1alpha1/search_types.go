package v1alpha1

// SearchLoad is what a search changes.
//
// +kubebuilder:validation:Enum=RequestsPerSecond;Concurrency
type SearchLoad string

const (
	// SearchRequestsPerSecond makes each probe a stage with requestsPerSecond.
	SearchRequestsPerSecond SearchLoad = "RequestsPerSecond"
	// SearchConcurrency makes each probe a stage with closedLoop.concurrency.
	SearchConcurrency SearchLoad = "Concurrency"
)

// Search makes the test look for the highest load at which all thresholds pass. The test sends probes, each at one
// load. It multiplies the load by four until a probe fails, or divides it by four until one holds. Then it probes the
// geometric mean of the highest load that held and the lowest one that failed, until they differ by at most precision,
// and probes both again. Between two probes it sends nothing until all responses came and no step awaits a
// notification. Connections stay open.
//
// +kubebuilder:validation:XValidation:rule="!has(self.start) || self.min <= self.start",message="start must be at least min",fieldPath=".start"
// +kubebuilder:validation:XValidation:rule="!has(self.start) || !has(self.max) || self.start <= self.max",message="start must be at most max",fieldPath=".start"
// +kubebuilder:validation:XValidation:rule="!has(self.max) || self.min <= self.max",message="max must be at least min",fieldPath=".max"
type Search struct {
	// load is what the search changes: RequestsPerSecond is the rate, Concurrency the number of requests in flight in a
	// closed loop, both over all shards. Default: RequestsPerSecond.
	// +optional
	// +kubebuilder:default=RequestsPerSecond
	Load SearchLoad `json:"load,omitempty"`
	// start is the load of the first probe. The number of probes is smallest if it is near the result. Default: 1000 with
	// RequestsPerSecond, 16 with Concurrency, or min or max if that is nearer. Bounds: min to max.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Start int64 `json:"start,omitempty"`
	// min is the lowest load that the search tries. If a probe at min fails, the outcome is NotFound. Default: 1. Bounds:
	// 1 to max.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Min int64 `json:"min,omitempty"`
	// max is the highest load that the search tries. If a probe at max holds, the outcome is MaximumHeld. Default:
	// 100000000 with RequestsPerSecond, all streams of the targets with Concurrency. Bounds: min to these numbers.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Max int64 `json:"max,omitempty"`
	// precision is how far the lowest load that failed may be above the highest one that held. Loads are whole numbers, so
	// they may always differ by one. Default: 3%. Bounds: 0.1% to 50%.
	// +optional
	// +kubebuilder:default="3%"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^(50(\.0{1,9})?|[1-4]?[0-9](\.[0-9]{1,9})?)%$`
	// +kubebuilder:validation:XValidation:rule="double(self.replace('%', '')) >= 0.1",message="must be at least 0.1%"
	Precision string `json:"precision,omitempty"`
	// probeDuration is how long a probe is measured. A longer probe finds a smaller overload: a target that gets 1% more
	// requests than it can answer is late by 100ms after 10s. Default: 10s. Bounds: 1s to 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be between 1s and 1h"
	ProbeDuration *Duration `json:"probeDuration,omitempty"`
	// settleDuration is how long a probe sends at its load before it is measured. Its requests count as requests of a
	// warm-up. Default: 2s. Bounds: 0s to 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h"
	SettleDuration *Duration `json:"settleDuration,omitempty"`
	// maxProbes is the maximum number of probes. A search from a start within a factor of 64 of the result needs at most
	// 14 of them, if the precision is 3%. If all probes are used, the outcome is Incomplete. Default: 20. Bounds: 1 to 30.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	MaxProbes int32 `json:"maxProbes,omitempty"`
}

// SearchOutcome is the result of a search in one word.
//
// +kubebuilder:validation:Enum=Found;MaximumHeld;NotFound;GeneratorBound;Moved;Incomplete
type SearchOutcome string

const (
	// SearchFound: highest held twice, and a load that is higher by at most spec.search.precision failed twice.
	SearchFound SearchOutcome = "Found"
	// SearchMaximumHeld: spec.search.max held, so the target may be able to do more.
	SearchMaximumHeld SearchOutcome = "MaximumHeld"
	// SearchNotFound: no load held, not even spec.search.min.
	SearchNotFound SearchOutcome = "NotFound"
	// SearchGeneratorBound: the generator was the bottleneck above highest, so the target may be able to do more. Or
	// probes at the same load have different results, and the generator was the bottleneck there or at a lower load.
	SearchGeneratorBound SearchOutcome = "GeneratorBound"
	// SearchMoved: probes at the same load have different results, so the capacity of the target changed during the
	// search. If the generator was the bottleneck at a higher load, the message says that it may have changed.
	SearchMoved SearchOutcome = "Moved"
	// SearchIncomplete: the run ended, or all probes were used, before there was a result.
	SearchIncomplete SearchOutcome = "Incomplete"
)

// ProbeOutcome says what a probe showed.
//
// +kubebuilder:validation:Enum=Held;Failed;GeneratorBound;Invalid
type ProbeOutcome string

const (
	// ProbeHeld: all thresholds passed.
	ProbeHeld ProbeOutcome = "Held"
	// ProbeFailed: a threshold failed.
	ProbeFailed ProbeOutcome = "Failed"
	// ProbeGeneratorBound: the generator was the bottleneck, so the figures say nothing about the target.
	ProbeGeneratorBound ProbeOutcome = "GeneratorBound"
	// ProbeInvalid: the load changed during the probe, a runner was lost, or another operator began it. The search repeats
	// it.
	ProbeInvalid ProbeOutcome = "Invalid"
)

// SearchStatus is the progress and the result of a search.
type SearchStatus struct {
	// load is what the search changes, and the unit of all loads: requests per second, or requests in flight.
	// +optional
	Load SearchLoad `json:"load,omitempty"`
	// outcome is the result of the search in one word. It is empty while the search runs.
	// +optional
	Outcome SearchOutcome `json:"outcome,omitempty"`
	// message describes the result, or what the search does.
	// +optional
	Message string `json:"message,omitempty"`
	// highest is the highest load that held so far. Zero: none held.
	Highest int64 `json:"highest"`
	// lowest is the lowest load that did not hold so far. Zero: all held.
	Lowest int64 `json:"lowest"`
	// probes are the probes that ended, in their order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=30
	Probes []ProbeStatus `json:"probes,omitempty"`
}

// ProbeStatus has the figures of one probe, without its settleDuration.
type ProbeStatus struct {
	// load is the load of the probe.
	Load int64 `json:"load"`
	// outcome says what the probe showed.
	Outcome ProbeOutcome `json:"outcome"`
	// message says why the outcome is not Held.
	// +optional
	Message string `json:"message,omitempty"`
	// achieved is the rate that was sent, in requests per second. It is absent if the outcome is Invalid.
	// +optional
	Achieved *float64 `json:"achieved,omitempty"`
	// errorRate is the share of requests that failed, such as 0.005 for 0.5%. It is absent if the outcome is Invalid.
	// +optional
	ErrorRate *float64 `json:"errorRate,omitempty"`
	// responseTime has the response times in microseconds.
	// +optional
	ResponseTime Times `json:"responseTime,omitempty,omitzero"`
}

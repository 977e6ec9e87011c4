package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Chain is a sequence of requests. An instance of it is like one session of one client: it draws its
// variables once, and its steps run one after another.
//
// +kubebuilder:validation:XValidation:rule="!has(self.phase) || self.phase == 'load' || !(has(self.maxInFlight) || has(self.startDelay))",message="maxInFlight and startDelay go with phase load"
type Chain struct {
	// name is the chain's name in results: lower-case letters, digits and -, at most 50
	// characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// target is the name of the target that gets the requests.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target"`
	// phase is load, as often as the rates ask for; setup, once for the whole test before the load
	// starts, on one shard; or teardown, once for the whole test after the last response, on the same
	// shard, also when the test was stopped by spec.stop. Setup chains run one after another in the
	// order of the spec, and so do teardown chains. Their requests are counted apart. When a setup
	// chain fails, the load does not start. What setup chains capture, all later chains may read. At
	// least one chain is load. Default load.
	// +optional
	// +kubebuilder:default=load
	Phase ChainPhase `json:"phase,omitempty"`
	// weight is this chain's share of the chain instances that are started, or of the requests,
	// as spec.weightBy says: of two chains with the weights 3 and 1 the first is started three times
	// as often. 1 to 10000. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Weight int32 `json:"weight,omitempty"`
	// startDelay keeps the chain from being started for so long after the start of the test; the
	// other chains are started in its place. At least one chain has none. At most 24h. Default 0s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="must be at most 24h, and not negative"
	StartDelay *metav1.Duration `json:"startDelay,omitempty"`
	// maxInFlight bounds the instances of the chain that are under way at any time, over all shards,
	// among which it is split exactly: 1 to 10000000, at least one for each shard. A slot for which no
	// chain may be started is counted as dropped. Default: no bound.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	MaxInFlight *int32 `json:"maxInFlight,omitempty"`
	// cookies keeps a cookie store for each instance, as a browser does (RFC 6265): what responses set
	// is sent with the requests that follow. Default false.
	// +optional
	Cookies bool `json:"cookies,omitempty"`
	// steps are the requests of the chain in their order, 1 to 64 of them.
	// When a step fails, times out or lacks a captured value, the instance ends there, unless onFailure is
	// set.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Steps []Step `json:"steps"`
}

// ChainPhase is when a chain runs.
//
// +kubebuilder:validation:Enum=load;setup;teardown
type ChainPhase string

const (
	// PhaseLoad is as often as the rates ask for.
	PhaseLoad ChainPhase = "load"
	// PhaseSetup is once, before the load.
	PhaseSetup ChainPhase = "setup"
	// PhaseTeardown is once, after the load.
	PhaseTeardown ChainPhase = "teardown"
)

// Step is one request of a chain, or several requests that are sent at the same time.
// Exactly one of request, template and parallel is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.request), has(self.template), has(self.parallel)].filter(x, x).size() == 1",message="exactly one of request, template and parallel is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.request) || has(self.name)",message="a step with a request needs a name"
// +kubebuilder:validation:XValidation:rule="!has(self.parallel) || !(has(self.name) || has(self.target) || has(self.repeat) || has(self.retry) || has(self.onFailure) || (has(self.clearCookies) && self.clearCookies))",message="with parallel only thinkTime and when are possible beside it"
type Step struct {
	// request is the request to send.
	// +optional
	Request *Request `json:"request,omitempty"`
	// template is the name of the template to send.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Template string `json:"template,omitempty"`
	// parallel are 2 to 16 requests that are sent at the same time; each takes a slot of its own. The
	// next step follows when all have their outcome. What one of them captures is there for later
	// steps, not for the others.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=16
	Parallel []ParallelStep `json:"parallel,omitempty"`
	// name is the name of the step in results.
	// It has 1 to 50 lower-case letters, digits and -, and begins and ends with a letter or a digit.
	// No other step of the chain may have the same name.
	// It is needed with request. Default: the name of the template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// target is the name of the target of this step. Default: the chain's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target,omitempty"`
	// thinkTime is waited before the step, counted from the end of the step before it. Before the
	// first request of an instance none is waited. Default: none.
	// +optional
	ThinkTime *ThinkTime `json:"thinkTime,omitempty"`
	// when lists up to 8 conditions that must all hold; otherwise the step is skipped, which is no
	// failure. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, (has(c.equals) ? 1 : 0) + (has(c.startsWith) ? 1 : 0) + (has(c.endsWith) ? 1 : 0) + (has(c.contains) ? 1 : 0) + (has(c.matches) ? 1 : 0) + (has(c.exists) ? 1 : 0) + (has(c.lessThan) ? 1 : 0) + (has(c.greaterThan) ? 1 : 0) == 1)",message="exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed"
	When []Condition `json:"when,omitempty"`
	// repeat sends the step several times, one after another. Default: once.
	// +optional
	Repeat *Repeat `json:"repeat,omitempty"`
	// retry sends the step again when it fails. Default: it is not.
	// +optional
	Retry *Retry `json:"retry,omitempty"`
	// onFailure says what happens when the step has failed, after its retries: abort ends the chain
	// instance, continue goes on with the next step. The request counts as failed either way.
	// Default abort.
	// +optional
	// +kubebuilder:validation:Enum=abort;continue
	OnFailure FailureAction `json:"onFailure,omitempty"`
	// clearCookies empties the instance's cookie store before the request. Default false.
	// +optional
	ClearCookies bool `json:"clearCookies,omitempty"`
}

// ParallelStep is one of several requests at the same time.
type ParallelStep struct {
	// template is the name of the template to send.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Template string `json:"template"`
	// name is the step's name in results, as in steps. Default: the template's name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// target is the name of the target of this request. Default: the chain's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target,omitempty"`
	// when lists up to 8 conditions that must all hold, or this request is skipped.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	When []Condition `json:"when,omitempty"`
	// retry sends the request again when it fails. Default: it is not.
	// +optional
	Retry *Retry `json:"retry,omitempty"`
	// onFailure is abort or continue, as in steps; the others of the group are awaited in any case.
	// Default abort.
	// +optional
	// +kubebuilder:validation:Enum=abort;continue
	OnFailure FailureAction `json:"onFailure,omitempty"`
}

// FailureAction says what a failed step means for its chain instance.
type FailureAction string

const (
	// FailureAbort ends the instance.
	FailureAbort FailureAction = "abort"
	// FailureContinue goes on with the next step.
	FailureContinue FailureAction = "continue"
)

// ThinkTime is a pause. Exactly one of fixed, uniform and exponential is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.fixed), has(self.uniform), has(self.exponential)].filter(x, x).size() == 1",message="exactly one of fixed, uniform and exponential is needed"
type ThinkTime struct {
	// fixed is always the same, at most 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Fixed *metav1.Duration `json:"fixed,omitempty"`
	// uniform is any time between two, all equally likely.
	// +optional
	Uniform *UniformTime `json:"uniform,omitempty"`
	// exponential is as between independent events, such as what users do.
	// +optional
	Exponential *ExponentialTime `json:"exponential,omitempty"`
}

// UniformTime is any time between two.
//
// +kubebuilder:validation:XValidation:rule="duration(self.max) >= duration(self.min)",message="max must not be below min"
type UniformTime struct {
	// min is the shortest time, at most 1h.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Min metav1.Duration `json:"min"`
	// max is the longest time, at most 1h.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Max metav1.Duration `json:"max"`
}

// ExponentialTime is exponentially distributed.
type ExponentialTime struct {
	// mean is the average time, greater than 0 and at most 1h.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Mean metav1.Duration `json:"mean"`
	// max cuts longer times off, greater than 0 and at most 1h. Default ten times the mean, at most 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Max *metav1.Duration `json:"max,omitempty"`
}

// Condition compares a text with a value. That it has exactly one comparison is checked by the API
// server in steps and repeat; in parallel that would cost more than CEL may (it has no way to know
// that all steps together are 256 at most), so there the compiler alone does.
type Condition struct {
	// value is the text that is compared, with holes such as ${state}, at most 1024 characters. An
	// empty text counts as no value.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value      string `json:"value"`
	Comparison `json:",inline"`
}

// Repeat sends a step several times.
type Repeat struct {
	// count is how often at most, 1 to 100000. Each is a request of its own, with thinkTime before it.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Count int32 `json:"count"`
	// until lists up to 8 conditions that are looked at after each response; when all hold, the chain
	// goes on. They may read what the step itself captures. Default: none, so the step is sent count
	// times.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, (has(c.equals) ? 1 : 0) + (has(c.startsWith) ? 1 : 0) + (has(c.endsWith) ? 1 : 0) + (has(c.contains) ? 1 : 0) + (has(c.matches) ? 1 : 0) + (has(c.exists) ? 1 : 0) + (has(c.lessThan) ? 1 : 0) + (has(c.greaterThan) ? 1 : 0) == 1)",message="exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed"
	Until []Condition `json:"until,omitempty"`
}

// Retry sends a step again when it fails. Each retry is a request of its own in all counts.
type Retry struct {
	// attempts is how often it is sent again at most, 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Attempts int32 `json:"attempts"`
	// backoff is waited before the first retry and doubles with each further one. At most 1h.
	// Default 100ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Backoff *metav1.Duration `json:"backoff,omitempty"`
	// maxBackoff bounds what is waited. At most 1h. Default 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	MaxBackoff *metav1.Duration `json:"maxBackoff,omitempty"`
}

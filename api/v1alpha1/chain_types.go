package v1alpha1

// Chain is a sequence of requests. An instance of a chain is like one session of one client: it draws its
// variables once, and its steps run one after another.
//
// +kubebuilder:validation:XValidation:rule="!has(self.phase) || self.phase == 'Load' || !(has(self.maxInFlight) || has(self.startDelay))",message="maxInFlight and startDelay go with phase Load"
// +kubebuilder:validation:XValidation:rule="!has(self.phase) || self.phase == 'Load' || (!has(self.rates) || self.rates.size() == 0) && !has(self.startAfter)",message="rates and startAfter go with phase Load"
// +kubebuilder:validation:XValidation:rule="!has(self.startAfter) || (has(self.rates) && self.rates.size() > 0)",message="startAfter needs rates",fieldPath=".startAfter"
// +kubebuilder:validation:XValidation:rule="!has(self.startDelay) || !has(self.rates) || self.rates.size() == 0",message="startDelay is not allowed with rates; use startAfter",fieldPath=".startDelay"
// +kubebuilder:validation:XValidation:rule="!has(self.weight) || self.weight == 1 || !has(self.rates) || self.rates.size() == 0",message="weight is not allowed with rates, because the chain is not in the weighted mix",fieldPath=".weight"
type Chain struct {
	// name is the name of the chain in results.
	// It has 1 to 50 lower-case letters, digits and -, and begins and ends with a letter or a digit.
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
	// phase is when the chain runs: Load, Setup or Teardown.
	// Load runs the chain as often as the rates ask for. At least one chain is Load.
	// Setup runs the chain once for the whole test, on one shard, before the load starts. When a setup chain
	// fails, the load does not start. All later chains can read what setup chains capture.
	// Teardown runs the chain once for the whole test, on the same shard, after the last response. It runs
	// after spec.stop, too.
	// Setup chains run one after another in the order of the spec, and so do teardown chains.
	// The report counts their requests separately.
	// Default: Load.
	// +optional
	// +kubebuilder:default=Load
	Phase ChainPhase `json:"phase,omitempty"`
	// weight is the share of the chain in the load, relative to the weights of the other chains.
	// spec.weightBy says whether it is a share of the chain instances or of the requests.
	// Of two chains with the weights 3 and 1, the first starts three times as often.
	// It is 1 to 10000. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Weight int32 `json:"weight,omitempty"`
	// startDelay is the time after the start of the test before which no instance of the chain starts.
	// The other chains start in its place, so at least one load chain has no startDelay.
	// It is at most 24h. Default: 0s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="must be at most 24h, and not negative"
	StartDelay *Duration `json:"startDelay,omitempty"`
	// rates are stages of the chain's own. The chain is then not in the weighted mix of the other chains, and
	// spec.rates does not apply to it. Its stages run one after another, at the same time as those of spec.rates.
	// The load ends when the last stage of all chains has ended.
	// The fields of a stage are those of spec.rates, and closedLoop is not allowed. Names of stages are unique in the
	// test. Warm-up stages come first. While the test runs, the same fields can change as in spec.rates.
	// It has at most 16 stages. Default: none; then the chain is in the mix.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists(r, !has(r.warmUp) || !r.warmUp)",message="at least one stage must not be a warm-up"
	// +kubebuilder:validation:XValidation:rule="self.all(i, r, i == 0 || !has(r.warmUp) || !r.warmUp || (has(self[i-1].warmUp) && self[i-1].warmUp))",message="warm-up stages must come before all others"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !has(r.closedLoop))",message="closedLoop is not allowed in rates of a chain; use a rate, and maxInFlight to bound its instances"
	Rates []Rate `json:"rates,omitempty"`
	// startAfter is the time from the start of the test to the first stage of the chain's own rates.
	// The time in which the test is suspended does not count. It needs rates.
	// It is at most 720h. Default: 0s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('720h')",message="must be at most 720h, and not negative"
	StartAfter *Duration `json:"startAfter,omitempty"`
	// maxInFlight is the largest number of instances of the chain that run at the same time.
	// It counts all shards together, and each shard gets an exact share of it.
	// It is at least the number of shards, and at most 10000000.
	// A slot at which no chain may start counts as dropped.
	// Default: no bound.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	MaxInFlight *int32 `json:"maxInFlight,omitempty"`
	// cookies gives each instance a cookie store, as a browser has (RFC 6265).
	// Later requests of the instance send the cookies that responses have set.
	// Default: false.
	// +optional
	Cookies bool `json:"cookies,omitempty"`
	// steps are the requests of the chain in their order, 1 to 64 of them.
	// When a step fails, the instance ends and does not send its later steps, unless onFailure of the step is
	// Continue. Only steps with always: true are then sent. They come last.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(i, s, i == 0 || !has(self[i-1].always) || !self[i-1].always || (has(s.always) && s.always))",message="a step after one with always: true needs always: true"
	Steps []Step `json:"steps"`
}

// ChainPhase is when a chain runs.
//
// +kubebuilder:validation:Enum=Load;Setup;Teardown
type ChainPhase string

const (
	// PhaseLoad runs the chain as often as the rates ask for.
	PhaseLoad ChainPhase = "Load"
	// PhaseSetup runs the chain once, before the load.
	PhaseSetup ChainPhase = "Setup"
	// PhaseTeardown runs the chain once, after the load.
	PhaseTeardown ChainPhase = "Teardown"
)

// Step is one request of a chain, or several requests that are sent at the same time.
// It can also be a wait for a notification.
// Exactly one of request, template, parallel and await is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.request), has(self.template), has(self.parallel), has(self.await)].filter(x, x).size() == 1",message="exactly one of request, template, parallel and await is needed"
// +kubebuilder:validation:XValidation:rule="!(has(self.request) || has(self.await)) || has(self.name)",message="a step with a request or await needs a name"
// +kubebuilder:validation:XValidation:rule="!has(self.await) || !(has(self.target) || has(self.repeat) || has(self.retry) || (has(self.clearCookies) && self.clearCookies))",message="cannot be used with await; allowed: thinkTime, when, onFailure, always"
// +kubebuilder:validation:XValidation:rule="!has(self.parallel) || !(has(self.name) || has(self.target) || has(self.repeat) || has(self.retry) || has(self.onFailure) || (has(self.clearCookies) && self.clearCookies))",message="cannot be used with parallel; allowed: thinkTime, when, always"
type Step struct {
	// name is the name of the step in results.
	// It has 1 to 50 lower-case letters, digits and -, and begins and ends with a letter or a digit.
	// No other step of the chain may have the same name.
	// It is needed with request and await. Default: the name of the template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// request is the request to send.
	// A request that several steps share is better a template.
	// +optional
	Request *Request `json:"request,omitempty"`
	// template is the name of the template to send.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Template string `json:"template,omitempty"`
	// thinkTime is the pause before the step.
	// It begins at the end of the previous step.
	// The first request of an instance has no pause.
	// Default: no pause.
	// +optional
	ThinkTime *ThinkTime `json:"thinkTime,omitempty"`
	// when are up to 8 conditions. The step is sent if all of them are true, and skipped otherwise.
	// A skipped step is not a failure.
	// Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, (has(c.equals) ? 1 : 0) + (has(c.startsWith) ? 1 : 0) + (has(c.endsWith) ? 1 : 0) + (has(c.contains) ? 1 : 0) + (has(c.matches) ? 1 : 0) + (has(c.exists) ? 1 : 0) + (has(c.lessThan) ? 1 : 0) + (has(c.greaterThan) ? 1 : 0) == 1)",message="exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed"
	When []Condition `json:"when,omitempty"`
	// repeat sends the step several times, one after another.
	// Default: once.
	// +optional
	Repeat *Repeat `json:"repeat,omitempty"`
	// retry sends the step again when it fails.
	// Default: no retry.
	// +optional
	Retry *Retry `json:"retry,omitempty"`
	// onFailure is what the instance does when the step has failed, after its retries: Abort or Continue.
	// Abort ends the instance. Continue proceeds with the next step.
	// The request counts as failed in both cases.
	// Default: Abort.
	// +optional
	// +kubebuilder:validation:Enum=Abort;Continue
	OnFailure FailureAction `json:"onFailure,omitempty"`
	// target is the name of the target of the step.
	// Default: the target of the chain.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target,omitempty"`
	// parallel are 2 to 16 requests that are sent at the same time.
	// Each of them is a template, and each takes a slot of its own.
	// The next step follows when all of them have a result.
	// Later steps can read what they capture, but the requests of the group cannot.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=16
	Parallel []ParallelStep `json:"parallel,omitempty"`
	// clearCookies empties the cookie store of the instance before the request.
	// Default: false.
	// +optional
	ClearCookies bool `json:"clearCookies,omitempty"`
	// always sends the step also if the instance was aborted, for example to delete what earlier steps have made.
	// The instance stays aborted. If an always step fails, the next one is sent.
	// A step is skipped if it sends a captured value that is missing.
	// After the load, gracefulStop gives always steps their time. A pause that would last longer is left out.
	// Default: false.
	// +optional
	Always bool `json:"always,omitempty"`
	// await waits for a notification that an earlier request of the chain causes. The step sends nothing and takes no
	// slot. It cannot be the first step.
	// +optional
	Await *Await `json:"await,omitempty"`
}

// ParallelStep is one of several requests that are sent at the same time.
type ParallelStep struct {
	// template is the name of the template to send.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Template string `json:"template"`
	// name is the name of the step in results, as in steps.
	// Default: the name of the template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// target is the name of the target of the request.
	// Default: the target of the chain.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target,omitempty"`
	// when are up to 8 conditions. The request is sent if all of them are true, and skipped otherwise.
	// Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	When []Condition `json:"when,omitempty"`
	// retry sends the request again when it fails.
	// Default: no retry.
	// +optional
	Retry *Retry `json:"retry,omitempty"`
	// onFailure is Abort or Continue, as in steps.
	// The instance waits for the other requests of the group in both cases.
	// Default: Abort.
	// +optional
	// +kubebuilder:validation:Enum=Abort;Continue
	OnFailure FailureAction `json:"onFailure,omitempty"`
}

// FailureAction is what a chain instance does after a failed step.
type FailureAction string

const (
	// FailureAbort ends the instance.
	FailureAbort FailureAction = "Abort"
	// FailureContinue proceeds with the next step.
	FailureContinue FailureAction = "Continue"
)

// ThinkTime is a pause. Exactly one of fixed, uniform and exponential is needed.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ThinkTime struct {
	// fixed is a pause that is always the same.
	// It is at most 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Fixed *Duration `json:"fixed,omitempty"`
	// uniform is a random pause between min and max. All lengths are equally likely.
	// +optional
	Uniform *UniformTime `json:"uniform,omitempty"`
	// exponential is a random pause with an exponential distribution, as between independent events.
	// +optional
	Exponential *ExponentialTime `json:"exponential,omitempty"`
}

// UniformTime is a random time with a uniform distribution.
//
// +kubebuilder:validation:XValidation:rule="duration(self.max) >= duration(self.min)",message="max must not be below min"
type UniformTime struct {
	// min is the shortest time.
	// It is at most 1h.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Min Duration `json:"min"`
	// max is the longest time.
	// It is at least min and at most 1h.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Max Duration `json:"max"`
}

// ExponentialTime is a random time with an exponential distribution.
type ExponentialTime struct {
	// mean is the average time.
	// It is greater than 0 and at most 1h.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Mean Duration `json:"mean"`
	// max is the longest time. Longer random times are cut to it.
	// It is greater than 0 and at most 1h. Default: ten times the mean, at most 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Max *Duration `json:"max,omitempty"`
}

// Condition compares a text with a value. Exactly one comparison is needed.
// The API server checks that in steps and in repeat. In parallel only the compiler checks it, because the
// rule would exceed the cost limit of the API server there.
type Condition struct {
	// value is the text that is compared. It may have placeholders such as ${state}.
	// It has 1 to 1024 characters.
	// A text that is empty after the placeholders are filled counts as missing.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value      string `json:"value"`
	Comparison `json:",inline"`
}

// Repeat sends a step several times.
type Repeat struct {
	// count is the largest number of times that the step is sent, 1 to 100000.
	// Each time is a request of its own, with thinkTime before it.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Count int32 `json:"count"`
	// until are up to 8 conditions, which are checked after each response.
	// When all of them are true, the chain proceeds with the next step.
	// They can read what the step itself captures.
	// Default: none, so that the step is sent count times.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, (has(c.equals) ? 1 : 0) + (has(c.startsWith) ? 1 : 0) + (has(c.endsWith) ? 1 : 0) + (has(c.contains) ? 1 : 0) + (has(c.matches) ? 1 : 0) + (has(c.exists) ? 1 : 0) + (has(c.lessThan) ? 1 : 0) + (has(c.greaterThan) ? 1 : 0) == 1)",message="exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed"
	Until []Condition `json:"until,omitempty"`
}

// Retry sends a step again when it fails. All counts have each retry as a request of its own.
type Retry struct {
	// attempts is the largest number of retries, 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Attempts int32 `json:"attempts"`
	// backoff is the pause before the first retry. It doubles with each further retry.
	// It is at most 1h. Default: 100ms, or maxBackoff if that is shorter.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	Backoff *Duration `json:"backoff,omitempty"`
	// maxBackoff is the longest backoff.
	// It is at least backoff and at most 1h. Default: 10s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at most 1h, and not negative"
	MaxBackoff *Duration `json:"maxBackoff,omitempty"`
	// retryAfter is what a retry does with the Retry-After header of the response that failed (RFC 9110 10.2.3): Follow or
	// Ignore. With Follow the pause before the retry is the time that the header asks for if that is longer than the
	// backoff. maxBackoff does not limit it. A time above 24h counts as 24h. The header of a response with a status below
	// 300 is ignored.
	// Default: Follow.
	// +optional
	// +kubebuilder:default=Follow
	// +kubebuilder:validation:Enum=Follow;Ignore
	RetryAfter RetryAfter `json:"retryAfter,omitempty"`
}

// RetryAfter is what a retry does with the Retry-After header of a response.
type RetryAfter string

const (
	// RetryAfterFollow waits for the time that the header asks for.
	RetryAfterFollow RetryAfter = "Follow"
	// RetryAfterIgnore waits for the backoff only.
	RetryAfterIgnore RetryAfter = "Ignore"
)

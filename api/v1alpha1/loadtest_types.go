package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// LoadTest describes a load on HTTP services and, once applied, what came of it. It runs once:
// apply it under another name, or delete and apply it, to run it again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.runner.shards,statuspath=.status.shards.ready
// +kubebuilder:resource:shortName=lt,categories=h2surge
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Shards",type=string,JSONPath=`.status.summary.shards`
// +kubebuilder:printcolumn:name="Rate",type=string,JSONPath=`.status.summary.rate`
// +kubebuilder:printcolumn:name="P50",type=string,JSONPath=`.status.summary.p50`
// +kubebuilder:printcolumn:name="P99",type=string,JSONPath=`.status.summary.p99`
// +kubebuilder:printcolumn:name="Errors",type=string,JSONPath=`.status.summary.errors`
// +kubebuilder:printcolumn:name="Passed",type=string,JSONPath=`.status.conditions[?(@.type=="Passed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LoadTest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the load to apply. While the test runs it is frozen but for stop.
	Spec LoadTestSpec `json:"spec"`
	// status is what has been observed. It is written by the operator alone.
	// +optional
	Status LoadTestStatus `json:"status,omitzero"`
}

// LoadTestList is a list of load tests.
//
// +kubebuilder:object:root=true
type LoadTestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadTest `json:"items"`
}

// LoadTestSpec is the load to apply.
type LoadTestSpec struct {
	// targets are the services under load. Chains name them.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Targets []Target `json:"targets"`
	// variables are sequences of values that templates insert as ${name}.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`
	// templates are the requests. Steps of chains name them.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Templates []Template `json:"templates"`
	// chains are sequences of requests; each instance runs its steps in order. All chains
	// together have at most 256 steps.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Chains []Chain `json:"chains"`
	// rates are the stages of the load, run one after another.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Rates []Rate `json:"rates"`
	// thresholds are limits on the result; the test passes when all hold.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// runner says on how many pods the load is generated and what they look like.
	// +optional
	// +kubebuilder:default={}
	Runner Runner `json:"runner,omitzero"`
	// stop ends the test when true: nothing more is sent, responses in flight are awaited, the
	// results are kept. It cannot be taken back. Default false.
	// +optional
	Stop bool `json:"stop,omitempty"`
	// ttlSecondsAfterFinished deletes the LoadTest, and with it all that it owns, this many
	// seconds after its end. Omitted: it is kept until somebody deletes it. 0: at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// activeDeadlineSeconds ends the test this many seconds after it was first seen, whatever
	// it is doing then; what was measured so far is kept. Omitted: none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
}

// Protocol is how a target is spoken to.
//
// +kubebuilder:validation:Enum=auto;http1;h2;h2c
type Protocol string

const (
	// ProtocolAuto is h2c for http:// and what ALPN chooses for https://.
	ProtocolAuto Protocol = "auto"
	// ProtocolHTTP1 is HTTP/1.1.
	ProtocolHTTP1 Protocol = "http1"
	// ProtocolH2 is HTTP/2 over TLS.
	ProtocolH2 Protocol = "h2"
	// ProtocolH2C is HTTP/2 over cleartext TCP with prior knowledge.
	ProtocolH2C Protocol = "h2c"
)

// Target is a service under load.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.urls)",message="exactly one of url and urls is needed"
type Target struct {
	// name is how chains refer to this target.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// url is the base of all requests: http:// or https://, a host, an optional port and an
	// optional path that is put before the path of each template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// urls are a load-share group: connection k goes to entry k modulo their number. All have
	// the same scheme.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=2048
	URLs []string `json:"urls,omitempty"`
	// connectTo is dialled instead of the URL's host: host:port, or unix:/path of a socket.
	// The authority that requests carry stays the URL's.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ConnectTo string `json:"connectTo,omitempty"`
	// protocol is auto, http1, h2 or h2c. Default auto: https by ALPN, http as h2c.
	// +optional
	// +kubebuilder:default=auto
	Protocol Protocol `json:"protocol,omitempty"`
	// connections is the number of connections over all shards, split exactly among them.
	// At least one for each shard. Default 1 for each shard.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Connections *int32 `json:"connections,omitempty"`
	// maxConcurrentStreams bounds the requests in flight on one connection; a smaller limit of
	// the peer wins. Default 100.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxConcurrentStreams int32 `json:"maxConcurrentStreams,omitempty"`
	// connectTimeout bounds dialling, handshake and the peer's first SETTINGS. Default 5s.
	// +optional
	ConnectTimeout *metav1.Duration `json:"connectTimeout,omitempty"`
}

// Variable is a sequence of values, drawn once for each chain instance that uses it.
//
// +kubebuilder:validation:XValidation:rule="has(self.range) != has(self.list)",message="exactly one of range and list is needed"
type Variable struct {
	// name is how templates refer to it: ${name}.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`
	// range is a sequence of integers.
	// +optional
	Range *IntegerRange `json:"range,omitempty"`
	// list is a sequence of strings.
	// +optional
	List *ValueList `json:"list,omitempty"`
}

// IntegerRange is start, start+step, ... below end; then it begins again.
//
// +kubebuilder:validation:XValidation:rule="self.end > self.start",message="end must be greater than start"
type IntegerRange struct {
	// start is the first value. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000000
	Start int64 `json:"start"`
	// end is exclusive.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000000
	End int64 `json:"end"`
	// step is the distance of two values. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000000
	Step int64 `json:"step,omitempty"`
	// width pads with zeros on the left to this many digits. Default 0: no padding.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=19
	Width int32 `json:"width,omitempty"`
}

// ValueList is a list of strings, taken in order; then it begins again.
type ValueList struct {
	// values are the strings.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4096
	// +kubebuilder:validation:items:MaxLength=1024
	Values []string `json:"values"`
}

// Template is a request with holes.
type Template struct {
	// name is how steps refer to it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// method is the HTTP method, upper case as a rule. Default GET.
	// +optional
	// +kubebuilder:default=GET
	// +kubebuilder:validation:MaxLength=32
	Method string `json:"method,omitempty"`
	// path is the request's path and query. ${name} inserts a variable or a capture; $$ is a
	// dollar sign. Default /.
	// +optional
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MaxLength=8192
	Path string `json:"path,omitempty"`
	// headers are sent in this order, after the pseudo-headers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Headers []Header `json:"headers,omitempty"`
	// body is the request's content; content-length is set from it. ${name} inserts a variable
	// or a capture.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Body string `json:"body,omitempty"`
	// timeout bounds the time from sending the request to the end of the response. Default 5s.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// expect says which responses are a success. Default: status below 400.
	// +optional
	Expect *Expect `json:"expect,omitempty"`
	// capture takes values out of the response, for later steps of the chain.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Capture []Capture `json:"capture,omitempty"`
}

// Header is a header field of a request.
type Header struct {
	// name of the field; case does not matter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// value of the field. ${name} inserts a variable or a capture.
	// +kubebuilder:validation:MaxLength=8192
	Value string `json:"value"`
}

// Expect says which responses are a success.
type Expect struct {
	// status lists codes ("201") and classes ("2xx"), any of which is a success.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=3
	// +kubebuilder:validation:items:Pattern=`^[1-5]([0-9][0-9]|xx)$`
	Status []string `json:"status,omitempty"`
}

// Capture takes a value out of a response.
type Capture struct {
	// name is how later steps of the chain refer to it: ${name}.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`
	// header is the response header field whose value is taken; an absolute URL in location is
	// cut to its path and query. A response without it aborts the chain.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header string `json:"header"`
}

// Chain is a sequence of requests to one target.
type Chain struct {
	// name is the chain's name in results.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// target is the name of the target that gets the requests.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Target string `json:"target"`
	// weight is this chain's share of the chain instances that are started. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Weight int32 `json:"weight,omitempty"`
	// steps run in order. A step that fails, times out or lacks its capture aborts the
	// instance.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Steps []Step `json:"steps"`
}

// Step is one request of a chain.
type Step struct {
	// template is the name of the template to send.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Template string `json:"template"`
	// name is the step's name in results. Default: the template's; it must differ from those
	// of the chain's other steps, so a template used twice needs one.
	// +optional
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// Rate is a stage of the load: exactly one mode, and at least one bound.
//
// +kubebuilder:validation:XValidation:rule="[has(self.requestsPerSecond), has(self.requestsPer), has(self.asFastAsPossible)].filter(x, x).size() == 1",message="exactly one of requestsPerSecond, requestsPer and asFastAsPossible is needed"
// +kubebuilder:validation:XValidation:rule="has(self.duration) || has(self.requests)",message="duration, requests or both are needed"
type Rate struct {
	// name is the stage's name in results.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// requestsPerSecond is the arrival rate of requests over all shards; each step of a chain
	// counts. Requests come due evenly spaced, whether or not earlier ones were answered.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	RequestsPerSecond *int64 `json:"requestsPerSecond,omitempty"`
	// requestsPer is an arrival rate given as a count and a period, for rates below one a
	// second or that are no whole number.
	// +optional
	RequestsPer *RequestsPer `json:"requestsPer,omitempty"`
	// asFastAsPossible sends whenever a stream is free: a closed loop of connections times
	// maxConcurrentStreams. Only true is allowed.
	// +optional
	// +kubebuilder:validation:Enum=true
	AsFastAsPossible *bool `json:"asFastAsPossible,omitempty"`
	// duration bounds the stage.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// requests bounds the stage: the number of requests over all shards.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	Requests *int64 `json:"requests,omitempty"`
	// warmUp keeps the stage's requests out of every result but warmUp.sent. Warm-up stages
	// come before all others. Default false.
	// +optional
	WarmUp bool `json:"warmUp,omitempty"`
}

// RequestsPer is a rate as a count and a period.
type RequestsPer struct {
	// count of requests in each period.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Count int64 `json:"count"`
	// period is a positive duration such as 1m.
	Period metav1.Duration `json:"period"`
}

// ThresholdMetric is what a threshold looks at.
//
// +kubebuilder:validation:Enum=responseTime;serviceTime;timeToFirstByte;errorRatio;rate
type ThresholdMetric string

// Threshold is a limit on a result.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) != has(self.min)",message="exactly one of max and min is needed"
// +kubebuilder:validation:XValidation:rule="has(self.quantile) == (self.metric in ['responseTime', 'serviceTime', 'timeToFirstByte'])",message="quantile goes with responseTime, serviceTime and timeToFirstByte, and only with them"
type Threshold struct {
	// name is the threshold's name in results.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// metric is responseTime (from due to done), serviceTime (from sent to done),
	// timeToFirstByte (from sent to headers), errorRatio (1 - succeeded / (sent + dropped)) or
	// rate (requests sent a second, drain excluded).
	Metric ThresholdMetric `json:"metric"`
	// quantile of a time, above 0 and at most 1, as a decimal string: "0.99".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^(0\.[0-9]*[1-9][0-9]*|1(\.0*)?)$`
	Quantile string `json:"quantile,omitempty"`
	// max is the greatest value that passes: a duration ("20ms") for times, a decimal
	// ("0.001") for ratios and rates.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Max string `json:"max,omitempty"`
	// min is the smallest value that passes, written as max is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Min string `json:"min,omitempty"`
}

// Runner says where the load comes from.
//
// +kubebuilder:validation:XValidation:rule="!has(self.template) || type(self.template) == map",message="template must be an object"
type Runner struct {
	// shards is the number of runner pods, each with an exact share of rates, connections and
	// variables. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Shards int32 `json:"shards,omitempty"`
	// cpusPerShard makes a runner Guaranteed with this many whole CPUs and one pinned worker
	// for each; where the node's CPU manager is static they are exclusive, which is verified
	// and told in status. Omitted: one worker, a small CPU request, nothing exclusive.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	CPUsPerShard *int32 `json:"cpusPerShard,omitempty"`
	// template is any part of a PodTemplateSpec, merged into the runner pods; its container
	// named runner is merged with the runner's own. docs/spec lists the fields on which the
	// operator wins. Unknown fields are told in PlanReady.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Template *runtime.RawExtension `json:"template,omitempty"`
}

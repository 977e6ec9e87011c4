package v1alpha1

// HTTP2 controls the HTTP/2 connections of a target (RFC 9113, RFC 7541). Sizes are in octets. Server push is
// always off.
type HTTP2 struct {
	// headerTableSize is the size in octets of the dynamic table with which the runner decodes headers. The runner
	// sends this size as SETTINGS_HEADER_TABLE_SIZE. Default: 4096. Bounds: 0 to 16777216. With 0 the target does
	// not index headers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	HeaderTableSize *int32 `json:"headerTableSize,omitempty"`
	// encoderTableSize is the largest size in octets of the dynamic table with which the runner encodes headers.
	// The runner uses the smallest of this size, the SETTINGS_HEADER_TABLE_SIZE of the target and 4096. Default:
	// 4096. Bounds: 0 to 16777216. With 0 the runner does not index headers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	EncoderTableSize *int32 `json:"encoderTableSize,omitempty"`
	// streamWindow is the number of octets of a response body that the target may send before the runner extends
	// the window. The runner sends this number as SETTINGS_INITIAL_WINDOW_SIZE. A small window makes the target
	// wait, as a slow reader does. The window takes no memory, because the runner reads bodies as they arrive.
	// Default: 4194304. Bounds: 1 to 2147483647.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	StreamWindow *int32 `json:"streamWindow,omitempty"`
	// connectionWindow is the same number for all streams of a connection together. Default: 16777216. Bounds:
	// 65535, the initial window of each connection (RFC 9113 6.9.2), to 2147483647.
	// +optional
	// +kubebuilder:validation:Minimum=65535
	// +kubebuilder:validation:Maximum=2147483647
	ConnectionWindow *int32 `json:"connectionWindow,omitempty"`
	// maxFrameSize is the size in octets of the largest frame that the target may send. The runner sends this size
	// as SETTINGS_MAX_FRAME_SIZE. Default: 16384. Bounds: 16384 to 16777215.
	// +optional
	// +kubebuilder:validation:Minimum=16384
	// +kubebuilder:validation:Maximum=16777215
	MaxFrameSize *int32 `json:"maxFrameSize,omitempty"`
	// pingInterval is how long a connection can receive nothing before the runner sends a PING. If the connection
	// receives nothing in the next interval either, the runner closes the connection and counts its requests as
	// connectionLost. Default: the runner sends no PINGs. Bounds: 100ms to 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1h')",message="must be at least 100ms and at most 1h"
	PingInterval *Duration `json:"pingInterval,omitempty"`
}

// HTTP1 controls the HTTP/1.1 connections of a target (RFC 9112).
//
// +kubebuilder:validation:XValidation:rule="!has(self.pipeline) || self.pipeline == 1 || !has(self.keepAlive) || self.keepAlive",message="pipeline needs keepAlive: without keepAlive a connection carries one request"
type HTTP1 struct {
	// pipeline is the number of requests in flight on one connection. Above 1, the runner sends requests before
	// earlier responses have arrived. The target must send the responses in the order of the requests (RFC 9112
	// 9.3.2), so a slow response delays those after it. Default: 1, no pipelining. Bounds: 1 to 64.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Pipeline int32 `json:"pipeline,omitempty"`
	// keepAlive lets a connection carry many requests. If false, the runner opens a connection for each request
	// and closes the connection after the response. In this case the field connections of the target is the number
	// of connections that are open at a time. Default: true.
	// +optional
	// +kubebuilder:default=true
	KeepAlive *bool `json:"keepAlive,omitempty"`
}

// Connecting controls how the runner opens, closes and replaces connections.
//
// +kubebuilder:validation:XValidation:rule="!has(self.failbackInterval) || !has(self.failover) || self.failover",message="failbackInterval needs failover: without failover a connection stays on its own url"
// +kubebuilder:validation:XValidation:rule="!has(self.open) || self.open == 'AtStart' || !has(self.ramp)",message="ramp needs open AtStart: else requests determine when the runner opens connections"
type Connecting struct {
	// open is when the runner opens connections. AtStart opens all connections before the load starts, and opens a
	// connection again after it ended. OnDemand opens a connection when a request waits for it. After the
	// connection ended, OnDemand opens it again when the next request waits. PerInstance opens a connection for each
	// chain instance that sends requests to the target, and closes it when the instance ends. The field connections of
	// the target is then the number of connections that are open at a time, and other instances wait for one.
	// Default: AtStart.
	// +optional
	// +kubebuilder:default=AtStart
	Open ConnectionOpening `json:"open,omitempty"`
	// ramp opens the connections gradually. The test starts when all connections are open, so the ramp does not
	// take time from a stage. Default: the runner opens all connections at once.
	// +optional
	Ramp *ConnectionRamp `json:"ramp,omitempty"`
	// maxAge is the age at which the runner retires a connection. A retired connection takes no more requests, and
	// the runner opens another one in its place, at once with `open: AtStart`, otherwise when a request waits. The
	// runner closes the retired connection after its last response.
	// Default: no limit. Bounds: greater than 0, at most 720h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('720h')",message="must be greater than 0 and at most 720h"
	MaxAge *Duration `json:"maxAge,omitempty"`
	// maxRequests is the number of requests after which the runner retires a connection, as with maxAge. Default:
	// no limit for HTTP/1.1; for HTTP/2 the runner replaces a connection before its stream identifiers run out,
	// after 2^30 requests. Bounds: 1 to 10^12.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	MaxRequests *int64 `json:"maxRequests,omitempty"`
	// inactivityTimeout is how long a connection with requests in flight can receive nothing. Then the runner
	// closes the connection, counts these requests as connectionLost and opens another connection. Default: no
	// limit; each request has a timeout of its own. Bounds: greater than 0, at most 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	InactivityTimeout *Duration `json:"inactivityTimeout,omitempty"`
	// localAddresses are the IP addresses from which the runner connects. Connection k of the test uses entry k
	// modulo the number of entries. An address has about 28000 ports for connections to one address and port of a
	// target, so more connections need more addresses. Each address must be an address of the runner. Default: the
	// system chooses. Bounds: at most 256 entries, without zones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self.all(a, isIP(a))",message="must be IP addresses, without a zone"
	LocalAddresses []string `json:"localAddresses,omitempty"`
	// interface is the network interface of the pod to connect from, such as one of Multus. The runner uses its first IP
	// address, if possible of IPv4. If the pod has no such interface, the test does not start. It cannot be used with
	// localAddresses. Default: the system chooses.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[^/\s]+$`
	Interface string `json:"interface,omitempty"`
	// failover lets a connection use the next of the target's urls after each failure. A failure is a url that the
	// runner cannot reach, or a server that breaks the protocol or does not answer. Default: true. With one url,
	// failover has no effect.
	// +optional
	// +kubebuilder:default=true
	Failover *bool `json:"failover,omitempty"`
	// failbackInterval is how often a connection that has failed over tries its own url again. The runner opens a
	// second connection for this. The second connection replaces the first one when it is open and, over HTTP/2
	// and HTTP/3, the server has answered. Default: 5s. Bounds: greater than 0, at most 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	FailbackInterval *Duration `json:"failbackInterval,omitempty"`
}

// ConnectionOpening is when the runner opens connections.
//
// +kubebuilder:validation:Enum=AtStart;OnDemand;PerInstance
type ConnectionOpening string

// The values of ConnectionOpening.
const (
	OpenAtStart  ConnectionOpening = "AtStart"
	OpenOnDemand ConnectionOpening = "OnDemand"
	// OpenPerInstance opens a connection for a chain instance.
	OpenPerInstance ConnectionOpening = "PerInstance"
)

// ConnectionChoice is how a runner chooses the connections of requests that it sends at the same time.
//
// +kubebuilder:validation:Enum=Spread;Batch
type ConnectionChoice string

const (
	// ConnectionChoiceSpread uses all connections with a free stream in turn.
	ConnectionChoiceSpread ConnectionChoice = "Spread"
	// ConnectionChoiceBatch fills the free streams of one connection first.
	ConnectionChoiceBatch ConnectionChoice = "Batch"
)

// ConnectionRamp is a number of connections and the period in which the runners open them.
type ConnectionRamp struct {
	// connections is the number of connections that all shards together open in each period. Bounds: 1 to 1000000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Connections int32 `json:"connections"`
	// period is the length of a period. Default: 1s. Bounds: greater than 0, at most 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Period *Duration `json:"period,omitempty"`
}

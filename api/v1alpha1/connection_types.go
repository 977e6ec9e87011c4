package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HTTP2 has the settings of HTTP/2 connections (RFC 9113, RFC 7541). The sizes are in octets. Server push is always
// off.
type HTTP2 struct {
	// headerTableSize is announced as SETTINGS_HEADER_TABLE_SIZE: how much the peer's header
	// compression may remember. 0 to 16777216; 0 means that it indexes nothing. Default 4096.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	HeaderTableSize *int32 `json:"headerTableSize,omitempty"`
	// encoderTableSize bounds the same of our own header compression, 0 to 16777216; what the
	// peer announces bounds it too. 0 means that nothing is indexed. More than 4096 is never
	// used. Default 4096.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	EncoderTableSize *int32 `json:"encoderTableSize,omitempty"`
	// streamWindow is announced as SETTINGS_INITIAL_WINDOW_SIZE: how much of a response's body
	// may be on its way, 1 to 2147483647. Bodies are read as they come, so it costs no memory; a
	// small window makes the target wait, as a slow reader does. Default 4194304.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	StreamWindow *int32 `json:"streamWindow,omitempty"`
	// connectionWindow is the same for all streams of a connection together, 65535 (which RFC
	// 9113 6.9.2 gives every connection) to 2147483647. Default 16777216.
	// +optional
	// +kubebuilder:validation:Minimum=65535
	// +kubebuilder:validation:Maximum=2147483647
	ConnectionWindow *int32 `json:"connectionWindow,omitempty"`
	// maxFrameSize is announced as SETTINGS_MAX_FRAME_SIZE: the largest frame that the peer may
	// send, 16384 to 16777215. Default 16384.
	// +optional
	// +kubebuilder:validation:Minimum=16384
	// +kubebuilder:validation:Maximum=16777215
	MaxFrameSize *int32 `json:"maxFrameSize,omitempty"`
	// pingInterval sends a PING on a connection that has received nothing for so long, and closes
	// it when it receives nothing in the next interval either; its requests are counted as
	// connectionLost. At least 100ms and at most 1h. Default: no PINGs.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1h')",message="must be at least 100ms and at most 1h"
	PingInterval *metav1.Duration `json:"pingInterval,omitempty"`
}

// HTTP1 is how HTTP/1.1 connections are used (RFC 9112).
//
// +kubebuilder:validation:XValidation:rule="!has(self.pipeline) || self.pipeline == 1 || !has(self.keepAlive) || self.keepAlive",message="pipeline needs keepAlive: without it a connection carries one request"
type HTTP1 struct {
	// pipeline is the number of requests in flight on one connection, 1 to 64. Above 1, requests are sent before the
	// responses to earlier ones arrive. Responses arrive in the same order (RFC 9112 9.3.2), so a slow one delays the
	// next ones. Default 1: no pipelining.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Pipeline int32 `json:"pipeline,omitempty"`
	// keepAlive uses a connection for many requests. Without it each request has a connection of
	// its own, closed after the response; connections is then how many are open at a time.
	// Default true.
	// +optional
	// +kubebuilder:default=true
	KeepAlive *bool `json:"keepAlive,omitempty"`
}

// Connecting is how connections are opened, given up and replaced.
//
// +kubebuilder:validation:XValidation:rule="!has(self.failbackInterval) || !has(self.failover) || self.failover",message="failbackInterval needs failover: without it a connection never leaves its own url"
// +kubebuilder:validation:XValidation:rule="!has(self.open) || self.open != 'OnDemand' || !has(self.ramp)",message="ramp is not possible with open OnDemand: requests decide when connections are opened"
type Connecting struct {
	// open is when the runner opens connections. AtStart opens all connections before the load starts, and opens a
	// connection that has ended again. OnDemand opens a connection when a request waits for it, and does not open
	// it again until the next request waits. Default AtStart.
	// +optional
	// +kubebuilder:default=AtStart
	Open ConnectionOpening `json:"open,omitempty"`
	// ramp opens the connections little by little. The test starts when all are open, so the ramp is not part of a
	// stage. Default: all at once.
	// +optional
	Ramp *ConnectionRamp `json:"ramp,omitempty"`
	// maxAge retires a connection when it is so old: it takes no more requests, another is opened
	// in its place, and it closes when its last response has come. Greater than 0 and at most
	// 720h. Default: never.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('720h')",message="must be greater than 0 and at most 720h"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
	// maxRequests retires a connection, as maxAge does, when it has carried so many requests, 1
	// to 10^12. Default: never, but that an HTTP/2 connection is replaced before its stream ids
	// run out, at 2^30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	MaxRequests *int64 `json:"maxRequests,omitempty"`
	// inactivityTimeout closes a connection that has requests in flight and has received nothing
	// for so long; they are counted as connectionLost, and another connection takes its place.
	// Greater than 0 and at most 1h. Default: never; each request has its own timeout anyway.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	InactivityTimeout *metav1.Duration `json:"inactivityTimeout,omitempty"`
	// localAddresses are up to 256 IP addresses to connect from: connection k of the test from
	// entry k modulo their number. An address has some 28000 ports for connections to one address
	// and port of a target; more connections need more addresses. Each must be one of the
	// runner's own. Default: the system's choice.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self.all(a, isIP(a))",message="must be IP addresses, without a zone"
	LocalAddresses []string `json:"localAddresses,omitempty"`
	// failover connects to the next of the target's urls after every failure: the url of a connection cannot be
	// reached, or its server breaks the protocol or answers nothing. Default true; of no effect on a target
	// with one url.
	// +optional
	// +kubebuilder:default=true
	Failover *bool `json:"failover,omitempty"`
	// failbackInterval is how often a connection that has failed over tries its own url again, by a second
	// connection; it returns when that one is open and, over HTTP/2, answered. Greater than 0 and at most 1h. Default 5s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	FailbackInterval *metav1.Duration `json:"failbackInterval,omitempty"`
}

// ConnectionOpening is when connections are opened.
//
// +kubebuilder:validation:Enum=AtStart;OnDemand
type ConnectionOpening string

// The values of ConnectionOpening.
const (
	OpenAtStart  ConnectionOpening = "AtStart"
	OpenOnDemand ConnectionOpening = "OnDemand"
)

// ConnectionRamp opens so many connections in each period, over all shards.
type ConnectionRamp struct {
	// connections opened in each period, 1 to 1000000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Connections int32 `json:"connections"`
	// period is greater than 0 and at most 1h. Default 1s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Period *metav1.Duration `json:"period,omitempty"`
}

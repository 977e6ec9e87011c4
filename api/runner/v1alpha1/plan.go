package v1alpha1

import "time"

// Plan is everything a runner needs to execute a load test, with all defaults applied and all
// names resolved to indices. It is the same for every shard: what differs between shards, and
// what may change while the test runs, travels in a Share. It never holds the content of a
// Secret.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Name is "namespace/name" of the LoadTest, for logs and metrics.
	Name string `json:"name"`
	// Seed makes random choices repeatable. Each worker derives its own from it.
	Seed      uint64     `json:"seed"`
	Targets   []Target   `json:"targets"`
	Variables []Variable `json:"variables,omitempty"`
	Chains    []Chain    `json:"chains"`
	Rates     []Rate     `json:"rates"`
	// Thresholds are judged by whoever merges the snapshots, never by one runner.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Drain is how long responses are awaited after the last request was sent: the longest
	// timeout of all steps.
	Drain time.Duration `json:"drain"`
	// Deadline bounds the whole run, counted from the start; a runner stops by itself when it
	// has passed, also when nobody can reach it. Zero: none.
	Deadline time.Duration `json:"deadline,omitempty"`
	// CPUsPerShard is the number of pinned workers a shard has; zero: one worker, no
	// exclusivity wanted.
	CPUsPerShard int `json:"cpusPerShard,omitempty"`
	// Shards is how many shards the test begins with. It sizes the workers of the command line,
	// which runs all shards in one process; a runner pod learns its part from its Share.
	Shards int `json:"shards"`
}

// PlanKind is the kind of a Plan document.
const PlanKind = "Plan"

// Protocol is how a connection to a target speaks.
type Protocol string

const (
	// ProtocolH2C is HTTP/2 over cleartext TCP with prior knowledge (RFC 9113 3.3).
	ProtocolH2C Protocol = "h2c"
	// ProtocolH2 is HTTP/2 over TLS, chosen by ALPN (RFC 9113 3.2).
	ProtocolH2 Protocol = "h2"
	// ProtocolHTTP1 is HTTP/1.1 (RFC 9112).
	ProtocolHTTP1 Protocol = "http1"
	// ProtocolALPN is whatever the TLS server picks of h2 and http/1.1 (RFC 7301).
	ProtocolALPN Protocol = "alpn"
)

// Target is a group of addresses that serve the same thing.
type Target struct {
	Name string `json:"name"`
	// Endpoints share the connections: connection k of the whole test goes to endpoint
	// k modulo their number.
	Endpoints []Endpoint `json:"endpoints"`
	Protocol  Protocol   `json:"protocol"`
	// Connections is the number over all shards; a Share says how many of them one shard has.
	Connections int `json:"connections"`
	// MaxConcurrentStreams bounds the requests in flight on one connection; what the peer
	// allows bounds them too. HTTP/1.1 has one.
	MaxConcurrentStreams int           `json:"maxConcurrentStreams"`
	ConnectTimeout       time.Duration `json:"connectTimeout"`
	// TLS is set when the endpoints' scheme is https.
	TLS        *TLS       `json:"tls,omitempty"`
	HTTP2      HTTP2      `json:"http2,omitzero"`
	HTTP1      HTTP1      `json:"http1,omitzero"`
	Connecting Connecting `json:"connecting,omitzero"`
}

// HTTP2 is what a session announces and obeys. A nil field means the engine's default.
type HTTP2 struct {
	// HeaderTableSize is announced as SETTINGS_HEADER_TABLE_SIZE, in octets.
	HeaderTableSize *uint32 `json:"headerTableSize,omitempty"`
	// EncoderTableSize bounds the table our own encoder uses, in octets; the peer's SETTINGS
	// bound it too. Zero: nothing is indexed.
	EncoderTableSize *uint32 `json:"encoderTableSize,omitempty"`
	// StreamWindow and ConnectionWindow are receive windows, in octets.
	StreamWindow     *uint32 `json:"streamWindow,omitempty"`
	ConnectionWindow *uint32 `json:"connectionWindow,omitempty"`
	// MaxFrameSize is the largest frame we take, in octets.
	MaxFrameSize *uint32 `json:"maxFrameSize,omitempty"`
	// PingInterval sends a PING on a connection that received nothing for so long, and closes
	// it when the next interval brings nothing either. Zero: none.
	PingInterval time.Duration `json:"pingInterval,omitempty"`
}

// HTTP1 is how HTTP/1.1 connections are used.
type HTTP1 struct {
	// Pipeline is the number of requests in flight on a connection; below 2: no pipelining.
	Pipeline int `json:"pipeline,omitempty"`
	// NoKeepAlive opens a connection for each request.
	NoKeepAlive bool `json:"noKeepAlive,omitempty"`
}

// Connecting is how connections are opened and given up.
type Connecting struct {
	// RampCount connections of the whole test are opened in each RampPeriod; zero: all at once.
	RampCount  int           `json:"rampCount,omitempty"`
	RampPeriod time.Duration `json:"rampPeriod,omitempty"`
	// MaxAge and MaxRequests retire a connection: it takes no more requests, another takes its
	// place, and it closes when its last response has come. Zero: never.
	MaxAge      time.Duration `json:"maxAge,omitempty"`
	MaxRequests int64         `json:"maxRequests,omitempty"`
	// InactivityTimeout closes a connection that has requests in flight and has received nothing
	// for so long; they are counted as connectionLost. Zero: never.
	InactivityTimeout time.Duration `json:"inactivityTimeout,omitempty"`
	// LocalAddresses are the IP addresses to connect from: connection k from entry k modulo
	// their number. Empty: the system's choice.
	LocalAddresses []string `json:"localAddresses,omitempty"`
	// NoFailover keeps a connection to its own endpoint; otherwise one that cannot be reached is
	// replaced by the group's next, and its own is tried again every FailbackInterval.
	NoFailover       bool          `json:"noFailover,omitempty"`
	FailbackInterval time.Duration `json:"failbackInterval,omitempty"`
}

// TLS is how connections to a target are secured. Certificates and keys are named by file, so
// that a plan holds no secret.
type TLS struct {
	// ServerName is what the peer's certificate must be for, and what SNI says unless it is an
	// address; empty: the host of the endpoint's authority.
	ServerName string `json:"serverName,omitempty"`
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// CAFile holds the certificates to trust, PEM; empty: the system's.
	CAFile string `json:"caFile,omitempty"`
	// CertFile and KeyFile are the client's certificate chain and key, PEM; empty: none.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// MinVersion and MaxVersion are "1.2" or "1.3".
	MinVersion string `json:"minVersion"`
	MaxVersion string `json:"maxVersion"`
	// CipherSuites for TLS 1.2 by their IANA names; empty: Go's choice. Those of TLS 1.3 cannot
	// be chosen.
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// Curves are the key exchange groups allowed, by name; empty: Go's choice. Their order has no
	// meaning.
	Curves []string `json:"curves,omitempty"`
	// ALPN protocols offered, most wanted first.
	ALPN []string `json:"alpn"`
	// SessionResumption offers sessions of earlier connections (RFC 8446 2.2).
	SessionResumption bool `json:"sessionResumption,omitempty"`
}

// Files are the names of files in the target that are not empty. Whoever has put the files
// elsewhere than where the plan was compiled for changes the names.
func (t *Target) Files() []*string {
	if t.TLS == nil {
		return nil
	}
	var out []*string
	for _, name := range []*string{&t.TLS.CAFile, &t.TLS.CertFile, &t.TLS.KeyFile} {
		if *name != "" {
			out = append(out, name)
		}
	}
	return out
}

// ConnectWithin is how long it may take until all connections are open: the last of the ramp has
// begun, and has used up its timeout.
func (t *Target) ConnectWithin() time.Duration {
	if t.Connecting.RampCount <= 0 {
		return t.ConnectTimeout
	}
	return time.Duration((t.Connections-1)/t.Connecting.RampCount)*t.Connecting.RampPeriod + t.ConnectTimeout
}

// Endpoint is one URL of a target, taken apart.
type Endpoint struct {
	Scheme string `json:"scheme"`
	// Authority is what :authority or Host says.
	Authority string `json:"authority"`
	// Address is what is dialled: "host:port", an IPv6 host in brackets, or "unix:/path".
	Address string `json:"address"`
	// BasePath precedes the path of each request that is not captured; "" or "/prefix".
	BasePath string `json:"basePath,omitempty"`
}

// Variable is a sequence of values. It is drawn once for each chain instance that uses it.
// Exactly one of Range and List is set.
type Variable struct {
	Name  string   `json:"name"`
	Range *Range   `json:"range,omitempty"`
	List  []string `json:"list,omitempty"`
}

// Size is the number of values before the sequence wraps.
func (v *Variable) Size() int64 {
	if v.Range == nil {
		return int64(len(v.List))
	}
	return (v.Range.End - v.Range.Start + v.Range.Step - 1) / v.Range.Step
}

// Range is Start, Start+Step, ... below End, in decimal, padded with zeros to Width digits.
type Range struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	Step  int64 `json:"step"`
	Width int   `json:"width,omitempty"`
}

// Text is a string with holes: its parts in order.
type Text []Part

// Part is a literal or a reference; exactly one field is set.
type Part struct {
	Literal string `json:"literal,omitempty"`
	// Variable is 1 + the index into Plan.Variables.
	Variable int `json:"variable,omitempty"`
	// Capture is 1 + the index into Chain.Captures.
	Capture int `json:"capture,omitempty"`
}

// Chain is a sequence of requests; an instance of it keeps its own captured values.
type Chain struct {
	Name string `json:"name"`
	// Target is an index into Plan.Targets.
	Target int `json:"target"`
	// Weight is this chain's share of the chain instances that are started.
	Weight int `json:"weight"`
	// Captures are the names of the slots its steps fill and read.
	Captures []string `json:"captures,omitempty"`
	Steps    []Step   `json:"steps"`
}

// Step is one request of a chain.
type Step struct {
	// Name is the step's name in results: the template's name unless the step has its own.
	Name    string        `json:"name"`
	Method  string        `json:"method"`
	Path    Text          `json:"path"`
	Headers []Header      `json:"headers,omitempty"`
	Body    Text          `json:"body,omitempty"`
	Timeout time.Duration `json:"timeout"`
	Expect  Expect        `json:"expect"`
	Capture []Capture     `json:"capture,omitempty"`
}

// Header is a request header field. Name is lower case.
type Header struct {
	Name  string `json:"name"`
	Value Text   `json:"value"`
}

// Expect says which responses are a success.
type Expect struct {
	// Status lists inclusive ranges of status codes; empty: below 400.
	Status []StatusRange `json:"status,omitempty"`
}

// StatusRange is an inclusive range of status codes: {200, 299} is 2xx.
type StatusRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Capture takes a value out of a response.
type Capture struct {
	// Slot is an index into Chain.Captures.
	Slot int `json:"slot"`
	// Header is the lower-case name of the response header field; of several with the same
	// name the first counts. A value that is an absolute URL is cut to its path and query when
	// the header is "location" (RFC 9110 10.2.2).
	Header string `json:"header"`
}

// Rate is a stage of the load. The mode is AsFastAsPossible, or else Count per Period.
type Rate struct {
	Name string `json:"name"`
	// Count slots come due in each Period, evenly spaced, counted from the stage's start.
	Count  int64         `json:"count,omitempty"`
	Period time.Duration `json:"period,omitempty"`
	// AsFastAsPossible sends whenever a stream is free.
	AsFastAsPossible bool `json:"asFastAsPossible,omitempty"`
	// Duration and Requests bound the stage, whichever is reached first; zero: no such bound.
	Duration time.Duration `json:"duration,omitempty"`
	Requests int64         `json:"requests,omitempty"`
	// WarmUp stages are counted apart and appear in no result.
	WarmUp bool `json:"warmUp,omitempty"`
}

// Threshold is a limit on a result. Exactly one of the maximum and minimum is set.
type Threshold struct {
	Name   string `json:"name"`
	Metric Metric `json:"metric"`
	// Quantile of a time, as a decimal such as "0.99".
	Quantile string `json:"quantile,omitempty"`
	// Max and Min are durations ("20ms") for times, decimals for ratios and rates.
	Max string `json:"max,omitempty"`
	Min string `json:"min,omitempty"`
}

// Metric is what a threshold looks at.
type Metric string

const (
	MetricResponseTime    Metric = "responseTime"
	MetricServiceTime     Metric = "serviceTime"
	MetricTimeToFirstByte Metric = "timeToFirstByte"
	MetricErrorRatio      Metric = "errorRatio"
	MetricRate            Metric = "rate"
)

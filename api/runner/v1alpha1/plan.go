package v1alpha1

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Plan is everything a runner needs to execute a load test, with all defaults applied and all names resolved to
// indices. It is the same for all shards: a Share has what differs between shards, and what can change while the test
// runs. A Plan never contains the content of a Secret.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Name is "namespace/name" of the LoadTest, for logs and metrics.
	Name string `json:"name"`
	// Seed makes random choices repeatable. Each worker derives its own from it.
	Seed      uint64     `json:"seed"`
	Targets   []Target   `json:"targets"`
	Variables []Variable `json:"variables,omitempty"`
	// Globals are the names of the values that setup chains capture for all other chains. The runner that runs setup
	// returns the values in its Snapshot, and Start sends them to all runners.
	Globals []string `json:"globals,omitempty"`
	Chains  []Chain  `json:"chains"`
	// Listeners receive the notifications that steps await. Each worker serves all of them.
	Listeners []Listener `json:"listeners,omitempty"`
	Rates     []Rate     `json:"rates"`
	// Search is set if the run looks for the highest load. Runners ignore it.
	Search *Search `json:"search,omitempty"`
	// Thresholds are compared by the program that merges the snapshots (the operator or the command line), never by a
	// runner.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Baselines are thresholds that compare with an earlier run. The same program compares them, after the end.
	Baselines []Baseline `json:"baselines,omitempty"`
	// Observe are figures of targets that one runner reads while the test runs.
	Observe []Observation `json:"observe,omitempty"`
	// OTLP is 1 plus the index in Targets of the target to which runners send their figures as OTLP. Zero: they send none.
	OTLP int `json:"otlp,omitempty"`
	// Policy limits the addresses that runners connect to; nil: no limits.
	Policy *AddressPolicy `json:"policy,omitempty"`
	// RequestLimit is how many requests per second all runners together send at most, in each phase of the test and on
	// average over more than a second. Zero: no limit. Each worker has a token bucket with its share of the limit, which
	// is its share of the slots. A request that is due when the bucket is empty is dropped. A request of a closed loop, of
	// setup, of teardown, and after the load waits for a token before it is due.
	RequestLimit int64 `json:"requestLimit,omitempty"`
	// Drain is how long a request can wait for a stream, and how long the runner waits for responses after the last
	// request. It is a little longer than the longest timeout of all steps.
	Drain time.Duration `json:"drain"`
	// GracefulStop is how long chain instances that run at the end of the load may send their remaining steps.
	GracefulStop time.Duration `json:"gracefulStop,omitempty"`
	// Deadline is the maximum duration of the run, counted from the start, without the time in which the load is
	// suspended. A runner stops at the deadline, also if the operator cannot reach it. Zero: no deadline.
	Deadline time.Duration `json:"deadline,omitempty"`
	// LeaseDuration is how long a runner sends requests after the operator last renewed its lease. Zero: runners have no
	// lease. See Lease.
	LeaseDuration time.Duration `json:"leaseDuration,omitempty"`
	// CPUsPerShard is the number of pinned workers a shard has; zero: one worker, no
	// exclusivity wanted.
	CPUsPerShard int `json:"cpusPerShard,omitempty"`
	// IdleStrategy is what a worker does while it waits for events.
	IdleStrategy IdleStrategy `json:"idleStrategy,omitempty"`
	// SleepInterval is how long requests are collected with IdleSleep before they are sent together. Zero means
	// DefaultSleepInterval. See SleepsFor.
	SleepInterval time.Duration `json:"sleepInterval,omitempty"`
	// Shards is the number of shards at the start of the test. The command line runs all shards in one process and
	// derives the number of its workers from it. A runner pod gets its Share from the operator.
	Shards int `json:"shards"`
}

// IdleStrategy is what a worker does while it waits for events.
type IdleStrategy string

const (
	// IdleAuto is IdleSpin if each worker has an exclusive CPU, else IdleSleep. A runner chooses one of them when it
	// starts.
	IdleAuto IdleStrategy = ""
	// IdleSpin polls for events without sleeping. It uses the whole CPU and sends each request when it is due.
	IdleSpin IdleStrategy = "Spin"
	// IdleSleep sleeps, and sends the requests that are due within the sleep interval together.
	IdleSleep IdleStrategy = "Sleep"
)

// DefaultSleepInterval is the sleep interval of a plan that sets none. MinSleepInterval and MaxSleepInterval are the
// bounds.
const (
	DefaultSleepInterval = 500 * time.Microsecond
	MinSleepInterval     = 10 * time.Microsecond
	MaxSleepInterval     = 10 * time.Millisecond
)

// SleepsFor returns the sleep interval with IdleSleep.
func (p *Plan) SleepsFor() time.Duration {
	if p.SleepInterval == 0 {
		return DefaultSleepInterval
	}
	return p.SleepInterval
}

// EachStep calls f for each step of all chains, with its index in Snapshot.Steps and Report.Steps.
func (p *Plan) EachStep(f func(i int, chain *Chain, step *Step)) {
	i := 0
	for c := range p.Chains {
		for k := range p.Chains[c].Steps {
			f(i, &p.Chains[c], &p.Chains[c].Steps[k])
			i++
		}
	}
}

// SentTo has the targets, as indexes into Targets, that a step sends requests to.
func (p *Plan) SentTo() map[int]bool {
	out := map[int]bool{}
	p.EachStep(func(_ int, _ *Chain, s *Step) {
		if s.Await == nil {
			out[s.Target] = true
		}
	})
	return out
}

// PlanKind is the kind of a Plan document.
const PlanKind = "Plan"

// Protocol is the protocol of the connections to a target.
type Protocol string

const (
	// ProtocolH2C is HTTP/2 over cleartext TCP with prior knowledge (RFC 9113 3.3).
	ProtocolH2C Protocol = "h2c"
	// ProtocolH2 is HTTP/2 over TLS, chosen by ALPN (RFC 9113 3.2).
	ProtocolH2 Protocol = "h2"
	// ProtocolH3 is HTTP/3 over QUIC (RFC 9114).
	ProtocolH3 Protocol = "h3"
	// ProtocolHTTP1 is HTTP/1.1 (RFC 9112).
	ProtocolHTTP1 Protocol = "http1"
	// ProtocolALPN lets the TLS server choose between h2 and http/1.1 (RFC 7301).
	ProtocolALPN Protocol = "alpn"
	// ProtocolDiscovered is h2c if a server without TLS answers the preface of HTTP/2 with SETTINGS, else http1. The
	// runner asks each endpoint before its first connection.
	ProtocolDiscovered Protocol = "discovered"
)

// HTTP returns the version of HTTP of a connection with this protocol, for users.
func (p Protocol) HTTP() string {
	switch p {
	case ProtocolHTTP1:
		return "HTTP/1.1"
	case ProtocolH3:
		return "HTTP/3"
	}
	return "HTTP/2"
}

// Target is a group of addresses that serve the same thing.
type Target struct {
	Name string `json:"name"`
	// Endpoints share the connections: connection k of the whole test goes to endpoint
	// k modulo their number.
	Endpoints []Endpoint `json:"endpoints"`
	Protocol  Protocol   `json:"protocol"`
	// AltSvc: connections go to the alternative services of HTTP/3 that the endpoints offer (RFC 7838). Protocol is h3.
	AltSvc bool `json:"altSvc,omitempty"`
	// Connections is the number over all shards; a Share says how many of them one shard has.
	Connections int `json:"connections"`
	// MaxConcurrentStreams bounds the requests in flight on one connection; what the peer
	// allows bounds them too. HTTP/1.1 has one.
	MaxConcurrentStreams int `json:"maxConcurrentStreams"`
	// Batch fills the free streams of one connection with the requests of a turn, before it uses the next connection. Else
	// each request goes to the next connection.
	Batch          bool          `json:"batch,omitempty"`
	ConnectTimeout time.Duration `json:"connectTimeout"`
	// TLS is set when the endpoints' scheme is https.
	TLS        *TLS       `json:"tls,omitempty"`
	HTTP2      HTTP2      `json:"http2,omitzero"`
	HTTP1      HTTP1      `json:"http1,omitzero"`
	Connecting Connecting `json:"connecting,omitzero"`
	// Auth makes the Authorization field of the requests; nil: none.
	Auth *Auth `json:"auth,omitempty"`
	// ClientAssertion makes the 3gpp-Sbi-Client-Credentials field of the requests; nil: none.
	ClientAssertion *ClientAssertion `json:"clientAssertion,omitempty"`
	// FollowAuthority opens connections to other authorities that captured absolute locations name.
	FollowAuthority bool `json:"followAuthority,omitempty"`
	// FollowWithCredentials sends Auth and ClientAssertion to these authorities, too.
	FollowWithCredentials bool `json:"followWithCredentials,omitempty"`
	// CountLoadControl counts the responses with overload control and load control information (3GPP TS 29.500 5.2.3.2.9,
	// 5.2.3.2.10).
	CountLoadControl bool `json:"countLoadControl,omitempty"`
	// Protos are proto files and sets of descriptors, for steps with GRPC.
	Protos []Content `json:"protos,omitempty"`
}

// HasCredential returns whether requests have an Authorization or a client assertion.
func (t *Target) HasCredential() bool { return t.Auth != nil || t.ClientAssertion != nil }

// Auth is the Authorization field of all requests to a target whose step has none of its own
// (RFC 9110 11.6.2). Exactly one field is set. All names of files.
type Auth struct {
	Basic  *BasicAuth  `json:"basic,omitempty"`
	Bearer *BearerAuth `json:"bearer,omitempty"`
	OAuth2 *OAuth2     `json:"oauth2,omitempty"`
}

// BasicAuth is RFC 7617.
type BasicAuth struct {
	UsernameFile string `json:"usernameFile"`
	PasswordFile string `json:"passwordFile"`
}

// BearerAuth is RFC 6750 2.1. A token file that changes is read again.
type BearerAuth struct {
	TokenFile string `json:"tokenFile"`
}

// OAuth2 gets tokens by client credentials (RFC 6749 4.4) before the runner is ready, and new ones
// before they expire.
type OAuth2 struct {
	TokenURL string `json:"tokenURL"`
	// Address, if set, is what is dialled in place of the host and port of TokenURL, see Endpoint.Address. ServerName and
	// InsecureSkipVerify are as in TLS. All are those of the target that has the host and port of TokenURL.
	Address            string `json:"address,omitempty"`
	ServerName         string `json:"serverName,omitempty"`
	InsecureSkipVerify bool   `json:"insecureSkipVerify,omitempty"`
	// HTTP2 speaks HTTP/2 with prior knowledge to an http:// TokenURL.
	HTTP2 bool `json:"http2,omitempty"`
	// ClientID is empty if the endpoint identifies the client in another way.
	ClientID string `json:"clientID"`
	// CAFile holds the certificates to trust, PEM; empty: the system's.
	CAFile string `json:"caFile,omitempty"`
	// CertFile and KeyFile are the client's certificate chain and key, PEM; empty: none.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// ClientSecretFile; empty: the token endpoint knows the client otherwise.
	ClientSecretFile string `json:"clientSecretFile,omitempty"`
	// SecretInBody sends id and secret as form fields instead of as Basic authentication
	// (RFC 6749 2.3.1).
	SecretInBody bool     `json:"secretInBody,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
	// Parameters are further form fields, such as those of 3GPP TS 29.510 6.3.5.2.2.
	Parameters map[string]string `json:"parameters,omitempty"`
	// RefreshBefore the expiry a new token is fetched.
	RefreshBefore time.Duration `json:"refreshBefore,omitempty"`
}

// ClientAssertion is a JWT that the runner signs (3GPP TS 33.501 13.3.8). It is in the 3gpp-Sbi-Client-Credentials
// field of all requests to a target whose step has none of its own.
type ClientAssertion struct {
	// Subject is the NF instance id of the client, and Audience are the NF types that the assertion is for.
	Subject  string   `json:"subject"`
	Audience []string `json:"audience"`
	// CertFile and KeyFile are the certificate chain and the key that signs, PEM.
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
	// Lifetime of an assertion; zero: five minutes. The runner signs the next one after half of it.
	Lifetime time.Duration `json:"lifetime,omitempty"`
}

// HTTP2 has the settings of an HTTP/2 session. A nil field means the engine's default.
type HTTP2 struct {
	// HeaderTableSize is announced as SETTINGS_HEADER_TABLE_SIZE, in octets.
	HeaderTableSize *uint32 `json:"headerTableSize,omitempty"`
	// EncoderTableSize is the maximum size of the encoder's table, in octets. The peer's SETTINGS limit it too. Zero:
	// the encoder indexes nothing.
	EncoderTableSize *uint32 `json:"encoderTableSize,omitempty"`
	// StreamWindow and ConnectionWindow are receive windows, in octets.
	StreamWindow     *uint32 `json:"streamWindow,omitempty"`
	ConnectionWindow *uint32 `json:"connectionWindow,omitempty"`
	// MaxFrameSize is the size of the largest frame that the session accepts, in octets.
	MaxFrameSize *uint32 `json:"maxFrameSize,omitempty"`
	// PingInterval is how long a connection can receive nothing before the session sends a PING. If the connection
	// receives nothing for another interval, it is closed. Zero: no PING.
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
	// MaxAge and MaxRequests retire a connection: it gets no more requests, another connection replaces it, and it
	// closes after its last response. Zero: never.
	MaxAge      time.Duration `json:"maxAge,omitempty"`
	MaxRequests int64         `json:"maxRequests,omitempty"`
	// InactivityTimeout closes a connection that has requests in flight and has received nothing
	// for so long; they are counted as connectionLost. Zero: never.
	InactivityTimeout time.Duration `json:"inactivityTimeout,omitempty"`
	// LocalAddresses are the IP addresses to connect from: connection k from entry k modulo
	// their number. Empty: the system's choice.
	LocalAddresses []string `json:"localAddresses,omitempty"`
	// Interface is the network interface to connect from, with its first IP address. Empty: the system's choice.
	Interface string `json:"interface,omitempty"`
	// NoFailover keeps a connection to its own endpoint; otherwise one that cannot be reached is
	// replaced by the group's next, and its own is tried again every FailbackInterval.
	NoFailover       bool          `json:"noFailover,omitempty"`
	FailbackInterval time.Duration `json:"failbackInterval,omitempty"`
	// OnDemand opens a connection only when a request waits for one. After a connection ends, it stays closed until a
	// request waits. There is no ramp.
	OnDemand bool `json:"onDemand,omitempty"`
	// PerInstance gives each chain instance connections of its own, which close when it ends. OnDemand is true, too.
	PerInstance bool `json:"perInstance,omitempty"`
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
	// CertFile and KeyFile are the client's certificate chain and key, PEM; empty: none. Files that change are read
	// again.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// CertDirectory has certificates NAME.crt and keys NAME.key, PEM. Connection k has pair k modulo their number. Empty:
	// none. Files that change are read again.
	CertDirectory string `json:"certDirectory,omitempty"`
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
	// EarlyData is which requests HTTP/3 sends before a resumed handshake is complete. Empty: none.
	EarlyData EarlyData `json:"earlyData,omitempty"`
}

// EarlyData is which requests are sent as early data (RFC 9001 4.6). An attacker can send them again (RFC 8470).
type EarlyData string

const (
	// EarlySafe is those with safe methods (RFC 9110 9.2.1).
	EarlySafe EarlyData = "SafeMethods"
	// EarlyAll is all.
	EarlyAll EarlyData = "All"
)

// Allows returns whether requests with a method are sent as early data. changes: a script can change the method.
func (e EarlyData) Allows(method string, changes bool) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return e == EarlyAll || e == EarlySafe && !changes
	}
	return e == EarlyAll
}

// ConnectWithin is how long it may take until all connections are open: the last of the ramp has
// begun, and has used up its timeout at each of the endpoints.
func (t *Target) ConnectWithin() time.Duration {
	within := t.ConnectTimeout
	if !t.Connecting.NoFailover {
		within *= time.Duration(max(1, len(t.Endpoints)))
	}
	if t.Connecting.RampCount > 0 {
		within += time.Duration((t.Connections-1)/t.Connecting.RampCount) * t.Connecting.RampPeriod
	}
	return within
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
	// URL, if set, is a URL with placeholders. The runner derives the fields above from it, except an Address that is
	// set. Only variables that are constant on a runner can fill the placeholders: those of scope global, env,
	// perShard and constant.
	URL Text `json:"url,omitempty"`
}

// Base returns the URL that the paths of requests are added to. It is not known if URL is set.
func (e *Endpoint) Base() string { return e.Scheme + "://" + e.Authority + e.BasePath }

// Variable is a source of values. Exactly one of Range, List, CSV, Subscribers, Random, UUID, Counter, Timestamp,
// Env, PerShard and Constant is set.
type Variable struct {
	Name  string `json:"name"`
	Scope Scope  `json:"scope,omitempty"`
	// Order of Range, List, CSV and Subscribers.
	Order Order `json:"order,omitempty"`
	// Stop makes a worker that has used all its values start no more instances of chains that use the variable.
	// Otherwise the worker starts with the first value again.
	Stop bool `json:"stop,omitempty"`

	Range *Range   `json:"range,omitempty"`
	List  []string `json:"list,omitempty"`
	CSV   *CSV     `json:"csv,omitempty"`
	// Subscribers have columns, as a table has.
	Subscribers *Subscribers `json:"subscribers,omitempty"`
	Random      *Random      `json:"random,omitempty"`
	UUID        bool         `json:"uuid,omitempty"`
	Counter     *Counter     `json:"counter,omitempty"`
	Timestamp   *Timestamp   `json:"timestamp,omitempty"`
	Env         *Env         `json:"env,omitempty"`
	// PerShard has a value for each shard; shard s has entry s modulo their number.
	PerShard []string `json:"perShard,omitempty"`
	Constant *Content `json:"constant,omitempty"`
	// Traceparent is the source of the variable that the compiler adds for traceparent(ratio) in a text.
	Traceparent *Traceparent `json:"traceparent,omitempty"`
}

// TraceparentFunction is the name of the function in texts.
const TraceparentFunction = "traceparent"

// Traceparent is a value of the traceparent header field (W3C Trace Context 3.2). Trace and parent ids do not occur
// twice in a test.
type Traceparent struct {
	// Ratio is the share of the values with the sampled flag, from 0 to 1.
	Ratio float64 `json:"ratio"`
}

// Name returns the name of the variable, such as traceparent(0.01).
func (t *Traceparent) Name() string {
	return TraceparentFunction + "(" + strconv.FormatFloat(t.Ratio, 'f', -1, 64) + ")"
}

// Scope says how often a variable is drawn.
type Scope string

const (
	// ScopeInstance, the default: once for each chain instance, which keeps it for all its steps.
	ScopeInstance Scope = ""
	// ScopeStep: once for each request.
	ScopeStep Scope = "step"
	// ScopeWorker: once for each worker.
	ScopeWorker Scope = "worker"
	// ScopeGlobal: once for the whole test; every runner comes to the same value.
	ScopeGlobal Scope = "global"
)

// Order is the order in which a sequence is gone through.
type Order string

const (
	// OrderSequential, the default: as it is written.
	OrderSequential Order = ""
	// OrderShuffled: every value once in an order that Plan.Seed decides, then again. Shards still
	// share no value.
	OrderShuffled Order = "shuffled"
	// OrderRandom: a random value of the whole sequence each time.
	OrderRandom Order = "random"
)

// Parts is the number of parts that sequences of unknown length have: a runner with the parts
// [From, To) of a file with n rows has the rows from n*From/Parts up to, without, n*To/Parts.
const Parts = 1 << 40

// Size returns the number of values before the sequence wraps. It returns Parts if only the runner knows this number,
// and zero if the variable is not a sequence.
func (v *Variable) Size() int64 {
	switch {
	case v.Range != nil:
		return 1 + (v.Range.End-v.Range.Start-1)/v.Range.Step
	case v.CSV != nil:
		return Parts
	case v.Subscribers != nil:
		return v.Subscribers.Count
	}
	return int64(len(v.List))
}

// Range is Start, Start+Step, ... below End, padded with zeros to Width digits.
type Range struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	Step  int64 `json:"step"`
	Width int   `json:"width,omitempty"`
	// Hex writes lower-case hexadecimal digits instead of decimal ones.
	Hex bool `json:"hex,omitempty"`
}

// CSV is a table (RFC 4180); a part of a text says which column it takes. All columns that an
// instance uses are of one row.
type CSV struct {
	Content Content `json:"content"`
	// Columns are the names of the columns; empty: the first row has them.
	Columns []string `json:"columns,omitempty"`
	// Delimiter is one character; empty: a comma.
	Delimiter string `json:"delimiter,omitempty"`
}

// Random draws independent values; exactly one field is set. Plan.Seed and the share decide which.
type Random struct {
	Integer *RandomInteger `json:"integer,omitempty"`
	// Hex is the number of hexadecimal digits.
	Hex    int           `json:"hex,omitempty"`
	String *RandomString `json:"string,omitempty"`
	Choice []Choice      `json:"choice,omitempty"`
}

// RandomInteger is uniform over Min to Max, both included, padded with zeros to Width digits.
type RandomInteger struct {
	Min   int64 `json:"min"`
	Max   int64 `json:"max"`
	Width int   `json:"width,omitempty"`
}

// RandomString has Length characters out of Alphabet, which is ASCII.
type RandomString struct {
	Length   int    `json:"length"`
	Alphabet string `json:"alphabet"`
}

// Choice is a value and its weight among the others.
type Choice struct {
	Value  string `json:"value"`
	Weight int    `json:"weight"`
}

// Counter is Start, Start+Step, ... without an end, no value twice in the test: the n-th value of
// a worker is that of the n-th slot it owns (Share.Slots), numbered over the whole test.
type Counter struct {
	Start int64 `json:"start"`
	Step  int64 `json:"step"`
	Width int   `json:"width,omitempty"`
}

// Timestamp is the wall clock when the variable is drawn, in UTC, plus Offset.
type Timestamp struct {
	Format TimeFormat    `json:"format"`
	Offset time.Duration `json:"offset,omitempty"`
}

// TimeFormat is how an instant is written.
type TimeFormat string

const (
	// TimeRFC3339 is 2006-01-02T15:04:05Z.
	TimeRFC3339 TimeFormat = "rfc3339"
	// TimeRFC3339Milli is 2006-01-02T15:04:05.000Z, the DateTime of 3GPP TS 29.571 5.2.2 with milliseconds.
	TimeRFC3339Milli TimeFormat = "rfc3339Milli"
	// TimeEpochSeconds and TimeEpochMilliseconds count from 1970.
	TimeEpochSeconds      TimeFormat = "epochSeconds"
	TimeEpochMilliseconds TimeFormat = "epochMilliseconds"
	// TimeIMFFixdate is Mon, 02 Jan 2006 15:04:05 GMT (RFC 9110 5.6.7).
	TimeIMFFixdate TimeFormat = "imfFixdate"
	// TimeIMFFixdateMilli is Mon, 02 Jan 2006 15:04:05.000 GMT (3GPP TS 29.500 5.2.3.3.2).
	TimeIMFFixdateMilli TimeFormat = "imfFixdateMilli"
)

// Env is a variable of the runner's environment. Without one, and without a default, the runner
// is not ready.
type Env struct {
	Name    string  `json:"name"`
	Default *string `json:"default,omitempty"`
}

// Content is a text in the plan, in a file or in the environment. At most one of Text, Bytes, File and Env is set. If
// none is set, the content is the empty text.
type Content struct {
	Text string `json:"text,omitempty"`
	// Bytes are content that is not text.
	Bytes []byte `json:"bytes,omitempty"`
	// File is a name; its content is not in the plan because it is secret or large.
	File string `json:"file,omitempty"`
	// Env is a variable of the runner's environment, into which the operator puts a field of the pod.
	Env string `json:"env,omitempty"`
	// Base64: the file holds base64 of the content.
	Base64 bool `json:"base64,omitempty"`
	// Trim removes one line end at the end of the file.
	Trim bool `json:"trim,omitempty"`
}

// Text is a string with placeholders: its parts in order.
type Text []Part

// Part is a literal, a reference or the content of a file; exactly one of Literal, Variable, Listener, Capture,
// Global and Content is set.
type Part struct {
	Literal string `json:"literal,omitempty"`
	// Variable is 1 + the index into Plan.Variables.
	Variable int `json:"variable,omitempty"`
	// Column of a variable with columns: CSV or Subscribers.
	Column string `json:"column,omitempty"`
	// Listener is 1 + the index into Plan.Listeners, of which the part is the URL, or what Column says.
	Listener int `json:"listener,omitempty"`
	// Capture is 1 + the index into Chain.Captures.
	Capture int `json:"capture,omitempty"`
	// Global is 1 + the index into Plan.Globals.
	Global int `json:"global,omitempty"`
	// Content is inserted as it is, without replacing placeholders.
	Content *Content `json:"content,omitempty"`
	// Functions are applied to the value of a reference, the first one first.
	Functions []Function `json:"functions,omitempty"`
}

// IsLiteral returns whether the part is a text of the manifest and not a placeholder.
func (p *Part) IsLiteral() bool {
	return p.Variable+p.Listener+p.Capture+p.Global == 0 && p.Content == nil && len(p.Functions) == 0
}

// Function changes a value.
type Function struct {
	Name FunctionName `json:"name"`
	// Width and Fill of pad: at least Width characters, filled up on the left with the one
	// character Fill.
	Width int    `json:"width,omitempty"`
	Fill  string `json:"fill,omitempty"`
	// Key of hmacSha256: a reference without functions.
	Key *Part `json:"key,omitempty"`
	// Arguments of resStar and hxresStar after the first one: references without functions.
	Arguments []Part `json:"arguments,omitempty"`
}

// ArgumentsOf returns how many Arguments a function has.
func ArgumentsOf(name FunctionName) int {
	switch name {
	case FunctionRESStar:
		return 3
	case FunctionHXRESStar:
		return 1
	}
	return 0
}

// FunctionName is one of a short fixed list.
type FunctionName string

const (
	// FunctionURLEncode percent-encodes all but the unreserved characters (RFC 3986 2.3).
	FunctionURLEncode FunctionName = "urlEncode"
	// FunctionBase64 is RFC 4648 4, with padding.
	FunctionBase64 FunctionName = "base64"
	// FunctionBase64URL is RFC 4648 5, without padding.
	FunctionBase64URL FunctionName = "base64url"
	// FunctionJSONEscape makes the value fit between the quotes of a JSON string (RFC 8259 7).
	FunctionJSONEscape FunctionName = "jsonEscape"
	// FunctionHexDecode returns the bytes of hexadecimal digits. An odd number of digits gets a 0 before it, and other
	// characters are skipped.
	FunctionHexDecode FunctionName = "hexDecode"
	// FunctionUpper and FunctionLower change ASCII letters only.
	FunctionUpper FunctionName = "upper"
	FunctionLower FunctionName = "lower"
	FunctionPad   FunctionName = "pad"
	// FunctionSHA256 and FunctionHMACSHA256 give lower-case hexadecimal digits (FIPS 180-4, RFC 2104).
	FunctionSHA256     FunctionName = "sha256"
	FunctionHMACSHA256 FunctionName = "hmacSha256"
	// FunctionRESStar makes RES* (TS 33.501 A.4) of RAND. Its arguments are K, OPc and the serving network name. Keys,
	// RAND and RES* are hexadecimal digits. If the value or an argument has not 32 of them, the result is empty.
	FunctionRESStar FunctionName = "resStar"
	// FunctionHXRESStar makes HXRES* (TS 33.501 A.5) of RES*. Its argument is RAND.
	FunctionHXRESStar FunctionName = "hxresStar"
	// FunctionRoutingBinding turns the value of 3gpp-Sbi-Binding into that of 3gpp-Sbi-Routing-Binding (3GPP TS 29.500
	// 5.2.3.2.5, 5.2.3.2.6).
	FunctionRoutingBinding FunctionName = "routingBinding"
)

// Phase is when a chain runs.
type Phase string

const (
	// PhaseLoad, the default: as often as the rates ask for.
	PhaseLoad Phase = ""
	// PhaseSetup: once for the whole test, before the start, in the order of the plan.
	PhaseSetup Phase = "setup"
	// PhaseTeardown: once for the whole test, after the last response.
	PhaseTeardown Phase = "teardown"
)

// Chain is a sequence of requests; an instance of it keeps its own captured values.
type Chain struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase,omitempty"`
	// Target is an index into Plan.Targets: where the chain's first step goes.
	Target int `json:"target"`
	// Weight is this chain's share of the chain instances that are started.
	Weight int `json:"weight"`
	// Delay after the start before which no instance begins.
	Delay time.Duration `json:"delay,omitempty"`
	// StartAfter is when the first of the chain's own stages begins, as an offset from the start. It is zero for a chain
	// of the mix. See Rate.Chain.
	StartAfter time.Duration `json:"startAfter,omitempty"`
	// MaxInFlight bounds the instances that are under way, over all shards; a Share says how many
	// of them one shard may have. Zero: no bound.
	MaxInFlight int `json:"maxInFlight,omitempty"`
	// Cookies keeps a cookie store for each instance (RFC 6265).
	Cookies bool `json:"cookies,omitempty"`
	// Captures are the names of the slots its steps fill and read.
	Captures []string `json:"captures,omitempty"`
	// Publish, of a setup chain: for each of Captures 1 + the index into Plan.Globals.
	Publish []int  `json:"publish,omitempty"`
	Steps   []Step `json:"steps"`
}

// Step is one request of a chain.
type Step struct {
	// Name is the step's name in results: the template's name unless the step has its own.
	Name string `json:"name"`
	// Operation is the name of the service operation in results, such as Nnrf_NFManagement_NFRegister. Empty: none.
	Operation string `json:"operation,omitempty"`
	// Target is an index into Plan.Targets.
	Target int    `json:"target"`
	Method string `json:"method"`
	Path   Text   `json:"path"`
	// Authority, if set, is the host and port that the request goes to, with the scheme of the target. The target follows
	// authorities (Target.FollowAuthority), and the base path of its endpoints does not come before Path.
	Authority Text     `json:"authority,omitempty"`
	Headers   []Header `json:"headers,omitempty"`
	Body      Text     `json:"body,omitempty"`
	// BodyFrom, if set, replaces Body: a text with placeholders unless Raw.
	BodyFrom *BodyFrom `json:"bodyFrom,omitempty"`
	// Parts, if set, replace Body by a multipart/related content. The runner chooses the boundary and adds content-type.
	Parts []BodyPart `json:"parts,omitempty"`
	// GRPC, if set, replaces Body by the messages of a call, and adds te, content-type and grpc-timeout.
	GRPC    *GRPC         `json:"grpc,omitempty"`
	Timeout time.Duration `json:"timeout"`
	Expect  Expect        `json:"expect"`
	Capture []Capture     `json:"capture,omitempty"`
	// MaxBody is the maximum size of a response's body that is kept for captures, checks and scripts, in octets. They
	// fail if the body is larger. Zero: 1 MiB.
	MaxBody int `json:"maxBody,omitempty"`

	// Think is waited before the step, after the one before it; nothing is before the first request of an
	// instance.
	Think *Think `json:"think,omitempty"`
	// When lists conditions that must all hold, or the step is skipped.
	When []Condition `json:"when,omitempty"`
	// Repeat sends the step that often, one after another; below 2: once. Until, when it is there, ends it
	// as soon as all its conditions hold after a response.
	Repeat int         `json:"repeat,omitempty"`
	Until  []Condition `json:"until,omitempty"`
	// Group: consecutive steps with the same number above 0 are sent at the same time; the next
	// one follows when all have their outcome.
	Group     int       `json:"group,omitempty"`
	OnFailure OnFailure `json:"onFailure,omitzero"`
	// MaxRedirects is how many redirects with status 307 or 308 a request follows, at most 16. Each of them is a request
	// of its own. Zero: none, and such a response is judged as any other.
	MaxRedirects int `json:"maxRedirects,omitempty"`
	// RedirectField, if set, is the name in lower case of a request field with the origin of the server that the target
	// forwards requests to, such as 3gpp-sbi-target-apiroot (3GPP TS 29.500 5.2.3.2.4). A redirect to another server then
	// changes this field, and the request goes to the target again.
	RedirectField string `json:"redirectField,omitempty"`
	// ClearCookies empties the instance's cookie store before the request.
	ClearCookies bool `json:"clearCookies,omitempty"`
	// Always sends the step also in an instance that was aborted, or that gracefulStop has too little time for. All later
	// steps of the chain have it, too. The step is skipped if a captured value that it sends is missing.
	Always bool    `json:"always,omitempty"`
	Script *Script `json:"script,omitempty"`
	// Await, if set, makes the step wait for a notification until Timeout. It sends no request: Target, Method, Path,
	// Headers and Body are not set. Expect.Checks and Capture apply to the notification as to a response.
	Await *Await `json:"await,omitempty"`
}

// Await is what a step waits for.
type Await struct {
	// Listener is an index into Plan.Listeners.
	Listener int `json:"listener"`
	// Key must be equal to the key of the notification; see Listener.Pointer.
	Key Text `json:"key"`
}

// ListenerHost and ListenerPort are values of Part.Column for a listener.
const (
	ListenerHost = "host"
	ListenerPort = "port"
)

// Listener is an HTTP/2 server for notifications.
type Listener struct {
	Name string `json:"name"`
	// TLS is nil for cleartext with prior knowledge (RFC 9113 3.3).
	TLS *ListenerTLS `json:"tls,omitempty"`
	// Token is nil if notifications need no access token.
	Token *TokenCheck `json:"token,omitempty"`
	// Interface is the network interface that the listener listens on, and whose address is in URLs. Empty: the address of
	// the pod.
	Interface string `json:"interface,omitempty"`
	// Port is the port of the first worker of a runner. Worker n of the runner has Port + n. Zero: the system chooses the
	// ports.
	Port int `json:"port,omitempty"`
	// Pointer is the JSON pointer (RFC 6901) to the key of a notification in its body. Empty: the key is the path, without
	// the query.
	Pointer string `json:"pointer,omitempty"`
	// JSONPath is a query (RFC 9535) for the key of a notification in its body, in place of Pointer.
	JSONPath string `json:"jsonPath,omitempty"`
	// ByPath makes the key the path, a space, and the value of Pointer or JSONPath.
	ByPath bool `json:"byPath,omitempty"`
	// Status, Headers and Body are the response to each notification that no rule answers.
	Status  int              `json:"status"`
	Headers []ListenerHeader `json:"headers,omitempty"`
	Body    string           `json:"body,omitempty"`
	// RulesFile has the rules that answer notifications; see internal/mock/rules. Empty: Status, Headers and Body answer
	// all of them.
	RulesFile string `json:"rulesFile,omitempty"`
	// MaxBody is the maximum size of a notification's body that is kept, in octets. Zero: 1 MiB.
	MaxBody int `json:"maxBody,omitempty"`
	// Retention is how long a notification that no step awaits is kept for a step to come, and how long late and duplicate
	// notifications are recognised.
	Retention time.Duration `json:"retention"`
}

// ListenerTLS secures the connections to a listener.
type ListenerTLS struct {
	// CertFile and KeyFile are the certificate chain and the key of the server, PEM. Empty: the runner makes a certificate
	// when it starts. Files that change are read again.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// ClientCAFile has the certificates that client certificates are verified with, PEM. If it is set, a peer must have a
	// client certificate. Empty: peers need none.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// MinVersion is "1.2" or "1.3".
	MinVersion string `json:"minVersion"`
	// ClientNames, if set, are subject alternative names of which a client certificate must have one. Requests of other
	// peers are refused.
	ClientNames []string `json:"clientNames,omitempty"`
}

// TokenCheck is what the access token of a notification must be, which is a JSON Web Token (RFC 7519).
type TokenCheck struct {
	// Algorithm is a TokenX constant.
	Algorithm string `json:"algorithm"`
	// KeysFile has the keys: a JWK Set or a JWK (RFC 7517), public keys or certificates in PEM, or the secret of HS256.
	KeysFile string `json:"keysFile"`
	// Audience, Issuer and Scope are what the token must have. Empty: anything.
	Audience string `json:"audience,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	Scope    string `json:"scope,omitempty"`
}

// Algorithms of signatures (RFC 7518 3.1).
const (
	TokenHS256 = "HS256"
	TokenRS256 = "RS256"
	TokenRS512 = "RS512"
	TokenES256 = "ES256"
)

// ListenerHeader is a header field of all responses of a listener. Name is lower case.
type ListenerHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// BodyPart is a part of a multipart/related content (RFC 2387).
type BodyPart struct {
	ContentType string `json:"contentType"`
	// ContentID is sent as it is; empty: none.
	ContentID string `json:"contentID,omitempty"`
	// BodyFrom, if set, replaces Body.
	Body     Text      `json:"body,omitempty"`
	BodyFrom *BodyFrom `json:"bodyFrom,omitempty"`
}

// BodyFrom is a body that is not written in the manifest.
type BodyFrom struct {
	Content Content `json:"content"`
	// Raw sends the body as it is. Otherwise it has the placeholders of internal/placeholder, with the names of
	// Plan.Variables, Chain.Captures and Plan.Globals.
	Raw bool `json:"raw,omitempty"`
}

// Script is Lua that makes the request or judges the response; see runner/script.
type Script struct {
	// Name is the field of the manifest, for messages.
	Name    string  `json:"name"`
	Content Content `json:"content"`
}

// Think is a pause: Fixed, or uniform over Min to Max, or exponential with Mean, but at most Max.
type Think struct {
	Fixed time.Duration `json:"fixed,omitempty"`
	Mean  time.Duration `json:"mean,omitempty"`
	Min   time.Duration `json:"min,omitempty"`
	Max   time.Duration `json:"max,omitempty"`
}

// OnFailure controls what happens to the instance if a step fails: a check failed, the response is not complete, or a
// capture is missing.
type OnFailure struct {
	// Retries is how many times the step is sent again before the failure counts for the chain. Each retry is a
	// separate request.
	Retries int `json:"retries,omitempty"`
	// Backoff before the first retry; it doubles with each further one, up to MaxBackoff.
	Backoff    time.Duration `json:"backoff,omitempty"`
	MaxBackoff time.Duration `json:"maxBackoff,omitempty"`
	// IgnoreRetryAfter does not wait for the time that a failed response asks for (RFC 9110 10.2.3). Otherwise a retry
	// waits for it if it is longer than the backoff.
	IgnoreRetryAfter bool `json:"ignoreRetryAfter,omitempty"`
	// Continue continues with the next step. Otherwise the instance is aborted.
	Continue bool `json:"continue,omitempty"`
}

// Header is a request header field. Name is lower case. Its placeholders are variables whose values are tokens.
type Header struct {
	Name  Text `json:"name"`
	Value Text `json:"value"`
	// OmitEmpty omits the field from a request in which its value is empty. Name then has no placeholders.
	OmitEmpty bool `json:"omitEmpty,omitempty"`
}

// Expect says which responses are a success.
type Expect struct {
	// Status lists inclusive ranges of status codes; empty: below 400.
	Status []StatusRange `json:"status,omitempty"`
	// Checks must all pass. They are evaluated in this order, after the status, and the first that fails is counted.
	Checks []Check `json:"checks,omitempty"`
	// USIM, if set, verifies the challenge in the response after Checks.
	USIM *USIM `json:"usim,omitempty"`
}

// GRPC is a call of a method of a service of Target.Protos. Messages are in the JSON mapping of Protocol Buffers;
// placeholders are in strings.
type GRPC struct {
	Service  string `json:"service"`
	Method   string `json:"method"`
	Messages []Text `json:"messages"`
	// Waits are what the runner waits for between messages, in order.
	Waits []Wait `json:"waits,omitempty"`
	// Gzip compresses the messages.
	Gzip bool `json:"gzip,omitempty"`
	// Deadline is sent as grpc-timeout. If it equals Step.Timeout, calls that time out are counted with CauseDeadline.
	// Zero: the call has no deadline of its own, and Step.Timeout is sent.
	Deadline time.Duration `json:"deadline,omitempty"`
}

// Wait delays a message of a call, and all after it. Exactly one of Answers and Delay is set.
type Wait struct {
	// Before is the index into GRPC.Messages of the message that waits; the number of messages: the end of the request.
	Before int `json:"before"`
	// Answers is how many messages of the response must have arrived after those that earlier waits needed.
	Answers int64 `json:"answers,omitempty"`
	// Delay begins when the message before was sent, and when earlier waits are over.
	Delay time.Duration `json:"delay,omitempty"`
}

// CheckStatus, CheckScript, CheckBody, CheckRedirect and CheckMessage are the names of failures that do not belong to a
// Check: an unexpected status, a script that rejects a response or fails, a body larger than MaxBody in a step that
// needs the body, a redirect that a step with MaxRedirects cannot follow, and a response of a call whose body does not
// fit the method. A call with another grpc-status than 0 fails under the name of its code, such as NOT_FOUND.
const (
	CheckStatus   = "status"
	CheckScript   = "script"
	CheckBody     = "maxBodyBytes"
	CheckRedirect = "maxRedirects"
	CheckMessage  = "grpcMessage"
)

// StatusRange is an inclusive range of status codes: {200, 299} is 2xx.
type StatusRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Check compares something of a response. Either Source and Match are set, or Schema.
type Check struct {
	Name   string  `json:"name"`
	Source *Source `json:"source,omitempty"`
	Match  *Match  `json:"match,omitempty"`
	// Schema is a JSON Schema (draft 2020-12 unless it says otherwise) for the body, or for the part with the name
	// SchemaPart, as in Source.Part.
	Schema     *Content `json:"schema,omitempty"`
	SchemaPart string   `json:"schemaPart,omitempty"`
}

// Condition compares a text with a value.
type Condition struct {
	Value Text  `json:"value"`
	Match Match `json:"match"`
}

// Match is a comparison. An absent value matches only Exists with Want false.
type Match struct {
	Op MatchOp `json:"op"`
	// Want is what the value is compared with. LessThan and GreaterThan compare decimal numbers. For
	// SourceResponseTime it is nanoseconds.
	Want Text `json:"want,omitempty"`
	// Pattern of MatchMatches: RE2, anywhere in the value.
	Pattern string `json:"pattern,omitempty"`
	// Not turns the result round.
	Not bool `json:"not,omitempty"`
}

// MatchOp is how two values are compared.
type MatchOp string

const (
	MatchEquals      MatchOp = "equals"
	MatchStartsWith  MatchOp = "startsWith"
	MatchEndsWith    MatchOp = "endsWith"
	MatchContains    MatchOp = "contains"
	MatchMatches     MatchOp = "matches"
	MatchExists      MatchOp = "exists"
	MatchLessThan    MatchOp = "lessThan"
	MatchGreaterThan MatchOp = "greaterThan"
)

// SourceKind is the part of an exchange that a value is taken from.
type SourceKind string

const (
	// SourceHeader is the response header field Source.Name; of several with the same name the first.
	SourceHeader SourceKind = "header"
	// SourceStatus is the status code in decimal.
	SourceStatus SourceKind = "status"
	// SourceBody is the whole content.
	SourceBody SourceKind = "body"
	// SourceBodyHex is the whole content in lower-case hexadecimal digits.
	SourceBodyHex SourceKind = "bodyHex"
	// SourceBodySize is the number of octets of the content, all of them counted.
	SourceBodySize SourceKind = "bodySize"
	// SourceResponseTime is the time from due to done, in nanoseconds.
	SourceResponseTime SourceKind = "responseTime"
	// SourceJSONPointer is the value at Source.Pointer of a JSON body.
	SourceJSONPointer SourceKind = "jsonPointer"
	// SourceJSONPath is the first value that Source.JSONPath selects in a JSON body.
	SourceJSONPath SourceKind = "jsonPath"
	// SourceXPath is the string value of the first node that Source.XPath selects in an XML body.
	SourceXPath SourceKind = "xpath"
	// SourceRequestMethod to SourceRequestJSONPath are of the request itself.
	SourceRequestMethod      SourceKind = "requestMethod"
	SourceRequestPath        SourceKind = "requestPath"
	SourceRequestHeader      SourceKind = "requestHeader"
	SourceRequestBody        SourceKind = "requestBody"
	SourceRequestJSONPointer SourceKind = "requestJSONPointer"
	SourceRequestJSONPath    SourceKind = "requestJSONPath"
)

// Source says where a value is taken from.
type Source struct {
	Kind SourceKind `json:"kind"`
	// Name of a header field, lower case.
	Name string `json:"name,omitempty"`
	// Joined joins all lines of the header field of a response with commas (RFC 9110 5.3). Otherwise the first line
	// counts.
	Joined bool `json:"joined,omitempty"`
	// Part is the part of a multipart response that a source of the content refers to: the Content-ID without angle
	// brackets or, with a slash, the media type. Empty: the whole content.
	Part string `json:"part,omitempty"`
	// Pointer is RFC 6901. In an array a token -n is the n-th element from the end. A string gives its
	// characters, anything else its JSON text.
	Pointer string `json:"pointer,omitempty"`
	// JSONPath is a query of RFC 9535.
	JSONPath string `json:"jsonPath,omitempty"`
	// XPath is an expression of XPath 1.0.
	XPath string `json:"xpath,omitempty"`
	// Regex, when it is there, takes a part of the value: RE2, the first match, and of it the
	// group with this number, 0 being the whole match. Without a match there is no value.
	Regex string `json:"regex,omitempty"`
	Group int    `json:"group,omitempty"`
}

// Capture takes a value out of an exchange.
type Capture struct {
	// Slot is an index into Chain.Captures.
	Slot   int    `json:"slot"`
	Source Source `json:"source"`
	// Location resolves the value as a reference against the request's target (RFC 9110 10.2.2) and keeps
	// path and query, and the authority for Target.FollowAuthority.
	Location bool `json:"location,omitempty"`
	// Default is the value if the source has none.
	Default *string `json:"default,omitempty"`
	// Optional makes the capture empty if the source has no value and there is no Default. Otherwise the step fails.
	Optional bool `json:"optional,omitempty"`
	// Keep keeps the earlier value if the source has none. Optional and Default are not set.
	Keep bool `json:"keep,omitempty"`
}

// Rate is a stage of the load. The mode is ClosedLoop, with at most Count requests in flight, or else Count per Period.
type Rate struct {
	Name string `json:"name"`
	// Chain is the number of the chain whose own stage it is, from 1. Zero means that it is a stage of the mix, that is of
	// all load chains without stages of their own. The stages of the mix come first, then those of each chain. The stages
	// of a chain run one after another, at the same time as those of the mix.
	Chain int `json:"chain,omitempty"`
	// Count is the number of slots in each Period, counted from the stage's start. 0 is a pause: no slot is due.
	Count  int64         `json:"count,omitempty"`
	Period time.Duration `json:"period,omitempty"`
	// RampFrom is the Count at the start of the stage, from which the rate changes linearly to Count over Duration. nil:
	// the rate is constant.
	RampFrom *int64 `json:"rampFrom,omitempty"`
	// Arrivals is how the slots are spaced.
	Arrivals Arrivals `json:"arrivals,omitempty"`
	// BurstSize is the number of slots that are due at the same time with ArrivalsBurst.
	BurstSize int64 `json:"burstSize,omitempty"`
	// Seed decides the times of ArrivalsPoisson.
	Seed uint64 `json:"seed,omitempty"`
	// ChainsPerSecond is true if each slot starts a chain instance. Later steps of an instance need no slot: they are due
	// when they are ready. Without it, each request needs a slot.
	ChainsPerSecond bool `json:"chainsPerSecond,omitempty"`
	// ClosedLoop sends whenever a stream is free. Count is then the number of requests that may be in flight over all
	// shards, or 0: there is no limit.
	ClosedLoop bool `json:"closedLoop,omitempty"`
	// Duration and Requests bound the stage, whichever is reached first; zero: no such bound.
	Duration time.Duration `json:"duration,omitempty"`
	Requests int64         `json:"requests,omitempty"`
	// WarmUp stages are counted separately and are not part of the result.
	WarmUp bool `json:"warmUp,omitempty"`
	// Hold makes the stage begin suspended: it waits for an Update that is not suspended.
	Hold bool `json:"hold,omitempty"`
}

// Arrivals is how the slots of a rate are spaced.
type Arrivals string

const (
	// ArrivalsEven have equal intervals.
	ArrivalsEven Arrivals = ""
	// ArrivalsPoisson are a Poisson process: the intervals are independent and exponentially distributed.
	ArrivalsPoisson Arrivals = "Poisson"
	// ArrivalsBurst are due BurstSize at a time. The bursts have equal intervals.
	ArrivalsBurst Arrivals = "Burst"
)

// WithRateOf returns the stage with the rate of another. A rate consists of the fields that can change while the test
// runs.
func (r Rate) WithRateOf(other *Rate) Rate {
	r.Count, r.Period, r.RampFrom = other.Count, other.Period, other.RampFrom
	return r
}

// SameRate reports whether two stages have the same rate.
func (r *Rate) SameRate(other *Rate) bool {
	return r.Count == other.Count && r.Period == other.Period && r.ramps() == other.ramps() &&
		(!r.ramps() || *r.RampFrom == *other.RampFrom)
}

func (r *Rate) ramps() bool { return r.RampFrom != nil }

func (r *Rate) rampFrom() int64 {
	if r.ramps() {
		return *r.RampFrom
	}
	return 0
}

// minInterval is the shortest interval between the slots of a stage, on average, and maxBurst bounds the slots that are
// due at the same time: a worker takes all slots that are due in one turn.
const (
	minInterval = 10 * time.Nanosecond
	maxBurst    = 1_000_000
)

// Check returns why no runner can send the load of the stage.
func (r *Rate) Check() error {
	switch {
	case r.ClosedLoop && (r.Count < 0 || r.Period != 0 || r.ramps() && r.Count == 0 || r.Arrivals != ArrivalsEven):
		return errors.New("exactly one of closedLoop and count is required")
	case !r.ClosedLoop && r.Count == 0 && r.Period == 0:
		return errors.New("exactly one of closedLoop and count is required")
	case !r.ClosedLoop && (r.Count < 0 || r.Period <= 0):
		return errors.New("count must not be negative, and period must be positive")
	case !r.ClosedLoop && time.Duration(max(r.Count, r.rampFrom())) > r.Period/minInterval:
		return fmt.Errorf("count and rampFrom must be at most %d per second", time.Second/minInterval)
	case r.Duration < 0 || r.Requests < 0 || r.Duration == 0 && r.Requests == 0:
		return errors.New("a positive duration or number of requests is required")
	case r.Duration == 0 && (r.ramps() || !r.ClosedLoop && r.Count == 0):
		return errors.New("a ramp, and a count of 0, need a duration")
	case r.ramps() && *r.RampFrom < 0:
		return errors.New("rampFrom must not be negative")
	case r.BurstSize > maxBurst:
		return fmt.Errorf("burstSize must be at most %d", maxBurst)
	case r.BurstSize < 0 || (r.Arrivals == ArrivalsBurst) != (r.BurstSize > 0):
		return errors.New("burstSize and the arrivals Burst must be set together")
	case r.Arrivals != ArrivalsEven && r.Arrivals != ArrivalsPoisson && r.Arrivals != ArrivalsBurst:
		return fmt.Errorf("arrivals %q are not known", r.Arrivals)
	}
	return nil
}

// EndsByCount reports whether the stage ends on each shard when the shard has sent its share. The slots of such a
// stage have no due times, so its remaining slots cannot be distributed again.
func (r *Rate) EndsByCount() bool { return r.ClosedLoop && r.Requests > 0 }

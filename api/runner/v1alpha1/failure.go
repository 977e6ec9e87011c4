package v1alpha1

// Failure names what failed and why. Failures that are equal in every field are counted together.
type Failure struct {
	// Of is what failed: an attempt to connect, or the counter of Counters that counts the request.
	Of FailureOf `json:"of"`
	// Cause is why.
	Cause Cause `json:"cause"`
	// Detail is the code, alert or rule behind Cause, in words; empty: Cause says all.
	Detail string `json:"detail,omitempty"`
	// Address is the address of the target; empty: no connection was chosen yet.
	Address string `json:"address,omitempty"`
}

// FailureCount is how often a Failure happened.
type FailureCount struct {
	Failure
	Count int64 `json:"count"`
}

// MaxFailures is the maximum number of different failures in a snapshot or a report. Further ones are
// counted with Cause CauseOther and without detail and address. MaxFailureDetail is the maximum length of
// a detail, in octets.
const (
	MaxFailures      = 64
	MaxFailureDetail = 128
)

// FailureOf is what failed.
type FailureOf string

const (
	// FailureConnect counts attempts to open a connection, and FailureConnection open connections that ended
	// with an error or with requests in flight, before and during the load.
	FailureConnect    FailureOf = "connect"
	FailureConnection FailureOf = "connection"
	// Those of requests count requests of measured stages. All but FailureTimedOut add up to the counter of the same name.
	FailureReset          FailureOf = "reset"
	FailureConnectionLost FailureOf = "connectionLost"
	FailureDropped        FailureOf = "dropped"
	// FailureTimedOut counts the calls of gRPC that the runner ended at their deadline. TimedOut has these, and those
	// whose timeout passed.
	FailureTimedOut FailureOf = "timedOut"
)

// Cause is why something failed.
type Cause string

// Why a connection could not be opened. A connection that is open can end by those that are marked (e),
// too.
const (
	// CauseRefused: the peer refused the connection.
	CauseRefused Cause = "refused"
	// CauseUnreachable: there is no route to the address.
	CauseUnreachable Cause = "unreachable"
	// CauseConnectTimeout: the connection was not open within connectTimeout, or over HTTP/1.1 within the timeout of the
	// request that waited for it.
	CauseConnectTimeout Cause = "connectTimeout"
	// CauseNotResolved: the name has no address, or the name server did not answer.
	CauseNotResolved Cause = "notResolved"
	// CauseDenied: the policy of the plan denies the address; Detail is the name of the rule.
	CauseDenied Cause = "deniedByPolicy"
	// CauseNoPort: no local port is free.
	CauseNoPort Cause = "noPort"
	// CauseNoDescriptor: the process or the machine has no file descriptor left.
	CauseNoDescriptor Cause = "noDescriptor"
	// CauseTLSAlert (e): the peer ended TLS with an alert, which Detail names.
	CauseTLSAlert Cause = "tlsAlert"
	// CauseTLS (e): TLS failed on our side; Detail says why.
	CauseTLS Cause = "tls"
	// CauseALPN: the peer did not choose the protocol by ALPN.
	CauseALPN Cause = "alpn"
	// CauseHTTP1: the server answered HTTP/1.1 to the HTTP/2 preface.
	CauseHTTP1 Cause = "http1"
	// CauseNoSettings: the peer sent no SETTINGS within connectTimeout, which is Detail.
	CauseNoSettings Cause = "noSettings"
	// CauseClosed (e): the peer closed the connection.
	CauseClosed Cause = "closed"
	// CauseConnectionReset (e): the peer reset the connection, or the network did.
	CauseConnectionReset Cause = "connectionReset"
	// CauseUnknown (e): another error of the system; Detail has its text.
	CauseUnknown Cause = "unknown"
)

// Why an open connection, or a request on it, ended.
const (
	// CauseHTTP2: the server answered HTTP/2 to a request of HTTP/1.1.
	CauseHTTP2 Cause = "http2"
	// CauseProtocol: the peer broke a rule of the protocol, which Detail names with its code.
	CauseProtocol Cause = "protocol"
	// CauseGoAway: the peer ended the connection with GOAWAY; Detail is its code and its debug data.
	CauseGoAway Cause = "goAway"
	// CauseRstStream: the peer reset the stream with RST_STREAM; Detail is its code.
	CauseRstStream Cause = "rstStream"
	// CauseSilent: nothing came for inactivityTimeout, which is Detail, or TCP gave up because the peer acknowledged
	// nothing.
	CauseSilent Cause = "silent"
	// CausePing: the peer did not answer a PING.
	CausePing Cause = "ping"
	// CauseOtherTimedOut: another request on the same HTTP/1.1 connection timed out, and HTTP/1.1 can cancel a
	// request only by closing the connection.
	CauseOtherTimedOut Cause = "otherTimedOut"
	// CauseDeadline: the deadline of the call passed.
	CauseDeadline Cause = "deadline"
	// CauseGaveUpWaiting: the peer gave the request back unprocessed, and no stream came free for it in time.
	// Detail says why no connection was open.
	CauseGaveUpWaiting Cause = "gaveUpWaiting"
)

// Why a request that was due was never sent.
const (
	// CauseNoStream: every stream of every connection was in use, or the connections waited for their last responses,
	// until the request had waited too long. Detail is the name of the target.
	CauseNoStream Cause = "noStream"
	// CauseNoConnection: no connection was open when the request had waited too long. Detail and Address are
	// those of the last failure to connect, or Detail is how many were connecting.
	CauseNoConnection Cause = "noConnection"
	// CauseMaxInFlight: maxInFlight allowed no further instance of the chain in Detail.
	CauseMaxInFlight Cause = "maxInFlight"
	// CauseMaxWaiting: too many requests waited for a stream already.
	CauseMaxWaiting Cause = "maxWaiting"
	// CauseNoChain: no chain could begin: its delay was not over, or its conditions did not hold.
	CauseNoChain Cause = "noChain"
	// CauseScript: the script that makes the request failed. The detail is its first error.
	CauseScript Cause = "script"
	// CauseMessage: the value of a placeholder does not fit its field in a message of gRPC.
	CauseMessage Cause = "message"
	// CauseLeaseExpired: the lease of the runner expired.
	CauseLeaseExpired Cause = "leaseExpired"
	// CauseRequestLimit: Plan.RequestLimit.
	CauseRequestLimit Cause = "requestLimit"
	// CauseStopped: the run ended while the request waited.
	CauseStopped Cause = "stopped"
)

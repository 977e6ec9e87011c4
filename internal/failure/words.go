package failure

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// said is what each cause is in a sentence.
var said = map[rv.Cause]string{
	rv.CauseRefused:         "the connection was refused",
	rv.CauseUnreachable:     "there is no route to the address",
	rv.CauseConnectTimeout:  "the connection attempt timed out",
	rv.CauseNotResolved:     "the name cannot be resolved",
	rv.CauseDenied:          "the operator's configuration denies the address by rule",
	rv.CauseNoPort:          "no local port is free",
	rv.CauseNoDescriptor:    "no file descriptor is free",
	rv.CauseTLSAlert:        "the peer sent a TLS alert",
	rv.CauseTLS:             "TLS failed",
	rv.CauseALPN:            "the peer chose another protocol by ALPN",
	rv.CauseHTTP1:           "the server answered HTTP/1.1 to the HTTP/2 preface",
	rv.CauseHTTP2:           "the server answered HTTP/2 to a request of HTTP/1.1",
	rv.CauseNoSettings:      "connected, but the peer sent no SETTINGS in time (RFC 9113 3.4)",
	rv.CauseClosed:          "the peer closed the connection",
	rv.CauseConnectionReset: "the connection was reset",
	rv.CauseUnknown:         "the connection failed",
	rv.CauseProtocol:        "the peer broke the protocol",
	rv.CauseGoAway:          "the peer sent GOAWAY",
	rv.CauseRstStream:       "the peer reset the stream",
	rv.CauseSilent:          "the peer sent nothing in time",
	rv.CausePing:            "the peer did not answer PING",
	rv.CauseOtherTimedOut:   "another request on the connection timed out",
	rv.CauseDeadline:        "the deadline of the call passed",
	rv.CauseGaveUpWaiting:   "the peer gave the request back, and no stream became free in time",
	rv.CauseNoStream:        "no stream became free in time",
	rv.CauseNoConnection:    "no connection was open",
	rv.CauseMaxInFlight:     "the chain had maxInFlight instances already",
	rv.CauseMaxWaiting:      "too many requests were waiting already",
	rv.CauseNoChain:         "no chain could start",
	rv.CauseScript:          "the script that makes the request failed",
	rv.CauseMessage:         "a value does not fit its field of the gRPC message",
	rv.CauseLeaseExpired:    "the lease of the runner expired",
	rv.CauseRequestLimit:    "limits.requestsPerSecond of the operator was reached",
	rv.CauseStopped:         "the run ended while the request waited",
}

func words(k rv.Cause) string {
	if s, ok := said[k]; ok {
		return s
	}
	return string(k)
}

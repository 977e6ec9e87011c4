package h2

import "golang.org/x/net/http2"

// AnsweredHTTP1 is the Reason when the peer's first octets are a response of HTTP/1.
const AnsweredHTTP1 = "the server answered HTTP/1.1 to the HTTP/2 preface"

// ConnError is a connection error (RFC 9113 5.4.1), which ends the session. The
// GOAWAY with the same code and reason is pending.
type ConnError struct {
	Code   http2.ErrCode
	Reason string
}

func (e *ConnError) Error() string { return "http2: " + e.Rule() }

// Rule returns the code and the rule that the peer broke.
func (e *ConnError) Rule() string { return e.Code.String() + ": " + e.Reason }

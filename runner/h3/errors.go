package h3

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// ConnError is a connection error (RFC 9114 8), which ends the session. The record that closes the connection with the
// same code and reason is pending.
type ConnError struct {
	Code   http2.ErrCode
	Reason string
}

func (e *ConnError) Error() string { return "http3: " + e.Rule() }

// Rule returns the code and the rule that the peer broke.
func (e *ConnError) Rule() string { return protocol.CodeName(e.Code) + ": " + e.Reason }

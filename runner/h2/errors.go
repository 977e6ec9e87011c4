package h2

import (
	"fmt"

	"golang.org/x/net/http2"
)

// ConnError is a connection error (RFC 9113 5.4.1): the session is over. The
// GOAWAY that tells the peer, with the same code and reason, is pending.
type ConnError struct {
	Code   http2.ErrCode
	Reason string
}

func (e *ConnError) Error() string { return fmt.Sprintf("http2: %v: %s", e.Code, e.Reason) }

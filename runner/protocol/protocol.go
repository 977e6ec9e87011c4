// Package protocol has the types that the client sessions of HTTP/1.1, HTTP/2 and HTTP/3 share.
package protocol

import "golang.org/x/net/http2"

// Want says which parts of a message the handler gets, and what a session must know about the
// request to judge the response.
type Want uint8

const (
	// WantHeaders asks for OnHeader and OnTrailer.
	WantHeaders Want = 1 << iota
	// WantBody asks for OnData.
	WantBody
	// WantErrorBody asks for OnData if the status is 400 or above.
	WantErrorBody
	// HeadRequest says that the method is HEAD: the response has no content, whatever its
	// content-length says (RFC 9110 9.3.2).
	HeadRequest
	// StableBody says that the request's body does not change before the request ends, so that
	// the session need not copy it.
	StableBody
	// Unfinished says that the request's body continues: the owner sends more of it later. It goes neither with StableBody
	// nor with HTTP/1.1.
	Unfinished
	// EarlyData says that HTTP/3 may send the request before the handshake is complete, when an attacker can send it again
	// (RFC 8470).
	EarlyData
)

// Kind is how a request ended.
type Kind uint8

const (
	// Completed: the response is complete.
	Completed Kind = iota
	// Reset by the peer, or by the session because the response was malformed.
	Reset
	// Unprocessed: the peer has not processed the request and will not, so that it is safe to send
	// it again on another connection. In HTTP/2 and HTTP/3, its stream is beyond those of a GOAWAY
	// (RFC 9113 6.8, RFC 9114 5.2). In HTTP/1.1,
	//   - no octet of it was sent,
	//   - or it follows a request whose response has "connection: close" (RFC 9112 9.6),
	//   - or its method is idempotent (RFC 9110 9.2.2), the connection has answered before, and the
	//     peer closed it cleanly without an octet of this response: the peer closed an idle
	//     connection while the request was on its way (RFC 9112 9.3.1), or ended a pipeline (9.3.2).
	Unprocessed
	// Refused: RST_STREAM(REFUSED_STREAM), in HTTP/3 H3_REQUEST_REJECTED. The peer has not processed the request, and may
	// process it later (RFC 9113 8.7, RFC 9114 4.1.1).
	Refused
	// Lost with its connection.
	Lost
)

// Outcome is the end of a request. Code is that of the RST_STREAM or GOAWAY that ended it, if any; in HTTP/3 it is one
// of H3NoError and the next ones.
// Rule is the rule that the response broke if the session ended the request, and empty if the peer
// did.
type Outcome struct {
	Kind Kind
	Code http2.ErrCode
	Rule string
}

// Handler takes the events of a client session. The session calls it inside Receive, Close and, in
// HTTP/1.1, Ended only. Slices are valid during the call. The handler must not call the session.
type Handler interface {
	// OnStatus: the final response begins. 1xx responses are not reported. A response that turns out
	// malformed may be Reset after it.
	OnStatus(tok uint32, status int)
	// OnHeader: a field of the header of the response, only with WantHeaders; no pseudo-header
	// fields. The name is in lower case. The value has no blanks at its ends, and neither CR, LF nor
	// NUL in it.
	OnHeader(tok uint32, name, value []byte)
	// OnTrailer: a field of the trailer section, as OnHeader. A response may be Reset after it.
	OnTrailer(tok uint32, name, value []byte)
	// OnData: a piece of the body, only with WantBody, or with WantErrorBody and such a status.
	OnData(tok uint32, p []byte)
	// OnDone: exactly once for each request that was opened and not cancelled.
	OnDone(tok uint32, o Outcome)
}

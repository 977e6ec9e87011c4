package h1

import "errors"

// AnsweredHTTP2 is the Reason when the peer's response begins with a frame of HTTP/2.
const AnsweredHTTP2 = "the server answered HTTP/2 to a request of HTTP/1.1"

// Error is why a connection must be closed. Section has the rule that the peer
// broke, or that requires it.
type Error struct {
	Reason, Section string
}

func (e *Error) Error() string { return "http1: " + e.Rule() }

// Rule returns the rule that the peer broke and where it is written.
func (e *Error) Rule() string { return e.Reason + " (" + e.Section + ")" }

// Each rule has one value, so that a hostile peer does not cause allocations.
var (
	errUnsolicited  = &Error{"data without a request", "RFC 9112 9.2"}
	errEarlyHTTP2   = &Error{AnsweredHTTP2, "RFC 9112 9.2"} // without a request
	errStatusLine   = &Error{"not a status line of HTTP/1", "RFC 9112 4"}
	errHTTP2        = &Error{AnsweredHTTP2, "RFC 9112 4"}
	errLine         = &Error{"NUL, CR without LF, or LF without CR in a wrong place", "RFC 9112 2.2, RFC 9110 5.5"}
	errFold         = &Error{"the first field line begins with white space", "RFC 9112 2.2"}
	errSpaceColon   = &Error{"white space before the colon", "RFC 9112 5.1"}
	errName         = &Error{"field name is not a token", "RFC 9112 5"}
	errTooLong      = &Error{"head or trailer section too long", "RFC 9110 5.4"}
	errLength       = &Error{"content-length is not a number", "RFC 9112 6.3"}
	errLengths      = &Error{"content-length values differ", "RFC 9112 6.3"}
	errCoding       = &Error{"transfer-encoding other than chunked alone", "RFC 9112 6.1, 7"}
	errCodingLength = &Error{"transfer-encoding and content-length together", "RFC 9112 6.3"}
	errCoding10     = &Error{"transfer-encoding in HTTP/1.0", "RFC 9112 6.1"}
	errSwitch       = &Error{"101 without a request to upgrade", "RFC 9110 15.2.2"}
	errInterim      = &Error{"too many 1xx responses", "RFC 9110 15.2"}
	errChunkSize    = &Error{"chunk size is not a hexadecimal number in range", "RFC 9112 7.1"}
	errChunkLine    = &Error{"chunk extension malformed or too long", "RFC 9112 7.1.1"}
	errChunkEnd     = &Error{"no CRLF after a chunk", "RFC 9112 7.1"}
	errIncomplete   = &Error{"the peer closed the connection during a response", "RFC 9112 8"}
	errUnanswered   = &Error{"the peer closed the connection before it answered", "RFC 9112 9.5"}
)

var errOver = errors.New("http1: the session is closed")

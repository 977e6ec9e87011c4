package h1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/runner/protocol"
)

const ok = "HTTP/1.1 200 OK\r\n"

var manyInterim = strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInterim)

// rule is the answer to a GET whose header fields and body are wanted; eof says
// that the peer then closes.
type rule struct {
	name, in string
	want     protocol.Want
	eof      bool
	events   string // without "1 ", joined by "; "
	err      string // section
	drains   bool
}

// rules has a row for each rule about one response.
var rules = []rule{
	// RFC 9112 4: status line.
	{name: "no reason", in: "HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n", events: "status 200; content-length: 0; completed"},
	{name: "no space before no reason", in: "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", events: "status 200; content-length: 0; completed"},
	{name: "reason of any octets", in: "HTTP/1.1 404 \t\xe9\xff x\r\ncontent-length: 0\r\n\r\n", events: "status 404; content-length: 0; completed"},
	{name: "status above 599", in: "HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n", events: "status 999; content-length: 0; completed"},
	{name: "status below 100", in: "HTTP/1.1 099 x\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "status of two digits", in: "HTTP/1.1 20 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "status of four digits", in: "HTTP/1.1 2000 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "status is no number", in: "HTTP/1.1 2x0 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "two spaces", in: "HTTP/1.1  200 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "minor version above 1", in: "HTTP/1.9 200 OK\r\ncontent-length: 0\r\n\r\n", events: "status 200; content-length: 0; completed"},
	{name: "major version 2", in: "HTTP/2.0 200 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "version of two digits", in: "HTTP/1.10 200 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "no minor version", in: "HTTP/1 200 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "name in lower case", in: "http/1.1 200 OK\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "ends too early", in: "HTTP/1.\r\n\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "HTTP/0.9", in: "<html></html>\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "empty line first", in: "\r\n" + ok + "\r\n", events: "reset", err: "RFC 9112 4"},
	{name: "another protocol at its first octet", in: "S", events: "reset", err: "RFC 9112 4"},
	{name: "HTTP/2 at its first octet", in: "\x00", events: "reset", err: "RFC 9112 4"},

	// RFC 9112 2.2: lines.
	{name: "LF alone", in: "HTTP/1.1 200 OK\ncontent-length: 1\nx: y\n\nz", events: "status 200; content-length: 1; x: y; data z; completed"},
	{name: "LF alone ends the head", in: ok + "content-length: 1\r\n\nz", events: "status 200; content-length: 1; data z; completed"},
	{name: "bare CR in status line", in: "HTTP/1.1 200 O\rK\r\n\r\n", events: "reset", err: errLine.Section},
	{name: "bare CR in value", in: ok + "a: b\rcontent-length: 5\r\n\r\n", events: "reset", err: errLine.Section},
	{name: "bare CR before the end", in: ok + "a: b\r\r\n\r\n", events: "reset", err: errLine.Section},
	{name: "bare CR for a line", in: ok + "\rx: y\r\n\r\n", events: "reset", err: errLine.Section},
	{name: "NUL in value", in: ok + "a: b\x00c\r\n\r\n", events: "reset", err: errLine.Section},
	{name: "NUL in status line", in: "HTTP/1.1 200 \x00\r\n\r\n", events: "reset", err: errLine.Section},

	// RFC 9112 5: field lines.
	{name: "name to lower case, value trimmed", in: ok + "Content-Length:\t 0 \t\r\nX-ABC_9:a\tb c\r\n\r\n", events: "status 200; content-length: 0; x-abc_9: a\tb c; completed"},
	{name: "empty value", in: ok + "a:\r\nb: \r\ncontent-length:0\r\n\r\n", events: "status 200; a: ; b: ; content-length: 0; completed"},
	{name: "value of any octets", in: ok + "a: \xe9\x01:\x7f\r\ncontent-length: 0\r\n\r\n", events: "status 200; a: \xe9\x01:\x7f; content-length: 0; completed"},
	{name: "space before the colon", in: ok + "content-length : 5\r\n\r\n", events: "reset", err: "RFC 9112 5.1"},
	{name: "tab before the colon", in: ok + "transfer-encoding\t: chunked\r\n\r\n", events: "reset", err: "RFC 9112 5.1"},
	{name: "no colon", in: ok + "content-length\r\n\r\n", events: "reset", err: "RFC 9112 5"},
	{name: "no name", in: ok + ": x\r\n\r\n", events: "reset", err: "RFC 9112 5"},
	{name: "name is not a token", in: ok + "a(b): x\r\n\r\n", events: "reset", err: "RFC 9112 5"},
	{name: "name beyond ASCII", in: ok + "content-l\xe9ngth: x\r\n\r\n", events: "reset", err: "RFC 9112 5"},
	{name: "NUL in name", in: ok + "content\x00: x\r\n\r\n", events: "reset", err: "RFC 9112 5"},
	{name: "CR in name", in: ok + "content\rlength: 5\r\n\r\n", events: "reset", err: "RFC 9112 5"},
	{name: "obs-fold", in: ok + "a: b\r\n c\r\ncontent-length: 0\r\n\r\n", events: "status 200; a: b   c; content-length: 0; completed"},
	{name: "obs-fold by a tab", in: ok + "a: b\r\n\tc\r\ncontent-length: 0\r\n\r\n", events: "status 200; a: b  \tc; content-length: 0; completed"},
	{name: "obs-fold of LF", in: ok + "a: b\n c\ncontent-length: 0\r\n\r\n", events: "status 200; a: b  c; content-length: 0; completed"},
	{name: "obs-fold twice", in: ok + "a: b\r\n c\r\n d\r\ncontent-length: 0\r\n\r\n", events: "status 200; a: b   c   d; content-length: 0; completed"},
	{name: "obs-fold with nothing behind it", in: ok + "a: b\r\n \r\ncontent-length: 0\r\n\r\n", events: "status 200; a: b; content-length: 0; completed"},
	{name: "obs-fold before the value", in: ok + "content-length:\r\n 2\r\n\r\nok", events: "status 200; content-length: 2; data ok; completed"},
	{name: "obs-fold within a number", in: ok + "content-length: 1\r\n 2\r\n\r\n", events: "reset", err: errLength.Section},
	{name: "obs-fold within a list", in: ok + "content-length: 2,\r\n 2\r\n\r\nok", events: "status 200; content-length: 2,   2; data ok; completed"},
	{name: "obs-fold hides a second coding", in: ok + "transfer-encoding: chunked,\r\n gzip\r\n\r\n", events: "reset", err: errCoding.Section},
	{name: "NUL behind an obs-fold", in: ok + "a: b\r\n c\x00\r\n\r\n", events: "reset", err: errLine.Section},
	{name: "white space behind the status line", in: ok + " a: b\r\n\r\n", events: "reset", err: "RFC 9112 2.2"},

	// RFC 9112 6.3: message body length.
	{name: "1: HEAD", in: ok + "content-length: 5\r\n\r\n", want: protocol.HeadRequest, events: "status 200; content-length: 5; completed"},
	{name: "1: HEAD, chunked", in: ok + "transfer-encoding: chunked\r\n\r\n", want: protocol.HeadRequest, events: "status 200; transfer-encoding: chunked; completed"},
	{name: "1: HEAD, no length", in: ok + "\r\n", want: protocol.HeadRequest, events: "status 200; completed"},
	{name: "1: 204", in: "HTTP/1.1 204 No Content\r\n\r\n", events: "status 204; completed"},
	{name: "1: 204 with a length", in: "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", events: "status 204; content-length: 5; completed"},
	{name: "1: 204 chunked", in: "HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n", events: "status 204; transfer-encoding: chunked; completed"},
	{name: "1: 304 with a length", in: "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", events: "status 304; content-length: 5; completed"},
	{name: "1: 204 with a body", in: "HTTP/1.1 204 No Content\r\n\r\nx", events: "status 204; completed", err: "RFC 9112 9.2", drains: true},
	{name: "1: HEAD with a body", in: ok + "content-length: 1\r\n\r\nx", want: protocol.HeadRequest, events: "status 200; content-length: 1; completed", err: "RFC 9112 9.2"},
	{name: "3: both", in: ok + "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "3: both, the other way round", in: ok + "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "3: both in a response to HEAD", in: ok + "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n", want: protocol.HeadRequest, events: "reset", err: "RFC 9112 6.3"},
	{name: "4: chunked", in: ok + "Transfer-Encoding: Chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", events: "status 200; transfer-encoding: Chunked; data ab; completed"},
	{name: "4: chunked not last", in: ok + "transfer-encoding: chunked, gzip\r\n\r\n", events: "reset", err: errCoding.Section},
	{name: "4: chunked twice", in: ok + "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n", events: "reset", err: errCoding.Section},
	{name: "4: a coding we do not ask for", in: ok + "transfer-encoding: gzip, chunked\r\n\r\n", events: "reset", err: errCoding.Section},
	{name: "4: unknown coding", in: ok + "transfer-encoding: identity\r\n\r\n", events: "reset", err: errCoding.Section},
	{name: "4: coding disguised", in: ok + "transfer-encoding: \x0bchunked\r\n\r\n", events: "reset", err: errCoding.Section},
	{name: "4: no coding", in: ok + "transfer-encoding:\r\n\r\n", events: "reset", err: errCoding.Section},
	{name: "5: lengths differ", in: ok + "content-length: 5\r\ncontent-length: 6\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "5: lengths in a list differ", in: ok + "content-length: 5, 6\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "5: length repeated", in: ok + "content-length: 1\r\ncontent-length: 1\r\n\r\nx", events: "status 200; content-length: 1; content-length: 1; data x; completed"},
	{name: "5: length repeated in a list", in: ok + "content-length: 1 ,\t01\r\n\r\nx", events: "status 200; content-length: 1 ,\t01; data x; completed"},
	{name: "5: empty length", in: ok + "content-length:\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "5: length with a sign", in: ok + "content-length: +5\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "5: negative length", in: ok + "content-length: -5\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "5: hexadecimal length", in: ok + "content-length: 0x5\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "5: length with a space", in: ok + "content-length: 5 5\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "5: length beyond an int64", in: ok + "content-length: 18446744073709551621\r\n\r\n", events: "reset", err: "RFC 9112 6.3"},
	{name: "6: length", in: ok + "content-length: 3\r\n\r\nabc", events: "status 200; content-length: 3; data abc; completed"},
	{name: "6: cut", in: ok + "content-length: 3\r\n\r\nab", eof: true, events: "status 200; content-length: 3; data ab; lost", err: "RFC 9112 8", drains: true},
	{name: "8: up to the end", in: ok + "a: b\r\n\r\nabc", eof: true, events: "status 200; a: b; data abc; completed", drains: true},
	{name: "8: empty", in: ok + "\r\n", eof: true, events: "status 200; completed", drains: true},
	{name: "8: not ended", in: ok + "\r\nabc", events: "status 200; data abc", drains: true},

	// RFC 9112 7.1: chunked.
	{name: "chunks", in: ok + "transfer-encoding: chunked\r\n\r\n1\r\na\r\n0A\r\nbbbbbbbbbb\r\n0\r\n\r\n", events: "status 200; transfer-encoding: chunked; data abbbbbbbbbb; completed"},
	{name: "last chunk of many zeros", in: ok + "transfer-encoding: chunked\r\n\r\n0000\r\n\r\n", events: "status 200; transfer-encoding: chunked; completed"},
	{name: "extensions", in: ok + "transfer-encoding: chunked\r\n\r\n1;a=b;c=\"\td;e\"\r\na\r\n1 ; x\r\nb\r\n0;z\r\n\r\n", events: "status 200; transfer-encoding: chunked; data ab; completed"},
	{name: "spaces behind the size", in: ok + "transfer-encoding: chunked\r\n\r\n1  \r\na\r\n0\r\n\r\n", events: "status 200; transfer-encoding: chunked; data a; completed"},
	{name: "longest extension", in: ok + "transfer-encoding: chunked\r\n\r\n0" + ";" + strings.Repeat("x", maxChunkLine) + "\r\n\r\n", events: "status 200; transfer-encoding: chunked; completed"},
	{name: "long extensions of two chunks", in: ok + "transfer-encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 3000) + "\r\na\r\n0;" + strings.Repeat("x", 3000) + "\r\n\r\n", events: "status 200; transfer-encoding: chunked; data a; completed"},
	{name: "extension too long", in: ok + "transfer-encoding: chunked\r\n\r\n0;x" + strings.Repeat("x", maxChunkLine) + "\r\n\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1.1"},
	{name: "LF in extension", in: ok + "transfer-encoding: chunked\r\n\r\n1;a\nb\r\n0\r\n\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1.1"},
	{name: "bare CR in extension", in: ok + "transfer-encoding: chunked\r\n\r\n1;a\rb\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1.1"},
	{name: "LF behind the size", in: ok + "transfer-encoding: chunked\r\n\r\n1\na\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1"},
	{name: "LF behind the data", in: ok + "transfer-encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n", events: "status 200; transfer-encoding: chunked; data a; reset", err: "RFC 9112 7.1"},
	{name: "CR alone behind the data", in: ok + "transfer-encoding: chunked\r\n\r\n1\r\na\r0\r\n\r\n", events: "status 200; transfer-encoding: chunked; data a; reset", err: "RFC 9112 7.1"},
	{name: "longer than it says", in: ok + "transfer-encoding: chunked\r\n\r\n1\r\nab\r\n", events: "status 200; transfer-encoding: chunked; data a; reset", err: "RFC 9112 7.1"},
	{name: "no size", in: ok + "transfer-encoding: chunked\r\n\r\n\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1"},
	{name: "white space after the size, and more without a semicolon", in: ok + "transfer-encoding: chunked\r\n\r\n1 0\r\na\r\n0\r\n\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1.1"},
	{name: "white space after the size without end", in: ok + "transfer-encoding: chunked\r\n\r\n1" + strings.Repeat(" ", maxChunkLine+2), events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1.1"},
	{name: "size with a sign", in: ok + "transfer-encoding: chunked\r\n\r\n+1\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1"},
	{name: "size with 0x", in: ok + "transfer-encoding: chunked\r\n\r\n0x1\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1"},
	{name: "space before the size", in: ok + "transfer-encoding: chunked\r\n\r\n 1\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1"},
	{name: "size beyond an int64", in: ok + "transfer-encoding: chunked\r\n\r\n10000000000000001\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 7.1"},
	{name: "cut before the last chunk", in: ok + "transfer-encoding: chunked\r\n\r\n1\r\na\r\n", eof: true, events: "status 200; transfer-encoding: chunked; data a; lost", err: "RFC 9112 8", drains: true},
	{name: "cut in the trailer", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\na: b\r\n", eof: true, events: "status 200; transfer-encoding: chunked; lost", err: "RFC 9112 8", drains: true},
	{name: "trailer", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\nA: b\r\nContent-Length: 7\r\nTransfer-Encoding: x\r\nConnection: close\r\n\r\n", events: "status 200; transfer-encoding: chunked; trailer a: b; trailer content-length: 7; trailer transfer-encoding: x; trailer connection: close; completed"},
	{name: "trailer is no field line", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\nHTTP/1.1 200 OK\r\n\r\n", events: "status 200; transfer-encoding: chunked; reset", err: "RFC 9112 5"},
	{name: "obs-fold in the trailer", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\na: b\r\n c\r\n\r\n", events: "status 200; transfer-encoding: chunked; trailer a: b   c; completed"},
	{name: "obs-fold of LF in the trailer", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\na: b\r\n c\n\r\n", events: "status 200; transfer-encoding: chunked; reset", err: errLine.Section},
	{name: "LF in the trailer", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\na: b\n\r\n", events: "status 200; transfer-encoding: chunked; reset", err: errLine.Section},
	{name: "LF ends the trailer", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\na: b\r\n\n", events: "status 200; transfer-encoding: chunked; reset", err: errLine.Section},
	{name: "LF for a trailer", in: ok + "transfer-encoding: chunked\r\n\r\n0\r\n\n", events: "status 200; transfer-encoding: chunked; reset", err: errLine.Section},
	{name: "chunked in HTTP/1.0", in: "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", events: "reset", err: "RFC 9112 6.1"},

	// RFC 9112 9.3, 9.6: persistence.
	{name: "close", in: ok + "connection: close\r\ncontent-length: 0\r\n\r\n", events: "status 200; connection: close; content-length: 0; completed", drains: true},
	{name: "close among others", in: ok + "connection: foo ,\tCLOSE\r\ncontent-length: 0\r\n\r\n", events: "status 200; connection: foo ,\tCLOSE; content-length: 0; completed", drains: true},
	{name: "close in a second field", in: ok + "connection: keep-alive\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", events: "status 200; connection: keep-alive; connection: close; content-length: 0; completed", drains: true},
	{name: "no close", in: ok + "connection: closed, disclose\r\ncontent-length: 0\r\n\r\n", events: "status 200; connection: closed, disclose; content-length: 0; completed"},
	{name: "close of another field", in: ok + "connectiox: close\r\ncontent-length: 0\r\n\r\n", events: "status 200; connectiox: close; content-length: 0; completed"},
	{name: "bytes behind a closing response", in: ok + "connection: close\r\ncontent-length: 0\r\n\r\nx", events: "status 200; connection: close; content-length: 0; completed", err: "RFC 9112 9.2", drains: true},
	{name: "HTTP/1.0", in: "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", events: "status 200; content-length: 0; completed", drains: true},
	{name: "HTTP/1.0 keep-alive", in: "HTTP/1.0 200 OK\r\ncontent-length: 0\r\nConnection: Keep-Alive\r\n\r\n", events: "status 200; content-length: 0; connection: Keep-Alive; completed"},
	{name: "HTTP/1.0 keep-alive and close", in: "HTTP/1.0 200 OK\r\ncontent-length: 0\r\nConnection: Keep-Alive, close\r\n\r\n", events: "status 200; content-length: 0; connection: Keep-Alive, close; completed", drains: true},
	{name: "HTTP/1.0 keep-alive without a length", in: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nx", eof: true, events: "status 200; connection: keep-alive; data x; completed", drains: true},

	// RFC 9110 15.2: 1xx.
	{name: "1xx", in: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\ncontent-length: 9\r\n\r\n" + ok + "content-length: 0\r\n\r\n", events: "status 200; content-length: 0; completed"},
	{name: "most 1xx", in: manyInterim + "HTTP/1.1 204 x\r\n\r\n", events: "status 204; completed"},
	{name: "too many 1xx", in: manyInterim + "HTTP/1.1 100 x\r\n\r\n", events: "reset", err: "RFC 9110 15.2"},
	{name: "1xx and the end", in: "HTTP/1.1 100 Continue\r\n\r\n", eof: true, events: "lost", err: "RFC 9112 8", drains: true},
	{name: "101", in: "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", events: "reset", err: "RFC 9110 15.2.2"},

	// RFC 9112 9.2: association.
	{name: "more than was asked for", in: ok + "content-length: 0\r\n\r\n" + ok, events: "status 200; content-length: 0; completed", err: "RFC 9112 9.2"},
	{name: "an empty line more", in: ok + "content-length: 0\r\n\r\n\r\n", events: "status 200; content-length: 0; completed", err: "RFC 9112 9.2"},
	{name: "closed without an answer", eof: true, events: "lost", err: "RFC 9112 9.5", drains: true},
	{name: "closed in a head", in: ok + "a: b\r\n", eof: true, events: "lost", err: "RFC 9112 8", drains: true},
}

func TestRules(t *testing.T) {
	for _, tt := range rules {
		for _, pieces := range splits(tt.in) {
			c := converse(t, Config{})
			c.request(1, "GET /", tt.want|protocol.WantHeaders|protocol.WantBody)
			c.send()
			var err error
			for _, p := range pieces {
				if err = c.receive(p); err != nil {
					break
				}
			}
			if tt.eof && err == nil {
				err = c.Ended()
			}
			events := strings.ReplaceAll(strings.Join(c.Take(), "; "), "1 ", "")
			want := strings.ReplaceAll(tt.events, "1 ", "")
			if events != want || section(err) != tt.err {
				t.Errorf("%s in %d pieces: error %v, want one of %q\n%s", tt.name, len(pieces), err, tt.err, cmp.Diff(want, events))
			}
			failed := tt.err != ""
			if c.Draining() != (tt.drains || failed) || c.Broken() != (failed || tt.eof) {
				t.Errorf("%s: draining %v, broken %v", tt.name, c.Draining(), c.Broken())
			}
			if free := c.Free() > 0; free != (c.InFlight() == 0 && !c.Draining()) {
				t.Errorf("%s: free: %v", tt.name, free)
			}
			c.Close()
			if rest := c.Take(); c.InFlight() != 0 || len(rest) > 1 {
				t.Errorf("%s: after Close %d in flight, and %v", tt.name, c.InFlight(), rest)
			}
		}
	}
}

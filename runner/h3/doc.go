// Package h3 is the client side of HTTP/3 (RFC 9114) without I/O: it takes what a QUIC connection has received, and
// returns what the connection must send.
//
// An HTTP/2 session reads and writes one sequence of octets. A QUIC connection has a sequence for each stream, so the
// session and its transport exchange records: a record has octets of one stream, its end, its reset, or the permission
// to open one. Records are encoded as octets, too. So a socket with records is read, written and closed by the same
// code as one of TCP, and the tests of the protocol are tables of octets.
//
// The session announces no dynamic table (SETTINGS_QPACK_MAX_TABLE_CAPACITY 0) and uses none, so it has no QPACK
// streams (RFC 9204 4.2), and no stream waits for another one.
package h3

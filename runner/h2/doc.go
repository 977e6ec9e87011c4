// Package h2 implements HTTP/2 (RFC 9113) without I/O, clocks or goroutines. It
// gets the octets received, reports events, and returns the octets to send.
//
// Client and Server are sessions. They embed conn, which has all that does not
// depend on the role: frames, SETTINGS, header blocks, flow control, streams and
// the octets to send. A session belongs to one goroutine and has no locks. Methods
// that depend on time get the current time as an argument, in nanoseconds of the
// caller's monotonic clock.
//
// The announced settings bound the memory. It is allocated when it is first needed,
// because most connections of a test with ten thousand of them are idle.
package h2

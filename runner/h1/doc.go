// Package h1 implements the client side of HTTP/1.1 (RFC 9112) without I/O, clocks
// or goroutines. It gets the octets received, reports events, and returns the
// octets to send. Package h2 has the same interface.
//
// A session belongs to one goroutine and has no locks. It keeps nothing of a body,
// and of a head only what a read cut off. The session refuses a message if a
// lenient parser could see the end of the response in another place. Otherwise a
// test could attribute responses to the wrong requests.
package h1

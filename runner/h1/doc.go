// Package h1 is the client side of HTTP/1.1 (RFC 9112) without I/O, clocks or
// goroutines: bytes in, events out, bytes to send.
//
// It is the sibling of package h2 and driven the same way. A session belongs to
// one goroutine and takes no locks. Nothing is kept of a body; of a head only
// what a read cut off. Where a lenient reading of a message would let a peer, or
// whoever writes into its responses, move the border between two responses, the
// message is refused: a test whose answers are attributed to the wrong requests
// is worth nothing.
package h1

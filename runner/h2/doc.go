// Package h2 is HTTP/2 (RFC 9113) without I/O, clocks or goroutines: bytes in,
// events out, bytes to send.
//
// The codec (frames, settings, windows, header blocks) knows no role; Client
// and Server are sessions on it. A session belongs to one goroutine and takes
// no locks. Whatever depends on time gets the present instant as an argument,
// in nanoseconds of the caller's monotonic clock.
//
// Memory is bounded by the settings we announce, and taken when first needed:
// most connections of a test with ten thousand of them are idle.
package h2

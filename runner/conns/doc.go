// Package conns is the connections of a worker: their lifecycle, their sockets and sessions, and which of them takes
// the next request. It knows neither requests nor chains: a handler gets what the sessions report, and Demand says what
// the connections are for.
//
// Connections decides when an event happens: a socket is ready, a timer fires, the worker asks for something. The type
// lifecycle takes one connection along the edges of the table in lifecycle.go. It uses timers, counts, readiness and
// records, and Pool with its Conns. No type has a reference to one that is named before it.
package conns

// Package conns is the connections of a worker: their lifecycle, their sockets and sessions, and which of them takes the
// next request. It knows neither requests nor chains: a handler gets what the sessions report, and Demand says what the
// connections are for.
//
// lifecycle.go has the table of all transitions. The other files have the events that lead to them, and what they do.
package conns

// Package listen serves the connections that peers open to the listeners of a worker, collects their notifications, and
// finds the wait that each is for. It knows neither chains in progress nor requests: a Host is what waits.
//
// connections.go has the sockets, notices.go the streams of HTTP/2, refusals.go the checks of the peers,
// answers.go the answers of rules, and listeners.go the waits.
package listen

// Package loop is the worker: one goroutine, locked to one thread, that owns connections, requests
// in flight, chain instances, timers and histograms. Nothing of it is shared while it runs, so
// nothing is locked and nothing is allocated per request.
//
// A turn waits for readiness, reads the clock once, reads and parses what has come, assigns the
// request slots that have come due, renders and sends what a free stream allows, and expires what
// took too long. Everything from outside comes through the inbox.
//
// The files follow a request: slots.go decides that one is due, requests.go keeps it, send.go
// renders it, receive.go hears of its response, finish.go gives it its one outcome.
package loop

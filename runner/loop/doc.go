// Package loop is the worker: one goroutine, locked to one thread, that owns connections, requests in flight, chain
// instances, timers and histograms. Workers share nothing that requests change, so a worker takes no lock, except when
// it needs a header block for the first time. It allocates nothing per request.
//
// A turn waits for ready connections, reads the clock once, reads and parses what has arrived, assigns the slots that
// are due, renders and sends requests for which a stream is free, and ends requests whose timeout has passed. Other
// goroutines reach the worker through its inbox.
//
// docs/project/design/engine.md follows a request through the files. A type has those that it uses, and none has the
// one that uses it.
package loop

// Package poll is the thin layer between an event loop and the operating system: readiness by
// epoll, a wake-up that any goroutine may give, non-blocking socket calls, thread affinity.
//
// Non-blocking reads and writes are raw system calls, which bypass Go's scheduler: they return within microseconds, and
// the scheduler's hand-off would cost more than the call. A short wait is raw, too; in a long one, the goroutine
// is parked in Go's own poller.
package poll

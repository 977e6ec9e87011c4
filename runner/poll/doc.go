// Package poll is the thin layer between an event loop and the operating system: readiness by
// epoll, a wake-up that any goroutine may give, non-blocking socket calls, thread affinity.
//
// Non-blocking reads and writes are raw system calls, which bypass Go's scheduler: they return within microseconds, and
// the scheduler's hand-off would cost more than the call. Waiting takes the scheduler-aware path, because a thread that sleeps in a raw call
// would keep the garbage collector from stopping the world.
package poll

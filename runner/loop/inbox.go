package loop

import (
	"sync"

	"github.com/h2surge/h2surge/runner/netio"
)

// inbox is how other goroutines reach a worker: they put functions in, the worker runs them at
// the beginning of its next turn.
type inbox struct {
	net    netio.Net
	mu     sync.Mutex
	queue  []func()
	closed bool
}

// put lets the worker run f in its next turn. It returns false when the worker has ended and will not run f.
func (b *inbox) put(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.queue = append(b.queue, f)
	b.net.Wake()
	return true
}

// take empties the inbox.
func (b *inbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue
	b.queue = nil
	return q
}

// shut refuses all that comes later and returns what is left.
func (b *inbox) shut() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	q := b.queue
	b.queue = nil
	return q
}

// Do runs f on the worker's goroutine at its next turn, or returns false when the worker has
// ended. f must be short.
func (w *Worker) Do(f func(*Worker)) bool { return w.inbox.put(func() { f(w) }) }

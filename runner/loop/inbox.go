package loop

import "sync"

// inbox is how other goroutines reach a worker: they put functions in, the worker runs them at
// the beginning of its next turn.
type inbox struct {
	mu     sync.Mutex
	queue  []func(*Worker)
	closed bool
}

// put returns false when the worker has ended and will not run f.
func (b *inbox) put(f func(*Worker)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.queue = append(b.queue, f)
	return true
}

// take empties the inbox.
func (b *inbox) take() []func(*Worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue
	b.queue = nil
	return q
}

// shut refuses all that comes later and returns what is left.
func (b *inbox) shut() []func(*Worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	q := b.queue
	b.queue = nil
	return q
}

// Do runs f on the worker's goroutine at its next turn, or returns false when the worker has
// ended. f must be short.
func (w *Worker) Do(f func(*Worker)) bool {
	if !w.inbox.put(f) {
		return false
	}
	w.net.Wake()
	return true
}

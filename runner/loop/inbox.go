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

// run runs what is in the inbox.
func (b *inbox) run() {
	b.mu.Lock()
	q := b.queue
	b.queue = nil
	b.mu.Unlock()
	for _, f := range q {
		f()
	}
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

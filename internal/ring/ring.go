// Package ring has a queue that does not allocate memory once it is large enough.
package ring

// Ring is a queue: the first element that is pushed is the first that is popped. It grows by doubling, and never
// shrinks. The zero value is empty.
type Ring[T any] struct {
	buf  []T // its length is zero or a power of two
	head int
	n    int
}

// Len returns the number of elements.
func (r *Ring[T]) Len() int { return r.n }

// grow makes a buffer of whole cache lines if an element has 4 octets or more.
func (r *Ring[T]) grow() {
	bigger := make([]T, max(16, 2*len(r.buf)))
	for i := range r.n {
		bigger[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
	}
	r.buf, r.head = bigger, 0
}

// Push adds an element at the end.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

// PushFront adds an element before all others.
func (r *Ring[T]) PushFront(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.buf[r.head] = v
	r.n++
}

// At returns the element with k elements before it.
func (r *Ring[T]) At(k int) T { return r.buf[(r.head+k)&(len(r.buf)-1)] }

// Swap swaps the elements with j and k elements before them.
func (r *Ring[T]) Swap(j, k int) {
	mask := len(r.buf) - 1
	j, k = (r.head+j)&mask, (r.head+k)&mask
	r.buf[j], r.buf[k] = r.buf[k], r.buf[j]
}

// Front returns the first element. The ring must not be empty.
func (r *Ring[T]) Front() T { return r.buf[r.head] }

// Pop removes the first element and returns it. The ring must not be empty.
func (r *Ring[T]) Pop() T {
	v := r.buf[r.head]
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return v
}

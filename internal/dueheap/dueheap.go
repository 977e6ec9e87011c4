// Package dueheap has a queue of values that are due at different times.
package dueheap

import (
	"iter"
	"math"
)

// Heap is a binary heap of values, by due time. Values with equal due times are in no particular order. The zero value
// is empty.
type Heap[T any] struct {
	items []item[T]
}

type item[T any] struct {
	due   int64
	value T
}

// Len returns the number of values.
func (h *Heap[T]) Len() int { return len(h.items) }

// First returns the value that is due first, and its due time. The heap must not be empty.
func (h *Heap[T]) First() (value T, due int64) { return h.items[0].value, h.items[0].due }

// Next returns when the first value is due: never, which is math.MaxInt64, if the heap is empty.
func (h *Heap[T]) Next() int64 {
	if len(h.items) == 0 {
		return math.MaxInt64
	}
	return h.items[0].due
}

// Take removes a value that is due and returns it. ok is false if none is.
func (h *Heap[T]) Take(now int64) (value T, ok bool) {
	if len(h.items) == 0 || h.items[0].due > now {
		return value, false
	}
	value = h.items[0].value
	h.Pop()
	return value, true
}

// All returns all values with their due times, in no particular order.
func (h *Heap[T]) All() iter.Seq2[T, int64] {
	return func(yield func(T, int64) bool) {
		for _, i := range h.items {
			if !yield(i.value, i.due) {
				return
			}
		}
	}
}

// Push adds a value.
func (h *Heap[T]) Push(value T, due int64) {
	h.items = append(h.items, item[T]{})
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h.items[up].due <= due {
			break
		}
		h.items[i] = h.items[up]
		i = up
	}
	h.items[i] = item[T]{due, value}
}

// Pop removes the value that is due first.
func (h *Heap[T]) Pop() {
	n := len(h.items) - 1
	last := h.items[n]
	h.items[n] = item[T]{} // keeps no memory of the value
	h.items = h.items[:n]
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && h.items[right].due < h.items[child].due {
			child = right
		}
		if last.due <= h.items[child].due {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	if n > 0 {
		h.items[i] = last
	}
}

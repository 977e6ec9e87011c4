// Package cacheline keeps what two threads write on different cache lines.
package cacheline

import "unsafe"

// Size is the size of a cache line of current processors.
const Size = 64

// Pad separates fields that several threads read and few write from what is next to them.
type Pad [Size]byte

// Alone reports that Go's allocator gives an allocation of n bytes lines of its own: n is a multiple of Size, or so
// large that its size class is.
func Alone(n uintptr) bool { return n%Size == 0 || n > 512 }

// Make makes a slice whose lines hold nothing else. Its capacity may be greater than n.
func Make[T any](n int) []T {
	var element T
	c := max(1, n)
	for !Alone(uintptr(c) * unsafe.Sizeof(element)) {
		c++
	}
	return make([]T, n, c)
}

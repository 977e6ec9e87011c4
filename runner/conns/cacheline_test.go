package conns

import (
	"testing"
	"unsafe"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/cacheline"
)

// TestWorkersShareNoCacheLine checks all that is written for each request: nothing else may be on its cache lines.
func TestWorkersShareNoCacheLine(t *testing.T) {
	cs := New(Config{}, &Targets{all: []Target{{Plan: &rv.Target{Name: "t"}}}})
	for name, size := range map[string]uintptr{
		"Connections": unsafe.Sizeof(*cs),
		"Conn":        unsafe.Sizeof(Conn{}),
		"pools":       bytesOf(cs.pools[:cap(cs.pools)]),
		"dirty":       bytesOf(cs.dirty),
		"batches":     bytesOf(cs.batches),
		"batch":       bytesOf(cs.pools[0].batch),
		"read":        bytesOf(cs.read),
	} {
		if size == 0 || !cacheline.Alone(size) {
			t.Errorf("%s has %d bytes, which are not whole cache lines", name, size)
		}
	}
}

func bytesOf[T any](s []T) uintptr {
	var element T
	return uintptr(cap(s)) * unsafe.Sizeof(element)
}

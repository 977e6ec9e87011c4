package book

import (
	"testing"
	"time"
	"unsafe"

	"github.com/h2surge/h2surge/runner/cacheline"
	"github.com/h2surge/h2surge/runner/chain"
)

// TestWorkersShareNoCacheLine: nothing else may be on the cache lines that a worker writes for each request.
func TestWorkersShareNoCacheLine(t *testing.T) {
	b := New(&chain.Program{Steps: make([]chain.Step, 1), Timeouts: []int64{1}}, 64, time.Second)
	for range 1000 {
		id := b.Add(chain.Activation{}, 0, 0, 0, 0)
		b.Wait(id)
	}
	for name, size := range map[string]uintptr{
		"Exchange": unsafe.Sizeof(Exchange{}),
		"all":      bytesOf(b.all),
		"waiting":  bytesOf(b.waiting),
		"expiries": bytesOf(b.expiries),
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

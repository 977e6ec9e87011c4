package slots

import (
	"testing"
	"unsafe"

	"github.com/h2surge/h2surge/runner/cacheline"
)

// TestLeaseSharesNoCacheLine checks that nothing that workers write is on the cache line of the lease, which all workers read.
func TestLeaseSharesNoCacheLine(t *testing.T) {
	var l Lease
	if before, after := unsafe.Offsetof(l.until), unsafe.Sizeof(l)-unsafe.Offsetof(l.lapsedAt)-unsafe.Sizeof(l.lapsedAt); before < cacheline.Size || after < cacheline.Size {
		t.Errorf("%d bytes before the lease and %d after it, want a cache line", before, after)
	}
}

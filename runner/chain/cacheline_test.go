package chain

import (
	"testing"
	"unsafe"

	"github.com/h2surge/h2surge/runner/cacheline"
)

func TestSourcesShareNoCacheLine(t *testing.T) {
	if size := unsafe.Sizeof(Sources{}); !cacheline.Alone(size) {
		t.Errorf("Sources has %d bytes, which are not whole cache lines", size)
	}
}

package ring

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/h2surge/h2surge/runner/cacheline"
)

// TestRing compares a ring with a slice. Each octet is an operation: a appends, b inserts at the front, s swaps, p pops.
func TestRing(t *testing.T) {
	for _, operations := range []string{
		"apaappaaapppaaaaaaaaaaaaaaaapaaaaaaaaaaaaaaaaaappppppppppppppppppp",
		"aaaaaaaaaaapppppppaaaaaaaaaaaaaaaaaaaaabbbbbbbppp",
		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbpapapapppp",
		"bbbsaaasaaaaaaaaasbsppps",
	} {
		var r Ring[int]
		var want []int
		for i, o := range operations {
			switch o {
			case 'a':
				r.Push(i)
				want = append(want, i)
			case 'b':
				r.PushFront(i)
				want = slices.Insert(want, 0, i)
			case 's':
				j, k := i%len(want), len(want)-1
				r.Swap(j, k)
				want[j], want[k] = want[k], want[j]
			case 'p':
				if front, got := r.Front(), r.Pop(); front != want[0] || got != want[0] {
					t.Fatalf("%s: operation %d: front %d, popped %d, want %d", operations, i, front, got, want[0])
				}
				want = want[1:]
			}
			var got []int
			for k := range r.Len() {
				got = append(got, r.At(k))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: operation %d: %v, want %v", operations, i, got, want)
			}
		}
	}
}

func TestRingAllocatesNothing(t *testing.T) {
	var r Ring[int]
	round := func() {
		for i := range 100 {
			r.Push(i)
		}
		for range 100 {
			r.Pop()
		}
	}
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestWholeCacheLines: rings of different workers share no cache line.
func TestWholeCacheLines(t *testing.T) {
	var r Ring[int32]
	for range 100 {
		r.Push(0)
		if size := uintptr(len(r.buf)) * unsafe.Sizeof(r.buf[0]); !cacheline.Alone(size) {
			t.Errorf("the buffer has %d bytes, which are not whole cache lines", size)
		}
	}
}

package simulate

import (
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// held is what all processes of a trial hold while nothing happens.
type held struct {
	goroutines int
	heap       uint64 // octets after a garbage collection
}

// heapMargin is how much more heap a process that ran tests may hold than a new one, in octets: caches of client-go
// grow.
const heapMargin = 4 << 20

// holds returns the least of a few seconds: a request can be under way.
func (w *World) holds() (least held) {
	for i := range 5 {
		time.Sleep(1300 * time.Millisecond)
		if n := goroutines(); i == 0 || n < least.goroutines {
			least.goroutines = n
		}
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	least.heap = stats.HeapAlloc
	return least
}

// broadcaster is part of the stacks of goroutines that a process starts with its first event.
var broadcaster = regexp.MustCompile(`client-go/tools/(events|record)\.|watch\.New(LongQueue)?Broadcaster`)

// goroutines returns the number of goroutines, except for those that send events.
func goroutines() (n int) {
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
	for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
		if !broadcaster.MatchString(stack) {
			n++
		}
	}
	return n
}

// grown: operators that ran tests held no more than new ones, which have the same objects.
func (w *World) grown(before held) {
	const rule = "operators release what a test needed"
	now := w.holds()
	if before.goroutines > now.goroutines {
		w.Broken(rule, "%d goroutines; new processes have %d", before.goroutines, now.goroutines)
	}
	if before.heap > now.heap+heapMargin {
		w.Broken(rule, "%d KiB of heap; new processes have %d KiB", before.heap>>10, now.heap>>10)
	}
}

package simulate

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// held is what all processes of a trial hold while nothing happens.
type held struct {
	goroutines map[string]int // by what started them
	heap       uint64         // octets after a garbage collection
}

func (h held) count() (n int) {
	for _, of := range h.goroutines {
		n += of
	}
	return n
}

// more returns what started more goroutines than in the other processes.
func (h held) more(others held) (out string) {
	for _, starter := range slices.Sorted(maps.Keys(h.goroutines)) {
		if n := h.goroutines[starter] - others.goroutines[starter]; n > 0 {
			out += fmt.Sprintf(" %s (%d)", starter, n)
		}
	}
	return out
}

// heapMargin is how much more heap a process that ran tests may hold than a new one, in octets: caches of client-go
// grow.
const heapMargin = 4 << 20

// holds returns the least of a few seconds: a request can be under way.
func (w *World) holds() (least held) {
	for range 5 {
		time.Sleep(1300 * time.Millisecond)
		now := goroutines()
		if least.goroutines == nil {
			least.goroutines = now
		}
		for starter, n := range least.goroutines {
			least.goroutines[starter] = min(n, now[starter])
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

var starter = regexp.MustCompile(`(?m)^created by (\S+)`)

// goroutines returns the number of goroutines by what started them, except for those that send events.
func goroutines() map[string]int {
	out := map[string]int{}
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
	for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
		if by := starter.FindStringSubmatch(stack); by != nil && !broadcaster.MatchString(stack) {
			out[by[1]]++
		}
	}
	return out
}

// grown: operators that ran tests held no more than new ones, which have the same objects.
func (w *World) grown(before held) {
	const rule = "operators release what a test needed"
	now := w.holds()
	if more := before.more(now); more != "" && before.count() > now.count() {
		w.Broken(rule, "%d goroutines; new processes have %d. More were started by%s", before.count(), now.count(), more)
	}
	if before.heap > now.heap+heapMargin {
		w.Broken(rule, "%d KiB of heap; new processes have %d KiB", before.heap>>10, now.heap>>10)
	}
}

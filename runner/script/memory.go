package script

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// maxString is the most bytes of one string that a script makes.
	maxString = 4 << 20
	// checkEvery is how many bytes the scripts of a Host may need between two checks of the heap.
	checkEvery = 8 << 20
	// bytesOfInstruction is more than an instruction allocates on average if it calls no function of this package. The
	// maximum is a closure with 150 variables of its own: 8.6 KiB in five instructions.
	bytesOfInstruction = 4 << 10
)

// collection is locked while garbage is collected for a check, and until a script that exceeded the limit has lost its
// state. So scripts end one after the other, and only until the rest fits.
var collection sync.Mutex

// heap compares the live heap of the process with a limit that all Hosts share.
type heap struct {
	limit int64
	// needed counts bytes since the last check.
	needed int64
	// ending: a script exceeded the limit, and this Host holds collection.
	ending bool
	// sample has the bytes that were live at the last collection, and those of all objects, garbage included.
	sample [2]metrics.Sample
}

func newHeap(limit int64) heap {
	h := heap{limit: limit}
	h.sample[0].Name, h.sample[1].Name = "/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes"
	return h
}

// defaultHeap leaves the engine a quarter of the memory that the runtime may use.
func defaultHeap() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit / 4 * 3
	}
	return 1 << 30
}

func (h *heap) read() (live, all int64) {
	metrics.Read(h.sample[:])
	return int64(h.sample[0].Value.Uint64()), int64(h.sample[1].Value.Uint64())
}

// need returns an error if the live heap and n more bytes exceed the limit. It looks once for each checkEvery bytes.
func (h *heap) need(n int64) error {
	if h.needed += n; h.needed < checkEvery {
		return nil
	}
	h.needed = 0
	live, all := h.read()
	if all > h.limit/4*5 && collection.TryLock() { // with a high GOGC, the runtime collects much later
		go func() {
			runtime.GC()
			collection.Unlock()
		}()
	}
	if live+n <= h.limit {
		return nil
	}
	collection.Lock()
	if live, _ = h.read(); live+n > h.limit { // part of it can be garbage by now
		runtime.GC()
		live, _ = h.read()
	}
	if live+n <= h.limit {
		collection.Unlock()
		return nil
	}
	h.ending = true
	return fmt.Errorf("%w of %d bytes of memory in the process is exceeded: the script starts again", ErrLimit, h.limit)
}

// ended lets other scripts be checked, after the state of the script that exceeded the limit is gone.
func (h *heap) ended() {
	h.ending = false
	collection.Unlock()
}

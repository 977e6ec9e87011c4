// Package tune sets the Go runtime up for a process that makes load: few garbage collections,
// and no more running goroutines than there are workers.
package tune

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/h2surge/h2surge/runner/cpu"
)

const (
	// gcPercent lets the heap grow to five times what is live before it is collected. Sending
	// allocates nothing; snapshots do, some hundred kilobytes a second over some ten megabytes
	// that live, so a collection comes every few minutes rather than every few seconds.
	gcPercent = 400
	// memoryPercent of the cgroup's limit is where the runtime begins to collect harder. The
	// rest is for what it does not count: the binary, kernel memory of sockets, and the time a
	// collection takes. The guide to Go's garbage collector advises 5 to 10 percent.
	memoryPercent = 90
)

// Settings are what Heap has set; zero: left as it was.
type Settings struct {
	GCPercent   int
	MemoryLimit int64
}

// Heap sets the garbage collector up. What the environment says (GOGC, GOMEMLIMIT) is left alone. A process that makes
// load calls it before it reads its plan: the first collection then comes at 16 MB instead of 4 MB, which is more than
// most plans need.
func Heap() Settings {
	s := choose(cpu.MemoryLimit(), os.Getenv)
	if s.GCPercent != 0 {
		debug.SetGCPercent(s.GCPercent)
	}
	if s.MemoryLimit != 0 {
		debug.SetMemoryLimit(s.MemoryLimit)
	}
	return s
}

func choose(memory int64, env func(string) string) Settings {
	var s Settings
	if env("GOGC") == "" {
		s.GCPercent = gcPercent
	}
	if env("GOMEMLIMIT") == "" {
		s.MemoryLimit = memory / 100 * memoryPercent
	}
	return s
}

// Workers sets how many Ps a number of workers needs, and returns it; zero: GOMAXPROCS is in the environment, which is
// left alone.
//
// One P more than there are workers: each worker's thread holds one nearly all the time, and
// the control endpoint and the collector need one that they do not have to take from a worker.
func Workers(workers int) int {
	if os.Getenv("GOMAXPROCS") != "" {
		return 0
	}
	runtime.GOMAXPROCS(workers + 1)
	return workers + 1
}

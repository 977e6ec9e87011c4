//go:build linux

// The guest is the first process of the emulated machine of test/cgroup2, and the commands that its checks run.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/h2surge/h2surge/runner/cpu"
	"github.com/h2surge/h2surge/runner/tune"
	"github.com/h2surge/h2surge/test/cgroup2"
)

func main() {
	var err error
	switch {
	case os.Getpid() == 1:
		err = boot()
	case len(os.Args) == 2 && os.Args[1] == "probe":
		err = probe()
	case len(os.Args) > 3 && os.Args[1] == "view":
		err = enter(cgroup2.View(os.Args[2]), os.Args[3:])
	default:
		err = fmt.Errorf("usage: %s probe | view VIEW COMMAND [ARGUMENT]", os.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// probe prints what the product's packages report to this process.
func probe() error {
	before, err := cpu.Throttled()
	compute(computing)
	after, _ := cpu.Throttled()
	tune.Heap()
	r := cgroup2.Reading{
		Allowed: cpu.Allowed(), Online: cpu.Online(), Exclusive: cpu.Exclusive(1),
		Throttled: (after - before).Microseconds(), MemoryLimit: cpu.MemoryLimit(),
	}
	if err != nil {
		r.Problem = err.Error()
	}
	if limit := debug.SetMemoryLimit(-1); limit < unlimited {
		r.GoMemoryLimit = limit
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// computing is for how long a probe keeps a CPU busy: five of the kernel's default quota periods.
const computing = 500 * time.Millisecond

// unlimited is far above any limit of the checks. Go has math.MaxInt64 where none is set.
const unlimited = 1 << 60

// compute keeps a CPU busy.
func compute(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

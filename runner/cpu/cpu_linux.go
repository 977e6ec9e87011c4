package cpu

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// current finds the cgroups once: a process is not moved between them in the cases that matter
// (a container, a login session).
var current = sync.OnceValue(func() *cgroups { return newCgroups(os.DirFS("/")) })

// readAllowed asks for the affinity of the calling thread, which during initialisation is that
// of the process.
func readAllowed() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() == 0 {
		return allOfRuntime()
	}
	list := make([]int, 0, set.Count())
	for n := 0; len(list) < set.Count(); n++ {
		if set.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}

func readOnline() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return ParseList(string(b))
}

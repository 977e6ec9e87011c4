package harness

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// AllowedCPUs are the CPUs this process may use, lowest first.
func AllowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("asking for the CPUs allowed: %w", err)
	}
	var cpus []int
	for c := 0; len(cpus) < set.Count(); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// pinThread binds the calling thread, and so what it starts, to cpus. The caller is locked to its
// thread and calls restore once its child runs.
func pinThread(cpus []int) (restore func(), err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("asking for the CPUs allowed: %w", err)
	}
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("pinning to CPUs %v: %w", cpus, err)
	}
	return func() { _ = unix.SchedSetaffinity(0, &before) }, nil
}

// childAttributes let no child outlive this program, even when it is killed. SIGTERM, because the
// master of nginx takes its workers along only then.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}

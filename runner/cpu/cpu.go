// Package cpu tells what the operating system lets this process use: the CPUs it may run on,
// for how long its CPU quota has throttled it, its memory limit, and the CPU time
// it has used.
//
// Everything is read from the kernel; nothing is changed here. On systems other than Linux the
// functions answer as for a machine without limits.
package cpu

import (
	"runtime"
	"slices"
	"time"
)

// allowed is read while the package is initialised, when no thread has been pinned yet. Later
// the answer would depend on who asks: the affinity belongs to a thread, and a thread that the
// Go runtime creates inherits it from the one that created it.
var allowed = readAllowed()

// Allowed returns the CPUs that this process could run on when it began, in ascending order.
// It is never empty. The caller owns the slice.
func Allowed() []int { return slices.Clone(allowed) }

// Online returns the number of CPUs of the machine, whoever may use them. In a container it
// counts those of the node. It is at least the number of CPUs allowed.
func Online() int {
	n := len(allowed)
	if list, err := readOnline(); err == nil && len(list) > n {
		n = len(list)
	}
	return n
}

// Exclusive reports whether this process has wanted CPUs for itself.
//
// It looks at two numbers: the process may use exactly the CPUs it asked for, and the machine
// has more. On a Kubernetes node that suffices: a runner with cpusPerShard is a Guaranteed pod
// with whole CPUs, to which the kubelet's static CPU manager gives CPUs that it takes out of
// every other pod's set; under the policy "none" the same pod sees all CPUs of the node.
//
// It is fooled where somebody else than the CPU manager narrowed the set to the same size:
// taskset, a node that is itself a container with a cpuset, a CPU set that is changed after
// this process began. And it promises nothing about what is not a pod: system daemons outside
// the kubelet's slice, interrupts, kernel threads, and the sibling hyper-thread of a core
// (which the CPU manager's option full-pcpus-only keeps free). On a machine with as many CPUs
// as wanted it says no, since there it cannot tell.
func Exclusive(wanted int) bool { return exclusive(len(allowed), Online(), wanted) }

func exclusive(allowed, online, wanted int) bool {
	return wanted > 0 && allowed == wanted && allowed < online
}

// Throttled returns for how long the CPU quota has kept threads from running, summed over CPUs
// and over the cgroups from this process's own up to the topmost that can be seen. It counts
// since the cgroups were made, and whatever else is in them counts too, so only the difference
// of two readings means anything. Without any quota it is zero. The error says that the kernel
// does not tell.
func Throttled() (time.Duration, error) { return current().throttled() }

// MemoryLimit returns the tightest memory limit, in bytes, of this process's cgroup and those
// above it that can be seen. Zero: none, or it is unknown.
func MemoryLimit() int64 { return current().memoryLimit() }

// SelfSeconds returns the user and system CPU time this process has used since it began.
func SelfSeconds() float64 { return selfSeconds() }

// allOfRuntime is the answer where the kernel cannot be asked: NumCPU CPUs, numbered from zero.
func allOfRuntime() []int {
	list := make([]int, runtime.NumCPU())
	for i := range list {
		list[i] = i
	}
	return list
}

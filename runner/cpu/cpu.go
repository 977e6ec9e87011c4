// Package cpu reads the limits and the CPU usage of this process from the kernel: the CPUs that it may use, how long
// its CPU quota has throttled it, its memory limit, and its CPU time.
//
// It changes nothing. On systems other than Linux, the functions return the values of a machine without limits.
package cpu

import (
	"runtime"
	"slices"
	"time"
)

// allowed is read during the initialisation of the package, before a thread is pinned. Later the value would depend on
// the calling thread: each thread has its own affinity, and inherits it from the thread that created it.
var allowed = readAllowed()

// Allowed returns the CPUs that this process could run on when it began, in ascending order.
// It is never empty. The caller owns the slice.
func Allowed() []int { return slices.Clone(allowed) }

// Online returns the number of CPUs of the machine, or of the node in a container. It is at least the number of allowed
// CPUs.
func Online() int {
	n := len(allowed)
	if list, err := readOnline(); err == nil && len(list) > n {
		n = len(list)
	}
	return n
}

// Exclusive returns true if this process has the wanted number of CPUs for itself.
//
// It compares two numbers: the process may use exactly the wanted number of CPUs, and the machine has more. This is
// sufficient on a Kubernetes node. A runner with cpusPerShard is a Guaranteed pod with whole CPUs. The kubelet's static
// CPU manager assigns CPUs to it and removes them from the sets of all other pods. With the policy "none" the same pod
// can use all CPUs of the node.
//
// The result is wrong if something other than the CPU manager reduced the set to the same size: taskset, a node that is
// a container with a cpuset, or a CPU set that changes after the start of this process. The result covers only pods.
// System daemons outside the kubelet's slice, interrupts, kernel threads and the sibling hyper-thread of a core may use
// the CPUs too; the CPU manager's option full-pcpus-only keeps the sibling free. On a machine with exactly the wanted
// number of CPUs the result is false, because the two numbers cannot show whether the CPUs are exclusive.
func Exclusive(wanted int) bool { return exclusive(len(allowed), Online(), wanted) }

func exclusive(allowed, online, wanted int) bool {
	return wanted > 0 && allowed == wanted && allowed < online
}

// Throttled returns how long the CPU quota has kept threads from running. It adds up all CPUs, and all cgroups from the
// one of this process to the topmost visible one. The kernel counts since the creation of the cgroups, and counts the
// other processes in them too: use only the difference of two readings. Without a quota the result is zero. Throttled
// returns an error if the kernel does not report the time.
func Throttled() (time.Duration, error) { return current().throttled() }

// MemoryLimit returns the tightest memory limit, in bytes, of this process's cgroup and those
// above it that are visible. It returns 0 if there is no limit or if it is unknown.
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

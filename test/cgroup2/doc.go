// Package cgroup2 runs the checks of CPUs, throttling and memory limits on a real Linux kernel whose only cgroup
// hierarchy is version 2, as on the nodes of current Kubernetes. The kernel boots in an emulator, so that neither the
// hierarchy of the machine that runs the tests nor KVM matters.
//
// The test (build tag cgroup2, started by "make cgroup2-test") packs an initramfs: the guest program as /init, the
// command line h2surge, and a Job as JSON. The guest makes the groups of each Check, runs its command in them and
// writes an Outcome as one line of JSON to the second serial port. The test compares outcomes with what it wants; the
// guest itself judges nothing.
package cgroup2

// Paths in the guest.
const (
	// GuestPath is the guest program: the first process, and "GuestPath probe" prints a Reading.
	GuestPath = "/init"
	// JobPath is the Job as JSON.
	JobPath = "/job.json"
	// CommandPath is the h2surge binary.
	CommandPath = "/h2surge"
	// Hierarchy is the mount point of the cgroup2 file system.
	Hierarchy = "/sys/fs/cgroup"
	// HostHierarchy is where a command in HostMount also finds the hierarchy of the whole machine.
	HostHierarchy = "/host/sys/fs/cgroup"
)

// Job is what the guest does after booting.
type Job struct {
	// Target is started before the checks and serves until the machine ends.
	Target Target
	// Checks run one after another.
	Checks []Check
}

// Target is a server that the checks send load to. It runs in a group of its own, like any Check's command.
type Target struct {
	Group   Group
	Command []string
	// Address is the TCP address that accepts connections when the target is ready.
	Address string
}

// Check is a command and the groups around it.
type Check struct {
	Name string
	// Groups are made before the command starts, outermost first, and removed after it has ended. The command runs in the
	// last one.
	Groups []Group
	View   View
	// Command is a path and its arguments.
	Command []string
}

// Group is a control group: its path below Hierarchy, and what is written to its files, such as "cpu.max".
type Group struct {
	Path  string
	Files map[string]string
}

// View controls what the command sees of the hierarchy.
type View string

const (
	// HostView is the whole hierarchy, as a process of the node sees it.
	HostView View = ""
	// ContainerView is a cgroup namespace whose root is the command's own group, mounted at Hierarchy, as containerd and
	// CRI-O make it on version 2.
	ContainerView View = "container"
	// HostMount is ContainerView, and the machine's hierarchy is mounted at HostHierarchy before it, as with a hostPath
	// volume.
	HostMount View = "container with the host's hierarchy"
	// BindView is without a cgroup namespace: /proc/self/cgroup shows the path on the machine, and only the command's own
	// group is mounted, as with "docker run --cgroupns host".
	BindView View = "own group without a namespace"
)

// Outcome is what one Check's command did. It is one line on the second serial port.
type Outcome struct {
	Name string
	// Problem is why the guest could not run the command; empty if the command ran.
	Problem  string `json:",omitempty"`
	ExitCode int
	Stdout   string
	Stderr   string `json:",omitempty"`
	Seconds  float64
}

// Reading is what the packages runner/cpu and runner/tune report to a process.
type Reading struct {
	Allowed []int
	Online  int
	// Exclusive is cpu.Exclusive(1).
	Exclusive bool
	// Throttled is by how many microseconds the throttled time grew while the process computed for half a second.
	Throttled int64
	// Problem is the error of cpu.Throttled.
	Problem string
	// MemoryLimit is that of the cgroups, GoMemoryLimit the one that tune.Heap set from it; zero: none.
	MemoryLimit, GoMemoryLimit int64
}

package cpu

import (
	"errors"
	"testing"
	"testing/fstest"
	"time"
)

// machine is a file system with just the files of a case.
func machine(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range files {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return m
}

const (
	mountV2       = "30 23 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw,nsdelegate\n"
	hostMountV2   = "40 23 0:26 /../../.. /host/cgroup rw - cgroup2 cgroup rw\n"
	mountV1CPU    = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountV1Memory = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	mountOther    = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\nbroken\n"
)

func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		name      string
		files     map[string]string
		throttled time.Duration
		noStat    bool
		memory    int64
	}{
		{name: "no proc", noStat: true},
		{
			name: "v2 in a container: own namespace, limits at the mount point",
			files: map[string]string{
				"proc/self/cgroup":         "0::/\n",
				"proc/self/mountinfo":      mountOther + mountV2,
				"sys/fs/cgroup/cpu.stat":   "usage_usec 9000\nnr_periods 12\nnr_throttled 3\nthrottled_usec 2500\n",
				"sys/fs/cgroup/memory.max": "268435456\n",
			},
			throttled: 2500 * time.Microsecond, memory: 256 << 20,
		},
		{
			name: "v2 on a host: the tightest of own and above",
			files: map[string]string{
				"proc/self/cgroup":                              "0::/user.slice/run.scope\n",
				"proc/self/mountinfo":                           mountV2,
				"sys/fs/cgroup/user.slice/cpu.stat":             "throttled_usec 7\n",
				"sys/fs/cgroup/user.slice/memory.max":           "1000\n",
				"sys/fs/cgroup/user.slice/run.scope/cpu.stat":   "throttled_usec 5\n",
				"sys/fs/cgroup/user.slice/run.scope/memory.max": "max\n",
				"sys/fs/cgroup/cpu.stat":                        "usage_usec 99\n",
			},
			throttled: 12 * time.Microsecond, memory: 1000,
		},
		{
			name: "v2 without limits",
			files: map[string]string{
				"proc/self/cgroup":         "0::/\n",
				"proc/self/mountinfo":      mountV2,
				"sys/fs/cgroup/cpu.stat":   "usage_usec 1\nthrottled_usec 0\n",
				"sys/fs/cgroup/memory.max": "max\n",
			},
		},
		{
			name: "v1 in a container that sees the host's path: only its own group is mounted",
			files: map[string]string{
				"proc/self/cgroup": "5:memory:/kubepods/pod1/c1\n3:cpu,cpuacct:/kubepods/pod1/c1\n",
				"proc/self/mountinfo": "33 31 0:30 /kubepods/pod1/c1 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n" +
					"35 31 0:32 /kubepods/pod1/c1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.stat":         "nr_periods 1\nnr_throttled 1\nthrottled_time 1234567\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
			},
			throttled: 1234567, memory: 512 << 20,
		},
		{
			name: "v1 without limits",
			files: map[string]string{
				"proc/self/cgroup":                           "4:memory:/\n1:cpu,cpuacct:/\n",
				"proc/self/mountinfo":                        mountV1CPU + mountV1Memory,
				"sys/fs/cgroup/cpu,cpuacct/cpu.stat":         "throttled_time 0\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			},
		},
		{
			name: "both versions: memory from v1, cpu from v2",
			files: map[string]string{
				"proc/self/cgroup":                             "4:memory:/a\n0::/a\n",
				"proc/self/mountinfo":                          mountV1Memory + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "4096\n",
				"sys/fs/cgroup/unified/a/cpu.stat":             "throttled_usec 1\n",
			},
			throttled: time.Microsecond, memory: 4096,
		},
		{
			name: "a group outside the namespace is taken for the mount point",
			files: map[string]string{
				"proc/self/cgroup":         "0::/../other\n",
				"proc/self/mountinfo":      mountV2,
				"sys/fs/cgroup/cpu.stat":   "throttled_usec -5\nthrottled_usec x\n",
				"sys/fs/cgroup/memory.max": "77\n",
			},
			memory: 77,
		},
		{
			name: "v2 in a container that also has the host's hierarchy mounted: its own counts, in any order",
			files: map[string]string{
				"proc/self/cgroup":         "0::/\n",
				"proc/self/mountinfo":      hostMountV2 + mountV2 + hostMountV2,
				"host/cgroup/cpu.stat":     "usage_usec 1\n",
				"sys/fs/cgroup/cpu.stat":   "throttled_usec 3\n",
				"sys/fs/cgroup/memory.max": "4096\n",
			},
			throttled: 3 * time.Microsecond, memory: 4096,
		},
		{
			name: "a mount point with a space in it",
			files: map[string]string{
				"proc/self/cgroup":     "0::/x\n",
				"proc/self/mountinfo":  `30 23 0:26 / /my\040groups rw - cgroup2 cgroup rw` + "\n",
				"my groups/x/cpu.stat": "throttled_usec 9\n",
			},
			throttled: 9 * time.Microsecond,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCgroups(machine(tc.files))
			got, err := c.throttled()
			if got != tc.throttled || errors.Is(err, errNoStat) != tc.noStat {
				t.Errorf("throttled = %v, %v, want %v, no stat: %v", got, err, tc.throttled, tc.noStat)
			}
			if got := c.memoryLimit(); got != tc.memory {
				t.Errorf("memory limit = %d, want %d", got, tc.memory)
			}
		})
	}
}

func FuzzCgroups(f *testing.F) {
	f.Add("0::/\n", mountV2, "throttled_usec 1\n", "max\n")
	f.Add("1:cpu,memory:/a/b\n", mountV1CPU, "throttled_time 9", "12")
	f.Fuzz(func(t *testing.T, member, mounts, stat, memory string) {
		c := newCgroups(machine(map[string]string{
			"proc/self/cgroup":         member,
			"proc/self/mountinfo":      mounts,
			"sys/fs/cgroup/cpu.stat":   stat,
			"sys/fs/cgroup/memory.max": memory,
		}))
		if d, _ := c.throttled(); d < 0 {
			t.Errorf("throttled %v", d)
		}
		if m := c.memoryLimit(); m < 0 || m >= unlimited {
			t.Errorf("memory %d", m)
		}
	})
}

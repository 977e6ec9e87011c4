package cpu

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPU bounds what a CPU list may name, so that a corrupt one cannot make a huge slice. Linux
// can be built for 8192 CPUs at most (CONFIG_NR_CPUS).
const maxCPU = 8192

// ParseList reads the kernel's list format, "0-3,8", as it stands in cpuset files, in
// /sys/devices/system/cpu/online and in Cpus_allowed_list (cpuset(7), FORMATS). White space
// around the list is ignored. The result has the order of the list; it is empty for an empty list.
func ParseList(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	var list []int
	for _, item := range strings.Split(s, ",") {
		first, last, err := parseRange(item)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", s, err)
		}
		if len(list)+last-first >= maxCPU {
			return nil, fmt.Errorf("CPU list %q: more than %d CPUs", s, maxCPU)
		}
		for n := first; n <= last; n++ {
			list = append(list, n)
		}
	}
	return list, nil
}

func parseRange(item string) (first, last int, err error) {
	from, to, isRange := strings.Cut(item, "-")
	if first, err = parseCPU(from); err != nil {
		return 0, 0, err
	}
	if !isRange {
		return first, first, nil
	}
	if last, err = parseCPU(to); err != nil {
		return 0, 0, err
	}
	if last < first {
		return 0, 0, fmt.Errorf("range %q: the end is below the start", item)
	}
	return first, last, nil
}

func parseCPU(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n >= maxCPU {
		return 0, fmt.Errorf("%q is not a CPU number", s)
	}
	return int(n), nil
}

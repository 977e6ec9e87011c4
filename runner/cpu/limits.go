package cpu

import (
	"errors"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNoStat says that no cgroup of this process accounts for CPU time.
var errNoStat = errors.New("cpu: no cgroup with a cpu controller found")

// unlimited is above what any machine has: version 1 writes "no limit" as the greatest multiple
// of the page size below 2^63.
const unlimited = int64(1) << 60

// maxMicroseconds fit into a Duration: 292 years.
const maxMicroseconds = math.MaxInt64 / int64(time.Microsecond)

func (c *cgroups) throttled() (time.Duration, error) {
	c.opened.Do(c.openStats)
	if len(c.stats) == 0 {
		return 0, errNoStat
	}
	var sum time.Duration
	var text [4 << 10]byte
	for _, f := range c.stats {
		n, _ := f.ReadAt(text[:], 0) // the end of the file is an error
		sum += parseThrottled(string(text[:n]))
	}
	return sum, nil
}

// openStats opens the files with the throttled time. They stay open: each snapshot reads them, and opening a file and
// closing it are most of the cost.
func (c *cgroups) openStats() {
	for _, dir := range slices.Concat(c.dirs[unified], c.dirs["cpu"]) {
		if f, err := c.root.Open(path.Join(dir, "cpu.stat")); err == nil {
			if at, ok := f.(io.ReaderAt); ok {
				c.stats = append(c.stats, at)
			}
		}
	}
}

func (c *cgroups) memoryLimit() int64 {
	limits := append(c.read(c.dirs[unified], "memory.max"), c.read(c.dirs["memory"], "memory.limit_in_bytes")...)
	tightest := unlimited
	for _, s := range limits {
		if n, ok := parseBytes(s); ok {
			tightest = min(tightest, n)
		}
	}
	if tightest == unlimited {
		return 0
	}
	return tightest
}

// parseThrottled finds the throttled time in cpu.stat: throttled_usec in version 2,
// throttled_time in nanoseconds in version 1. A root group has neither.
func parseThrottled(s string) time.Duration {
	for line := range strings.Lines(s) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || n > maxMicroseconds {
			continue
		}
		switch name {
		case "throttled_usec":
			return time.Duration(n) * time.Microsecond
		case "throttled_time":
			return time.Duration(n)
		}
	}
	return 0
}

// parseBytes reads memory.max or memory.limit_in_bytes. Not ok: no limit.
func parseBytes(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil && n > 0 && n < unlimited
}

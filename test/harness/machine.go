package harness

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// Unknown is what could not be found out.
const Unknown = "unknown"

// Machine describes the machine in pairs of name and value. The CPUs are those of servers and clients.
func Machine(cpus []int, server, client int) [][2]string {
	return [][2]string{
		{"CPU", Match(readFile("/proc/cpuinfo"), `(?m)^model name\s*:\s*(.*)$`)},
		{"CPUs", fmt.Sprintf("%d; servers on CPU %d, clients on CPU %d", len(cpus), server, client)},
		{"kernel", runtime.GOOS + " " + strings.TrimSpace(readFile("/proc/sys/kernel/osrelease"))},
		{"system", Match(readFile("/etc/os-release"), `(?m)^PRETTY_NAME="?([^"\n]*)`)},
		{"load average before", Match(readFile("/proc/loadavg"), `^(\S+)`)},
	}
}

func readFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// Match returns the first group of a pattern that is not empty.
func Match(text, pattern string) string {
	for i, m := range regexp.MustCompile(pattern).FindStringSubmatch(text) {
		if i > 0 && m != "" {
			return m
		}
	}
	return Unknown
}

package harness

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// unknown is what could not be found out.
const unknown = "unknown"

// Machine describes the machine before a run, in pairs of name and value.
func (b *Lab) Machine() [][2]string {
	return [][2]string{
		{"CPU", match(readFile("/proc/cpuinfo"), `(?m)^model name\s*:\s*(.*)$`)},
		{"CPUs", fmt.Sprintf("%d; servers on CPU %d, clients on CPU %d", len(b.CPUs), b.ServerCPUs()[0],
			b.ClientCPUs()[0])},
		{"kernel", runtime.GOOS + " " + strings.TrimSpace(readFile("/proc/sys/kernel/osrelease"))},
		{"system", match(readFile("/etc/os-release"), `(?m)^PRETTY_NAME="?([^"\n]*)`)},
		{"load average before", match(readFile("/proc/loadavg"), `^(\S+)`)},
	}
}

func readFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// match returns the first group of a pattern that is not empty.
func match(text, pattern string) string {
	for i, m := range regexp.MustCompile(pattern).FindStringSubmatch(text) {
		if i > 0 && m != "" {
			return m
		}
	}
	return unknown
}

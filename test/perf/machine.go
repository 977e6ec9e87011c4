package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// findings are what the page says about the machine and the programs.
type findings struct {
	when     time.Time
	lines    [][2]string // what and value
	programs [][2]string // name and version
	starts   [][2]string // name and CPU time of a run of one request
}

// survey asks the machine. What cannot be found out is told as unknown.
func (b *lab) survey() findings {
	f := findings{when: time.Now().UTC()}
	f.lines = [][2]string{
		{"CPU", match(readFile("/proc/cpuinfo"), `(?m)^model name\s*:\s*(.*)$`)},
		{"CPUs", fmt.Sprintf("%d; servers on CPU %d, clients on CPU %d", len(b.cpus), b.serverCPUs()[0], b.clientCPUs()[0])},
		{"kernel", runtime.GOOS + " " + strings.TrimSpace(readFile("/proc/sys/kernel/osrelease"))},
		{"system", match(readFile("/etc/os-release"), `(?m)^PRETTY_NAME="?([^"\n]*)`)},
		{"load average before", match(readFile("/proc/loadavg"), `^(\S+)`)},
	}
	f.programs = [][2]string{
		{"h2surge", b.version(b.h2surge, "version", `^h2surge (\S+)`)},
		{"Go", runtime.Version()},
		{"h2load", b.version("h2load", "--version", `nghttp2/(\S+)`)},
		{"nghttpd", b.version("nghttpd", "--version", `nghttp2/(\S+)`)},
		{"wrk", b.version("wrk", "-v", `^wrk (\S+)`)},
		{"ab", b.version("ab", "-V", `Version (\S+)`)},
		{"nginx", b.version("nginx", "-v", `nginx/(\S+)`)},
	}
	f.starts = b.starts()
	return f
}

// starts is what a run of one request costs: the part of all figures that is not the requests'.
func (b *lab) starts() [][2]string {
	var all [][2]string
	clients := []struct {
		name string
		argv []string
	}{
		{"h2surge", []string{b.h2surge, "run", "-q", "-o", "json", "-n", "1"}},
		{"h2load", []string{"h2load", "-n", "1"}},
	}
	s, err := target.start(b, b.serverCPUs())
	if err != nil {
		return nil
	}
	defer s.stop()
	for _, c := range clients {
		var costs []float64
		for range 5 {
			f, err := run(b.ctx, command{argv: append(c.argv, s.urls(h2c)[0]+"/"), cpus: b.clientCPUs()}, graceAtEnd)
			if err == nil && f.code == 0 {
				costs = append(costs, f.cpu.Seconds()*1e3)
			}
		}
		if len(costs) > 0 {
			all = append(all, [2]string{c.name, figure(spreadOf(costs).median) + " ms"})
		}
	}
	return all
}

func readFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

const unknown = "unknown"

// match is the pattern's first group that is not empty.
func match(text, pattern string) string {
	for i, m := range regexp.MustCompile(pattern).FindStringSubmatch(text) {
		if i > 0 && m != "" {
			return m
		}
	}
	return unknown
}

// version runs a program for its version. Some end with a code other than 0 all the same.
func (b *lab) version(program, flag, pattern string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return "not installed"
	}
	f, err := run(b.ctx, command{argv: []string{path, flag}, cpus: b.cpus}, 10*time.Second)
	if err != nil {
		return unknown
	}
	return match(f.stdout+f.stderr, pattern)
}

func (f findings) text() string {
	var s strings.Builder
	for _, l := range append(f.lines, f.programs...) {
		fmt.Fprintf(&s, "%-20s %s\n", l[0], l[1])
	}
	for _, l := range f.starts {
		fmt.Fprintf(&s, "%-20s %s of CPU for a run of one request\n", l[0], l[1])
	}
	return s.String()
}

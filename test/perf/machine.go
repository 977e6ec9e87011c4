package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/h2surge/h2surge/test/harness"
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
	f.lines = harness.Machine(b.cpus, b.serverCPUs()[0], b.clientCPUs()[0])
	f.programs = [][2]string{
		{"h2surge", b.version(b.h2surge, "version", `^h2surge (\S+)`)},
		{"Go", runtime.Version()},
		{"h2load", b.version("h2load", "--version", `nghttp2/(\S+)`)},
		{"nghttpd", b.version("nghttpd", "--version", `nghttp2/(\S+)`)},
		{"wrk", b.version("wrk", "-v", `^wrk (\S+)`)},
		{"ab", b.version("ab", "-V", `Version (\S+)`)},
		{"C compiler of the floor", b.version("cc", "--version", `\) (\S+)`)},
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
			f, err := harness.Run(b.ctx, harness.Command{Argv: append(c.argv, s.urls(h2c)[0]+"/"), CPUs: b.clientCPUs()},
				graceAtEnd)
			if err == nil && f.Code == 0 {
				costs = append(costs, f.CPU.Seconds()*1e3)
			}
		}
		if len(costs) > 0 {
			all = append(all, [2]string{c.name, harness.Figure(spreadOf(costs).median) + " ms"})
		}
	}
	return all
}

// version runs a program for its version. Some end with a code other than 0 all the same.
func (b *lab) version(program, flag, pattern string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return "not installed"
	}
	f, err := harness.Run(b.ctx, harness.Command{Argv: []string{path, flag}, CPUs: b.cpus}, 10*time.Second)
	if err != nil {
		return harness.Unknown
	}
	return harness.Match(f.Stdout+f.Stderr, pattern)
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

package main

import (
	"fmt"
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
	f.lines = b.Machine()
	f.programs = [][2]string{
		{"h2surge", b.Version(b.H2surge, "version", `^h2surge (\S+)`)},
		{"Go", runtime.Version()},
		{"h2load", b.Version("h2load", "--version", `nghttp2/(\S+)`)},
		{"nghttpd", b.Version("nghttpd", "--version", `nghttp2/(\S+)`)},
		{"wrk", b.Version("wrk", "-v", `^wrk (\S+)`)},
		{"ab", b.Version("ab", "-V", `Version (\S+)`)},
		{"C compiler of the floor", b.Version("cc", "--version", `\) (\S+)`)},
		{"nginx", b.Version("nginx", "-v", `nginx/(\S+)`)},
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
		{"h2surge", []string{b.H2surge, "run", "-q", "-o", "json", "-n", "1"}},
		{"h2load", []string{"h2load", "-n", "1"}},
	}
	s, err := target.start(b, b.ServerCPUs())
	if err != nil {
		return nil
	}
	defer s.stop()
	for _, c := range clients {
		var costs []float64
		for range 5 {
			f, err := harness.Run(b.Ctx, harness.Command{Argv: append(c.argv, s.urls(h2c)[0]+"/"), CPUs: b.ClientCPUs()},
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

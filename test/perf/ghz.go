package main

import (
	"strconv"

	"github.com/h2surge/h2surge/test/harness"
)

// ghz is the load generator for gRPC that is written with grpc-go.
type ghz struct{}

func (ghz) name() string { return "ghz" }
func (ghz) needs() tool {
	return tool{binary: "ghz", pkg: "make bin/tools/ghz, and add bin/tools to PATH"}
}

func (ghz) command(b *lab, s *served, l load, seconds int) (harness.Command, error) {
	return harness.Command{Argv: []string{
		"ghz", "--insecure", "--proto", b.Dir + "/health.proto", "--call", callService + "/" + callMethod, "-d", callMessage,
		"-c", strconv.Itoa(int(l.inFlight())), "--connections", strconv.Itoa(l.connections), "-r", strconv.Itoa(l.perSecond),
		"-z", strconv.Itoa(seconds) + "s", "--duration-stop", "wait", "--cpus", "1", s.urls(l.protocol)[0][len("http://"):],
	}}, nil
}

func (c ghz) parse(f harness.Finished) (measured, error) { return scanned(c, f, c.read) }

func (ghz) read(s *scan) measured {
	m := measured{
		requests:  s.integer(`^ +Count:\s+(\d+)$`),
		perSecond: s.number(`^ +Requests/sec:\s+([\d.]+)$`),
		times: times{
			mean: s.milliseconds(`^ +Average:\s+([\d.]+) ms`), max: s.milliseconds(`^ +Slowest:\s+([\d.]+) ms`),
			p50: s.milliseconds(`^ +50 % in ([\d.]+) ms`), p99: s.milliseconds(`^ +99 % in ([\d.]+) ms`),
		},
	}
	m.rejected = m.requests - s.integer(`^ +\[OK\] +(\d+) responses`)
	return m
}

package main

import (
	"strconv"

	"github.com/h2surge/h2surge/test/harness"
)

// ab is Apache's; without -k it opens a connection for each request.
type ab struct{}

func (ab) name() string { return "ab" }
func (ab) needs() tool  { return tool{binary: "ab", pkg: "apache2-utils"} }

func (ab) command(_ *lab, s *served, l load, seconds int) (harness.Command, error) {
	// -t implies -n 50000, so a greater -n comes after it. ab reserves 40 bytes for each.
	argv := []string{"ab", "-q", "-t", strconv.Itoa(seconds), "-n", "5000000", "-c", strconv.Itoa(l.connections)}
	if !l.noKeepAlive {
		argv = append(argv, "-k")
	}
	return harness.Command{Argv: append(argv, s.url(l))}, nil
}

func (c ab) parse(f harness.Finished) (measured, error) { return scanned(c, f, c.read) }

func (ab) read(s *scan) measured {
	m := measured{
		requests:  s.integer(`^Complete requests: +(\d+)`),
		rejected:  s.integer(`^Failed requests: +(\d+)`) + s.count(`^Non-2xx responses: +(\d+)`),
		perSecond: s.number(`^Requests per second: +([\d.]+)`),
		times: times{
			mean: s.milliseconds(`^Total: +\d+ +(\d+)`),
			p50:  s.milliseconds(`^ +50% +(\d+)`),
			p99:  s.milliseconds(`^ +99% +(\d+)`),
			max:  s.milliseconds(`^ 100% +(\d+)`),

			connect: s.milliseconds(`^Connect: +\d+ +(\d+)`),
			waiting: s.milliseconds(`^Waiting: +\d+ +(\d+)`),
		},
	}
	m.connections = m.requests - s.count(`^Keep-Alive requests: +(\d+)`)
	return m
}

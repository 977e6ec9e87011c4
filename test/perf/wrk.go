package main

import (
	"strconv"

	"github.com/h2surge/h2surge/test/harness"
)

// wrk speaks HTTP/1.1 only, one thread, no pipelining.
type wrk struct{}

func (wrk) name() string { return "wrk" }
func (wrk) needs() tool  { return tool{binary: "wrk", pkg: "wrk"} }

func (wrk) command(_ *lab, s *served, l load, seconds int) (harness.Command, error) {
	return harness.Command{Argv: []string{"wrk", "-t1", "-c" + strconv.Itoa(l.connections), "-d" + strconv.Itoa(seconds) +
		"s",
		"--latency", s.url(l)}}, nil
}

func (c wrk) parse(f harness.Finished) (measured, error) { return scanned(c, f, c.read) }

func (wrk) read(s *scan) measured {
	m := measured{
		requests:  s.integer(`^ +(\d+) requests in `),
		rejected:  s.count(`Non-2xx or 3xx responses: (\d+)`),
		perSecond: s.number(`^Requests/sec: +([\d.]+)`),
		times: times{
			mean: s.duration(`^ +Latency +(\S+)`),
			max:  s.duration(`^ +Latency +\S+ +\S+ +(\S+)`),
			p50:  s.duration(`^ +50% +(\S+)`),
			p99:  s.duration(`^ +99% +(\S+)`),
		},
	}
	if n := s.field(`Socket errors: (.*)`, true); n != "" {
		m.remark = "wrk: socket errors: " + n
	}
	return m
}

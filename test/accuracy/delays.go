package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// fixedDelay is the delay of the run that measures loopback, in microseconds: the target's timer is part of it.
	fixedDelay = 5000
	// delayTolerance in microseconds, and as a ratio of the logged delay.
	delayTolerance, delayRatio = 200, 0.005
	// judged is the highest quantile with a mark. One pause of 3 ms in a run of 3 s moves the quantile 0.999.
	judged = 0.99
)

// delaysTable compares percentiles with the delays that the target logged.
func delaysTable() table {
	t := table{
		title: "Delays that the target logged",
		intro: "6000 requests at 2000/s. The target draws a delay for each request, with a seed, and logs it (`--record`). `loopback` is the median of the service time minus the delay, in a run with a fixed delay of 5 ms. The measured service time must be the logged delay plus loopback, within 0.2 ms and 0.5%. p99.9 has no mark: one pause of the machine of 3 ms moves it.",
		head:  []string{"delays", "percentile", "logged, ms", "loopback, ms", "service time, ms", "difference, ms"},
	}
	for _, d := range [][2]string{
		{"uniform", "uniform: {min: 1ms, max: 9ms}"},
		{"exponential", "exponential: {mean: 5ms, max: 100ms}"},
		{"normal", "normal: {mean: 20ms, standardDeviation: 3ms}"},
	} {
		t.rows = append(t.rows, row{name: "delays-" + d[0], measure: func(b *lab) ([]line,
			error) {
			return b.measureDelays(d[0], d[1])
		}})
	}
	return t
}

func (b *lab) measureDelays(name, delay string) ([]line, error) {
	fixed, err := b.delayed("fixed: 5ms")
	if err != nil {
		return nil, err
	}
	runs, err := b.delayed(delay)
	if err != nil {
		return nil, err
	}
	logged := runs[0].delays
	for _, r := range runs {
		if len(r.delays) != int(r.Requests.Done) || !slices.Equal(r.delays, logged) {
			return nil, errors.New("the target did not log the same delays in each run, one for each request")
		}
	}
	loopback := median(fixed, func(r run) float64 { return float64(r.ServiceTime.P50 - fixedDelay) })
	var lines []line
	for _, p := range percentiles(runs, serviceTime) {
		want := float64(rank(logged, p.q))
		l := line{cells: []string{name, p.name, milliseconds(want), milliseconds(loopback), milliseconds(p.us),
			milliseconds(p.us - want - loopback)}}
		if !l.generatorBound(runs) && p.q <= judged {
			l.near(p.name, p.us/1e3, (want+loopback)/1e3, (delayTolerance+delayRatio*want)/1e3, " ms")
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// delayed runs against a target with delays, which it logs.
func (b *lab) delayed(delay string) ([]run, error) {
	rules := filepath.Join(b.Dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(delayRules(delay)), 0o600); err != nil {
		return nil, err
	}
	return repeat(rounds, func() (run, error) {
		t, err := b.serve(true, "-f", rules, "--seed", "7")
		if err != nil {
			return run{}, err
		}
		return b.against(t, func(url string) (*rv.Report, error) {
			return b.generate(getManifest(url, "{name: load, requestsPerSecond: 2000, duration: 3s}", ""))
		})
	})
}

// rank returns the value of an ascending list below or at which at least the share q of the values are.
func rank(sorted []int64, q float64) int64 {
	n := int(q * float64(len(sorted)))
	if float64(n) < q*float64(len(sorted)) {
		n++
	}
	return sorted[max(1, n)-1]
}

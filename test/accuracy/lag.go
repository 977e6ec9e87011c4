package main

import (
	"fmt"

	"github.com/h2surge/h2surge/test/harness"
)

// sleepLag is the mark of the 99th percentile of lag for a worker that sleeps, in microseconds: twice the batch interval.
const sleepLag = 1000

// lagTable shows how late requests leave.
func lagTable() table {
	t := table{
		title: "Lag",
		intro: "How late requests leave, over 2 seconds. `added` is the 50th percentile of the response time minus that of the service time: what the generator adds to the median. The CPU time includes the start of the process.",
		head:  []string{"asked, 1/s", "lag p50, ms", "lag p99, ms", "added, ms", "CPU"},
	}
	for _, rate := range []int{1000, 10_000, 60_000, 200_000} {
		t.rows = append(t.rows, row{name: fmt.Sprintf("lag-%d", rate), measure: func(b *lab) ([]line, error) {
			return b.measureLag(rate)
		}})
	}
	return t
}

func (b *lab) measureLag(rate int) ([]line, error) {
	const seconds = 2.5
	runs, err := repeat(rounds, func() (run, error) {
		return b.get(fmt.Sprintf("{name: warm, requestsPerSecond: %[1]d, duration: 500ms, warmUp: true}, {name: load, requestsPerSecond: %[1]d, duration: 2s}", rate), "")
	})
	if err != nil {
		return nil, err
	}
	p50 := median(runs, func(r run) float64 { return float64(r.Lag.P50) })
	p99 := median(runs, func(r run) float64 { return float64(r.Lag.P99) })
	added := median(runs, func(r run) float64 { return float64(r.ResponseTime.P50 - r.ServiceTime.P50) })
	cpu := median(runs, func(r run) float64 { return 100 * r.CPUSeconds / seconds })
	l := line{cells: []string{harness.Thousands(int64(rate)), milliseconds(p50), milliseconds(p99), milliseconds(added), fmt.Sprintf("%.0f %%", cpu)}}
	if !l.generatorBound(runs) {
		l.atMost("lag p99", p99/1e3, sleepLag/1e3, " ms")
	}
	return []line{l}, nil
}

package main

import (
	"fmt"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/harness"
)

// lagMark returns the mark of the 99th percentile of lag, in microseconds. A worker that spins sends a request when it
// is due; at 200,000/s it is often busy with responses then. A worker that sleeps sends it within a sleep interval,
// which is
// 500 us. Twice the interval leaves time to send a batch.
func lagMark(s v1alpha1.IdleStrategy, rate int) float64 {
	switch {
	case s != v1alpha1.IdleStrategySpin:
		return 1000
	case rate > 60_000:
		return 100
	}
	return 50
}

// lagTable shows how late requests leave.
func lagTable() table {
	t := table{
		title: "Lag",
		intro: "How late requests leave, over 2 seconds, by [idle strategy](../reference/loadtest/runner.md#idle-strategies). `Auto` chooses `Spin` on an exclusive CPU, and `Sleep` elsewhere. `added` is the 50th percentile of the response time minus that of the service time: what the generator adds to the median. The CPU time includes the start of the process. Over HTTP/3, the worker shares the CPU with the goroutines of QUIC.",
		head:  []string{"asked, 1/s", "strategy", "lag p50, ms", "lag p99, ms", "added, ms", "CPU"},
	}
	for _, rate := range []int{1000, 10_000, 60_000, 200_000} {
		for _, s := range []v1alpha1.IdleStrategy{v1alpha1.IdleStrategySpin, v1alpha1.IdleStrategySleep,
			v1alpha1.IdleStrategyAuto} {
			t.rows = append(t.rows, row{name: fmt.Sprintf("lag-%d-%s", rate, s), measure: func(b *lab) ([]line, error) {
				return b.measureLag(rate, s, "", b.get)
			}})
		}
	}
	for _, rate := range []int{1000, 10_000} {
		t.rows = append(t.rows, row{name: fmt.Sprintf("lag-%d-h3", rate), measure: func(b *lab) ([]line, error) {
			return b.measureLag(rate, v1alpha1.IdleStrategySleep, ", HTTP/3", b.getHTTP3)
		}})
	}
	return t
}

// measureLag measures runs of get. over is the text after the strategy.
func (b *lab) measureLag(rate int, strategy v1alpha1.IdleStrategy, over string,
	get func(rates, runner string) (run, error)) ([]line, error) {
	const seconds = 2.5
	runs, err := repeat(rounds, func() (run, error) {
		return get(fmt.Sprintf("{name: warm, requestsPerSecond: %[1]d, duration: 500ms, warmUp: true}, {name: load, requestsPerSecond: %[1]d, duration: 2s}", rate),
			"idleStrategy: "+string(strategy))
	})
	if err != nil {
		return nil, err
	}
	p50 := median(runs, func(r run) float64 { return float64(r.Lag.P50) })
	p99 := median(runs, func(r run) float64 { return float64(r.Lag.P99) })
	added := median(runs, func(r run) float64 { return float64(r.ResponseTime.P50 - r.ServiceTime.P50) })
	cpu := median(runs, func(r run) float64 { return 100 * r.CPUSeconds / seconds })
	l := line{cells: []string{
		harness.Thousands(int64(rate)), chosen(strategy, runs[0]) + over, milliseconds(p50), milliseconds(p99),
		milliseconds(added), fmt.Sprintf("%.0f%%", cpu),
	}}
	if !l.generatorBound(runs) {
		l.atMost("lag p99", p99/1e3, lagMark(strategy, rate)/1e3, " ms")
	}
	return []line{l}, nil
}

// chosen also says what Auto has chosen.
func chosen(strategy v1alpha1.IdleStrategy, r run) string {
	if strategy == v1alpha1.IdleStrategyAuto && len(r.Shards) > 0 {
		return fmt.Sprintf("%s (%s)", strategy, r.Shards[0].IdleStrategy)
	}
	return string(strategy)
}

package main

import (
	"fmt"
	"math"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// The target stalls for stall at the end of each period, in microseconds.
	stall, period = 500_000, 10_000_000
	// stallTolerance in microseconds. 0.1% of the requests are as much: quantiles of the wait are 10 ms apart for each
	// 0.1%. Requests that queue behind those of a stall are some of them.
	stallTolerance = 10_000
	stallRate      = 2000
)

// waitAt returns the quantile q of the time that requests wait for the end of a stall. Of all requests, stall/period
// are due in a stall, and they wait uniformly between 0 and stall. The others do not wait.
func waitAt(q float64) float64 {
	const share = float64(stall) / period
	return math.Max(0, (q-(1-share))/share) * stall
}

// meanWait is the mean of the same time.
const meanWait = float64(stall) / period * stall / 2

// stallTable compares a run against a stalling target with arithmetic.
func stallTable() table {
	return table{
		title: "A target that stalls",
		intro: fmt.Sprintf("The response time at %d requests a second over two periods, against a target that sends nothing in the last 500 ms of every 10 s. Tolerance: %s ms, which 0.1%% of the requests can cause.", stallRate, milliseconds(stallTolerance)),
		head:  []string{"figure", "arithmetic, ms", "measured, ms", "difference, ms"},
		rows:  []row{{name: "stall", measure: (*lab).measureStall}},
	}
}

func (b *lab) measureStall() ([]line, error) {
	runs, err := repeat(rounds, func() (run, error) {
		t, err := b.serve(false, "--stall", "500ms/10s")
		if err != nil {
			return run{}, err
		}
		return b.against(t, func(url string) (*rv.Report, error) {
			return b.generate(getManifest(url, fmt.Sprintf("{name: load, requestsPerSecond: %d, duration: %ds}", stallRate,
				2*period/1_000_000), ""))
		})
	})
	if err != nil {
		return nil, err
	}
	lines := []line{stallLine(runs, "mean", meanWait,
		median(runs, func(r run) float64 { return float64(r.ResponseTime.Mean) }))}
	for _, p := range percentiles(runs, func(r run) rv.Times { return r.ResponseTime }) {
		lines = append(lines, stallLine(runs, p.name, waitAt(p.q), p.us))
	}
	longest := median(runs, func(r run) float64 { return float64(r.ResponseTime.Max) })
	return append(lines, stallLine(runs, "maximum", waitAt(1), longest)), nil
}

func stallLine(runs []run, name string, want, got float64) line {
	l := line{cells: []string{name, milliseconds(want), milliseconds(got), milliseconds(got - want)}}
	if !l.generatorBound(runs) {
		l.near(name, got/1e3, want/1e3, stallTolerance/1e3, " ms")
	}
	return l
}

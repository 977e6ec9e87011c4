package main

import (
	"fmt"
	"math"
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/harness"
)

// maxDeviation from the rate asked for, as a ratio. One request is always allowed.
const maxDeviation = 0.001

// rateTable compares rates with what the target counted.
func rateTable() table {
	t := table{
		title: "The rate",
		intro: "`sent` is the report's number of requests, and all of them arrived. `reported` is the rate of the report. `arrived` is the rate at the target: its count for each full second, without the first and the last one. Both must be within 0.1% of the rate asked for, or one request.",
		head:  []string{"asked, 1/s", "seconds", "sent", "reported, 1/s", "arrived, 1/s", "lag p99, ms"},
	}
	for _, rate := range []int{1, 10, 1000, 10_000, 60_000, 200_000, 500_000} {
		rounds, seconds := rounds, 4
		if rate < 1000 { // a second with few requests says little
			rounds, seconds = 1, 12
		}
		t.rows = append(t.rows, row{name: fmt.Sprintf("rate-%d", rate), measure: func(b *lab) ([]line, error) {
			return b.measureRate(rate, rounds, seconds)
		}})
	}
	return t
}

func (b *lab) measureRate(rate, rounds, seconds int) ([]line, error) {
	runs, err := repeat(rounds, func() (run, error) {
		return b.get(fmt.Sprintf("{name: load, requestsPerSecond: %d, duration: %ds}", rate, seconds), "")
	})
	if err != nil {
		return nil, err
	}
	sent := median(runs, func(r run) float64 { return float64(r.Requests.Sent) })
	reported := median(runs, func(r run) float64 { return r.Rate.Achieved })
	arrived := median(runs, func(r run) float64 { return perSecond(r.counts.PerSecond) })
	lag := median(runs, func(r run) float64 { return float64(r.Lag.P99) })
	l := line{cells: []string{
		harness.Thousands(int64(rate)), fmt.Sprint(seconds), harness.Thousands(int64(sent)), exact(reported), exact(arrived),
		milliseconds(lag),
	}}
	if !l.generatorBound(runs) {
		l.nearRate("reported", reported, rate, seconds)
		l.nearRate("arrived", arrived, rate, seconds-1)
	}
	return []line{l}, nil
}

// get runs GETs against a target that answers immediately.
func (b *lab) get(rates, runner string) (run, error) {
	t, err := b.serve(false)
	if err != nil {
		return run{}, err
	}
	return b.against(t, func(url string) (*rv.Report, error) { return b.generate(getManifest(url, rates, runner)) })
}

// getHTTP3 is get over HTTP/3.
func (b *lab) getHTTP3(rates, runner string) (run, error) {
	ports, err := harness.FreePorts(1)
	if err != nil {
		return run{}, err
	}
	t, err := b.serve(false, "--h3-listen", "127.0.0.1:"+strconv.Itoa(ports[0]))
	if err != nil {
		return run{}, err
	}
	return b.against(t, func(string) (*rv.Report, error) {
		return b.generate(overHTTP3(getManifest(harness.Loopback("https", ports[0]), rates, runner)))
	})
}

// nearRate judges a rate over some seconds.
func (l *line) nearRate(what string, got float64, rate, seconds int) {
	l.near(what, got, float64(rate), math.Max(maxDeviation*float64(rate), 1/float64(seconds)), "/s")
}

// perSecond returns the average of the full seconds, which are all but the first and the last one.
func perSecond(counts []int64) float64 {
	if len(counts) < 3 {
		return 0
	}
	sum := int64(0)
	for _, n := range counts[1 : len(counts)-1] {
		sum += n
	}
	return float64(sum) / float64(len(counts)-2)
}

// exact writes a rate with enough digits to see a deviation of 0.1%.
func exact(rate float64) string {
	if rate >= 10_000 {
		return harness.Thousands(int64(math.Round(rate)))
	}
	return fmt.Sprintf("%.2f", rate)
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/test/harness"
)

// lab is where the rows are measured.
type lab struct{ harness.Lab }

// about describes the machine and the program.
func (b *lab) about() (out [][]string) {
	for _, l := range append(b.Machine(), [2]string{"h2surge", b.Version(b.H2surge, "version", `^h2surge (\S+)`)},
		[2]string{"Go", runtime.Version()}) {
		out = append(out, l[:])
	}
	return out
}

// target is a running "h2surge target".
type target struct {
	process *harness.Process
	url     string
	stats   string
	record  string // file of --record
}

// serve starts a target with flags. Without a record, it does not log requests.
func (b *lab) serve(record bool, flags ...string) (*target, error) {
	ports, err := harness.FreePorts(2)
	if err != nil {
		return nil, err
	}
	t := &target{url: harness.Loopback("http", ports[0]), stats: harness.Loopback("http", ports[1]) + "/stats"}
	argv := []string{b.H2surge, "target", "--listen", "127.0.0.1:" + strconv.Itoa(ports[0]), "--stats-listen",
		"127.0.0.1:" + strconv.Itoa(ports[1])}
	if record {
		t.record = filepath.Join(b.Dir, "record-"+strconv.Itoa(ports[0]))
		argv = append(argv, "--record", t.record)
	}
	if t.process, err = harness.Start(harness.Command{Argv: append(argv, flags...), CPUs: b.ServerCPUs()}); err != nil {
		return nil, err
	}
	for _, p := range ports {
		if err := t.process.Await(b.Ctx, p); err != nil {
			t.process.Stop()
			return nil, err
		}
	}
	return t, nil
}

// counts are what a target counted.
type counts struct {
	Requests       int64
	PerSecond      []int64
	DistinctBodies int64
	RepeatedBodies int64
}

func (t *target) counts() (counts, error) {
	var c counts
	text, err := harness.Get(t.stats)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(text, &c)
}

// delays returns what the target logged, in microseconds and ascending. The target must have ended.
func (t *target) delays() ([]int64, error) {
	f, err := os.Open(t.record)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []int64
	for d := json.NewDecoder(f); d.More(); {
		var line struct{ DelayMicroseconds int64 }
		if err := d.Decode(&line); err != nil {
			return nil, err
		}
		out = append(out, line.DelayMicroseconds)
	}
	slices.Sort(out)
	return out, nil
}

// generate runs a LoadTest with "h2surge run".
func (b *lab) generate(manifest string) (*rv.Report, error) {
	r, _, err := b.report(b.generator(manifest))
	return r, err
}

// generator is "h2surge run" with a LoadTest.
func (b *lab) generator(manifest string) harness.Command {
	return harness.Command{Argv: []string{b.H2surge, "run", "-q", "-o", "json", "-f", "-"}, Stdin: manifest}
}

// report runs a program that prints a report. It also returns what the program wrote to standard error.
func (b *lab) report(c harness.Command) (r *rv.Report, stderr string, err error) {
	c.CPUs = b.ClientCPUs()
	f, err := harness.Run(b.Ctx, c, time.Minute)
	if err != nil {
		return nil, "", err
	}
	if f.Code != verdict.ExitPassed && f.Code != verdict.ExitInconclusive {
		return nil, "", fmt.Errorf("%s %s: exit code %d: %s", filepath.Base(c.Argv[0]), c.Argv[1], f.Code,
			harness.LastLine(f.Stderr))
	}
	r = &rv.Report{}
	if err := json.Unmarshal([]byte(f.Stdout), r); err != nil {
		return nil, "", fmt.Errorf("the report: %w", err)
	}
	return r, f.Stderr, nil
}

// run is a run against a target of its own.
type run struct {
	*rv.Report
	counts counts
	delays []int64   // if the target records
	pauses []float64 // of garbage collections, in microseconds, if the run traces them
}

// against runs a LoadTest against a target, and stops the target.
func (b *lab) against(t *target, report func(url string) (*rv.Report, error)) (run, error) {
	out, err := t.count(report)
	t.process.Stop()
	if err == nil && t.record != "" {
		out.delays, err = t.delays()
	}
	return out, err
}

// count checks that the target received each request of the report.
func (t *target) count(report func(url string) (*rv.Report, error)) (out run, err error) {
	if out.Report, err = report(t.url); err != nil {
		return out, err
	}
	if out.counts, err = t.counts(); err != nil {
		return out, err
	}
	if sent := out.Requests.Sent + out.WarmUp.Sent; out.counts.Requests != sent {
		return out, fmt.Errorf("the report has %d requests, and the target counted %d", sent, out.counts.Requests)
	}
	return out, nil
}

// rounds of a measurement: an odd number. Its figures are medians, so that one disturbance of the machine does not
// show.
const rounds = 3

// repeat returns the runs of all rounds.
func repeat(n int, once func() (run, error)) ([]run, error) {
	var out []run
	for range n {
		r, err := once()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// median returns the median of a figure.
func median(runs []run, figure func(run) float64) float64 {
	var values []float64
	for _, r := range runs {
		values = append(values, figure(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// percentile is a figure of a distribution, in microseconds.
type percentile struct {
	name string
	q    float64
	us   float64
}

// percentiles returns the medians of the percentiles of a time.
func percentiles(runs []run, of func(run) rv.Times) []percentile {
	out := []percentile{{name: "p50", q: 0.5}, {name: "p90", q: 0.9}, {name: "p95", q: 0.95}, {name: "p99", q: 0.99},
		{name: "p99.9", q: 0.999}}
	for i := range out {
		out[i].us = median(runs, func(r run) float64 {
			t := of(r)
			return float64([]int64{t.P50, t.P90, t.P95, t.P99, t.P999}[i])
		})
	}
	return out
}

func serviceTime(r run) rv.Times { return r.ServiceTime }

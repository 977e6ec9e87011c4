package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// TestPageHasMarks: "make accuracy" finds its place in the page that is committed.
func TestPageHasMarks(t *testing.T) {
	if err := marks.Check("../../docs/project/accuracy.md"); err != nil {
		t.Error(err)
	}
}

// TestWaitAt compares the formula with a list of all waits: 10,000 requests that are due evenly in a period.
func TestWaitAt(t *testing.T) {
	const n = 10_000
	var waits []float64
	sum := 0.0
	for i := range n {
		due := float64(i) * period / n
		waits = append(waits, math.Max(0, math.Min(stall, period-due)))
		if due < period-stall {
			waits[i] = 0
		}
		sum += waits[i]
	}
	slices.Sort(waits)
	for _, q := range []float64{0.5, 0.9, 0.95, 0.96, 0.99, 0.999, 1} {
		if got, want := waitAt(q), waits[int(q*n)-1]; math.Abs(got-want) > 2*period/n {
			t.Errorf("quantile %v: %v us, want %v us", q, got, want)
		}
	}
	if want := sum / n; math.Abs(meanWait-want) > period/n {
		t.Errorf("mean %v us, want %v us", meanWait, want)
	}
}

func TestPerSecond(t *testing.T) {
	for _, tc := range []struct {
		counts []int64
		want   float64
	}{
		{nil, 0},
		{[]int64{1, 2}, 0},
		{[]int64{7, 10, 3}, 10},
		{[]int64{7, 10, 12, 8, 3}, 10},
	} {
		if got := perSecond(tc.counts); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.counts, got, tc.want)
		}
	}
}

func TestRank(t *testing.T) {
	sorted := []int64{10, 20, 30, 40}
	for q, want := range map[float64]int64{0.01: 10, 0.25: 10, 0.26: 20, 0.5: 20, 0.99: 40, 1: 40} {
		if got := rank(sorted, q); got != want {
			t.Errorf("quantile %v: %d, want %d", q, got, want)
		}
	}
}

// runOf reports these response and service times, a rate of 1000/s, and slots and values of postManifest.
func runOf(us int64) run {
	times := rv.Times{Mean: us, P50: us, P90: us, P95: us, P99: us, P999: us, Max: us}
	return run{Report: &rv.Report{
		ResponseTime: times, ServiceTime: times, Stages: []rv.StageResult{{Sent: lowSlots}, {Sent: highSlots}},
	}, counts: counts{DistinctBodies: lowSlots + highSlots}}
}

func inconclusive(us int64) run {
	r := runOf(us)
	r.Verdict.Outcome = rv.OutcomeInconclusive
	return r
}

// TestMedians: one disturbed round of three does not show.
func TestMedians(t *testing.T) {
	runs := []run{runOf(5), runOf(90), runOf(4)}
	for _, p := range percentiles(runs, serviceTime) {
		if p.us != 5 {
			t.Errorf("%s: %v, want 5", p.name, p.us)
		}
	}
}

func TestVerdicts(t *testing.T) {
	rate := func(got float64, asked, seconds int) (l line) {
		l.nearRate("arrived", got, asked, seconds)
		return l
	}
	late := func(us float64) (l line) {
		l.atMost("lag p99", us/1e3, 1, " ms")
		return l
	}
	one := percentiles([]run{runOf(10_000)}, serviceTime)
	shards := func(r run) line { return shardsLine(2, []run{r}, percentiles([]run{r}, serviceTime), one) }
	lost, twice := runOf(10_000), runOf(10_000)
	lost.Stages = []rv.StageResult{{Sent: lowSlots}, {Sent: highSlots - 1}}
	twice.counts.RepeatedBodies = 1
	for _, tc := range []struct {
		name string
		line line
		want string
	}{
		{"the rate", rate(1000, 1000, 4), "ok"},
		{"0.1% below", rate(999, 1000, 4), "ok"},
		{"more than 0.1% below", rate(998.9, 1000, 4), "not reached: arrived 999/s, expected 1 000/s within 1.00/s"},
		{"more than 0.1% above", rate(60_061, 60_000, 4), "not reached: arrived 60 061/s, expected 60 000/s within 60.0/s"},
		{"one request in ten seconds", rate(1.1, 1, 10), "ok"},
		{"two requests in ten seconds", rate(1.2, 1, 10), "not reached: arrived 1.20/s, expected 1.00/s within 0.10/s"},
		{"lag at its mark", late(1000), "ok"},
		{"lag above its mark", late(1010), "not reached: lag p99 1.01 ms, mark 1.00 ms"},
		{"a stall", stallLine([]run{runOf(1)}, "p99", 400_000, 409_000), "ok"},
		{"a stall that is hidden", stallLine([]run{runOf(1)}, "p99", 400_000, 500), "not reached: p99 0.50 ms, expected 400 ms within 10.0 ms"},
		{"a stall and a slow generator", stallLine([]run{runOf(1), inconclusive(1)}, "p99", 400_000, 500), "the generator was the bottleneck"},
		{"shards", shards(runOf(10_400)), "ok"},
		{"slower shards", shards(runOf(10_401)), "not reached: p50 10.4 ms, expected 10.0 ms within 0.40 ms"},
		{"a lost slot", shards(lost), "not reached: stage high 5 999, expected 6 000 within 0.00"},
		{"a value that is sent twice", shards(twice), "not reached: repeated values 1.00, expected 0.00 within 0.00"},
		{"slow generators", shards(inconclusive(1)), "the generator was the bottleneck"},
	} {
		if got, _, _ := strings.Cut(tc.line.verdict(), ";"); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestTables: each row has a name of its own, and a row that fails gives a line as wide as its table.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	err := each(func(tb *table, r row) error {
		if seen[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		seen[r.name] = true
		r.measure = func(*lab) ([]line, error) { return nil, os.ErrNotExist }
		cells := tb.cells((&lab{}).measure(r)[0])
		if want := "failed: file does not exist"; len(cells) != len(tb.head)+1 || cells[len(cells)-1] != want {
			t.Errorf("%s: %q, want %d cells and %q", r.name, cells, len(tb.head)+1, want)
		}
		return nil
	})
	if err != nil || len(seen) < 20 {
		t.Errorf("%d rows, %v", len(seen), err)
	}
}

// TestPausesOf: a pause is one of the two times in which a collection stops all threads.
func TestPausesOf(t *testing.T) {
	const trace = `gc 1 @0.012s 2%: 0.013+0.52+0.004 ms clock, 0.026+0.12/0.31/0.20+0.008 ms cpu, 4->4->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
   1s   10.2 of     10/s     0 in flight  p50 681us  p99 2.57ms errors 0%
gc 12 @4.226s 0%: 0.32+0.82+1.2 ms clock, 0.32+0.62/0.13/0.15+0.002 ms cpu, 4->4->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
`
	if diff := cmp.Diff([]float64{13, 1200}, pausesOf(trace), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
}

// TestManifests: the compiler accepts each LoadTest, and the target each file of rules.
func TestManifests(t *testing.T) {
	manifests := []string{
		getManifest("http://a.example", "{name: load, requestsPerSecond: 1, duration: 1s}", "idleStrategy: Spin"),
		overHTTP3(getManifest("https://a.example", "{name: load, requestsPerSecond: 1, duration: 1s}", "")),
		postManifest("http://a.example", 3),
	}
	for _, load := range pauseLoads {
		manifests = append(manifests, load.manifest("http://a.example"))
	}
	for _, w := range waits {
		manifests = append(manifests, w.manifest("http://a.example"))
	}
	for _, manifest := range manifests {
		m, err := compile.Load(strings.NewReader(manifest))
		if err != nil {
			t.Fatal(err)
		}
		if _, warnings, errs := compile.Compile(m.Name(), &m.LoadTest.Spec); len(errs) > 0 || len(warnings) > 0 {
			t.Errorf("%v, %v\n%s", errs, warnings, manifest)
		}
	}
	file := t.TempDir() + "/rules.yaml"
	if err := os.WriteFile(file, []byte(delayRules("fixed: 5ms")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rules.LoadFile(file); err != nil {
		t.Error(err)
	}
}

// TestBetween: the longest time between two responses, of requests that follow each other.
func TestBetween(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	var log serverLog
	for i := range 20 {
		log.requests = append(log.requests, handled{at(20 * i), at(20*i + 10)})
	}
	log.requests[7] = handled{at(148), at(158)} // it was 8 ms late
	if got, err := log.between(); got != 28*time.Millisecond || err != nil {
		t.Errorf("%v, %v, want 28 ms", got, err)
	}
	log.requests[7] = handled{at(129), at(150)}
	if _, err := log.between(); err == nil || err.Error() != "two requests at the same time" {
		t.Errorf("requests at the same time: %v", err)
	}
	log.requests = log.requests[1:]
	if _, err := log.between(); err == nil || err.Error() != "the server counted 19 requests" {
		t.Errorf("a lost request: %v", err)
	}
}

// TestDelays reads a record of "h2surge target".
func TestDelays(t *testing.T) {
	file := t.TempDir() + "/record"
	if err := os.WriteFile(file, []byte(`{"stream":1,"delayMicroseconds":30}`+"\n{\"stream\":3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := (&target{record: file}).delays()
	if diff := cmp.Diff([]int64{0, 30}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// queueEngine sends to a simulated queue. It executes the probes of a search as a runner does: a stage that holds waits for an
// update.
type queueEngine struct {
	mu sync.Mutex
	// rate is that of the only server of the queue, in requests per second. It is for probes at a rate.
	rate float64
	// servers is the number of servers, and service the seconds that each of them needs for a request. They are for probes of a
	// closed loop.
	servers, service float64
	plan             *rv.Plan
	s                rv.Snapshot
	// stage is the first stage of the next probe. It runs since from, with rates, if running is true.
	stage      int
	running    bool
	from       int64
	rates      []rv.Rate
	lag, times histogram.H
	done       chan struct{}
	// begins is called when a probe begins, with its number; nil: nothing is.
	begins func(probe int)
	// updates are those with rates.
	updates []rv.Update
}

func (e *queueEngine) given(plan *rv.Plan, cpus []int, _ string) (engine, error) {
	e.plan, e.done = plan, make(chan struct{})
	e.s = rv.Snapshot{
		APIVersion: rv.APIVersion, Kind: rv.SnapshotKind, Boot: "b", State: rv.StateWaiting, Generator: rv.Generator{Workers: len(cpus)},
		Stages: make([]rv.StageCounters, len(plan.Rates)),
	}
	return e, nil
}

func (e *queueEngine) Update(u rv.Update) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.s.Revision = u.Revision
	if len(u.Rates) == 0 {
		e.s.State = rv.StateReady
		return nil
	}
	e.rates, e.running, e.from = u.Rates, true, u.At
	e.updates = append(e.updates, u)
	if e.begins != nil {
		e.begins(len(e.updates))
	}
	return nil
}

func (e *queueEngine) Start(s rv.Start) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.s.State, e.s.StartAt, e.s.StartedAt = rv.StateRunning, s.At, s.At
	return nil
}

func (e *queueEngine) Stop(s rv.Stop) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.s.State, e.s.Stopped, e.s.EndedAt = rv.StateDone, s.Reason, rv.Clock()
	close(e.done)
	return nil
}

func (e *queueEngine) Done() <-chan struct{} { return e.done }
func (e *queueEngine) Close() error          { return nil }

// Snapshot ends the probe whose time has come.
func (e *queueEngine) Snapshot() *rv.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.s.Clock = rv.Clock()
	e.s.Sequence++
	if e.running && e.s.Clock-e.s.StartAt >= e.from+int64(e.plan.Search.Settle+e.plan.Search.Duration) {
		e.count(&e.rates[e.stage], &e.rates[e.stage+1])
		e.stage, e.running = e.stage+2, false
	}
	s := e.s
	n := s.Counters.Sent
	s.Suspended, s.Stages = !e.running, slices.Clone(s.Stages)
	times := e.times.Encode()
	s.Steps = []rv.StepCounters{{
		Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n}, StatusClasses: [5]int64{1: n}, ResponseTime: times, ServiceTime: times, TimeToFirstByte: times,
	}}
	s.Chains = []rv.ChainCounters{{Started: n, Completed: n}}
	s.StatusCodes = map[string]int64{"200": n}
	s.ResponseTime, s.Lag = times, e.lag.Encode()
	if s.State == rv.StateDone {
		s.Histograms = &rv.Histograms{ServiceTime: times, TimeToFirstByte: times, Lag: s.Lag}
		s.Lag = rv.Histogram{}
	}
	return &s
}

// sends returns how many requests a stage sends, and a function that returns the quantiles of their response times in seconds.
func (e *queueEngine) sends(r *rv.Rate) (n int64, times func(float64) float64) {
	if r.ClosedLoop {
		// Each request waits for those before it, as in a closed loop with constant service times.
		time := e.service * max(1, float64(r.Count)/e.servers)
		return int64(float64(r.Count) * r.Duration.Seconds() / time), func(float64) float64 { return time }
	}
	mean := 10.0 // seconds: the queue is overloaded
	if load := float64(r.Count); load < e.rate {
		mean = min(mean, 1/(e.rate-load))
	}
	return r.Count * int64(r.Duration) / int64(r.Period), func(q float64) float64 { return -math.Log(1-q) * mean }
}

// count adds the requests of a probe.
func (e *queueEngine) count(settle, probe *rv.Rate) {
	warmUp, _ := e.sends(settle)
	n, times := e.sends(probe)
	middle := e.from + int64(settle.Duration)
	e.s.Stages[e.stage] = rv.StageCounters{Sent: warmUp, Slots: warmUp, Begun: e.from, Ended: middle}
	e.s.Stages[e.stage+1] = rv.StageCounters{Sent: n, Slots: n, Begun: middle, Ended: middle + int64(probe.Duration)}
	e.s.Changed = true
	c := &e.s.Counters
	c.WarmUpSent, c.WarmUpSucceeded = c.WarmUpSent+warmUp, c.WarmUpSucceeded+warmUp
	c.Sent, c.Done, c.Succeeded = c.Sent+n, c.Done+n, c.Succeeded+n
	const parts = 1000
	for i := range int64(parts) {
		share := n*(i+1)/parts - n*i/parts
		if share > 0 {
			e.times.RecordN(int64(times((float64(i)+0.5)/parts)*1e6), share)
			e.lag.RecordN(10, share)
		}
	}
}

// TestSearchFindsTheKnee: the whole command against a simulated target, with a knee that is drawn for each run.
func TestSearchFindsTheKnee(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			e := &queueEngine{rate: 4000 * math.Pow(100, random.Float64())}
			knee := e.rate - math.Log(100)/0.02
			start := int64(knee * math.Pow(64, 2*random.Float64()-1))
			got := searchWith(t, e, "search", "http://127.0.0.1:1/", "--p99", "20ms", "--start", fmt.Sprint(start), "-o", "json")
			code, stderr := got.code, got.errors
			var report rv.Report
			if err := json.Unmarshal([]byte(got.out), &report); err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			if code != 0 || report.Search == nil || report.Search.Outcome != rv.SearchFound || math.Abs(float64(report.Search.Highest)-knee) > 0.03*knee || len(report.Search.Probes) >= 15 {
				t.Errorf("seed %d: exit code %d, knee %.0f, start %d: %s\n%s", seed, code, knee, start, report.Verdict.Message, stderr)
			}
			if report.Verdict.Reason != "SearchFound" || len(report.Verdict.Thresholds) != 1 || !report.Verdict.Thresholds[0].Passed {
				t.Errorf("seed %d: verdict %+v", seed, report.Verdict)
			}
			if lines := strings.Count(stderr, "probe "); lines != len(report.Search.Probes) {
				t.Errorf("seed %d: %d lines of %d probes:\n%s", seed, lines, len(report.Search.Probes), stderr)
			}
			var sent int64
			for _, p := range report.Search.Probes {
				sent += p.Sent
			}
			if sent != report.Requests.Sent || report.Stopped != "" {
				t.Errorf("seed %d: the probes sent %d of %d requests, stopped %q", seed, sent, report.Requests.Sent, report.Stopped)
			}
		})
	}
}

// TestSearchFindsTheConcurrency: the servers and their service time are drawn for each run, and so is the limit. The response
// time reaches the limit at servers x limit / service time requests in flight.
func TestSearchFindsTheConcurrency(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			drawn := func(from, factor float64) float64 { return from * math.Pow(factor, random.Float64()) }
			e := &queueEngine{servers: drawn(50, 40), service: drawn(0.001, 20)}
			limit := time.Duration(drawn(1.2, 4)*e.service*1e6).Round(time.Microsecond) * time.Microsecond
			knee := e.servers * limit.Seconds() / e.service
			start := min(max(1, int64(drawn(knee/64, 64*64))), 10_000)
			got := searchWith(t, e, "search", "http://127.0.0.1:1/", "--load", "Concurrency", "-c", "100", "-m", "100", "--p99", limit.String(),
				"--start", fmt.Sprint(start), "-o", "json")
			var report rv.Report
			if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.Search == nil {
				t.Fatalf("seed %d: %v: %s", seed, err, got.errors)
			}
			r := report.Search
			if got.code != 0 || r.Outcome != rv.SearchFound || !r.Concurrency || math.Abs(float64(r.Highest)-knee) > 0.03*knee || len(r.Probes) >= 15 {
				t.Errorf("seed %d: exit code %d, knee %.0f, limit %v, start %d: %s\n%s", seed, got.code, knee, limit, start, report.Verdict.Message, got.errors)
			}
			if lines := strings.Count(got.errors, " requests in flight "); lines < len(r.Probes) {
				t.Errorf("seed %d: %d lines of %d probes:\n%s", seed, lines, len(r.Probes), got.errors)
			}
		})
	}
}

// TestSearchReadsNoManifestAgain: SIGHUP before the start and during a probe changes nothing, whatever the manifest says now.
func TestSearchReadsNoManifestAgain(t *testing.T) {
	const text = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: search}
spec:
  targets: [{name: target, url: "http://127.0.0.1:1"}]
  chains: [{name: get, target: target, steps: [{name: get, request: {method: GET, path: /}}]}]
  search: {start: 1000, max: 100000}
  thresholds: [{name: fast, metric: ResponseTime, percentile: p99, max: 20ms}]
`
	search := func(edited string, hangsUp ...int) (*queueEngine, outcome, *rv.SearchResult) {
		e, hangUp := &queueEngine{rate: 8000}, make(chan os.Signal, 4)
		name := file(t, "loadtest.yaml", text)
		if slices.Contains(hangsUp, 0) {
			hangUp <- syscall.SIGHUP
		}
		e.begins = func(probe int) {
			if err := os.WriteFile(name, []byte(edited), 0o600); err != nil {
				t.Error(err)
			}
			if slices.Contains(hangsUp, probe) {
				hangUp <- syscall.SIGHUP
			}
		}
		got := searchSignalled(t, e, hangUp, "search", name, "-q", "-o", "json")
		var report rv.Report
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.Search == nil {
			t.Fatalf("%v: %s", err, got.errors)
		}
		return e, got, report.Search
	}
	synctest.Test(t, func(t *testing.T) {
		plain, _, want := search(text)
		for _, edited := range []string{text, strings.Replace(text, "start: 1000", "start: 2000", 1), "{"} {
			e, got, result := search(edited, 0, 2)
			if says := strings.Count(got.errors, "not read again: the search chooses the rates\n"); got.code != 0 || says != 2 {
				t.Errorf("exit code %d, says %q", got.code, got.errors)
			}
			if diff := cmp.Diff(want, result); diff != "" || len(e.updates) != len(plain.updates) {
				t.Errorf("%d updates, want %d; result (-want +got):\n%s", len(e.updates), len(plain.updates), diff)
			}
		}
	})
}

// searchWith runs a command line with a simulated target.
func searchWith(t *testing.T, e *queueEngine, args ...string) outcome {
	t.Helper()
	return searchSignalled(t, e, nil, args...)
}

// searchSignalled is searchWith for a process that gets signals.
func searchSignalled(t *testing.T, e *queueEngine, signals <-chan os.Signal, args ...string) outcome {
	t.Helper()
	l := linked{
		newEngine:  e.given,
		interrupts: func(bool, func()) (<-chan os.Signal, func()) { return signals, func() {} },
		keyboard:   func(io.Reader, io.Writer) (<-chan byte, func()) { return nil, func() {} },
		allowed:    func() []int { return []int{4, 5} },
	}
	var out, errs bytes.Buffer
	code := execute(t.Context(), append([]string{"h2surge"}, args...), strings.NewReader(""), &out, &errs, l)
	return outcome{code: code, out: out.String(), errors: errs.String()}
}

// TestSearchUsage: mistakes name the flag or the field.
func TestSearchUsage(t *testing.T) {
	plain := file(t, "loadtest.yaml", manifest)
	both := file(t, "both.yaml", strings.Replace(manifest, "  thresholds:", "  search: {start: 5, min: 10}\n  thresholds:", 1))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"http://a/", "-n", "5"}, "--requests: not allowed with search"},
		{[]string{"http://a/", "--rps", "5"}, "--rps: not allowed with search"},
		{[]string{"http://a/", "--start", "0"}, "--start: must be at least 1"},
		{[]string{"http://a/", "--p99", "0"}, "--p99: must be greater than 0"},
		{[]string{"http://a/", "--p99", "0ms"}, "--p99: must be greater than 0"},
		{[]string{"http://a/", "--timeout", "0"}, "--timeout: must be greater than 0 and at most 1h"},
		{[]string{"http://a/", "--start", "1000", "--min", "2000"}, "--start: start must be at least min"},
		{[]string{"http://a/", "--start", "1000", "--max", "10"}, "--start: start must be at most max"},
		{[]string{"http://a/", "--load", "Requests"}, "--load: must be RequestsPerSecond or Concurrency"},
		{[]string{"http://a/", "--load", "Concurrency", "--max", "1001"}, "--max: must be at most 1000, the number of requests that the connections of all targets together carry"},
		{[]string{"http://a/", "--precision", "0.05%"}, "--precision: must be at least 0.1%"},
		{[]string{"http://a/", "--precision", "60%"}, "--precision: must be a percentage of at most 50%"},
		{[]string{"http://a/", "--probe-duration", "10ms"}, "--probe-duration: must be between 1s and 1h"},
		{[]string{"http://a/", "--p99", "20ms", "--max-error-rate", "x"}, "--max-error-rate: max and min of an error rate must be"},
		{[]string{plain}, "the manifest has no spec.search"},
		{[]string{both}, "all stages must be warm-up stages"},
		{[]string{both, "--p99", "20ms"}, "--p99: allowed only with a URL"},
	} {
		got := h2surge(t, nil, nil, append([]string{"search"}, tt.args...)...)
		if got.code != 1 || !strings.Contains(got.errors, tt.want) {
			t.Errorf("%v: exit code %d, want 1 with %q:\n%s", tt.args, got.code, tt.want, got.errors)
		}
	}
}

// TestSearchOfATargetsTime: a search has the figures of a threshold on a time that targets have, such as Blocked.
func TestSearchOfATargetsTime(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{})
	report := run(t, `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: search}
spec:
  targets: [{name: target, url: "http://`+peer.Addr().String()+`", connections: 2}]
  chains: [{name: get, target: target, steps: [{name: get, request: {method: GET, path: /, expect: {status: [200]}}}]}]
  search: {start: 100, max: 100, maxProbes: 3, probeDuration: 1s, settleDuration: 0s}
  thresholds: [{name: blocked, metric: Blocked, percentile: p100, max: 10s}]
`, 0, "-f", "-")
	if c := &report.Search.Probes[0].Thresholds[0]; !c.Passed || c.Observed == rv.ObservedNone {
		t.Errorf("probe: %s", c)
	}
}

// TestSearchAwaitsNotifications: the notifications of a probe count for this probe, although they come after its end.
func TestSearchAwaitsNotifications(t *testing.T) {
	waits(t)
	for unsent, tt := range map[string]struct {
		timeout string
		want    func(rate string) bool
	}{
		"0":   {"1m", func(rate string) bool { return rate == "0%" }}, // also on a slow machine
		"50%": {"3s", func(rate string) bool { return rate != "0%" && !strings.HasPrefix(rate, "-") }},
	} {
		t.Run(unsent, func(t *testing.T) {
			waits(t)
			set, err := rules.Load([]byte(`apiVersion: h2surge.io/v1alpha1
kind: Target
rules:
  - name: subscribe
    match: {method: POST, path: "/"}
    responses: [{status: 201}]
    notify: [{name: late, uri: "${json:/callback}", delay: {fixed: 500ms}, unsent: `+unsent+`}]
`), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			peer := serve(t, mock.Options{Rules: set, Seed: 1})
			report := runAny(t, `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: search}
spec:
  targets: [{name: target, url: "http://`+peer.Addr().String()+`"}]
  variables: [{name: id, counter: {}}]
  listeners: [{name: events}]
  chains:
    - name: subscription
      target: target
      steps:
        - name: subscribe
          request: {method: POST, path: /, body: '{"callback":"${listener.events.url}/${id}"}', expect: {status: [201]}}
        - {name: notification, await: {listener: events, match: {path: "/${id}"}, timeout: `+tt.timeout+`}}
  search: {start: 100, min: 25, max: 400, maxProbes: 2, probeDuration: 1s, settleDuration: 0s}
  thresholds: [{name: complete, metric: NotificationErrorRate, max: 0%}]
`, "-f", "-")
			if n := len(report.Search.Probes); n != 2 {
				t.Fatalf("%d probes, want 2", n)
			}
			for i, p := range report.Search.Probes {
				if rate := p.Thresholds[0].Observed; !tt.want(rate) {
					t.Errorf("probe %d: %s of the notifications are missing", i+1, rate)
				}
			}
		})
	}
}

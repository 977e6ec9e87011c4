package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/test/peer"
)

// asMain makes the test binary behave as h2surge: --demo starts its own executable.
const asMain = "H2SURGE_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		os.Exit(Main())
	}
	flag.Parse()
	// Tests that run in parallel wait most of the time: together they need less than half a CPU. A worker that waits in the
	// kernel holds a P; peers get one at once only if there are more. With the variable, runs leave the number alone.
	runtime.GOMAXPROCS(24)
	if err := os.Setenv("GOMAXPROCS", "24"); err != nil {
		panic(err)
	}
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // else its goroutine belongs to the bubble of the first test that runs a command
	os.Exit(m.Run())
}

// waits marks a test that runs a load in real time, or waits for a timeout. Such tests wait at the same time; -short leaves them out.
func waits(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs in real time, which -short leaves out")
	}
	t.Parallel()
}

const session = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: session}
spec:
  targets:
    - {name: pcf, url: "http://pcf.example:80", connections: 3, maxConcurrentStreams: 16}
  variables:
    - {name: ue, range: {start: 0, end: 1000, width: 10}}
  templates:
    - {name: create, method: POST, path: /s, body: '{"ue":"${ue}"}', expect: {status: [201]}, capture: [{name: at, header: location}]}
    - {name: update, method: PATCH, path: "${at}", body: '{}', expect: {status: [2xx]}}
    - {name: delete, method: DELETE, path: "${at}", expect: {status: [204]}}
  chains:
    - {name: session, target: pcf, steps: [{template: create}, {template: update}, {template: delete}]}
  rates:
    - {name: warm, duration: 300ms, requestsPerSecond: 500, warmUp: true}
    - {name: hold, duration: 1s, requestsPerSecond: 900}
    - {name: rush, requests: 300, closedLoop: {}}
`

// serve starts a target of a test, on every CPU.
func serve(t *testing.T, o mock.Options) *mock.Server {
	t.Helper()
	o.Listen = "127.0.0.1:0"
	s, err := mock.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// run executes a command line with the real engine and returns the report.
func run(t *testing.T, stdin string, wantCode int, args ...string) *rv.Report {
	t.Helper()
	var out, errors bytes.Buffer
	code := execute(t.Context(), append([]string{"h2surge", "run", "-o", "json"}, args...), strings.NewReader(stdin), &out, &errors, parts())
	if code != wantCode {
		t.Fatalf("exit code %d, want %d\n%s%s", code, wantCode, errors.String(), out.String())
	}
	r := &rv.Report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatal(err)
	}
	if err := build.Check(r); err != nil {
		t.Error(err)
	}
	return r
}

// runAny is run with any exit code.
func runAny(t *testing.T, stdin string, args ...string) *rv.Report {
	t.Helper()
	var out, errors bytes.Buffer
	execute(t.Context(), append([]string{"h2surge", "run", "-o", "json"}, args...), strings.NewReader(stdin), &out, &errors, parts())
	r := &rv.Report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
	if err := build.Check(r); err != nil {
		t.Error(err)
	}
	return r
}

func TestEndToEnd(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{})
	var r *rv.Report
	sent := uint64(0)
	for n := 0; r == nil || r.Verdict.Outcome == rv.OutcomeInconclusive && n < 5; n++ { // this machine was busy
		r = runAny(t, session, "-f", "-", "--target-url", "pcf=http://"+peer.Addr().String())
		sent += uint64(r.WarmUp.Sent + r.Requests.Sent)
	}
	if got := peer.Stats().Requests; got != sent {
		t.Errorf("the target counted %d requests, the reports have %d", got, sent)
	}
	// What is due is known to the request: 0.3 s at 500 a second, then 1 s at 900 and 300 more.
	if r.WarmUp.Sent != 150 || r.Requests.Sent+r.Requests.Dropped != 1200 || r.Requests.Succeeded != r.Requests.Sent {
		t.Errorf("warm-up %d, requests %+v", r.WarmUp.Sent, r.Requests)
	}
	for _, c := range []string{"201", "204"} {
		if r.StatusCodes[c] == 0 {
			t.Errorf("no answer with %s: %v", c, r.StatusCodes)
		}
	}
	if r.Generator.Connects != 3 || r.Verdict.Outcome != rv.OutcomePassed {
		t.Errorf("%d connections, verdict %+v", r.Generator.Connects, r.Verdict)
	}
}

func TestEndToEndWithFaults(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{Unanswered: 0.05, NotFound: 0.1, Seed: 1})
	quick := strings.ReplaceAll(session, "path:", "timeout: 200ms, path:")
	r := run(t, quick, 2, "-f", "-", "--target-url", "http://"+peer.Addr().String())
	want := uint64(r.WarmUp.Sent + r.Requests.Sent)
	for end := time.Now().Add(10 * time.Second); peer.Stats().Requests < want && time.Now().Before(end); time.Sleep(time.Millisecond) { // it may not have read the last one yet
	}
	if got := peer.Stats().Requests; got != want {
		t.Errorf("the target counted %d requests, the report has %d", got, want)
	}
	if r.Verdict.Reason != "TooManyErrors" {
		t.Errorf("the verdict is %+v", r.Verdict)
	}
	if got := r.SuccessfulResponseTime; got.Count != r.Requests.Succeeded || got.Unanswered != 0 || got.Max >= rv.Above(0) {
		t.Errorf("the times of %d successful requests are %+v", r.Requests.Succeeded, got)
	}
	if r.Requests.TimedOut == 0 || r.Requests.FailedChecks == 0 || r.Chains.Aborted == 0 {
		t.Errorf("%+v, %+v", r.Requests, r.Chains)
	}
}

// TestEndToEndUnanswered: one request in five gets no response, so the 99th percentile is longer than the timeout.
func TestEndToEndUnanswered(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{Unanswered: 0.2, Seed: 1})
	const test = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: unanswered}
spec:
  targets: [{name: t, url: "http://t.example", connections: 2}]
  templates: [{name: get, path: /, timeout: 300ms, expect: {status: [2xx]}}]
  chains: [{name: c, target: t, steps: [{template: get}]}]
  rates: [{name: hold, duration: 1s, requestsPerSecond: 300}]
  thresholds:
    - {name: fast, metric: ResponseTime, percentile: p99, max: 20ms}
    - {name: slow, metric: ResponseTime, percentile: p99, max: 10m}
    - {name: errors, metric: ErrorRate, max: 100%}
`
	var r *rv.Report
	for n := 0; r == nil || r.Verdict.Outcome == rv.OutcomeInconclusive && n < 5; n++ { // this machine was busy
		r = runAny(t, test, "-f", "-", "--target-url", "http://"+peer.Addr().String())
	}
	q := &r.Requests
	if want := q.Sent + q.Dropped - q.Done; r.ResponseTime.Unanswered != want || q.TimedOut == 0 || r.ResponseTime.Count != q.Sent+q.Dropped {
		t.Errorf("%d of %d requests without a response, want %d; %+v", r.ResponseTime.Unanswered, r.ResponseTime.Count, want, q)
	}
	above := r.ResponseTime.P99 // a busy machine sends late, and the lag is part of the time
	if above < rv.Above(300_000) || r.Steps[0].ResponseTime.P99 != above || r.Shards[0].ResponseTime.P99 != above {
		t.Errorf("p99 %d, of the step %d, of the shard %d; want > 300ms, %d", above, r.Steps[0].ResponseTime.P99, r.Shards[0].ResponseTime.P99, rv.Above(300_000))
	}
	want := strings.ReplaceAll("fast: p99 of ResponseTime > TIME (no response), limit <= 20ms; slow: p99 of ResponseTime > TIME (no response), limit <= 10m",
		"TIME", build.FormatTime(above-rv.Above(0)))
	if r.Verdict.Outcome != rv.OutcomeFailed || r.Verdict.Reason != "ThresholdsFailed" || r.Verdict.Message != want {
		t.Errorf("the verdict is %+v, want %s", r.Verdict, want)
	}
}

func TestEndToEndURL(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{})
	r := run(t, "", 0, "-n", "1000", "-c", "4", "-m", "10", "-t", "2", "-H", "x-a: b", "http://"+peer.Addr().String()+"/x?y=z")
	if stats := peer.Stats(); r.Requests.Succeeded != 1000 || stats.Requests != 1000 || stats.ByMethod["GET"] != 1000 {
		t.Errorf("%+v, the target: %+v", r.Requests, stats)
	}
}

func TestEndToEndDeadTarget(t *testing.T) {
	waits(t)
	quick := strings.Replace(session, "connections: 3,", "connections: 3, connectTimeout: 300ms,", 1)
	r := run(t, quick, 5, "-f", "-", "--target-url", "http://127.0.0.1:"+peer.Refused(t))
	if r.Requests.Sent != 0 || r.Verdict.Reason != "TargetUnreachable" {
		t.Errorf("%+v, %+v", r.Requests, r.Verdict)
	}
}

func TestEndToEndDemo(t *testing.T) {
	t.Setenv(asMain, "1")
	var out, errors bytes.Buffer
	code := execute(t.Context(), []string{"h2surge", "run", "-f", "-", "--demo"}, strings.NewReader(session), &out, &errors, parts())
	judged := regexp.MustCompile(`Verdict: (Passed|Inconclusive)`) // the latter on a busy machine
	if code != 0 || !judged.MatchString(out.String()) {
		t.Errorf("exit code %d\n%s%s", code, errors.String(), out.String())
	}
	counts := regexp.MustCompile(`demo: sent (\d+) requests .*, the target counted (\d+)`).FindStringSubmatch(errors.String())
	if counts == nil || counts[1] != counts[2] {
		t.Fatalf("the two ends differ: %q", errors.String())
	}
	if n, _ := strconv.Atoi(counts[1]); n < 1000 {
		t.Errorf("%d requests", n)
	}
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/api/v1alpha1"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/test/golden"
)

func TestExitCodes(t *testing.T) {
	loadTest := file(t, "loadtest.yaml", manifest)
	noThresholds := file(t, "plain.yaml", manifest[:strings.Index(manifest, "  thresholds:")])
	lagging := func(s *rv.Snapshot) {
		answered(100, 0, 500_000)(s)
		s.Histograms.Lag = s.ResponseTime
		s.Generator.LagP99 = 500_000
	}
	for _, tc := range []struct {
		name   string
		file   string
		engine *fakeEngine
		want   int
		errors string // all of standard error, progress aside; "": nothing
	}{
		{name: "passed", file: loadTest, engine: newFakeEngine(answered(100, 0, 1000)), want: 0},
		{name: "passed, no thresholds", file: noThresholds, engine: newFakeEngine(answered(100, 1, 1000)), want: 0},
		{name: "too many errors, no thresholds", file: noThresholds, engine: newFakeEngine(answered(100, 2, 1000)), want: 2, errors: "the error rate is 2%, above the default limit of 1%: of 100 requests, 2 failed their checks"},
		{name: "teardown failed", file: loadTest, want: 2, errors: "teardown failed: chain close: timedOut", engine: newFakeEngine(func(s *rv.Snapshot) {
			answered(100, 0, 1000)(s)
			s.TeardownFailure = "chain close: timedOut"
		})},
		{name: "a threshold failed", file: loadTest, engine: newFakeEngine(answered(100, 0, 30_000)), want: 2},
		{name: "the generator was the bottleneck", file: loadTest, engine: newFakeEngine(lagging), want: 3},
		{name: "stopped", file: loadTest, want: 4, engine: newFakeEngine(func(s *rv.Snapshot) {
			answered(100, 0, 1000)(s)
			s.Stopped = "spec.stop"
		})},
		{name: "no response", file: loadTest, engine: newFakeEngine(unanswered(100)), want: 5, errors: "none of 100 requests succeeded: 100 timed out"},
		{name: "every response is wrong", file: noThresholds, want: 2, errors: "of 100 requests, 100 x status 401", engine: newFakeEngine(func(s *rv.Snapshot) {
			answered(100, 100, 1000)(s)
			s.StatusCodes = map[string]int64{"401": 100}
			s.Steps[0].StatusCodes, s.Steps[0].FailedBy = s.StatusCodes, map[string]int64{"status": 100}
		})},
		{name: "the counters do not add up", file: loadTest, want: 5, errors: "the counters do not add up", engine: newFakeEngine(func(s *rv.Snapshot) {
			answered(100, 0, 1000)(s)
			s.Counters.Done--
		})},
		{name: "the engine refuses", file: loadTest, engine: &fakeEngine{refuse: errors.New("too many connections")}, want: 5, errors: "too many connections"},
		{name: "the runner fails", file: loadTest, want: 5, errors: "out of file descriptors", engine: newFakeEngine(func(s *rv.Snapshot) {
			answered(100, 0, 1000)(s)
			s.Problem, s.Message = rv.ProblemInternal, "out of file descriptors"
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := h2surge(t, tc.engine, nil, "run", "-f", tc.file)
			if got.code != tc.want {
				t.Errorf("exit code %d, want %d\n%s", got.code, tc.want, got.errors)
			}
			if !strings.Contains(got.errors, tc.errors) || tc.errors == "" && got.errors != "" {
				t.Errorf("standard error: %q, want %q in it", got.errors, tc.errors)
			}
			if hasReport := got.out != ""; hasReport != (tc.engine.refuse == nil) {
				t.Errorf("a report: %v", hasReport)
			}
		})
	}
}

// TestBodyOfADuration: -d 2s sends a body, and is probably meant to be -D 2s.
func TestBodyOfADuration(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{"2s", "warning: -d: the body of the requests is \"2s\"; if it is the duration, write -D 2s\n"},
		{"1.5m", "warning: -d: the body of the requests is \"1.5m\"; if it is the duration, write -D 1.5m\n"},
		{"2", ""},
		{"a=2s", ""},
	} {
		if got := h2surge(t, nil, nil, "run", "--dry-run", "-d", tc.body, "http://a.example"); got.code != 0 || got.errors != tc.want {
			t.Errorf("%s: exit code %d, %q, want %q", tc.body, got.code, got.errors, tc.want)
		}
	}
}

// TestShardsToTry: if the generator was the bottleneck, the report recommends a number in the words that the user wrote.
func TestShardsToTry(t *testing.T) {
	late := func(s *rv.Snapshot) {
		answered(50, 0, 1000)(s)
		s.Histograms.Lag, s.Generator.LagP99 = s.ResponseTime, 500_000
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a manifest":          {[]string{"-f", file(t, "loadtest.yaml", strings.Replace(manifest, "Second: 100", "Second: 60", 1))}, "; try spec.runner.shards: 2"},
		"flags":               {[]string{"http://a.example", "-c", "8", "-D", "1s", "--rps", "60"}, "; try -t 2"},
		"too few connections": {[]string{"http://a.example", "-D", "1s", "--rps", "60"}, "; try -t 2, with at least 2 connections for each target"},
		"too few CPUs":        {[]string{"http://a.example", "-c", "8", "-D", "1s", "--rps", "100"}, "; it needs about 3 workers with a CPU each, and this machine has 2: run the test in a cluster with 3 shards"},
	} {
		t.Run(name, func(t *testing.T) {
			got := h2surge(t, newFakeEngine(late), nil, append([]string{"run", "-o", "json"}, tc.args...)...)
			var r rv.Report
			if err := json.Unmarshal([]byte(got.out), &r); err != nil || !strings.HasSuffix(r.Verdict.Message, tc.want) {
				t.Errorf("%v: %s\nwant ...%s", err, r.Verdict.Message, tc.want)
			}
		})
	}
}

func TestDeadTarget(t *testing.T) {
	quick := file(t, "loadtest.yaml", strings.Replace(manifest, "connections: 8", "connections: 8, connectTimeout: 10ms", 1))
	e := newFakeEngine(nil)
	e.dead = true
	got := h2surge(t, e, nil, "run", "-f", quick, "-o", "json")
	if got.code != 5 || !strings.Contains(got.errors, "connection refused") {
		t.Errorf("exit code %d, %q, want 5 with the reason", got.code, got.errors)
	}
	var r rv.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.Verdict.Reason != "TargetUnreachable" || r.Requests.Sent != 0 {
		t.Errorf("report: %v, %+v", err, r.Verdict)
	}
}

// TestInterruptWithoutResponses: an interrupt is an interrupt, also if each request timed out.
func TestInterruptWithoutResponses(t *testing.T) {
	signals := make(chan os.Signal, 2)
	e := newFakeEngine(unanswered(10))
	e.lasting = true
	go func() {
		<-e.started
		signals <- os.Interrupt
	}()
	got := h2surge(t, e, signals, "run", "-f", "-")
	if got.code != 4 || !strings.Contains(mask.Line(got.out), "none of 10 requests succeeded: 10 timed out") {
		t.Errorf("exit code %d, want 4\n%s%s", got.code, got.out, got.errors)
	}
}

func TestInterrupt(t *testing.T) {
	signals := make(chan os.Signal, 2)
	e := newFakeEngine(answered(10, 0, 1000))
	e.lasting = true
	go func() {
		<-e.started
		signals <- os.Interrupt
	}()
	got := h2surge(t, e, signals, "run", "-f", "-", "-o", "json")
	if got.code != 4 {
		t.Errorf("exit code %d, want 4\n%s", got.code, got.errors)
	}
	if len(e.stops) != 1 || !e.stops[0].Drain {
		t.Errorf("stops: %v, want one that drains", e.stops)
	}
	var r rv.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.Requests.Sent != 10 || r.Stopped != reasonInterrupted || r.Verdict.Reason != "Interrupted" {
		t.Errorf("report: %v, %+v", err, r)
	}
}

// A mistake ends the command before an engine is made: h2surge fails the test if one is. testdata/messages.txt has the messages.
func TestMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("loadtest.yaml", manifest)
	write("wrong.yaml", strings.NewReplacer("path: /}", "path: '/${x}'}", "target: a,", "target: b,").Replace(manifest))
	write("unknown.yaml", strings.Replace(manifest, "path: /", "pth: /", 1))
	write("binary", "\xff\xfe")
	for _, dir := range []string{"empty", "tests"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("1h", "a body")
	write("tests/a.yaml", manifest)
	write("tests/b.yaml", manifest)
	const url = "http://127.0.0.1:1/"
	var all strings.Builder
	for _, args := range [][]string{
		{"run"},
		{"run", "-f", "loadtest.yaml", url},
		{"run", "-n", "2", url, "http://127.0.0.2:1/"},
		{"run", "-i", "-", url},
		{"run", "-i", "/does/not/exist"},
		{"run", "-i", os.DevNull},
		{"run", url, "http://h:1 /"},
		{"run", "--cacert", "ca.pem", "--sni", "a", url},
		{"run", "--ciphers", "DES", "https://h"},
		{"run", "--ciphers", "TLS_AES_128_GCM_SHA256", "https://h"},
		{"run", "--groups", "X448", "https://h"},
		{"run", "--alpn", "h3", "https://h"},
		{"run", "--alpn", "h2", "--h1", "https://h"},
		{"run", "--alpn", "h2", "--h3", "https://h"},
		{"run", "--h1", "--h3", "https://h"},
		{"run", "--h3", url},
		{"run", "--h3", "--unix", "/a", "https://h"},
		{"run", "--h3", "-w", "20", "https://h"},
		{"run", "--h1", "-w", "20", url},
		{"run", "-W", "15", url},
		{"run", "-w", "0", url},
		{"run", "--max-frame-size", "16M", url},
		{"run", "--header-table-size", "2G", url},
		{"run", "--h1", "-m", "65", url},
		{"run", "--h1", "--no-keepalive", "-m", "2", url},
		{"run", "--no-keepalive", url},
		{"run", "--unix", "/a", "--connect-to", "b", url},
		{"run", "--unix", "a", url},
		{"run", "--key", "a", "https://h"},
		{"run", "--connection-rate-period", "2", url},
		{"run", "-r", "1", "--connection-rate-period", "0", url},
		{"run", "--local-address", "localhost", url},
		{"run", "--connection-choice", "batch", url},
		{"run", "--histogram", "-o", "json", url},
		{"run", "-f", "loadtest.yaml", "-c", "3"},
		{"run", "--target-url", "a=http://x", url},
		{"run", "--demo", url},
		{"run", "-f", "loadtest.yaml", "--target-url", "z=http://x"},
		{"run", "-o", "xml", url},
		{"run", "--frequency", "1", url},
		{"launch"},
		{"run", "-f", "/does/not/exist"},
		{"run", "-f", "loadtest.yaml", "--output-file", "/does/not/exist/r.json"},
		{"run", "-f", "loadtest.yaml", "--output-file="},
		{"run", "-f", "wrong.yaml"},
		{"run", "-f", "unknown.yaml"},
		{"run", "127.0.0.1"},
		{"run", "-c", "1", "-t", "2", "-D", "1s", url},
		{"run", "-n", "1", "-c", "2", url},
		{"run", "-n", "0", url},
		{"run", "-n", "1", "-c", "2", "-H", "x", url},
		{"run", "-c", "2", url},
		{"run", "-t", "2", "-c", "100", "-d", "30s", url},
		{"run", "-t", "2", "-d", "30s", url},
		{"run", "-n", "1", "-c", "2", "-d", "30s", url},
		{"run", "-t", "2", "-d", "30s", "-D", "1s", url},
		{"run", "-c", "2", "-d", "1h", url},
		{"run", "-c", "0", "-D", "1s", url},
		{"run", "-m", "0", url},
		{"run", "-D", "soon", url},
		{"run", "-H", "connection: close", url},
		{"run", "-d", "@/does/not/exist", url},
		{"run", "--json", "@/does/not/exist", url},
		{"run", "-F", "x", url},
		{"run", "-F", "x=@/does/not/exist", url},
		{"run", "--resolve", "h:1:a", "--connect-to", "b", url},
		{"run", "--connect-timeout", "soon", url},
		{"run", "-u", "user", url},
		{"run", "--head=false", url},
		{"run", "-f", "loadtest.yaml", "--json", "{}"},
		{"run", "-f", "loadtest.yaml", "-u", "a:b"},
		{"run", "-H", ":authority: x", url},
		{"run", "-H", "@file", url},
		{"run", "--max-time", "5", url},
		{"run", "-x", "http://p", url},
		{"run", "-i", url},
		{"run", "-f", url},
		{"run", "-c", "jar.txt", url},
		{"run", "-T", "body.json", url},
		{"run", "-w", "%{http_code}", url},
		{"run", "-N", url},
		{"report", "/does/not/exist"},
		{"report", "loadtest.yaml"},
		{"run", "--rate", "5", url},
		{"run", "--rate-period", "5s", url},
		{"run", "--method", "PUT", url},
		{"run", "--output", "json", "--reqests", "5", url},
		{"run", "-Z", url},
		{"run", "-n"},
		{"run", "-n", "many", url},
		{"run", "--rps", "5x", url},
		{"run", "--rps", "-5", url},
		{"run", "--ramp-from", "-5", "--rps", "5", "-D", "1s", url},
		{"run", "--ramp-from", "5", "-D", "1s", url},
		{"run", "--ramp-from", "5", "--rps", "5", url},
		{"run", "--ramp-from", "5", "--rps", "5", "-D", "1s", "--warm-up-time", "1s", url},
		{"run", "--arrivals", "Poisson", url},
		{"run", "--arrivals", "poisson", "--rps", "5", url},
		{"run", "--arrivals", "Burst", "--rps", "5", url},
		{"run", "--burst-size", "2", "--rps", "5", url},
		{"run", "--rps", "0.000001", url},
		{"run", "--rps", "200000000", url},
		{"run", "--rps", "200000000.5", url},
		{"run", "--rps", "250000.001", "-D", "10s", url},
		{"run", "--rps", "99999999.9", url},
		{"run", "--rps", "12345.6789", "--ramp-from", "50000", "-D", "10s", url},
		{"run", "--rps", "1234.5678", "--ramp-from", "20001", "-D", "10s", url},
		{"run", "-X", "A B", url},
		{"run", "--dry-run", "-o", "html", url},
		{"run", "--dry-run", "--demo", "loadtest.yaml"},
		{"run", "loadtest.yaml", url},
		{"run", "-f", "tests"},
		{"run", "-f", "empty"},
		{"run", "loadtest.yaml", "wrong.yaml"},
		{"run", "lodtest.yaml"},
		{"try"},
		{"try", "loadtest.yaml", "-o", "html"},
		{"lint"},
		{"explain", "spec", "rates"},
		{"report"},
		{"report", "a", "b"},
		{"report", "loadtest.yaml", "-o", "xml"},
		{"convert", "h2laod"},
		{"rnu"},
		{"loadtest.yaml"},
		{url},
		{"convert", "k6", "script.js"},
		{"convert", "vegeta"},
		{"convert", "h2load"},
		{"convert", "ab"},
		{"run", "-R", "5", url},
		{"run", "-z", "5s", url},
		{"run", "-u", "5", url},
		{"run", "--vus", "5", url},
		{"lint", "-R", "loadtest.yaml"},
		{"run", "--timeout", "0", url},
		{"run", "-D", "1d", url},
		{"run", "-D", "10sec", url},
	} {
		got := h2surge(t, nil, nil, args...)
		if got.code != 1 || got.out != "" || got.errors == "" {
			t.Errorf("%v: exit code %d, output %q, errors %q", args, got.code, got.out, got.errors)
		}
		fmt.Fprintf(&all, "$ h2surge %s\n%s\n", strings.Join(args, " "), got.errors)
	}
	golden.Compare(t, "messages.txt", all.String())
}

func matches(got, want string) bool {
	g, w := strings.Split(strings.TrimSuffix(got, "\n"), "\n"), strings.Split(strings.TrimSuffix(want, "\n"), "\n")
	return slices.EqualFunc(g, w, func(g, w string) bool {
		begin, open := strings.CutSuffix(w, "...")
		return g == w || open && strings.HasPrefix(g, begin) && len(g) > len(begin)
	})
}

func TestTargetURLAndReportFile(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "r.json.gz")
	e := newFakeEngine(answered(7, 0, 1000))
	got := h2surge(t, e, nil, "run", "-f", "-", "--target-url", "http://127.0.0.1:81/base", "--target-url", "a=http://127.0.0.1:82", "-o", "json", "--output-file", saved)
	if got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.errors)
	}
	if at := e.plan.Targets[0].Endpoints[0].Address; at != "127.0.0.1:82" {
		t.Errorf("the target is at %s", at)
	}
	again := h2surge(t, nil, nil, "report", saved, "-o", "json")
	if again.code != 0 || again.out != got.out {
		t.Errorf("exit code %d; the saved report differs from the one shown: %s", again.code, again.errors)
	}
	entries, err := os.ReadDir(filepath.Dir(saved))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestReportToADevice(t *testing.T) {
	got := h2surge(t, newFakeEngine(answered(7, 0, 1000)), nil, "run", "-f", "-", "--output-file", os.DevNull)
	if info, err := os.Stat(os.DevNull); got.code != 0 || err != nil || info.Mode().IsRegular() {
		t.Errorf("exit code %d, %s is %v now", got.code, os.DevNull, info.Mode())
	}
}

func TestMistakeLeavesNoReportBehind(t *testing.T) {
	dir := t.TempDir()
	e := &fakeEngine{refuse: errors.New("no")}
	h2surge(t, e, nil, "run", "-f", "-", "--output-file", filepath.Join(dir, "r.json"))
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestRunWarnsAsLintDoes: a run of a manifest shows what cannot happen, and what is sent as it is.
func TestRunWarnsAsLintDoes(t *testing.T) {
	name := file(t, "t.yaml", `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: t}
spec:
  targets: [{name: web, url: https://127.0.0.1:1}]
  templates: [{name: get, path: "/{{token}}"}]
  chains: [{name: c, target: web, steps: [{template: get}]}]
  rates: [{name: r, requestsPerSecond: 20, duration: 10s}]
  thresholds: [{name: fast, metric: ResponseTime, percentile: p99.99, max: 20ms}]
`)
	got := h2surge(t, newFakeEngine(answered(200, 0, 1000)), nil, "run", "-f", name)
	for _, want := range []string{
		"warning: spec.templates[0].path: {{token}} is sent as it is; for the value of a variable or a capture, write ${token}\n",
		"warning: spec.thresholds[0].percentile: p99.99 needs at least 10000 requests, and the test sends at most 200: it is the greatest time\n",
	} {
		if !strings.Contains(got.errors, want) {
			t.Errorf("errors %q lack %q", got.errors, want)
		}
	}
}

// TestDemoWithoutTLS: --demo says which part of the manifest it does not try.
func TestDemoWithoutTLS(t *testing.T) {
	got := withoutTLS([]v1alpha1.Target{{Name: "plain", URL: "http://h"}, {Name: "web", URL: "https://h"}, {Name: "core", TLS: &v1alpha1.TLS{}}})
	want := []string{
		"spec.targets[1] (web): the target of --demo has no TLS, so the TLS of the manifest is not tried",
		"spec.targets[2] (core): the target of --demo has no TLS, so the TLS of the manifest is not tried",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	e := newFakeEngine(answered(7, 0, 1000))
	got := h2surge(t, e, nil, "run", "-t", "3", "-c", "3", "-n", "7", "http://127.0.0.1:1/")
	if got.code != 0 || got.errors != "warning: -t: 2 CPUs may be used, so there will be 2 workers, not 3\n" || !slices.Equal(e.cpus, []int{4, 5}) {
		t.Errorf("exit code %d, CPUs %v: %s", got.code, e.cpus, got.errors)
	}
}

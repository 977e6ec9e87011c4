package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
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
		{name: "too many errors, no thresholds", file: noThresholds, engine: newFakeEngine(answered(100, 2, 1000)), want: 2, errors: "the error ratio is 2%, above the default limit of 1%: of 100 requests, 2 failed their checks"},
		{name: "teardown failed", file: loadTest, want: 2, errors: "teardown failed: chain close: timedOut", engine: newFakeEngine(func(s *rv.Snapshot) {
			answered(100, 0, 1000)(s)
			s.TeardownFailure = "chain close: timedOut"
		})},
		{name: "a threshold is breached", file: loadTest, engine: newFakeEngine(answered(100, 0, 30_000)), want: 2},
		{name: "the generator was the bottleneck", file: loadTest, engine: newFakeEngine(lagging), want: 3},
		{name: "stopped", file: loadTest, want: 4, engine: newFakeEngine(func(s *rv.Snapshot) {
			answered(100, 0, 1000)(s)
			s.Stopped = "spec.stop"
		})},
		{name: "not one success", file: loadTest, engine: newFakeEngine(answered(100, 100, 1000)), want: 5, errors: "not one of 100 requests succeeded"},
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

// Mistakes end the command before an engine is made: h2surge fails the test if one is.
func TestMistakes(t *testing.T) {
	loadTest := file(t, "loadtest.yaml", manifest)
	wrong := file(t, "wrong.yaml", strings.NewReplacer("path: /}", "path: '/${x}'}", "target: a,", "target: b,").Replace(manifest))
	unknown := file(t, "unknown.yaml", strings.Replace(manifest, "path: /", "pth: /", 1))
	binary := file(t, "binary", "\xff\xfe")
	const url = "http://127.0.0.1:1/"
	for _, tc := range []struct {
		name string
		args []string
		want string // standard error; a line that ends in ... may go on
	}{
		{"nothing to run", []string{"run"}, "a manifest (-f FILE) or a URL is needed\n"},
		{"both forms", []string{"run", "-f", loadTest, url}, "-f and a URL exclude each other\n"},
		{"URLs on two hosts", []string{"run", "-n", "2", url, "http://127.0.0.2:1/"}, "URL: number 2 is on another host, port or scheme than the first; ..."},
		{"a file of URLs and a URL", []string{"run", "-i", "-", url}, "-i and URLs on the command line exclude each other\n"},
		{"no file of URLs", []string{"run", "-i", "/does/not/exist"}, "-i: open /does/not/exist: no such file or directory\n"},
		{"an empty file of URLs", []string{"run", "-i", os.DevNull}, "-i: " + os.DevNull + ": there is no URL in it\n"},
		{"a bad URL among several", []string{"run", url, url + "%zz\x01"}, "URL: ..."},
		{"certificates without https", []string{"run", "--cacert", "ca.pem", "--sni", "a", url}, "--sni, --cacert: tls needs an https url\n"},
		{"a suite that nobody knows", []string{"run", "--ciphers", "DES", "https://h"}, "--ciphers: is not known; ..."},
		{"a suite of TLS 1.3", []string{"run", "--ciphers", "TLS_AES_128_GCM_SHA256", "https://h"}, "--ciphers: belongs to TLS 1.3, ..."},
		{"a group that nobody knows", []string{"run", "--groups", "X448", "https://h"}, "--groups: must be one of ..."},
		{"HTTP/3", []string{"run", "--alpn", "h3", "https://h"}, "--alpn: must be h2 or http/1.1\n"},
		{"two protocols at once", []string{"run", "--alpn", "h2", "--h1", "https://h"}, "--alpn: --h1 offers http/1.1 alone\n"},
		{"windows of HTTP/1.1", []string{"run", "--h1", "-w", "20", url}, "-w: http2 is not possible where only HTTP/1.1 is spoken\n"},
		{"a window below the least", []string{"run", "-W", "15", url}, "-W: must be between 65535 and 2147483647\n"},
		{"a window of zero", []string{"run", "-w", "0", url}, "invalid argument \"0\" for \"-w, --window-bits\" flag: ..."},
		{"a frame too large", []string{"run", "--max-frame-size", "16M", url}, "--max-frame-size: must be between 16384 and 16777215\n"},
		{"a size of many octets", []string{"run", "--header-table-size", "2G", url}, "invalid argument \"2G\" for \"--header-table-size\" flag: ..."},
		{"much pipelining", []string{"run", "--h1", "-m", "65", url}, "-m: HTTP/1.1 pipelines 64 requests at most\n"},
		{"pipelining without keep-alive", []string{"run", "--h1", "--no-keepalive", "-m", "2", url}, "-m: must be 1 with --no-keepalive, ..."},
		{"HTTP/2 without keep-alive", []string{"run", "--no-keepalive", url}, "--no-keepalive: goes with --h1\n"},
		{"two addresses to connect to", []string{"run", "--unix", "/a", "--connect-to", "b", url}, "--unix: excludes --connect-to\n"},
		{"a relative socket", []string{"run", "--unix", "a", url}, "--unix: must be unix: and an absolute path\n"},
		{"a key alone", []string{"run", "--key", "a", "https://h"}, "--key: goes with --cert\n"},
		{"a period alone", []string{"run", "--rate-period", "2", url}, "--rate-period: goes with -r\n"},
		{"a period of nothing", []string{"run", "-r", "1", "--rate-period", "0", url}, "--rate-period: must be greater than 0 and at most 1h\n"},
		{"a local address that is a name", []string{"run", "--local-address", "localhost", url}, "--local-address: must be IP addresses, without a zone\n"},
		{"a histogram in JSON", []string{"run", "--histogram", "-o", "json", url}, "--histogram: goes with the text formats; ..."},
		{"flags of the other form", []string{"run", "-f", loadTest, "-c", "3"}, "--clients goes with a URL; a manifest says that itself\n"},
		{"target-url with a URL", []string{"run", "--target-url", "a=http://x", url}, "--target-url goes with a manifest (-f)\n"},
		{"demo with a URL", []string{"run", "--demo", url}, "--demo goes with a manifest (-f)\n"},
		{"unknown target", []string{"run", "-f", loadTest, "--target-url", "z=http://x"}, "--target-url: there is no target \"z\"; there is \"a\"\n"},
		{"unknown format", []string{"run", "-o", "xml", url}, "-o: \"xml\" is not possible; text, json, html and h2load are\n"},
		{"unknown flag", []string{"run", "--frequency", "1", url}, "unknown flag: --frequency (see h2surge run --help)\n"},
		{"unknown command", []string{"fly"}, "unknown command \"fly\" for \"h2surge\" (see h2surge --help)\n"},
		{"no such file", []string{"run", "-f", "/does/not/exist"}, "-f: open /does/not/exist: no such file or directory\n"},
		{"report cannot be saved", []string{"run", "-f", loadTest, "--report", "/does/not/exist/r.json"}, "--report: open /does/not/exist/..."},
		{"two mistakes in a manifest", []string{"run", "-f", wrong},
			wrong + ":8: spec.templates[0].path: variable \"x\" is not defined\n" + wrong + ":10: spec.chains[0].target: ..."},
		{"unknown field", []string{"run", "-f", unknown}, unknown + ":8: spec.templates[0].pth: ..."},
		{"no URL", []string{"run", "127.0.0.1"}, "URL: must begin with http:// or https://\n"},
		{"fewer connections than threads", []string{"run", "-c", "1", "-t", "2", "-D", "1s", url}, "-c: 1 connections cannot keep 2 threads (-t) busy; it must be at least -t\n"},
		{"fewer requests than connections", []string{"run", "-n", "1", "-c", "2", url}, "-n: 1 requests are fewer than the 2 connections (-c); ..."},
		{"no requests", []string{"run", "-n", "0", url}, "-n: must be between 1 and 1000000000000\n"},
		{"two mistakes in flags", []string{"run", "-n", "1", "-c", "2", "-H", "x", url}, "-n: ...\n-H: must be of the form 'name: value'\n"},
		{"no connections", []string{"run", "-c", "0", "-D", "1s", url}, "-c: 0 connections cannot keep 1 threads (-t) busy; it must be at least -t\n"},
		{"no streams", []string{"run", "-m", "0", url}, "-m: must be at least 1\n"},
		{"bad duration", []string{"run", "-D", "soon", url}, "invalid argument \"soon\" for \"-D, --duration\" flag: ..."},
		{"bad header", []string{"run", "-H", "connection: close", url}, "-H: is specific to a connection ..."},
		{"no body file", []string{"run", "-d", "/does/not/exist", url}, "-d: open /does/not/exist: no such file or directory\n"},
		{"binary body", []string{"run", "-d", binary, url}, "-d: " + binary + " is not UTF-8 text; other bodies are not supported yet\n"},
		{"report of nothing", []string{"report", "/does/not/exist"}, "open /does/not/exist: no such file or directory\n"},
		{"report of another thing", []string{"report", loadTest}, loadTest + ": not a report: ..."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := h2surge(t, nil, nil, tc.args...)
			if got.code != 1 || got.out != "" || !matches(got.errors, tc.want) {
				t.Errorf("exit code %d, output %q, errors:\n%swant exit code 1 and\n%s", got.code, got.out, got.errors, tc.want)
			}
		})
	}
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
	got := h2surge(t, e, nil, "run", "-f", "-", "--target-url", "http://127.0.0.1:81/base", "--target-url", "a=http://127.0.0.1:82", "-o", "json", "--report", saved)
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
	got := h2surge(t, newFakeEngine(answered(7, 0, 1000)), nil, "run", "-f", "-", "--report", os.DevNull)
	if info, err := os.Stat(os.DevNull); got.code != 0 || err != nil || info.Mode().IsRegular() {
		t.Errorf("exit code %d, %s is %v now", got.code, os.DevNull, info.Mode())
	}
}

func TestMistakeLeavesNoReportBehind(t *testing.T) {
	dir := t.TempDir()
	e := &fakeEngine{refuse: errors.New("no")}
	h2surge(t, e, nil, "run", "-f", "-", "--report", filepath.Join(dir, "r.json"))
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWarnings(t *testing.T) {
	e := newFakeEngine(answered(7, 0, 1000))
	got := h2surge(t, e, nil, "run", "-t", "3", "-c", "3", "-n", "7", "http://127.0.0.1:1/")
	if got.code != 0 || got.errors != "warning: -t: 2 CPUs may be used, so there will be 2 workers, not 3\n" || !slices.Equal(e.cpus, []int{4, 5}) {
		t.Errorf("exit code %d, CPUs %v: %s", got.code, e.cpus, got.errors)
	}
}

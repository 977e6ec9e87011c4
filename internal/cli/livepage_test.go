package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

var liveURL = regexp.MustCompile(`live report: (http://127\.0\.0\.1:[0-9]+/)\n`)

// read returns what is at an address of the live page.
func read(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url) //nolint:noctx // of this process
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Body.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%s: %d, %v", url, r.StatusCode, err)
	}
	return string(b)
}

// TestEndToEndLive: the page has the figures so far while the test runs, and the report of standard output at the end.
func TestEndToEndLive(t *testing.T) {
	waits(t)
	peer := serve(t, mock.Options{})
	name := file(t, "m.yaml", strings.Replace(manifest, "requestsPerSecond: 100, duration: 1s}", "requestsPerSecond: 500, duration: 1s}\n    - {name: slow, requestsPerSecond: 20, duration: 4s}", 1)+
		"    - {name: each-second, metric: Rate, min: 100, window: 1s}\n") // the rate of the whole run is 116
	windowFailed := false
	var sent []int64
	url := ""
	progress := &atLine{}
	progress.line = func() {
		if url == "" {
			url = liveURL.FindStringSubmatch(progress.String())[1]
		}
		var r rv.Report
		if err := json.Unmarshal([]byte(read(t, url+"report.json")), &r); err != nil || r.Name != "default/small" {
			t.Errorf("report so far of %q: %v", r.Name, err)
		}
		sent = append(sent, r.Requests.Sent)
		for _, th := range r.Verdict.Thresholds {
			windowFailed = windowFailed || th.Name == "each-second" && !th.Passed && th.Observed != rv.ObservedNone && r.EndTime == ""
		}
		page := read(t, url)
		if !strings.Contains(page, "<main data-live>") || r.Requests.Sent > 0 && !strings.Contains(page, `<td class="text">p99 of ResponseTime</td>`) {
			t.Errorf("page of a running test:\n%s", page)
		}
	}
	p := parts()
	first, final := true, ""
	p.interrupts = func(bool, func()) (<-chan os.Signal, func()) {
		wishes := make(chan os.Signal, 1)
		if !first { // the user has seen the final report
			final = read(t, url+"report.json")
			if page := read(t, url); strings.Contains(page, "data-live") {
				t.Errorf("the final page:\n%s", page)
			}
			wishes <- os.Interrupt
		}
		first = false
		return wishes, func() {}
	}
	var out bytes.Buffer
	args := []string{"h2surge", "run", "-f", name, "-o", "json", "--live", "--live-keep", "--target-url", "http://" + peer.Addr().String()}
	if code := execute(t.Context(), args, strings.NewReader(""), &out, progress, p); code != 2 && code != 3 { // 3: this machine is busy
		t.Fatalf("exit code %d\n%s%s", code, progress.String(), out.String())
	}
	if len(sent) < 2 || sent[len(sent)-1] <= sent[0] {
		t.Errorf("sent so far: %d", sent)
	}
	if !windowFailed {
		t.Error("the page does not show that a threshold on windows failed")
	}
	if final != out.String() || final == "" {
		t.Errorf("the final page has another report: %s", final)
	}
}

func TestLiveFlags(t *testing.T) {
	name := file(t, "m.yaml", manifest)
	for _, tt := range []struct{ args, want string }{
		{"--live=0.0.0.0:0", `--live: other machines can reach "0.0.0.0"; allowed: an address of this machine only`},
		{"--live=x", `--live: "x" is not a port`},
		{"--live-keep", "--live-keep, --live-remote: allowed only with --live"},
		{"--live-remote", "--live-keep, --live-remote: allowed only with --live"},
		{"--live --dry-run", "--live: not allowed with --dry-run"},
	} {
		args := append([]string{"run", "-f", name}, strings.Fields(tt.args)...)
		if got := h2surge(t, nil, nil, args...); got.code != 1 || !strings.Contains(got.errors, tt.want) {
			t.Errorf("%s: %d, %s", tt.args, got.code, got.errors)
		}
	}
	if got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, "run", "-f", name, "--live", "-q"); got.code != 0 || !liveURL.MatchString(got.errors) {
		t.Errorf("--live: %d, %s", got.code, got.errors)
	}
}

// TestSoFar: a request in flight is not an error of the run, its stage, its step or its operation, and fails no threshold.
func TestSoFar(t *testing.T) {
	second := rv.Rate{Name: "low", Count: 10, Period: time.Second, Duration: time.Second}
	next := second
	next.Name = "high"
	plan := &rv.Plan{
		Targets: []rv.Target{{}}, Rates: []rv.Rate{second, next},
		Chains: []rv.Chain{{Name: "c", Steps: []rv.Step{{Name: "s", Timeout: time.Second, Operation: "o"}, {Name: "next", Timeout: time.Second}}}},
		Thresholds: []rv.Threshold{
			{Name: "step", Metric: rv.MetricErrorRate, Max: "25%", Of: rv.Selector{Chain: "c", Step: "s"}},
			{Name: "run", Metric: rv.MetricFailed, Max: "1"},
			{Name: "rate", Metric: rv.MetricRate, Min: "10", Of: rv.Selector{Chain: "c", Step: "s"}},
			{Name: "next", Metric: rv.MetricErrorRate, Max: "25%", Of: rv.Selector{Chain: "c", Step: "next"}},
			{Name: "share", Metric: rv.MetricTimedOut, Max: "1%", Of: rv.Selector{Chain: "c", Step: "next"}},
		},
	}
	for name, tc := range map[string]struct {
		done, succeeded int64
		want            rv.ErrorRate
		thresholds      []string
	}{
		"no outcome yet": {0, 0, 0, nil},
		"some in flight": {4, 3, 0.25, []string{"step 25% true", "run 1 true", "rate 10 true", "next none true", "share none true"}},
		"none succeeded": {4, 0, 1, []string{"step 100% false", "run 4 false", "rate 10 true", "next none true", "share none true"}},
		"all succeeded":  {4, 4, 0, []string{"step 0% true", "run 0 true", "rate 10 true", "next none true", "share none true"}},
	} {
		failed, inFlight := tc.done-tc.succeeded, 10-tc.done
		s := &rv.Snapshot{
			State: rv.StateRunning, Clock: int64(time.Second) + 1, StartedAt: 1,
			Counters: rv.Counters{Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: 10, Done: tc.done, Succeeded: tc.succeeded, FailedChecks: failed, InFlightAtEnd: inFlight}}},
			Steps:    []rv.StepCounters{{Outcomes: rv.Outcomes{Sent: 10, Done: tc.done, Succeeded: tc.succeeded, FailedChecks: failed, InFlightAtEnd: inFlight}}, {Outcomes: rv.Outcomes{Sent: 10, InFlightAtEnd: 10}}},
			Stages:   []rv.StageCounters{{Sent: 10, Slots: 10}, {}}, StageSelections: []rv.SelectionCounters{{SelectionCounts: rv.SelectionCounts{Sent: 10, Done: tc.done, Succeeded: tc.succeeded}}, {}},
			Selections: []rv.SelectionCounters{{SelectionCounts: rv.SelectionCounts{Sent: 10, Done: tc.done, Succeeded: tc.succeeded}}, {SelectionCounts: rv.SelectionCounts{Sent: 10}}},
			Chains:     []rv.ChainCounters{{}}, Targets: []rv.TargetTimes{{}},
		}
		r, err := soFar(&job{plan: plan}, s, build.NewWindows(plan, 1), verdict.Facts{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		got := []rv.ErrorRate{r.ErrorRate, r.Stages[0].Figures.ErrorRate, r.Stages[1].Figures.ErrorRate, r.Steps[0].ErrorRate, r.Operations[0].ErrorRate}
		if diff := cmp.Diff([]rv.ErrorRate{tc.want, tc.want, 0, tc.want, tc.want}, got); diff != "" {
			t.Errorf("%s: run, stages, step and operation (-want +got):\n%s", name, diff)
		}
		var thresholds []string
		for _, th := range r.Verdict.Thresholds {
			thresholds = append(thresholds, fmt.Sprintf("%s %s %v", th.Name, th.Observed, th.Passed))
		}
		if diff := cmp.Diff(tc.thresholds, thresholds); diff != "" || (r.Verdict.Outcome != "") != (tc.thresholds != nil) {
			t.Errorf("%s: verdict %q; thresholds (-want +got):\n%s", name, r.Verdict.Outcome, diff)
		}
	}
}

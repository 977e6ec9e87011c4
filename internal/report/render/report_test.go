package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/test/golden"
)

// full is a report with something in each field.
func full() *runnerv1alpha1.Report {
	times := runnerv1alpha1.Times{Count: 3_599_990, Min: 105, Mean: 1234, P50: 1102, P90: 2210, P95: 3301, P99: 8421, P999: 19_987, Max: 1_234_567}
	successful := times
	successful.Count, successful.Mean, successful.Max = 3_599_000, 1229, 987_654
	return &runnerv1alpha1.Report{
		APIVersion: runnerv1alpha1.APIVersion, Kind: runnerv1alpha1.ReportKind,
		Name: "core/pcf-app-sessions", PlanHash: "0123456789abcdef0123456789abcdef", Version: "v0.1.0",
		StartTime: "2026-01-02T02:04:05.678Z", EndTime: "2026-01-02T02:05:15.678Z",
		Requests: runnerv1alpha1.Requests{
			Outcomes: runnerv1alpha1.Outcomes{Sent: 3_600_000, Done: 3_599_990, Succeeded: 3_599_000, FailedChecks: 990, TimedOut: 7, Reset: 2,
				ConnectionLost: 1}, Dropped: 12, Retried: 5, Abandoned: 3,
		},
		WarmUp:    runnerv1alpha1.WarmUp{Sent: 100_000},
		Setup:     runnerv1alpha1.OnceCounters{Sent: 2, Succeeded: 2},
		Teardown:  runnerv1alpha1.OnceCounters{Sent: 3, Succeeded: 1},
		Exhausted: true, ExportFailure: "shard 1: connection refused",
		Authorizations: []runnerv1alpha1.Authorization{
			{Target: "pcf", Tokens: 3, Failures: 2, LastFailure: `auth.oauth2.tokenURL http://nrf/oauth2/token: answered 400: "invalid_scope"`, SentWithout: 12},
			{Target: "udr", Tokens: 3},
		},
		Chains: runnerv1alpha1.ChainCounters{
			Started: 1_200_000, Completed: 1_199_000, Aborted: 990, Unfinished: 10,
			AbortedBy:    map[string]int64{"failedCheck": 900, "missingCapture": 80, "timedOut": 7, "reset": 2, "connectionLost": 1},
			AlwaysCounts: runnerv1alpha1.AlwaysCounts{AlwaysSent: 980, AlwaysSkipped: 10},
		},
		Causes: manyCauses(),
		Failures: []runnerv1alpha1.FailureCount{
			{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureConnect, Cause: runnerv1alpha1.CauseRefused, Address: "10.0.0.7:8080"}, Count: 4},
			{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureConnectionLost, Cause: runnerv1alpha1.CauseGoAway, Detail: "ENHANCE_YOUR_CALM", Address: "10.0.0.7:8080"}, Count: 1},
			{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureDropped, Cause: runnerv1alpha1.CauseNoStream}, Count: 12},
			{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureReset, Cause: runnerv1alpha1.CauseUnknown, Detail: "\x1b[2J <script>"}, Count: 2},
		},
		StatusCodes: map[string]int64{"201": 1_200_000, "204": 2_399_000, "503": 990},
		Rate:        runnerv1alpha1.RateResult{Asked: 60_000, Achieved: 59_999.8, WindowSeconds: 60},
		Samples: []runnerv1alpha1.Sample{{
			Chain: "app-session", Step: "create", Check: "status", Status: 503, At: 1234, BodySize: 40,
			Header: []runnerv1alpha1.SampleField{{Name: "retry-after", Value: "5"}, {Name: "set-cookie", Value: "***"}},
			Body:   "{\n  \"cause\": \"<CONGESTION>\x1b[2J\"\n}",
		}, {Chain: "app-session", Step: "create", Check: "fast", Status: 201, At: 2000}, {
			Chain: "app-session", Step: "delete", Outcome: runnerv1alpha1.AbortTimedOut, At: 3000, Trace: runnerv1alpha1.Trace{TraceID: strings.Repeat("4b", 16), TraceSampled: true},
		}},
		Slowest: []runnerv1alpha1.SlowRequest{
			{Chain: "app-session", Step: "create", Status: 201, At: 1500, ResponseTime: 48_000, Trace: runnerv1alpha1.Trace{TraceID: strings.Repeat("a1", 16), TraceSampled: true}},
			{Chain: "app-session", Step: "create", Status: 503, At: 900, ResponseTime: 51_200, Trace: runnerv1alpha1.Trace{TraceID: strings.Repeat("b2", 16)}},
		},
		Bounds: []runnerv1alpha1.BoundResult{{
			Bound: runnerv1alpha1.BoundStreams, Of: "pcf", Allowed: 100, Needed: 150, Dropped: 12,
			Message: "target pcf: 1 connections of 100 streams can hold 100 requests at a time; 60000 requests per second with an average duration of 2ms need about 150: set connections to 2, or maxConcurrentStreams to 150",
		}},
		ErrorRate: 1012. / 3_600_012,

		ResponseTime: times, SuccessfulResponseTime: successful, ServiceTime: times, TimeToFirstByte: times,
		Lag:          runnerv1alpha1.Times{Count: 3_600_000, Mean: 12, P50: 9, P90: 30, P95: 45, P99: 120, P999: 1010, Max: 2200},
		Reconnecting: runnerv1alpha1.Times{Count: 3_600_000, Mean: 1, P999: 310, Max: 520},
		Connect:      runnerv1alpha1.Times{Count: 64, Min: 300, Mean: 400, P50: 380, P90: 500, P95: 510, P99: 520, P999: 520, Max: 520},

		Bytes:      runnerv1alpha1.Bytes{Sent: 123_456_789, Received: 234_567_890},
		CPUSeconds: 9.25,
		Stages: []runnerv1alpha1.StageResult{
			{Name: "warm", WarmUp: true, Asked: 10_000, Achieved: 10_000, Sent: 100_000},
			{Name: "hold", Asked: 60_000, Achieved: 59_999.8, Sent: 3_599_000, Dropped: 12, Figures: &runnerv1alpha1.StageFigures{
				Done: 3_598_990, Succeeded: 3_598_000, FailedChecks: 990, TimedOut: 7, Reset: 3, ErrorRate: 1012. / 3_599_012, ResponseTime: times,
			}},
			{Name: "a-stage-with-a-name-longer-than-its-column-is", Achieved: 0.25, Sent: 1000, Figures: &runnerv1alpha1.StageFigures{
				Done: 1000, Succeeded: 1000, ResponseTime: runnerv1alpha1.Times{Count: 1000, Min: 90, Mean: 120, P50: 110, P90: 180, P95: 210, P99: 320, P999: 900, Max: 910},
			}},
		},
		Steps: []runnerv1alpha1.StepResult{
			{
				Chain: "app-session", Step: "create", ErrorRate: 0.0002, ResponseTime: times, ServiceTime: times, TimeToFirstByte: times, StepEvents: runnerv1alpha1.StepEvents{Retries: 120},
				Outcomes: runnerv1alpha1.Outcomes{Sent: 1_200_000, Done: 1_199_990, FailedChecks: 985, TimedOut: 7, Reset: 3},
				FailedBy: map[string]int64{"status": 900, "fast": 85}, StatusCodes: map[string]int64{"201": 1_199_010, "503": 980}, Problems: []runnerv1alpha1.ProblemResult{
					{Status: 503, Cause: "NF_CONGESTION", Count: 900}, {Status: 503, Cause: "a <cause> of the target\x1b[2J", Count: 30}, {Cause: "other", Count: 20},
				},
			},
			{
				Chain: "app-session", Step: "update-with-a-rather-long-name", Outcomes: runnerv1alpha1.Outcomes{Sent: 1_200_000, FailedChecks: 5}, ResponseTime: times,
				FirstMessage: times, BetweenMessages: times, LastMessage: times,
				FailedBy: map[string]int64{"a-check-with-a-rather-long-name": 5},
			},
			{Chain: "app-session", Step: "delete", ErrorRate: 0},
			{Chain: "login", Step: "token", Phase: runnerv1alpha1.PhaseSetup},
		},
		Observations: observations(),
		Operations: []runnerv1alpha1.OperationResult{
			{
				Target: "pcf", Operation: "Npcf_PolicyAuthorization_Create", Outcomes: runnerv1alpha1.Outcomes{Sent: 1_200_000, Done: 1_199_990, Succeeded: 1_199_005, FailedChecks: 985, TimedOut: 7, Reset: 3}, StepEvents: runnerv1alpha1.StepEvents{Retries: 120},
				ErrorRate: 0.0002, StatusCodes: map[string]int64{"201": 1_199_010, "503": 980}, ResponseTime: times, Problems: []runnerv1alpha1.ProblemResult{
					{Status: 503, Cause: "NF_CONGESTION", Count: 900}, {Status: 503, Cause: "a <cause> of the target\x1b[2J", Count: 30}, {Cause: "other", Count: 20},
				},
			},
			{Target: "pcf", Operation: "app-session/update-with-a-rather-long-name", Outcomes: runnerv1alpha1.Outcomes{Sent: 1_200_000, Done: 1_200_000, Succeeded: 1_199_995, FailedChecks: 5}, ResponseTime: times},
			{Target: "udr", Operation: "app-session/delete"},
		},
		Targets: []runnerv1alpha1.TargetResult{
			{
				Name: "pcf", NameResolution: runnerv1alpha1.Times{Count: 66, Min: 1, Mean: 90, P50: 2, P90: 300, P95: 350, P99: 400, P999: 400, Max: 400},
				TCPConnect:   runnerv1alpha1.Times{Count: 66, Min: 200, Mean: 290, P50: 280, P90: 400, P95: 410, P99: 420, P999: 420, Max: 420},
				Settings:     runnerv1alpha1.Times{Count: 66, Min: 100, Mean: 150, P50: 140, P90: 200, P95: 210, P99: 220, P999: 220, Max: 220},
				Connect:      runnerv1alpha1.Times{Count: 66, Min: 300, Mean: 400, P50: 380, P90: 500, P95: 510, P99: 520, P999: 520, Max: 520},
				Reconnecting: runnerv1alpha1.Times{Count: 3_600_000, Mean: 1, P999: 310, Max: 520},
				Blocked:      runnerv1alpha1.Times{Count: 3_600_000, Mean: 40, P50: 1, P90: 80, P95: 120, P99: 310, P999: 2010, Max: 3520},
				Body:         runnerv1alpha1.Times{Count: 3_599_990, Mean: 210, P50: 110, P90: 480, P95: 620, P99: 1310, P999: 2010, Max: 3520},
				ServiceTime:  times, TimeToFirstByte: times, ResponseTime: times,
			},
			{Name: "a second <target>", TCPConnect: runnerv1alpha1.Times{Count: 1, Min: 5, Mean: 5, P50: 5, P90: 5, P95: 5, P99: 5, P999: 5, Max: 5}},
			{Name: "unused"},
		},
		Generator: runnerv1alpha1.GeneratorResult{
			Shards: 2, Workers: 4, CPUs: []int{2, 3, 6, 7}, ExclusiveShards: 1, ExclusiveWanted: true,
			LagP99Microseconds: 130, ThrottledMicroseconds: 1500, GCPauseMicroseconds: 820, StartSkewMicroseconds: 311,
			Connects: 66, Reconnects: 2, Resumed: 40, EarlyData: 30,
			Idle: runnerv1alpha1.IdleResult{SpinShards: 1, SleepShards: 1, SleepIntervalMicroseconds: 500, BatchMeanMicroseconds: 240},
		},
		Verdict: runnerv1alpha1.Verdict{
			Outcome: runnerv1alpha1.OutcomeFailed, Reason: "ThresholdsFailed", Message: "clean: ErrorRate 0.028111% > 0.01%; and this sentence is longer than a line of eighty columns, which the text form breaks",
			Thresholds: []runnerv1alpha1.ThresholdResult{
				{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Limit: "<= 20ms", Observed: "8.42ms", Passed: true},
				{Name: "clean", Metric: runnerv1alpha1.MetricErrorRate, Limit: "<= 0.01%", Observed: "0.028111%"},
			},
		},
	}
}

func TestIdleText(t *testing.T) {
	for _, tc := range []struct {
		idle runnerv1alpha1.IdleResult
		want string
	}{
		{runnerv1alpha1.IdleResult{}, ""},
		{runnerv1alpha1.IdleResult{SpinShards: 2}, "Spin"},
		{runnerv1alpha1.IdleResult{SleepShards: 2, SleepIntervalMicroseconds: 500, BatchMeanMicroseconds: 251}, "Sleep 500us; batches delayed requests by 251us on average"},
		{
			runnerv1alpha1.IdleResult{SpinShards: 3, SleepShards: 2, SleepIntervalMicroseconds: 1000, Naps: 12, NapMeanMicroseconds: 150},
			"Spin (shards: 3), Sleep 1ms (shards: 2); 12 naps of 150us on average to let responses gather",
		},
	} {
		if got := idleText(&tc.idle, build.FormatTime); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.idle, got, tc.want)
		}
	}
}

func TestSpinNote(t *testing.T) {
	spin, sleep := runnerv1alpha1.IdleSpin, runnerv1alpha1.IdleSleep
	for _, tc := range []struct {
		shards []runnerv1alpha1.ShardResult
		want   string
	}{
		{[]runnerv1alpha1.ShardResult{{IdleStrategy: spin, Exclusive: true}, {IdleStrategy: sleep}, {}}, ""},
		{[]runnerv1alpha1.ShardResult{{IdleStrategy: spin}, {IdleStrategy: spin, Exclusive: true}}, "Spin without exclusive CPUs on 1 of 2 shards: other processes on these CPUs and the load slow each other down."},
	} {
		if got := spinNote(&runnerv1alpha1.Report{Shards: tc.shards}); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.shards, got, tc.want)
		}
	}
}

// manyCauses are more than are listed; some of them are odd.
func manyCauses() map[string]int64 {
	out := map[string]int64{
		"SUBSCRIPTION_NOT_FOUND": 400, "\x1b[2J": 300, "": 20, "with a blank": 10, "other": 250, "caf\u00e9": 9,
		strings.Repeat("\u00e9", 32): 8, strings.Repeat("x", 64): 8,
	}
	for i := range 5 {
		out["CAUSE_"+string(rune('A'+i))] = int64(i + 1)
	}
	return out
}

// observations have a gap, several series and no samples.
func observations() []runnerv1alpha1.ObservationResult {
	points := func(values ...float64) (out []runnerv1alpha1.Point) {
		for i, v := range values {
			out = append(out, runnerv1alpha1.Point{At: int64(i) * 1000, Mean: v, Max: v, Samples: 1})
		}
		return out
	}
	return []runnerv1alpha1.ObservationResult{
		{
			Name: "cpu", Unit: "Cores", Gaps: []runnerv1alpha1.ObservationGap{{From: 2000, To: 3000, Cause: "connection refused", Reads: 2}},
			Series: []runnerv1alpha1.SeriesResult{{
				Figures: runnerv1alpha1.SeriesFigures{Samples: 3, Mean: 2.345, P95: 3.5, Max: 3.5},
				Stages:  []runnerv1alpha1.SeriesFigures{{Samples: 1, Mean: 0.5, P95: 0.5, Max: 0.5}, {Samples: 2, Mean: 1.75, P95: 2, Max: 2}, {Samples: 1, Mean: 3.5, P95: 3.5, Max: 3.5}},
				Points:  append(points(0.5, 1.5), runnerv1alpha1.Point{At: 4000, Mean: 2, Max: 2, Samples: 1}, runnerv1alpha1.Point{At: 5000, Mean: 3, Max: 3.5, Samples: 2}),
			}},
		},
		{
			Name: "memory", Unit: "Bytes", Others: 7, Series: []runnerv1alpha1.SeriesResult{
				{Label: "pod=a", Figures: runnerv1alpha1.SeriesFigures{Samples: 3, Mean: 5.12e8, P95: 6e8, Max: 6e8}, Stages: make([]runnerv1alpha1.SeriesFigures, 3), Points: points(4e8, 5e8, 6e8)},
				{Label: "pod=<b>", Figures: runnerv1alpha1.SeriesFigures{Samples: 1, Mean: 1e6, P95: 1e6, Max: 1e6}, Points: points(1e6)},
				{Label: "others", Figures: runnerv1alpha1.SeriesFigures{Samples: 3, Mean: 1.5e9, P95: 2e9, Max: 2e9}, Points: points(1e9, 2e9)},
			},
		},
		{Name: "queue", Unit: "Count", Gaps: []runnerv1alpha1.ObservationGap{{To: 70_000, Cause: "the metric does not exist\x1b[2J", Reads: 15}}},
	}
}

// bare is what comes of a run that never began.
func bare() *runnerv1alpha1.Report {
	return &runnerv1alpha1.Report{
		Name: "default/nothing", Partial: true,
		Stages:    []runnerv1alpha1.StageResult{{Name: "go"}},
		Steps:     []runnerv1alpha1.StepResult{{Chain: "c", Step: "s"}},
		Generator: runnerv1alpha1.GeneratorResult{Shards: 1, ShardsLost: 1},
	}
}

// lagged passed, although its generator lagged.
func lagged() *runnerv1alpha1.Report {
	r := bare()
	r.Name, r.Partial = "default/lagged", false
	r.Requests = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 10, Done: 10, Succeeded: 10}}
	r.Generator.LagP99Microseconds = 62_000
	r.Verdict = runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomePassed, Reason: "Passed", Message: "all thresholds passed"}
	return r
}

// TestLag: the summary and the warning of the other formats follow one rule. The warning needs a verdict that does not name the lag.
func TestLag(t *testing.T) {
	const late, most = "late, lag p99 62ms, and response times include it", "in time, lag p99 8.95ms, more than half of the response time's p99, which includes it"
	for _, tc := range []struct {
		outcome         runnerv1alpha1.Outcome
		all, worst, p99 int64
		health, warning string
	}{
		{"Passed", 10_000, 10_000, 20_000, "in time, lag p99 10ms", ""},
		{"Passed", 10_000, 0, 19_999, "in time, lag p99 10ms, more than half of the response time's p99, which includes it", "in time, lag p99 10ms, more than half of the response time's p99, which includes it"},
		{"Passed", 8950, 8950, 9500, most, most},
		{"Inconclusive", 8950, 8950, 9500, most, most},
		{"Passed", 10_001, 0, 0, "late, lag p99 10ms, and response times include it", "late, lag p99 10ms, and response times include it"},
		{"Failed", 0, 62_000, 0, late, late},
		{"Failed", 0, 62_000, runnerv1alpha1.Above(5_000_000), late, late},
		{"Inconclusive", 62_000, 62_000, 63_000, late, ""},
		{"", 62_000, 62_000, 63_000, late, ""},
		{"Passed", 0, 0, 0, "in time, lag p99 0us", ""},
		{"Passed", 500, 500, 0, "in time, lag p99 500us", ""},
	} {
		r := &runnerv1alpha1.Report{Verdict: runnerv1alpha1.Verdict{Outcome: tc.outcome}}
		r.Lag.P99, r.Generator.LagP99Microseconds, r.ResponseTime.P99 = tc.all, tc.worst, tc.p99
		if tc.p99 > 0 {
			r.ResponseTime.Count = 1
		}
		want := tc.warning
		if want != "" {
			want = "the generator was " + want
		}
		if got := generatorHealth(r); got != tc.health {
			t.Errorf("%+v: %q", tc, got)
		}
		if got := lagWarning(r); got != want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

func TestText(t *testing.T) {
	for name, r := range map[string]*runnerv1alpha1.Report{"full.txt": full(), "bare.txt": bare(), "lagged.txt": lagged()} {
		var b bytes.Buffer
		if err := Text(&b, r); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name, b.Bytes())
		for _, l := range strings.Split(b.String(), "\n") {
			if len(l) > columns || strings.TrimRight(l, " ") != l {
				t.Errorf("%s: %d columns, or blanks at the end: %q", name, len(l), l)
			}
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r > 126 }); i >= 0 {
			t.Errorf("%s: not ASCII at %d", name, i)
		}
	}
}

// TestWideText: large figures and long names stay within the columns.
func TestWideText(t *testing.T) {
	r := watchedReport()
	long, most := strings.Repeat("a-name/", 20), runnerv1alpha1.Times{Count: 9e15, Min: 3.5e9, Mean: 3.5e9, P50: 3.5e9, P90: 3.5e9, P95: 3.5e9, P99: 3.5e9, P999: 3.5e9, Max: 3.5e9}
	r.Name, r.Requests.Sent, r.Requests.FailedChecks, r.ResponseTime, r.Targets[0].Blocked = long, 9e15, 9e15, most, most
	r.Steps[0].Chain, r.Steps[1].Step, r.Steps[0].Sent, r.Steps[0].ResponseTime, r.Steps[0].ServiceTime = long, long, 9e15, most, most
	r.Operations[0].Target, r.Operations[1].Operation, r.Operations[0].Sent, r.Operations[0].ResponseTime = long, long, 9e15, most
	r.Stages[0].Name, r.Stages[0].Asked, r.Stages[0].Achieved, r.Stages[0].Sent, r.Stages[0].Dropped = long, 1e9, 1e9, 9e15, 9e15
	r.Shards[0].Sent, r.Shards[0].ResponseTime, r.Shards[0].LagP99Microseconds, r.Shards[0].CPUSeconds = 9e15, most, 3.5e9, 1e6
	r.Listeners = []runnerv1alpha1.ListenerResult{{Name: long, Time: most, ListenerCounts: runnerv1alpha1.ListenerCounts{Received: 9e15, Unexpected: 9e15}}}
	var b bytes.Buffer
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(b.String()) {
		if l = strings.TrimSuffix(l, "\n"); len(l) > columns && strings.Contains(strings.TrimSpace(l), " ") {
			t.Errorf("%d columns: %q", len(l), l)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, full()); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "full.json", b.Bytes())
	var back runnerv1alpha1.Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), &back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteErrors(t *testing.T) {
	if err := JSON(fullDisk{}, full()); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("JSON: %v", err)
	}
	if err := Text(fullDisk{}, full()); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Text: %v", err)
	}
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct{ indent, text, want string }{
		{"", "", ""},
		{"  ", "short", "  short\n"},
		{"", strings.Repeat("word ", 16) + "end", strings.TrimRight(strings.Repeat("word ", 16), " ") + "\n  end\n"},
		{"    ", "a " + long + " b", "    a\n    " + long + "\n    b\n"},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		wrap(&b, tt.indent, tt.text)
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestProgressLine(t *testing.T) {
	running := build.Live{
		State: runnerv1alpha1.StateRunning, Stage: "hold", Elapsed: 11*time.Second + 990*time.Millisecond,
		Asked: 60_000, Achieved: 60_003.4, InFlight: 64, ErrorRate: 0.0002,
		Interval: runnerv1alpha1.Times{Count: 60_000, P50: 1102, P99: 8421},
	}
	with := func(f func(*build.Live)) build.Live {
		l := running
		f(&l)
		return l
	}
	tests := []struct {
		name string
		live build.Live
		want string
	}{
		{"running", running, "  12s  60003 of  60000/s    64 in flight  p50 1.1ms  p99 8.42ms errors 0.02%"},
		{"nothing yet", build.Live{}, "   0s connecting"},
		{"connecting", build.Live{State: runnerv1alpha1.StateConnecting}, "   0s connecting"},
		{"setting up", build.Live{State: runnerv1alpha1.StateSettingUp}, "   0s setting up"},
		{"tearing down", with(func(l *build.Live) { l.State = runnerv1alpha1.StateTearingDown }), "  12s tearing down"},
		{"drained", with(func(l *build.Live) {
			l.Stage, l.Achieved, l.InFlight, l.State = "", 0, 0, runnerv1alpha1.StateDrained
		}), "  12s      0/s              0 in flight  p50 1.1ms  p99 8.42ms errors 0.02%"},
		{"connected", build.Live{State: runnerv1alpha1.StateReady}, "   0s connected"},
		{"no response in the interval", with(func(l *build.Live) { l.Interval, l.ResponseTime.Count = runnerv1alpha1.Times{}, 40 }), "  12s  60003 of  60000/s    64 in flight  no response           errors 0.02%"},
		{"no response yet", with(func(l *build.Live) { l.Interval = runnerv1alpha1.Times{} }), "  12s  60003 of  60000/s    64 in flight  no response yet       errors 0.02%"},
		{"a slow closed loop", with(func(l *build.Live) { l.Asked, l.Achieved, l.InFlight = 0, 2.04, 2 }), "  12s   2.04/s              2 in flight  p50 1.1ms  p99 8.42ms errors 0.02%"},
		{"paused", with(func(l *build.Live) { l.Suspended, l.Asked, l.Achieved = true, 0, 0 }), "  12s      0 of      0/s    64 in flight  p50 1.1ms  p99 8.42ms errors 0.02%"},
		{"closed loop", with(func(l *build.Live) { l.Asked = 0 }), "  12s  60003/s             64 in flight  p50 1.1ms  p99 8.42ms errors 0.02%"},
		{"chains per second", with(func(l *build.Live) { l.Asked, l.AskedChains, l.AchievedChains = 0, 2000, 1999.7 }), "  12s  60003/s, 2000 of 2000 chains/s    64 in flight  p50 1.1ms  p99 8.42ms errors 0.02%"},
		{"warm-up", with(func(l *build.Live) { l.WarmUp = true }), "  12s  60003 of  60000/s    64 in flight  warm-up               errors 0.02%"},
		{"after the warm-up, before the first measured response", with(func(l *build.Live) {
			l.Interval, l.WarmUpSent, l.Sent = runnerv1alpha1.Times{}, 900, 40
		}), "  12s  60003 of  60000/s    64 in flight  warm-up               errors 0.02%"},
		{"no response in an interval after measured ones", with(func(l *build.Live) {
			l.Interval, l.WarmUpSent, l.ResponseTime.Count = runnerv1alpha1.Times{}, 900, 40
		}), "  12s  60003 of  60000/s    64 in flight  no response           errors 0.02%"},
		{"draining", with(func(l *build.Live) {
			l.Stage, l.Asked, l.Achieved, l.State = "", 0, 0, runnerv1alpha1.StateDraining
		}), "  12s      0/s             64 in flight  p50 1.1ms  p99 8.42ms errors 0.02%"},
		{"large", with(func(l *build.Live) {
			l.Elapsed, l.Asked, l.Achieved, l.InFlight = 9*time.Hour+59*time.Minute, 999_999, 999_999, 12_345
			l.ErrorRate = 0.999999
		}), "9h59m0s 999999 of 999999/s 12345 in flight  p50 1.1ms  p99 8.42ms errors >99.99%"},
	}
	for _, tt := range tests {
		got := ProgressLine(tt.live)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if len(got) > columns && tt.live.AskedChains == 0 {
			t.Errorf("%s: %d columns", tt.name, len(got))
		}
	}
}

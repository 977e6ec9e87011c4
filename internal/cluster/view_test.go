package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/golden"
)

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// busy has figures, errors, a change of the rate and a runner that does not answer.
func busy() *v1alpha1.LoadTest {
	lt := running()
	st := &lt.Status
	times := v1alpha1.Times{
		P50Microseconds: ptr(int64(1100)), P90Microseconds: ptr(int64(2900)), P95Microseconds: ptr(int64(4200)), P99Microseconds: ptr(int64(8420)), P999Microseconds: ptr(int64(15100)), MaxMicroseconds: ptr(int64(41204)),
	}
	st.Results = &v1alpha1.Results{
		Requests: v1alpha1.RequestCounts{Sent: 3000012, Done: 2999910, Succeeded: 2999310, FailedChecks: 600, TimedOut: 30, InFlightAtEnd: 72, Dropped: 8},
		Rate:     v1alpha1.RateStatus{Asked: 60000, Achieved: 60000.24}, ErrorRate: 0.000209, ResponseTime: times,
		Causes: []v1alpha1.NamedCount{{Name: "CONTEXT_NOT_FOUND", Count: 600}},
		Chains: []v1alpha1.ChainResult{{
			Name: "app-session", Started: 1000010, Completed: 999370, Aborted: 600,
			AbortedBy: []v1alpha1.NamedCount{{Name: "failedCheck", Count: 600}},
		}},
		Observations: []v1alpha1.ObservationStatus{{Name: "cpu", Mean: 1.25, P95: 1.9, Max: 2.5}},
		Listeners: []v1alpha1.ListenerResult{{
			Name: "events", Received: 999_800, InTime: 999_500, Late: 150, Duplicate: 100, RefusedToken: 40, RefusedCertificate: 10, Awaited: 1_000_000, Missing: 500, ErrorRate: 0.0005,
			Time: v1alpha1.Times{P50Microseconds: ptr(int64(10_200)), P90Microseconds: ptr(int64(11_000)), P95Microseconds: ptr(int64(12_000)), P99Microseconds: ptr(int64(19_300)), AboveMicroseconds: 2000000},
		}},
	}
	lt.Spec.Observe = []v1alpha1.Observation{{Name: "cpu", Unit: v1alpha1.UnitCores}}
	st.StartSkewMicroseconds = ptr(int64(812))
	st.Generator = &v1alpha1.GeneratorStatus{ExclusiveShards: 1, LagP99Microseconds: 2300, ThrottledMicroseconds: 12000}
	st.Runners = []v1alpha1.RunnerStatus{
		{Shard: 1, Pod: "pcf-1-1", Node: "worker-b", State: "Running", CPUs: "2,3", Message: "it does not answer", LagP99Microseconds: 2300, ThrottledMicroseconds: 12000},
	}
	st.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionPlanReady, Status: metav1.ConditionTrue, Reason: "Compiled", Message: "the spec has been compiled"},
		{Type: v1alpha1.ConditionRunnersReady, Status: metav1.ConditionTrue, Reason: "AllReady"},
	}
	applied := metav1.NewMicroTime(at(31))
	st.Changes = []v1alpha1.Change{
		{Field: "rates[1].requestsPerSecond", From: "50000", To: "60000", Time: metav1.NewMicroTime(at(30)), AppliedAt: &applied},
		{Field: "rates[2].requestsPer", From: "1 per 1m0s", To: "2 per 1m0s", Time: metav1.NewMicroTime(at(59))},
	}
	return lt
}

// judged has ended, failed a threshold, and lost nothing.
func judged() *v1alpha1.LoadTest {
	lt := busy()
	st := &lt.Status
	st.Phase, st.CompletionTime, st.Changes = v1alpha1.PhaseCompleted, ptr(metav1.NewTime(at(190))), st.Changes[:1]
	st.Runners = []v1alpha1.RunnerStatus{
		{Shard: 0, Pod: "pcf-1-0", Node: "worker-a", State: "Done", CPUs: "2,3", Exclusive: true, LagP99Microseconds: 180},
		{Shard: 1, Pod: "pcf-1-1", Node: "worker-b", State: "Done", CPUs: "2,3", LagP99Microseconds: 2300, ThrottledMicroseconds: 12000},
	}
	times := st.Results.ResponseTime
	st.Results.Chains[0].Steps = []v1alpha1.StepResult{
		{Name: "create", Sent: 1000010, Succeeded: 999980, ErrorRate: 3e-05, Failed: 30, ResponseTime: times},
		{Name: "update", Sent: 1000001, Succeeded: 999401, ErrorRate: 0.0006, Failed: 600, FailedBy: []v1alpha1.NamedCount{{Name: "status", Count: 600}}, ResponseTime: times},
		{Name: "delete", Sent: 1000001, Succeeded: 1000001, ErrorRate: 0, ResponseTime: times},
	}
	st.Verdict = &v1alpha1.Verdict{Outcome: "Failed", Reason: "ThresholdsFailed", Message: "fast: p99 of ResponseTime 8.42ms > 5ms", Thresholds: []v1alpha1.ThresholdStatus{
		{Name: "fast", Limit: "<= 5ms", Observed: "8.42ms"}, {Name: "clean", Limit: "<= 0.1%", Observed: "0.0209%", Passed: true},
	}}
	st.Report = &v1alpha1.ReportStatus{ConfigMapRef: v1alpha1.ConfigMapReference{Name: "pcf-report"}, Dropped: []string{"histograms"}}
	return lt
}

func starting() *v1alpha1.LoadTest {
	lt := running()
	lt.Status = v1alpha1.LoadTestStatus{
		Phase: v1alpha1.PhaseStarting, Shards: &v1alpha1.ShardCounts{Desired: 2, Ready: 1},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionRunnersReady, Status: metav1.ConditionFalse, Reason: "Connecting", Message: "1 of 2 runners are ready"}},
		Generator:  &v1alpha1.GeneratorStatus{},
	}
	return lt
}

func invalid() *v1alpha1.LoadTest {
	lt := running()
	lt.Status = v1alpha1.LoadTestStatus{Phase: v1alpha1.PhaseInvalid, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionPlanReady, Status: metav1.ConditionFalse, Reason: "InvalidSpec", Message: "spec.chains[0].target: there is no target \"pfc\"\nspec.rates: x"},
		{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "InvalidSpec", Message: "the spec cannot be run; see PlanReady"},
	}}
	return lt
}

func minute() (h History) {
	for i := range 70 {
		lt := running()
		lt.Status.Summary.Rate = []string{"1000", "60000", "60003", "59000", "30000"}[min(i/14, 4)]
		h.Add(lt)
	}
	return h
}

func TestView(t *testing.T) {
	report := &rv.Report{
		Shards:    []rv.ShardResult{{Shard: 0, LagP99Microseconds: 180}, {Shard: 1, LagP99Microseconds: 2300}},
		Generator: rv.GeneratorResult{LagP99Microseconds: 2300, ThrottledMicroseconds: 12000, GCPauseMicroseconds: 900, Reconnects: 3},
	}
	for name, tc := range map[string]struct {
		frame Frame
		size  Size
	}{
		"view-running":  {Frame{Look: Look{Test: busy()}, History: minute(), Now: at(60)}, Size{100, 40}},
		"view-scaled":   {Frame{Look: Look{Test: scaled()}, History: minute(), Now: at(60)}, Size{100, 40}},
		"view-small":    {Frame{Look: Look{Test: busy()}, History: minute(), Now: at(60)}, Size{60, 16}},
		"view-tiny":     {Frame{Look: Look{Test: busy()}, Now: at(60)}, Size{20, 3}},
		"view-trouble":  {Frame{Look: Look{Test: running(), Trouble: errors.New("connection\nrefused")}, Now: at(60)}, Size{80, 24}},
		"view-starting": {Frame{Look: Look{Test: starting()}, Now: at(-3)}, Size{80, 24}},
		"view-ended":    {Frame{Look: Look{Test: judged()}, Report: report, Now: at(200)}, Size{100, 40}},
	} {
		lines := View(&tc.frame, tc.size)
		golden.Compare(t, name+".txt", strings.Join(lines, "\n")+"\n")
		if len(lines) > tc.size.Height {
			t.Errorf("%s: %d lines", name, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > tc.size.Width || strings.ContainsRune(line, '\x1b') {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

// What other machines say does not reach the terminal's own language.
func TestPlain(t *testing.T) {
	lt := busy()
	lt.Status.Runners[0].Message = "red \x1b[31m\u009b31m\u202e\nline"
	want := `red \x1b[31m\u009b31m\u202e line`
	m := Frame{Look: Look{Test: lt}, Now: at(60)}
	for name, lines := range map[string][]string{
		"view": View(&m, Size{120, 50}), "status": Status(lt, at(60), func(command string) string { return command }),
	} {
		if text := strings.Join(lines, "\n"); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", name, want, text)
		}
	}
}

// The manual shows what is shown.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/reference/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status-running", "status-ended", "view-running", "status-invalid"} {
		output, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(manual), string(output)) {
			t.Errorf("docs/reference/kubectl.md does not have testdata/%s.txt", name)
		}
	}
}

// No size makes it fail.
func TestViewSizes(t *testing.T) {
	m := Frame{Look: Look{Test: busy()}, History: minute(), Now: at(60)}
	for height := range 50 {
		for _, width := range []int{0, 1, 20, 39, 80, 300} {
			if n := len(View(&m, Size{width, height})); n > height {
				t.Errorf("%dx%d: %d lines", width, height, n)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	next := func(command string) string { return "kubectl h2surge " + command + " pcf -n core" }
	held := starting()
	held.Spec.Suspend, held.Status.Phase = true, v1alpha1.PhaseSuspended
	fresh := running()
	fresh.Status = v1alpha1.LoadTestStatus{}
	for name, tc := range map[string]struct {
		lt  *v1alpha1.LoadTest
		now time.Time
	}{
		"status-running": {busy(), at(60)}, "status-ended": {judged(), at(250)}, "status-starting": {starting(), at(-3)},
		"status-invalid": {invalid(), at(5)}, "status-suspended": {held, at(5)}, "status-fresh": {fresh, at(5)}, "status-scaled": {scaled(), at(60)},
	} {
		golden.Compare(t, name+".txt", strings.Join(Status(tc.lt, tc.now, next), "\n")+"\n")
	}
}

func TestLine(t *testing.T) {
	paused := running()
	paused.Status.Phase = v1alpha1.PhaseSuspended
	unmeasured := running()
	unmeasured.Status.Summary.P50, unmeasured.Status.Summary.P99, unmeasured.Status.Summary.Errors, unmeasured.Status.Thresholds = "", "", "0%", nil
	late := unmeasured.DeepCopy()
	late.Status.Results = &v1alpha1.Results{WarmUpSent: 10_000}
	for _, tc := range []struct {
		lt   *v1alpha1.LoadTest
		now  time.Time
		want string
	}{
		{unmeasured, at(5), "   5s  60003 of   1000/s  warm-up               errors 0%     warm"},
		{late, at(12), "  12s  60003 of  60000/s  warm-up               errors 0%     hold"},
		{unmeasured, at(60), " 1m0s  60003 of  60000/s  no response yet       errors 0%     hold"},
		{running(), at(60), " 1m0s  60003 of  60000/s  p50 1.1ms  p99 8.42ms errors 0.02%  hold  FAILED clean"},
		{paused, at(60), " 1m0s  60003 of      0/s  p50 1.1ms  p99 8.42ms errors 0.02%  suspended  FAILED clean"},
		{running(), at(135), "2m15s  60003 of 0.0167/s  p50 1.1ms  p99 8.42ms errors 0.02%  slow  FAILED clean"},
		{scaled(), at(60), " 1m0s  60003 of  60000/s  p50 1.1ms  p99 8.42ms errors 0.02%  hold  shards 2 of 4 ready, 1 joining, 1 leaving, 1 left, 1 lost  FAILED clean"},
		{starting(), at(-3), "   7s starting: 1 of 2 runners are ready"},
		{ended(), at(300), "3m10s completed"},
		{invalid(), at(5), "  15s invalid"},
		{&v1alpha1.LoadTest{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(9))}}, at(5), "   0s no status from the operator yet"},
	} {
		if got := Line(tc.lt, tc.now); got != tc.want {
			t.Errorf("got  %q\nwant %q", got, tc.want)
		}
	}
}

// TestRamp: the desired rate is that of now, and a ramp that ends by requests has a length. A pause has the rate 0.
func TestRamp(t *testing.T) {
	lt := running()
	lt.Status.Thresholds = nil
	lt.Spec.Rates = []v1alpha1.Rate{
		{Name: "climb", RampFrom: ptr(int64(1000)), RequestsPerSecond: ptr(int64(21000)), Duration: &v1alpha1.Duration{Duration: 20 * time.Second}},
		{Name: "some", RampFrom: ptr(int64(0)), RequestsPerSecond: ptr(int64(100)), Duration: &v1alpha1.Duration{Duration: 20 * time.Second}, Requests: ptr(int64(250))},
		{Name: "nothing", RequestsPerSecond: ptr(int64(0)), Duration: &v1alpha1.Duration{Duration: 10 * time.Second}},
	}
	for _, tc := range []struct {
		now   int
		stage string
		rate  string
	}{
		{5, "climb (1 of 3), 5s of 20s, ramp from 1000/s to 21000/s", "60003/s of 6000/s"},
		{28, "some (2 of 3), 8s of 10s, ramp from 0/s to 100/s", "60003/s of 40/s"}, // 250 requests take half of the ramp
		{33, "nothing (3 of 3), 3s of 10s", "60003/s of 0/s"},
	} {
		if stage, rate := stageText(lt, at(tc.now)), rateOf(lt, at(tc.now)); stage != tc.stage || rate != tc.rate {
			t.Errorf("after %d s: %q, %q; want %q, %q", tc.now, stage, rate, tc.stage, tc.rate)
		}
	}
}

func TestStageAt(t *testing.T) {
	pause := func(to string, seconds int) v1alpha1.Change {
		applied := metav1.NewMicroTime(at(seconds))
		return v1alpha1.Change{Field: "suspend", To: to, AppliedAt: &applied}
	}
	counted := running()
	counted.Spec.Rates[0] = v1alpha1.Rate{Name: "warm", RequestsPerSecond: ptr(int64(100)), Requests: ptr(int64(2000))}
	fast := running()
	fast.Spec.Rates[0] = v1alpha1.Rate{Name: "warm", ClosedLoop: &v1alpha1.ClosedLoop{}, Requests: ptr(int64(2000))}
	paused := running()
	paused.Status.Changes = []v1alpha1.Change{pause("true", 5), pause("false", 25), pause("true", 40)}
	for _, tc := range []struct {
		name string
		lt   *v1alpha1.LoadTest
		now  int
		want Stage
	}{
		{"before", running(), -1, Stage{Index: 0, Known: true, Lasts: 10 * time.Second}},
		{"first", running(), 9, Stage{Index: 0, Known: true, Elapsed: 9 * time.Second, Lasts: 10 * time.Second}},
		{"second", running(), 10, Stage{Index: 1, Known: true, Lasts: 2 * time.Minute}},
		{"over", running(), 500, Stage{Index: 2, Known: true, Elapsed: time.Minute, Lasts: time.Minute, Over: true}},
		{"counted", counted, 19, Stage{Index: 0, Known: true, Elapsed: 19 * time.Second, Lasts: 20 * time.Second}},
		{"closed loop", fast, 19, Stage{Index: 0, Elapsed: 19 * time.Second}},
		{"resumed", paused, 32, Stage{Index: 1, Known: true, Elapsed: 2 * time.Second, Lasts: 2 * time.Minute}},
		{"paused again", paused, 400, Stage{Index: 1, Known: true, Elapsed: 10 * time.Second, Lasts: 2 * time.Minute}},
	} {
		if diff := cmp.Diff(tc.want, StageAt(tc.lt, at(tc.now))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestSparkline(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 10, ""}, {[]float64{1, 2, 3}, 0, ""}, {[]float64{1, 2, 3}, -4, ""}, {[]float64{0, 0}, 9, "▁▁"},
		{[]float64{0, 1, 2, 4, 8}, 9, "▁▂▃▅█"}, {[]float64{8, 1, 2}, 2, "▅█"},
	} {
		if got := sparkline(tc.values, tc.width); got != tc.want {
			t.Errorf("%v in %d: %q, want %q", tc.values, tc.width, got, tc.want)
		}
	}
}

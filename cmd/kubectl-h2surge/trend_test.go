package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestTrend: there is one line for each run of the schedule, the oldest first.
func TestTrend(t *testing.T) {
	run := func(name string, day int, of string, verdict *v1alpha1.Verdict, s *v1alpha1.Summary) *v1alpha1.LoadTest {
		at := metav1.NewTime(noon.Add(time.Duration(day) * 24 * time.Hour))
		lt := loadTest()
		lt.Name, lt.CreationTimestamp, lt.Labels = name, at, map[string]string{v1alpha1.LabelSchedule: of}
		lt.Status = v1alpha1.LoadTestStatus{Phase: v1alpha1.PhaseRunning, Verdict: verdict, Summary: s, StartTime: &at}
		return lt
	}
	f := &fakeCluster{t: t, ticks: always(), objects: []client.Object{
		run("nightly-3", 3, "nightly", nil, nil),
		run("nightly-1", 1, "nightly", &v1alpha1.Verdict{Outcome: "Passed", Reason: "Passed"}, &v1alpha1.Summary{Rate: "1000", P50: "1.1ms", P99: "8.42ms", Errors: "0.02%"}),
		run("nightly-2", 2, "nightly", &v1alpha1.Verdict{Outcome: "Failed", Reason: "ThresholdsFailed"}, &v1alpha1.Summary{Rate: "998", P50: "1.2ms", P99: "11.6ms", Errors: "0%"}),
		run("other", 2, "weekly", nil, nil),
		&v1alpha1.LoadTestSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new"}},
	}}
	code, out, errs := f.kubectl("", "trend", "nightly")
	day := func(n int) string { return noon.Add(time.Duration(n) * 24 * time.Hour).UTC().Format(time.RFC3339) }
	want := "NAME        STARTED                RATE   P50     P99      ERRORS   VERDICT\n" +
		"nightly-1   " + day(1) + "   1000   1.1ms   8.42ms   0.02%    Passed\n" +
		"nightly-2   " + day(2) + "   998    1.2ms   11.6ms   0%       Failed (ThresholdsFailed)\n" +
		"nightly-3   " + day(3) + "   -      -       -        -        - (Running)\n"
	if code != 0 || out != want || errs != "" {
		t.Errorf("exit code %d\n%s%s, want\n%s", code, out, errs, want)
	}
	if code, out, _ = f.kubectl("", "trend", "nightly", "-o", "json"); code != 0 || strings.Count(out, `"phase": "Running"`) != 3 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, _, errs = f.kubectl("", "trend", "new"); code != 0 || errs != "schedule new has no LoadTests\n" {
		t.Errorf("exit code %d, %q", code, errs)
	}
	if code, _, errs = f.kubectl("", "trend", "absent"); code == 0 || !strings.Contains(errs, `"absent" not found`) {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

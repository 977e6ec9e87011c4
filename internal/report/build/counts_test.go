package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestMostFrequent(t *testing.T) {
	counts := map[string]int64{"b": 2, "c": 9, "a": 2, "d": 1}
	for limit, want := range map[int][]Named{
		0: {},
		3: {{"c", 9}, {"a", 2}, {"b", 2}},
		9: {{"c", 9}, {"a", 2}, {"b", 2}, {"d", 1}},
	} {
		if diff := cmp.Diff(want, MostFrequent(counts, limit)); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestCauses(t *testing.T) {
	long := strings.Repeat("x", runnerv1alpha1.MaxCauseLength)
	for _, tt := range []struct {
		name     string
		in, want map[string]int64
	}{
		{"nothing", nil, nil},
		{"empty", map[string]int64{}, nil},
		{"as they are", map[string]int64{"A": 1, "other": 2}, map[string]int64{"A": 1, "other": 2}},
		{"no name", map[string]int64{"": 3, "other": 2}, map[string]int64{"other": 5}},
		{"no UTF-8, alike when cleaned", map[string]int64{"a\xff": 1, "a\ufffd": 2}, map[string]int64{"a\ufffd": 3}},
		{"too long", map[string]int64{long + "y": 1, long: 1}, map[string]int64{long: 2}},
		{
			"too long, never half a character",
			map[string]int64{long[1:] + "\u00e9": 1}, map[string]int64{long[1:]: 1},
		},
	} {
		if diff := cmp.Diff(tt.want, Causes(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestCausesAreBounded has two shards with causes of their own: together they are too many.
func TestCausesAreBounded(t *testing.T) {
	plan := testPlan()
	var snapshots []runnerv1alpha1.Snapshot
	for shard := range 2 {
		r := newRecorder(plan, shard)
		r.snapshot.Causes = map[string]int64{"COMMON": 1, "other": 10}
		for i := range runnerv1alpha1.MaxCauses - 1 {
			r.snapshot.Causes[fmt.Sprintf("C%d-%03d", shard, i)] = int64(100 + i)
		}
		snapshots = append(snapshots, r.done())
	}
	got := build(t, Input{Plan: plan, Snapshots: snapshots}).Causes
	want := map[string]int64{"other": 20 + 2} // COMMON is the least frequent
	for shard := range 2 {
		for i := range runnerv1alpha1.MaxCauses - 1 {
			if i >= 31 { // 32 of each
				want[fmt.Sprintf("C%d-%03d", shard, i)] = int64(100 + i)
			} else {
				want["other"] += int64(100 + i)
			}
		}
	}
	if len(got) != runnerv1alpha1.MaxCauses+1 {
		t.Errorf("%d causes, want %d and the others", len(got), runnerv1alpha1.MaxCauses)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFitsRefusesContradictions(t *testing.T) {
	plan := testPlan()
	for _, tt := range []struct {
		name   string
		change func(*runnerv1alpha1.Snapshot)
		want   string
	}{
		{"without names", func(s *runnerv1alpha1.Snapshot) { s.Steps[1].FailedBy, s.Chains[0].AbortedBy = nil, nil }, ""},
		{"failedBy", func(s *runnerv1alpha1.Snapshot) { s.Steps[1].FailedBy["status"]++ }, "failedBy of step 1 is 2, want 1"},
		{"negative", func(s *runnerv1alpha1.Snapshot) { s.Steps[1].FailedBy["a"] = -1 }, `failedBy of step 1 "a" is -1`},
		{"failures", func(s *runnerv1alpha1.Snapshot) {
			s.Failures = []runnerv1alpha1.FailureCount{{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureReset}, Count: 2}}
		}, "failures: reset is 2, want 0"},
		{"calls that timed out", func(s *runnerv1alpha1.Snapshot) {
			s.Failures = []runnerv1alpha1.FailureCount{{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureTimedOut}, Count: 2}}
		}, "failures: timedOut is 2, want at most 0"},
		{"abortedBy", func(s *runnerv1alpha1.Snapshot) { s.Chains[0].AbortedBy["reset"] = 1 }, "abortedBy of chain 0 is 2, want 1"},
	} {
		r := newRecorder(plan, 0)
		r.request(1, "failed", 10)
		r.aborted(0, runnerv1alpha1.AbortFailedCheck)
		s := r.done()
		tt.change(&s)
		err := fits(plan, &s)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestGlobalsStayOut: what setup has captured may be secret.
func TestGlobalsStayOut(t *testing.T) {
	const secret = "a token that must not be stored"
	r := newRecorder(testPlan(), 0)
	r.snapshot.Globals = []string{secret}
	got := build(t, Input{Plan: testPlan(), Snapshots: []runnerv1alpha1.Snapshot{r.done()}})
	if text := fmt.Sprintf("%+v", got); strings.Contains(text, secret) {
		t.Error("the report has it")
	}
}

func TestExhaustedAndOnce(t *testing.T) {
	plan := testPlan()
	plan.Chains[1].Phase = runnerv1alpha1.PhaseTeardown
	a, b := newRecorder(plan, 0), newRecorder(plan, 1)
	a.once()
	b.snapshot.Exhausted = true
	got := build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{a.done(), b.done()}})
	once := func(sent, succeeded int64) runnerv1alpha1.OnceCounters {
		return runnerv1alpha1.OnceCounters{Sent: sent, Succeeded: succeeded}
	}
	if !got.Exhausted || got.Setup != once(2, 2) || got.Teardown != once(3, 1) || got.Requests.Sent != 0 {
		t.Errorf("exhausted %v, setup %+v, teardown %+v, requests %+v", got.Exhausted, got.Setup, got.Teardown, got.Requests)
	}
	if got.Steps[0].Phase != runnerv1alpha1.PhaseLoad || got.Steps[2].Phase != runnerv1alpha1.PhaseTeardown {
		t.Errorf("phases of steps: %+v", got.Steps)
	}
	if build(t, Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{a.done()}}).Exhausted {
		t.Error("exhausted by nothing")
	}
}

package decide

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

func TestLossTolerated(t *testing.T) {
	tests := map[string]struct {
		policy  v1alpha1.ShardLostAction
		lost    []int
		stopped string
		want    bool
	}{
		"fail":              {v1alpha1.ShardLostFail, []int{1}, stopByLoss, false},
		"continue":          {v1alpha1.ShardLostContinue, []int{1}, "", true},
		"redeal":            {v1alpha1.ShardLostRebalance, []int{1}, "", true},
		"stopped by a user": {v1alpha1.ShardLostRebalance, []int{1}, StopBySpec, true},
		"too few were left": {v1alpha1.ShardLostRebalance, []int{1}, stopByTooFew, false},
		"a search ended":    {v1alpha1.ShardLostContinue, []int{1}, stopByLoss, false},
		"nobody was left":   {v1alpha1.ShardLostContinue, []int{0, 1}, "", false},
	}
	for name, tt := range tests {
		f := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(runnerv1alpha1.StateDone, runnerv1alpha1.StateDone))
		f.LoadTest.Spec.Runner.OnShardLost = tt.policy
		for _, i := range tt.lost {
			f.View.Shards[i].Snapshot.Problem = runnerv1alpha1.ProblemInternal
			runtest.ShardLost(i)(f)
		}
		f.Report.Stopped = tt.stopped
		facts := verdictFacts(f)
		if facts.LossTolerated != tt.want || (facts.Problem == "") != (tt.policy != v1alpha1.ShardLostFail) {
			t.Errorf("%s: tolerated %v, problem %q", name, facts.LossTolerated, facts.Problem)
		}
	}
}

// TestStoppedByDeadline: a user can remove the deadline after it stopped the test.
func TestStoppedByDeadline(t *testing.T) {
	for want, deadline := range map[string]*int64{
		"activeDeadlineSeconds (60) passed": ptr.To[int64](60), "activeDeadlineSeconds passed": nil,
	} {
		f := runtest.New(runtest.WithJob, runtest.Started, runtest.RunnersAre(runnerv1alpha1.StateDone, runnerv1alpha1.StateDone))
		f.LoadTest.Spec.ActiveDeadlineSeconds, f.Report.Stopped = deadline, stopByDeadline
		if facts := verdictFacts(f); facts.Problem != runnerv1alpha1.ProblemDeadline || facts.Message != want {
			t.Errorf("problem %q, message %q; want %q", facts.Problem, facts.Message, want)
		}
	}
}

// TestRecordsStored: a run does not end before the report has the stored counts of each runner that ended early.
func TestRecordsStored(t *testing.T) {
	pod := shards.Pod{UID: "pod-1"}
	for name, tc := range map[string]struct {
		shard    shards.Shard
		recorded types.UID
		want     bool
	}{
		"it runs":                          {shards.Shard{Pod: pod}, "", true},
		"lost, not recorded":               {shards.Shard{Pod: pod, Lost: &record.Loss{}}, "", false},
		"lost, another runner is recorded": {shards.Shard{Pod: pod, Lost: &record.Loss{}, Stored: true}, "pod-0", false},
		"lost, not in the report yet":      {shards.Shard{Pod: pod, Lost: &record.Loss{}}, "pod-1", false},
		"left, not in the report yet":      {shards.Shard{Pod: pod, Left: true}, "pod-1", false},
		"lost, in the report":              {shards.Shard{Pod: pod, Lost: &record.Loss{}, Stored: true}, "pod-1", true},
	} {
		stored := &record.Record{}
		if tc.recorded != "" {
			stored.Shards = []record.Shard{{Index: 0, Pod: tc.recorded}}
		}
		f := &run.Facts{Record: stored, View: &shards.View{Shards: []shards.Shard{tc.shard}}}
		if got := recordsStored(f); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestSetThresholds: the verdict has the whole observation of a threshold whose failure is stored.
func TestSetThresholds(t *testing.T) {
	o := verdict.Observation{Observed: "> 5s", After: 3 * time.Second, Unanswered: true, Above: 7, Drops: 9, Dropped: 10}
	for _, abort := range []bool{false, true} {
		stored := record.ThresholdOf("fast", o)
		stored.Abort = abort
		f := &run.Facts{Record: &record.Record{Thresholds: []record.Threshold{stored}}, View: &shards.View{Seen: map[string]verdict.Observation{"fast": {Observed: "1ms", Passed: true}}}}
		var facts verdict.Facts
		setThresholds(f, &facts)
		if facts.Seen["fast"] != o || (facts.Aborted == "fast") != abort {
			t.Errorf("abort %v: %+v", abort, facts)
		}
	}
}

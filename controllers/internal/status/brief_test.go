package status

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

func TestBriefListsProblemsOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		ended bool
		set   func(shard int, r *v1alpha1.RunnerStatus)
		want  []int32
	}{
		"all are well": {set: func(int, *v1alpha1.RunnerStatus) {}},
		"ended": {ended: true, set: func(int, *v1alpha1.RunnerStatus) {}, want: []int32{
			0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
		}},
		"one of each": {
			set: func(shard int, r *v1alpha1.RunnerStatus) {
				switch shard {
				case 3:
					r.State = stateJoining
				case 5:
					r.State, r.Message = stateLost, "OOMKilled"
				case 7:
					r.State = stateLeft
				case 9:
					r.Message = "the runner does not answer"
				}
			},
			want: []int32{3, 5, 9},
		},
		"more than the bound": {
			set: func(shard int, r *v1alpha1.RunnerStatus) {
				if r.State = stateJoining; shard >= 18 {
					r.State = stateLost
				}
			},
			want: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 19},
		},
	} {
		whole := &v1alpha1.LoadTestStatus{}
		if tc.ended {
			whole.CompletionTime = &metav1.Time{Time: time.Unix(1, 0)}
		}
		for shard := range 20 {
			r := v1alpha1.RunnerStatus{Shard: int32(shard), State: "Running", Member: true}
			tc.set(shard, &r)
			whole.Runners = append(whole.Runners, r)
		}
		before := whole.DeepCopy()
		var got []int32
		for _, r := range Brief(whole).Runners {
			got = append(got, r.Shard)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: listed shards (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, whole); diff != "" {
			t.Errorf("%s: the whole status changed:\n%s", name, diff)
		}
	}
}

// TestBriefStaysSmall: neither shards nor steps make what is written of a running test larger.
func TestBriefStaysSmall(t *testing.T) {
	whole := &v1alpha1.LoadTestStatus{Results: &v1alpha1.Results{Chains: make([]v1alpha1.ChainResult, 1)}}
	for i := range 256 {
		whole.Runners = append(whole.Runners, v1alpha1.RunnerStatus{Shard: int32(i), Pod: fmt.Sprint("pod-", i), State: stateLost, Message: "OOMKilled"})
		whole.Results.Chains[0].Steps = append(whole.Results.Chains[0].Steps, v1alpha1.StepResult{Name: fmt.Sprint("step-", i), ErrorRate: 0})
	}
	b, err := json.Marshal(Brief(whole))
	if err != nil || len(b) > 4096 {
		t.Errorf("%d bytes, error %v; want at most 4096", len(b), err)
	}
	if n := len(whole.Results.Chains[0].Steps); n != 256 {
		t.Errorf("the whole status has %d steps", n)
	}
}

func TestGenerator(t *testing.T) {
	if got := generatorOf(nil); got != nil {
		t.Errorf("without runners: %+v", got)
	}
	got := generatorOf([]v1alpha1.RunnerStatus{
		{Shard: 0, Exclusive: true, LagP99Microseconds: 5, ThrottledMicroseconds: 7},
		{Shard: 1, LagP99Microseconds: 9, ThrottledMicroseconds: 1},
		{Shard: 2, Exclusive: true, State: stateLeft},
	})
	want := &v1alpha1.GeneratorStatus{ExclusiveShards: 1, LagP99Microseconds: 9, ThrottledMicroseconds: 8}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUrgent(t *testing.T) {
	base := func() *v1alpha1.LoadTestStatus {
		return &v1alpha1.LoadTestStatus{
			Phase:      v1alpha1.PhaseRunning,
			Shards:     &v1alpha1.ShardCounts{Desired: 2, Ready: 2},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionRunnersReady, Status: metav1.ConditionTrue, Reason: "AllReady", Message: "2 of 2"}},
			Runners:    []v1alpha1.RunnerStatus{{Shard: 1, State: "Running", Message: "the runner does not answer", LagP99Microseconds: 5}},
			Results:    &v1alpha1.Results{},
			Summary:    &v1alpha1.Summary{Rate: "5"},
			Thresholds: []v1alpha1.ThresholdStatus{{Name: "fast", Observed: "5ms"}},
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.LoadTestStatus)
		want   bool
	}{
		"nothing":               {func(*v1alpha1.LoadTestStatus) {}, false},
		"results":               {func(st *v1alpha1.LoadTestStatus) { st.Results.Requests.Sent = 5 }, false},
		"summary":               {func(st *v1alpha1.LoadTestStatus) { st.Summary.Rate = "6" }, false},
		"ready runners":         {func(st *v1alpha1.LoadTestStatus) { st.Shards.Ready = 1 }, false},
		"message":               {func(st *v1alpha1.LoadTestStatus) { st.Conditions[0].Message = "x" }, false},
		"lag":                   {func(st *v1alpha1.LoadTestStatus) { st.Runners[0].LagP99Microseconds = 6 }, false},
		"observed value":        {func(st *v1alpha1.LoadTestStatus) { st.Thresholds[0].Observed = "6ms" }, false},
		"phase":                 {func(st *v1alpha1.LoadTestStatus) { st.Phase = v1alpha1.PhaseFinishing }, true},
		"reason of a condition": {func(st *v1alpha1.LoadTestStatus) { st.Conditions[0].Reason = "RunnerLost" }, true},
		"lost runners":          {func(st *v1alpha1.LoadTestStatus) { st.Shards.Lost = 1 }, true},
		"state of a shard":      {func(st *v1alpha1.LoadTestStatus) { st.Runners[0].State = "Lost" }, true},
		"edit":                  {func(st *v1alpha1.LoadTestStatus) { st.ObservedGeneration = 2 }, true},
	} {
		after := base()
		tc.change(after)
		if got := Urgent(base(), after); got != tc.want {
			t.Errorf("%s: urgent is %v, want %v", name, got, tc.want)
		}
	}
}

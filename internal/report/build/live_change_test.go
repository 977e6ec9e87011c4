package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestRatesWithChangesAndPauses: two shards, a stage of 10 s at 100 a second and one of 20 s at 10.
func TestRatesWithChangesAndPauses(t *testing.T) {
	plan := &runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{
		{Name: "warm", Count: 10, Period: time.Second, Duration: time.Second, WarmUp: true},
		{Name: "hold", Count: 100, Period: time.Second, Duration: 10 * time.Second},
		{Name: "slow", Count: 10, Period: time.Second, Duration: 20 * time.Second},
	}}
	const second = int64(time.Second)
	// A stage, by shard: sent, slots, paused, begun, ended.
	stage := func(sent, slots, paused, begun, ended int64) runnerv1alpha1.StageCounters {
		return runnerv1alpha1.StageCounters{Sent: sent, Slots: slots, Dropped: slots - sent, Paused: paused, Begun: begun, Ended: ended}
	}
	warm := stage(5, 5, 0, 0, second)
	tests := map[string]struct {
		changed bool
		clock   int64
		stages  [2][]runnerv1alpha1.StageCounters
		want    []runnerv1alpha1.StageResult
		rate    runnerv1alpha1.RateResult
	}{
		"as planned": {
			clock: 40 * second,
			stages: [2][]runnerv1alpha1.StageCounters{
				{warm, stage(500, 500, 0, second, 11*second), stage(100, 100, 0, 11*second, 31*second)},
				{warm, stage(490, 500, 0, second, 11*second), stage(100, 100, 0, 11*second, 31*second)},
			},
			want: []runnerv1alpha1.StageResult{
				{Name: "warm", WarmUp: true, Asked: 10, Achieved: 10, Sent: 10},
				{Name: "hold", Asked: 100, Achieved: 99, Sent: 990, Dropped: 10},
				{Name: "slow", Asked: 10, Achieved: 10, Sent: 200},
			},
			rate: runnerv1alpha1.RateResult{Asked: 40, Achieved: 1190. / 30, WindowSeconds: 30},
		},
		"another rate on the way, and a pause of 5 s": {
			changed: true, clock: 50 * second,
			stages: [2][]runnerv1alpha1.StageCounters{
				{warm, stage(750, 750, 5*second, second, 16*second), stage(100, 100, 0, 16*second, 36*second)},
				{warm, stage(745, 750, 5*second, second, 16*second), stage(100, 100, 0, 16*second, 36*second)},
			},
			want: []runnerv1alpha1.StageResult{
				{Name: "warm", WarmUp: true, Asked: 10, Achieved: 10, Sent: 10},
				{Name: "hold", Asked: 150, Achieved: 149.5, Sent: 1495, Dropped: 5, Paused: 5},
				{Name: "slow", Asked: 10, Achieved: 10, Sent: 200},
			},
			rate: runnerv1alpha1.RateResult{Asked: 1700. / 30, Achieved: 1695. / 30, WindowSeconds: 30},
		},
		"in the middle of a pause, which is longer than the stage": {
			changed: true, clock: 30 * second,
			stages: [2][]runnerv1alpha1.StageCounters{
				{warm, stage(250, 250, 24*second, second, 0), {}},
				{warm, stage(250, 250, 24*second, second, 0), {}},
			},
			want: []runnerv1alpha1.StageResult{
				{Name: "warm", WarmUp: true, Asked: 10, Achieved: 10, Sent: 10},
				{Name: "hold", Asked: 100, Achieved: 100, Sent: 500, Paused: 24},
				{Name: "slow", Asked: 10},
			},
			rate: runnerv1alpha1.RateResult{Asked: 100, Achieved: 100, WindowSeconds: 5},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var snapshots []runnerv1alpha1.Snapshot
			for shard, stages := range tt.stages {
				snapshots = append(snapshots, runnerv1alpha1.Snapshot{
					Shard: shard, Clock: tt.clock + 1, StartedAt: 1, Changed: tt.changed && shard == 0, Stages: stages,
				})
			}
			near := cmpopts.EquateApprox(0, 1e-9)
			if diff := cmp.Diff(tt.want, stages(plan, snapshots), near); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.rate, rate(plan, snapshots), near); diff != "" {
				t.Errorf("rate (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRateAskedBeforeTheLoad(t *testing.T) {
	for name, tc := range map[string]struct {
		rates []runnerv1alpha1.Rate
		want  float64
	}{
		"one stage":             {[]runnerv1alpha1.Rate{{Count: 300, Period: time.Second, Duration: time.Minute}}, 300},
		"average, no warm-up":   {[]runnerv1alpha1.Rate{{Count: 9, Period: time.Second, Duration: time.Minute, WarmUp: true}, {Count: 100, Period: time.Second, Duration: time.Second}, {Count: 200, Period: time.Second, Duration: 3 * time.Second}}, 175},
		"ends by its requests":  {[]runnerv1alpha1.Rate{{Count: 100, Period: time.Second, Requests: 100}, {Count: 300, Period: time.Second, Duration: time.Second}}, 200},
		"one is a closed loop":  {[]runnerv1alpha1.Rate{{Count: 300, Period: time.Second, Duration: time.Minute}, {ClosedLoop: true, Requests: 1}}, 0},
		"there is only warm-up": {[]runnerv1alpha1.Rate{{Count: 300, Period: time.Second, Duration: time.Minute, WarmUp: true}}, 0},
	} {
		if got := rate(&runnerv1alpha1.Plan{Rates: tc.rates}, nil).Asked; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// at is a shard that runs since elapsed seconds, in the warm-up for the first.
func at(plan *runnerv1alpha1.Plan, shard int, elapsed float64) *recorder {
	r := newRecorder(plan, shard)
	s := &r.snapshot
	s.State, s.EndedAt = runnerv1alpha1.StateRunning, 0
	s.Clock = s.StartedAt + int64(elapsed*float64(time.Second))
	s.Sequence = uint64(s.Clock)
	s.Stages[1].Ended = 0
	if elapsed < 1 {
		s.Stages[0].Ended, s.Stages[1].Begun = 0, 0
	}
	return r
}

func TestLive(t *testing.T) {
	plan := testPlan()
	p0, p1, c0, c1 := at(plan, 0, 3), at(plan, 1, 3), at(plan, 0, 4), at(plan, 1, 5)
	for range 20 { // before
		for _, r := range []*recorder{p0, c0} {
			r.request(0, "succeeded", 100)
		}
	}
	for range 6 { // in the last second of shard 0
		c0.request(0, "succeeded", 300)
	}
	for range 8 { // in the last two seconds of shard 1
		c1.request(2, "failed", 500)
	}
	c1.request(2, "inFlight", 0)
	c1.request(2, "inFlight", 0)
	c1.request(2, "dropped", 0)
	c1.snapshot.State = runnerv1alpha1.StateReady
	previous := []runnerv1alpha1.Snapshot{p1.done(), p0.done()}
	current := []runnerv1alpha1.Snapshot{c1.done(), c0.done()}
	got, err := NewLive(plan, previous, current)
	if err != nil {
		t.Fatal(err)
	}
	above := runnerv1alpha1.Above(5_000_000)
	want := Live{
		State: runnerv1alpha1.StateReady, Ready: 2, Stage: "hold", Elapsed: 5 * time.Second,
		Progress: 5. / 11, Asked: 10, Achieved: 6 + 5, InFlight: 2, Sent: 36,
		ErrorRate: 9. / 35,
		Interval:  runnerv1alpha1.Times{Count: 15, Unanswered: 1, Min: 300, Mean: 414, P50: 500, P90: 500, P95: above, P99: above, P999: above, Max: above},
		ResponseTime: runnerv1alpha1.Times{
			Count: 35, Unanswered: 1, Min: 100, Mean: 229, P50: 100, P90: 500, P95: 500, P99: above, P999: above, Max: above,
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLiveReachesBackToTheStart(t *testing.T) {
	plan := testPlan()
	now := at(plan, 0, 4)
	for range 8 {
		now.request(0, "succeeded", 100)
	}
	other := at(plan, 0, 3)
	other.snapshot.Boot = "before a restart"
	for range 100 {
		other.request(0, "succeeded", 9)
	}
	for name, previous := range map[string][]runnerv1alpha1.Snapshot{"none": nil, "another boot": {other.done()}} {
		got, err := NewLive(plan, previous, []runnerv1alpha1.Snapshot{now.done()})
		if err != nil {
			t.Fatal(err)
		}
		if got.Achieved != 2 || got.Interval.Count != 8 {
			t.Errorf("%s: rate %v, %d in the interval; want 2 and 8", name, got.Achieved, got.Interval.Count)
		}
	}
}

func TestLiveStages(t *testing.T) {
	plan := testPlan()
	warm := at(plan, 0, 0.5)
	warm.warmUp()
	warm.warmUp()
	warm.snapshot.Counters.WarmUpSucceeded = 0
	warm.snapshot.Counters.WarmUpInFlight = 1
	waiting := runnerv1alpha1.Snapshot{State: runnerv1alpha1.StateConnecting, Clock: 5}
	finished := newRecorder(plan, 0)
	tests := []struct {
		name    string
		current []runnerv1alpha1.Snapshot
		want    Live
	}{
		{"no snapshots", nil, Live{}},
		{"connecting", []runnerv1alpha1.Snapshot{waiting}, Live{State: runnerv1alpha1.StateConnecting}},
		{
			"one sets up, the other is ready", []runnerv1alpha1.Snapshot{
				{State: runnerv1alpha1.StateSettingUp, Clock: 5}, {Shard: 1, State: runnerv1alpha1.StateReady, Clock: 5},
			},
			Live{State: runnerv1alpha1.StateSettingUp, Ready: 1},
		},
		{
			"one tears down, the other is done", []runnerv1alpha1.Snapshot{
				{Shard: 1, State: runnerv1alpha1.StateDone}, {State: runnerv1alpha1.StateTearingDown},
			},
			Live{State: runnerv1alpha1.StateTearingDown, Ready: 2},
		},
		{
			"one has drained", []runnerv1alpha1.Snapshot{
				{Shard: 1, State: runnerv1alpha1.StateDraining}, {State: runnerv1alpha1.StateDrained},
			},
			Live{State: runnerv1alpha1.StateDraining, Ready: 2},
		},
		{
			"warm-up", []runnerv1alpha1.Snapshot{warm.done()},
			Live{
				State: runnerv1alpha1.StateRunning, Ready: 1, Stage: "warm", WarmUp: true, Elapsed: time.Second / 2,
				Progress: 0.5 / 11, Asked: 5, Achieved: 4, InFlight: 1, WarmUpSent: 2, ErrorRate: 1,
			},
		},
		{
			"done", []runnerv1alpha1.Snapshot{finished.done()},
			Live{State: runnerv1alpha1.StateDone, Ready: 1, Elapsed: 12 * time.Second, Progress: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := NewLive(plan, nil, tt.current)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressByRequests(t *testing.T) {
	plan := testPlan()
	plan.Rates = []runnerv1alpha1.Rate{
		{Name: "a", ClosedLoop: true, Requests: 100},
		{Name: "b", Count: 10, Period: time.Second, Duration: 10 * time.Second},
	}
	r := at(plan, 0, 0.5)
	r.snapshot.Stages[0].Sent = 25
	got, err := NewLive(plan, nil, []runnerv1alpha1.Snapshot{r.done()})
	if err != nil {
		t.Fatal(err)
	}
	if got.Progress != 0.125 {
		t.Errorf("progress %v, want a quarter of the first of two stages", got.Progress)
	}
}

func TestLiveRefusesABadHistogram(t *testing.T) {
	plan := testPlan()
	good, bad := at(plan, 0, 2).done(), at(plan, 0, 3).done()
	bad.ResponseTime.Counts = []byte("?")
	for _, pair := range [][2]runnerv1alpha1.Snapshot{{good, bad}, {bad, good}} {
		if _, err := NewLive(plan, pair[:1], pair[1:]); err == nil {
			t.Error("no error")
		}
	}
}

func TestFormatValue(t *testing.T) {
	for _, tc := range []struct {
		v    float64
		unit string
		want string
	}{
		{1.2345, "Cores", "1.23"}, {0, "Count", "0"}, {12_345, "Count", "12345"}, {512e6, "Bytes", "512MB"}, {999.6, "Bytes", "1kB"}, {-2e6, "Bytes", "-2MB"},
		{2.5e9, "BytesPerSecond", "2.5GB/s"}, {0.5, "PerSecond", "0.5/s"}, {0.0123, "Seconds", "12.3ms"}, {2e-7, "Seconds", "2e-07s"}, {-1, "Seconds", "-1s"},
		{50, "Percent", "50%"}, {0.001, "Percent", "0.001%"},
	} {
		if got := FormatValue(tc.v, tc.unit); got != tc.want {
			t.Errorf("%v %s: %q, want %q", tc.v, tc.unit, got, tc.want)
		}
	}
}

func TestFormat(t *testing.T) {
	times := map[int64]string{
		0: "0us", 1: "1us", 999: "999us", 1000: "1ms", 1100: "1.1ms", 8421: "8.42ms", 9996: "10ms", 12_345: "12.3ms",
		99_949: "99.9ms", 99_950: "100ms", 999_499: "999ms", 999_500: "1s", 1_234_567: "1.23s", 59_940_000: "59.9s",
		59_950_000: "1m0s", 75_400_000: "1m15s", 3_600_000_000: "1h0m0s", 5_025_000_000: "1h23m45s",
	}
	for us, want := range times {
		if got := FormatTime(us); got != want {
			t.Errorf("FormatTime(%d) = %q, want %q", us, got, want)
		}
	}
	rates := map[float64]string{0: "0", 0.15: "0.15", 1. / 3: "0.333", 2.5: "2.5", 9.999: "10", 99.96: "100", 123.4: "123", 999.6: "1000", 60003.4: "60003"}
	for rate, want := range rates {
		if got := FormatRate(rate); got != want {
			t.Errorf("FormatRate(%v) = %q, want %q", rate, got, want)
		}
	}
	percents := map[float64]string{0: "0%", 1e-9: "<0.01%", 0.0002: "0.02%", 0.125: "12.5%", 0.5: "50%", 0.999999: ">99.99%", 1: "100%"}
	for ratio, want := range percents {
		if got := FormatPercent(ratio); got != want {
			t.Errorf("FormatPercent(%v) = %q, want %q", ratio, got, want)
		}
	}
}

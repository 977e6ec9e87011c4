package build

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// joining is a runner that had its first turn at an offset.
func joining(shard int, boot string, at time.Duration) *simulated {
	s := newSimulated(shard, 2)
	s.Boot, s.StartAt = boot, simulatedStart
	s.StartedAt = simulatedStart + int64(at)
	return s
}

// ends the load at an offset.
func (s *simulated) ends(at time.Duration) {
	s.State, s.EndedAt = runnerv1alpha1.StateDone, simulatedStart+int64(at)
}

// TestWindowsAddUpWhileScaled: whether runners join, leave, come back as another process or are lost, and however
// often they are polled, the windows count as many requests as the last snapshots.
func TestWindowsAddUpWhileScaled(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := NewWindows(windowPlan(), 2)
		all := []*simulated{joining(0, "a", 0), joining(1, "a", time.Millisecond)}
		present := append([]*simulated{}, all...)
		for tenth := 1; tenth < 600; tenth++ {
			now := time.Duration(tenth) * time.Second / 10
			for i, s := range present {
				s.do(r.Int64N(20), 1000)
				if (tenth+i)%(5+r.IntN(6)) == 0 {
					feed(t, w, s.at(now))
				}
			}
			change := r.IntN(60)
			if tenth > 570 {
				change = -1
			}
			switch change {
			case 0: // the next shard joins, perhaps one that was there before
				s := joining(len(present), string(rune('a'+len(all))), now)
				all, present = append(all, s), append(present, s)
			case 1: // the last one leaves
				if last := len(present) - 1; last > 0 {
					present[last].Counters.InFlightAtEnd = 3
					present[last].ends(now)
					feed(t, w, present[last].at(now+time.Millisecond))
					present = present[:last]
				}
			case 2: // the last one is lost: its last snapshot is all there is
				if last := len(present) - 1; last > 0 {
					feed(t, w, present[last].at(now))
					present = present[:last]
				}
			}
		}
		for _, s := range present {
			s.ends(60 * time.Second)
			feed(t, w, s.at(60*time.Second+time.Millisecond))
		}
		addsUp(t, seed, w, all)
	}
}

func addsUp(t *testing.T, seed uint64, w *Windows, all []*simulated) {
	t.Helper()
	var want, got, end int64
	for _, s := range all {
		want += s.Counters.Sent
	}
	windows, from := list(t, w)
	for i, x := range windows {
		if x.From != end || x.To <= x.From {
			t.Fatalf("seed %d: window %d is from %d to %d after %d", seed, i, x.From, x.To, end)
		}
		got, end = got+x.Sent, x.To
	}
	if got != want || from != 0 || len(windows) < 30 {
		t.Errorf("seed %d: %d windows from %d on have %d sent, want %d", seed, len(windows), from, got, want)
	}
	if last := windows[len(windows)-1]; last.InFlight != 0 {
		t.Errorf("seed %d: %d in flight at the end, which those have that left long before", seed, last.InFlight)
	}
}

// TestWindowsDoNotWaitForALeaver, nor lose what one that joins has counted before its first look.
func TestWindowsDoNotWaitForALeaver(t *testing.T) {
	w := NewWindows(windowPlan(), 1)
	stays, joins := joining(0, "a", 0), joining(1, "a", 20*time.Second+700*time.Millisecond)
	for second := range 40 {
		now := time.Duration(second+1) * time.Second
		stays.do(100, 1000)
		feed(t, w, stays.at(now))
		switch {
		case second >= 20 && second < 29:
			joins.do(50, 1000)
			feed(t, w, joins.at(now))
		case second == 29:
			joins.do(20, 1000)
			joins.ends(now)
			feed(t, w, joins.at(now))
		}
	}
	windows, _ := list(t, w)
	var sent int64
	shards := map[int]int{}
	for i, x := range windows {
		sent += x.Sent
		shards[x.Shards]++
		if lasts := x.To - x.From; lasts != 1000 {
			t.Errorf("window %d lasts %d ms", i, lasts)
		}
	}
	if sent != stays.Counters.Sent+joins.Counters.Sent {
		t.Errorf("%d sent", sent)
	}
	if diff := cmp.Diff(map[int]int{1: 31, 2: 9}, shards); diff != "" {
		t.Errorf("windows by shards (-want +got):\n%s", diff)
	}
}

func TestWindowsSuspended(t *testing.T) {
	w := NewWindows(windowPlan(), 1)
	s, other, joins := joining(0, "a", 0), joining(1, "a", 0), joining(2, "a", 3900*time.Millisecond)
	s.Stages[0].Ended, s.Stages[1].Begun = int64(time.Second), int64(time.Second)
	other.ends(time.Second)
	feed(t, w, other.at(time.Second))
	for second := range 8 {
		now := time.Duration(second+1) * time.Second
		s.Suspended = second >= 2 && second < 6
		if !s.Suspended {
			s.do(100, 1000)
			s.Stages = []runnerv1alpha1.StageCounters{s.Stages[0], {Begun: int64(time.Second), Slots: s.Counters.Sent}}
		}
		feed(t, w, s.at(now))
		if joins.Suspended = s.Suspended; second >= 3 {
			feed(t, w, joins.at(now)) // has nothing to send either
		}
	}
	windows, _ := list(t, w)
	var got []bool
	for _, x := range windows {
		got = append(got, x.Suspended)
	}
	// The third window has the beginning of the pause, the seventh its end.
	if diff := cmp.Diff([]bool{false, false, false, true, true, true, false, false}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBuildWhileScaled: shard 0 stays, 1 leaves and comes back, 2 joins and is lost, 3 was late at the start.
func TestBuildWhileScaled(t *testing.T) {
	plan := &runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: 60 * time.Second}}}
	runner := func(shard int, boot string, begins, ends time.Duration, sent int64) runnerv1alpha1.Snapshot {
		s := joining(shard, boot, begins)
		s.ends(ends)
		s.Generator = runnerv1alpha1.Generator{Workers: 1, Exclusive: boot != "c"}
		s.do(sent, 1000)
		s.Stages = []runnerv1alpha1.StageCounters{{Sent: sent, Slots: sent, Ended: int64(ends)}}
		return *s.at(ends + time.Second)
	}
	lost := runner(2, "d", 15*time.Second, 30*time.Second, 500)
	lost.State, lost.EndedAt, lost.Stages[0].Ended = runnerv1alpha1.StateRunning, 0, 0
	in := Input{
		Plan: plan,
		Snapshots: []runnerv1alpha1.Snapshot{
			runner(0, "a", 0, time.Minute, 3000), runner(1, "b", 100*time.Microsecond, 10*time.Second, 500),
			runner(1, "c", 20*time.Second, time.Minute, 1500), lost, runner(3, "e", 900*time.Millisecond, time.Minute, 500),
		},
		Lost:         []Runner{{2, "d"}},
		ClockOffsets: map[Runner]int64{{0, "a"}: 0, {1, "c"}: 77, {2, "d"}: 88, {3, "e"}: 0, {1, "b"}: 0},
	}
	r := build(t, in)
	type row struct {
		Shard        int
		Lost         bool
		Joined, Left int64
		Skew         int64
	}
	var got []row
	for _, s := range r.Shards {
		got = append(got, row{s.Shard, s.Lost, s.Joined, s.Left, s.StartSkewMicroseconds})
	}
	want := []row{
		{Shard: 0}, {Shard: 1, Left: 10_000, Skew: 100}, {Shard: 1, Joined: 20_000},
		{Shard: 2, Lost: true, Joined: 15_000}, {Shard: 3, Skew: 900_000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shards (-want +got):\n%s", diff)
	}
	generator := runnerv1alpha1.GeneratorResult{
		Shards: 4, ShardsLost: 1, ShardsJoined: 2, ShardsLeft: 1, Workers: 5, CPUs: []int{}, ExclusiveShards: 3,
		StartSkewMicroseconds: 900_000,
	}
	if diff := cmp.Diff(generator, r.Generator); diff != "" {
		t.Errorf("generator (-want +got):\n%s", diff)
	}
	// The stage lasted from the first that began it to the last that ended it, and not for as long as the
	// first turn of those that joined was late.
	if diff := cmp.Diff(runnerv1alpha1.RateResult{Asked: 100, Achieved: 100, WindowSeconds: 60}, r.Rate); diff != "" {
		t.Errorf("rate (-want +got):\n%s", diff)
	}
	if !r.Partial || r.Requests.Sent != 6000 {
		t.Errorf("partial %v, %d sent", r.Partial, r.Requests.Sent)
	}
}

// TestNoRunnerLeft has ends that differ although no runner left.
func TestNoRunnerLeft(t *testing.T) {
	byCount := windowPlan()
	byCount.Rates[1] = runnerv1alpha1.Rate{Name: "all", ClosedLoop: true, Requests: 100}
	for name, tc := range map[string]struct {
		plan   *runnerv1alpha1.Plan
		change func(*runnerv1alpha1.Snapshot)
	}{
		"stopped":           {windowPlan(), func(s *runnerv1alpha1.Snapshot) { s.Stopped = "spec.stop" }},
		"deadline":          {windowPlan(), func(s *runnerv1alpha1.Snapshot) { s.Problem = runnerv1alpha1.ProblemDeadline }},
		"values used up":    {windowPlan(), func(s *runnerv1alpha1.Snapshot) { s.Exhausted = true }},
		"requests sent":     {byCount, func(*runnerv1alpha1.Snapshot) {}},
		"not done yet":      {windowPlan(), func(s *runnerv1alpha1.Snapshot) { s.State = runnerv1alpha1.StateDraining }},
		"never begun":       {windowPlan(), func(s *runnerv1alpha1.Snapshot) { s.StartedAt = 0 }},
		"a little too late": {windowPlan(), func(s *runnerv1alpha1.Snapshot) { s.EndedAt = s.StartAt + 20*second - lateEnd }},
	} {
		early, late := joining(0, "a", 0), joining(1, "a", 0)
		early.ends(10 * time.Second)
		late.ends(20 * time.Second)
		if got := leftAt(&early.Snapshot, tc.plan, lastEnd([]runnerv1alpha1.Snapshot{early.Snapshot, late.Snapshot})); tc.plan != byCount && got != 10*time.Second {
			t.Errorf("%s: before the change it left at %v", name, got)
		}
		tc.change(&early.Snapshot)
		if got := leftAt(&early.Snapshot, tc.plan, 20*time.Second); got != 0 {
			t.Errorf("%s: left at %v", name, got)
		}
	}
}

func TestLiveWhileScaled(t *testing.T) {
	stays, joined, comes := joining(0, "a", 0), joining(1, "a", 30*time.Second), joining(2, "a", 0)
	comes.StartedAt, comes.State = 0, runnerv1alpha1.StateConnecting
	for _, s := range []*simulated{stays, joined} {
		s.Stages = []runnerv1alpha1.StageCounters{{Ended: second}, {Begun: second}}
	}
	joined.do(50, 1000)
	former := *stays.at(31 * time.Second)
	stays.do(100, 1000)
	current := []runnerv1alpha1.Snapshot{*stays.at(32 * time.Second), *joined.at(32 * time.Second), *comes.at(32 * time.Second)}
	got, err := NewLive(windowPlan(), []runnerv1alpha1.Snapshot{former}, current)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != runnerv1alpha1.StateRunning || got.Ready != 2 || got.Elapsed != 32*time.Second || got.Achieved != 100+25 || got.Asked != 1000 || got.Suspended {
		t.Errorf("%+v", got)
	}
	current[0].Suspended = true
	if got, _ := NewLive(windowPlan(), nil, current); got.Suspended || got.Asked != 1000 {
		t.Errorf("one of two is paused: %+v", got)
	}
	current[1].Suspended = true
	if got, _ := NewLive(windowPlan(), nil, current); !got.Suspended || got.Asked != 0 || got.Stage != "hold" {
		t.Errorf("paused: %+v", got)
	}
}

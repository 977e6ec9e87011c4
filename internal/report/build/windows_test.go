package build

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// simulated is a shard whose requests all take the same time, and whose snapshots one can look at.
type simulated struct {
	runnerv1alpha1.Snapshot
	responseTime, lag histogram.H
}

const simulatedStart = int64(7e9)

func newSimulated(shard, stages int) *simulated {
	return &simulated{Snapshot: runnerv1alpha1.Snapshot{
		Shard: shard, Boot: "b", Revision: 1, State: runnerv1alpha1.StateRunning, StartedAt: simulatedStart,
		Clock: simulatedStart, Stages: make([]runnerv1alpha1.StageCounters, stages),
	}}
}

// do is n measured requests of so many microseconds.
func (s *simulated) do(n, us int64) {
	s.Counters.Sent += n
	s.Counters.Done += n
	s.Counters.Succeeded += n
	s.responseTime.RecordN(us, n)
	s.lag.RecordN(us/10, n)
}

// at is the snapshot at an offset.
func (s *simulated) at(offset time.Duration) *runnerv1alpha1.Snapshot {
	s.Sequence++
	s.Clock = simulatedStart + int64(offset)
	out := s.Snapshot
	out.ResponseTime, out.Lag = s.responseTime.Encode(), s.lag.Encode()
	return &out
}

func windowPlan() *runnerv1alpha1.Plan {
	return &runnerv1alpha1.Plan{Rates: []runnerv1alpha1.Rate{
		{Name: "warm", Count: 100, Period: time.Second, Duration: time.Second, WarmUp: true},
		{Name: "hold", Count: 1000, Period: time.Second, Duration: time.Hour},
	}}
}

func feed(t *testing.T, w *Windows, snapshots ...*runnerv1alpha1.Snapshot) {
	t.Helper()
	for _, s := range snapshots {
		if err := w.Add(s); err != nil {
			t.Fatal(err)
		}
	}
}

func list(t *testing.T, w *Windows) ([]runnerv1alpha1.Window, int64) {
	t.Helper()
	return w.List()
}

func TestWindowsOfOneShard(t *testing.T) {
	w, s := NewWindows(windowPlan(), 1), newSimulated(0, 2)
	s.Counters.Connects = 4
	s.Counters.WarmUpSent, s.Counters.WarmUpSucceeded, s.Counters.WarmUpInFlight = 80, 79, 1
	s.Stages[0].Sent = 80
	feed(t, w, s.at(800*time.Millisecond))

	// A window over the border of two stages: 0.2 s at 100/s and 0.8 s at 1000/s.
	s.Counters.WarmUpSent, s.Counters.WarmUpSucceeded, s.Counters.WarmUpInFlight = 100, 100, 0
	s.Stages[0].Ended, s.Stages[1].Begun = int64(time.Second), int64(time.Second)
	s.do(800, 1000)
	s.Counters.InFlightAtEnd, s.Counters.TimedOut, s.Counters.Dropped, s.Revision = 3, 2, 1, 2
	feed(t, w, s.at(1800*time.Millisecond))
	feed(t, w, s.at(2000*time.Millisecond)) // too early for a window of its own

	got, from := list(t, w)
	times := runnerv1alpha1.WindowTimes{Count: 803, Unanswered: 3, P50: 1000, P90: 1000, P99: 1000, Max: runnerv1alpha1.Above(1000)}
	want := []runnerv1alpha1.Window{
		{From: 0, To: 800, Stage: "warm", WarmUp: true, Revision: 1, Asked: 100, Achieved: 100, Sent: 80, Succeeded: 79, InFlight: 1, Connects: 4, Shards: 1},
		{
			From: 800, To: 1800, Stage: "hold", Revision: 2, Asked: 820, Achieved: 820, Sent: 820, Succeeded: 821,
			TimedOut: 2, Dropped: 1, InFlight: 3, ResponseTime: times, LagP99: 100, Shards: 1,
		},
		{From: 1800, To: 2000, Stage: "hold", Revision: 2, Asked: 1000, InFlight: 3, Shards: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" || from != 0 {
		t.Errorf("from %d (-want +got):\n%s", from, diff)
	}
}

// TestWindowsMerge: the 99th percentile over two shards is neither one's, nor their average.
func TestWindowsMerge(t *testing.T) {
	w, a, b := NewWindows(windowPlan(), 2), newSimulated(0, 2), newSimulated(1, 2)
	for second := range 3 {
		now := time.Duration(second+1) * time.Second
		a.do(99, 1000)
		b.do(1, 2000)
		feed(t, w, a.at(now), b.at(now+10*time.Millisecond))
	}
	all, _ := list(t, w)
	if len(all) != 3 {
		t.Fatalf("%d windows, want 3", len(all))
	}
	for i, got := range all {
		if got.ResponseTime != (runnerv1alpha1.WindowTimes{Count: 100, P50: 1000, P90: 1000, P99: 1000, Max: 2000}) || got.Shards != 2 {
			t.Errorf("window %d: %+v", i, got)
		}
	}
}

// TestWindowsAddUp: the distributions of the windows add up to that of the run, in each bucket, also after windows were joined.
func TestWindowsAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, seconds := range []int{1, 7, runnerv1alpha1.MaxWindows + 50} {
		w := NewWindows(windowPlan(), 2)
		shards := []*simulated{newSimulated(0, 2), newSimulated(1, 2)}
		for second := range seconds {
			for _, s := range shards {
				for range random.IntN(5) {
					s.do(1+random.Int64N(9), 1+random.Int64N(int64(1)<<random.IntN(33)))
				}
				feed(t, w, s.at(time.Duration(second+1)*time.Second+time.Duration(random.IntN(1e6))))
			}
		}
		var want, got histogram.H
		for _, s := range shards {
			want.Merge(&s.responseTime)
		}
		all, _ := w.Complete()
		for i := range all {
			h, err := histogram.Decode(all[i].Histogram)
			if err != nil {
				t.Fatal(err)
			}
			if h.Count() != all[i].ResponseTime.Count {
				t.Errorf("window %d: %d times in the distribution, %d in the summary", i, h.Count(), all[i].ResponseTime.Count)
			}
			got.Merge(h)
		}
		counts := func(h *histogram.H) string { return string(h.Encode().Counts) }
		if len(all) > runnerv1alpha1.MaxWindows || counts(&got) != counts(&want) {
			t.Errorf("%d windows have %d times, and not the counts of the run, which has %d", len(all), got.Count(), want.Count())
		}
	}
}

func TestWindowsDoNotWaitForALostShard(t *testing.T) {
	w, a, b := NewWindows(windowPlan(), 2), newSimulated(0, 2), newSimulated(1, 2)
	b.do(10, 100)
	feed(t, w, b.at(time.Second))
	for second := range 10 {
		a.do(100, 1000)
		feed(t, w, a.at(time.Duration(second+1)*time.Second))
	}
	all, _ := list(t, w)
	var spans []int64
	for _, x := range all {
		spans = append(spans, x.To-x.From)
	}
	// The second waits for the lost one in vain.
	if diff := cmp.Diff([]int64{1000, 2000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}, spans); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWindowsOfSlowPolls: if each shard is looked at less often than each second, a window has all of them.
func TestWindowsOfSlowPolls(t *testing.T) {
	const every, shards = 2900 * time.Millisecond, 10
	w := NewWindows(windowPlan(), shards)
	all := make([]*simulated, shards)
	for i := range 8 * shards {
		if i < shards {
			all[i] = newSimulated(i, 2)
		}
		s := all[i%shards]
		s.do(290, 1000)
		feed(t, w, s.at(time.Duration(i+1)*every/shards))
	}
	windows, _ := list(t, w)
	for i, x := range windows {
		if x.Shards != shards || x.Sent != 290*shards {
			t.Errorf("window %d from %d to %d ms has %d requests of %d shards", i, x.From, x.To, x.Sent, x.Shards)
		}
	}
	if len(windows) != 8 {
		t.Errorf("%d windows in 23 s, want 8", len(windows))
	}
}

// TestWindowsOfALongRun: there are never more than MaxWindows, nothing is lost when they are merged,
// and their percentiles are those of the merged distributions.
func TestWindowsOfALongRun(t *testing.T) {
	for _, seconds := range []int{600, 601, 1300, 4000, 20_000} {
		w, s := NewWindows(windowPlan(), 1), newSimulated(0, 2)
		s.Stages[0].Ended, s.Stages[1].Begun = int64(time.Second), int64(time.Second)
		for i := range seconds {
			s.do(99, 1000)
			s.do(1, 5000+int64(i)%2*1000)
			feed(t, w, s.at(time.Duration(i+1)*time.Second))
		}
		all, _ := list(t, w)
		if len(all) > runnerv1alpha1.MaxWindows || len(all) < min(seconds, 200) {
			t.Errorf("%d s: %d windows", seconds, len(all))
		}
		var sent, end int64
		for i, x := range all {
			if x.From != end || x.To <= x.From {
				t.Fatalf("%d s: window %d is from %d to %d after %d", seconds, i, x.From, x.To, end)
			}
			sent, end = sent+x.Sent, x.To
			if x.ResponseTime.P99 != 1000 || x.ResponseTime.Max < 5000 || x.Achieved != 100 {
				t.Fatalf("%d s: window %d: %+v", seconds, i, x)
			}
		}
		if sent != s.Counters.Sent || end != int64(seconds)*1000 {
			t.Errorf("%d s: %d sent until %d, want %d", seconds, sent, end, s.Counters.Sent)
		}
	}
}

// TestWindowsAfterTheLoad: only the window in which the last stage ended says when, also if it is joined with others. The first stage ends after a second.
func TestWindowsAfterTheLoad(t *testing.T) {
	for name, tc := range map[string]struct {
		ended   time.Duration
		seconds int
		want    map[int]int64
	}{
		"in a window":          {2300 * time.Millisecond, 5, map[int]int64{2: 2300}},
		"in the last one":      {4700 * time.Millisecond, 5, map[int]int64{4: 4700}},
		"at the end of one":    {3 * time.Second, 5, map[int]int64{}},
		"not yet":              {0, 5, map[int]int64{}},
		"in a joined one":      {998_300 * time.Millisecond, 1000, map[int]int64{499: 998_300}},
		"between joined ones":  {998 * time.Second, 1000, map[int]int64{499: 998_000}},
		"a drain of many ones": {2300 * time.Millisecond, 1000, map[int]int64{1: 2300}},
	} {
		plan := windowPlan()
		plan.Rates[1].Duration = 0
		w, s := NewWindows(plan, 1), newSimulated(0, 2)
		s.Stages[0].Ended, s.Stages[1].Begun = int64(time.Second), int64(time.Second)
		for i := range tc.seconds {
			now := time.Duration(i+1) * time.Second
			if tc.ended > 0 && now >= tc.ended {
				s.Stages[1].Ended = int64(tc.ended)
			}
			feed(t, w, s.at(now))
		}
		all, _ := list(t, w)
		got := map[int]int64{}
		for i := range all {
			if all[i].LoadEnd != 0 {
				got[i] = all[i].LoadEnd
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %d windows (-want +got):\n%s", name, len(all), diff)
		}
	}
}

func TestWindowsFrom(t *testing.T) {
	w, s := NewWindows(windowPlan(), 1), newSimulated(0, 2)
	s.do(5000, 1000)
	feed(t, w, s.at(50*time.Second))
	s.do(100, 1000)
	feed(t, w, s.at(51*time.Second))
	all, from := list(t, w)
	if from != 50_000 || len(all) != 1 || all[0].From != 50_000 || all[0].To != 51_000 || all[0].Sent != 100 {
		t.Errorf("from %d: %+v", from, all)
	}
}

func TestWindowsChange(t *testing.T) {
	w, s := NewWindows(windowPlan(), 1), newSimulated(0, 2)
	faster := windowPlan().Rates
	faster[1].Count = 2000
	s.Stages[0].Ended, s.Stages[1].Begun = int64(time.Second), int64(time.Second)
	feed(t, w, s.at(time.Second), s.at(2*time.Second))
	w.Change(2500*time.Millisecond, faster)
	feed(t, w, s.at(3*time.Second), s.at(4*time.Second))
	faster[1] = runnerv1alpha1.Rate{Name: "hold", ClosedLoop: true}
	w.Change(4*time.Second, faster)
	feed(t, w, s.at(5*time.Second))
	s.EndedAt = simulatedStart + int64(5*time.Second)
	feed(t, w, s.at(7*time.Second))
	all, _ := list(t, w)
	var asked []float64
	for _, x := range all {
		asked = append(asked, x.Asked)
	}
	if diff := cmp.Diff([]float64{100, 1000, 1500, 2000, 0, 0}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last := all[len(all)-1]; last.Stage != "" {
		t.Errorf("the drain is in stage %q", last.Stage)
	}
}

// TestRatesChanged: rates that were changed back have changed. A pause, the probes of a search and what comes after the last stage change none.
func TestRatesChanged(t *testing.T) {
	plan := windowPlan()
	faster := slices.Clone(plan.Rates)
	faster[1].Count *= 2
	type rates = []runnerv1alpha1.Rate
	for name, tt := range map[string]struct {
		search  *runnerv1alpha1.Search
		changes []rates // after one second, two, ...
		ended   time.Duration
		want    bool
	}{
		"nothing":            {},
		"a pause":            {changes: []rates{nil, plan.Rates}},
		"faster":             {changes: []rates{faster}, want: true},
		"and back":           {changes: []rates{faster, plan.Rates}, want: true},
		"during a pause":     {changes: []rates{nil, faster}, want: true},
		"in the last stage":  {changes: []rates{nil, faster}, ended: 2*time.Second + 1, want: true},
		"after the load":     {changes: []rates{nil, faster}, ended: 2 * time.Second},
		"probes of a search": {search: &runnerv1alpha1.Search{}, changes: []rates{faster}},
	} {
		p := *plan
		p.Search = tt.search
		w := NewWindows(&p, 1)
		s := newSimulated(0, 2)
		s.Stages[0].Ended, s.Stages[1].Begun, s.Stages[1].Ended = int64(time.Second), int64(time.Second), int64(tt.ended)
		feed(t, w, s.at(5*time.Second))
		for i, r := range tt.changes {
			w.Change(time.Duration(i+1)*time.Second, r)
		}
		if got := w.RatesChanged(); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// TestWindowsOfRamp: the desired rate of each window is the average of the ramp in this window, also after a change of the
// ramp and of a suspension, during which the ramp does not continue.
func TestWindowsOfRamp(t *testing.T) {
	plan, from := windowPlan(), int64(0)
	plan.Rates[1].RampFrom, plan.Rates[1].Duration = &from, 10*time.Second
	w, s := NewWindows(plan, 1), newSimulated(0, 2)
	s.Stages[0].Ended, s.Stages[1].Begun = int64(time.Second), int64(time.Second)
	asked := func() (out []float64) {
		all, _ := list(t, w)
		for _, x := range all {
			out = append(out, x.Asked)
		}
		return out
	}
	feed(t, w, s.at(time.Second), s.at(2*time.Second), s.at(3*time.Second))
	w.Change(3500*time.Millisecond, nil)
	feed(t, w, s.at(4*time.Second), s.at(5*time.Second))
	doubled := slices.Clone(plan.Rates)
	doubled[1].Count = 2000
	w.Change(5500*time.Millisecond, doubled)
	feed(t, w, s.at(6*time.Second), s.at(7*time.Second))
	// The first half second has the average rate of 225/s, and after the change 550/s.
	if diff := cmp.Diff([]float64{100, 50, 150, 112.5, 0, 275, 700}, asked()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWindowsMetAroundTheLimit: of two shards that are first looked at when the run is over, one just
// before and one just after the time up to which what was before is taken in.
func TestWindowsMetAroundTheLimit(t *testing.T) {
	w, first, second := NewWindows(windowPlan(), 2), newSimulated(0, 2), newSimulated(1, 2)
	for _, s := range []*simulated{first, second} {
		s.State, s.EndedAt = runnerv1alpha1.StateDone, simulatedStart+int64(4*time.Second)
		s.do(10, 1000)
	}
	feed(t, w, first.at(missed+time.Millisecond), second.at(missed-time.Millisecond))
	all, _ := list(t, w)
	for _, x := range all {
		if math.IsNaN(x.Asked) || math.IsNaN(x.Achieved) || x.To <= x.From {
			t.Errorf("window %+v", x)
		}
	}
}

// TestWindowsIgnore: nothing comes of what has not begun, or was overtaken.
func TestWindowsIgnore(t *testing.T) {
	w, s := NewWindows(windowPlan(), 1), newSimulated(0, 2)
	feed(t, w, &runnerv1alpha1.Snapshot{Boot: "b", Clock: 5})
	first := s.at(time.Second)
	s.do(10, 1000)
	feed(t, w, s.at(2*time.Second), first)
	all, _ := list(t, w)
	if len(all) != 1 || all[0].Sent != 10 {
		t.Errorf("%+v", all)
	}
	bad := s.at(3 * time.Second)
	bad.ResponseTime.Counts = []byte("!")
	if err := w.Add(bad); err == nil {
		t.Error("a distribution that cannot be read is no error")
	}
}

// TestFinalSnapshotAgain: the final snapshot of a runner that is asked again counts once.
func TestFinalSnapshotAgain(t *testing.T) {
	s := newSimulated(0, 2)
	windows, watch := NewWindows(windowPlan(), 1), NewWatch(&runnerv1alpha1.Plan{
		Rates: windowPlan().Rates, Thresholds: []runnerv1alpha1.Threshold{{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Max: "1s"}},
	}, 1)
	s.do(100, 1000)
	s.Snapshot.State = runnerv1alpha1.StateDone
	for i := range 3 {
		now := s.at(time.Second + time.Duration(i)*time.Second)
		feed(t, windows, now)
		if _, err := watch.Add(now); err != nil {
			t.Fatal(err)
		}
	}
	if all, _ := windows.List(); len(all) != 1 || all[0].ResponseTime.Count != 100 || all[0].Sent != 100 {
		t.Errorf("windows: %+v", all)
	}
	h, err := watch.SoFar(0).time("")
	if err != nil || h.Count() != 100 || watch.SoFar(0).Requests.Sent != 100 {
		t.Errorf("%d times of %d requests, want 100; %v", h.Count(), watch.SoFar(0).Requests.Sent, err)
	}
}

package build

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// watchedRequest is a request of a test of Watch.
type watchedRequest struct {
	at        time.Duration
	us        int64
	succeeded bool
}

// watchRun is a run whose snapshots follow from its requests. Shard i of n has every n-th request.
type watchRun struct {
	plan     *runnerv1alpha1.Plan
	requests []watchedRequest
	shards   int
}

func newWatchRun(window time.Duration, shards int) *watchRun {
	plan := testPlan()
	plan.Rates = []runnerv1alpha1.Rate{{Name: "hold", Count: 100, Period: time.Second, Duration: time.Minute}}
	plan.Thresholds = []runnerv1alpha1.Threshold{
		{Name: "fast", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99", Max: "1s", Window: window},
		{Name: "run", Metric: runnerv1alpha1.MetricErrorRate, Max: "1%"},
	}
	return &watchRun{plan: plan, shards: shards}
}

// random adds 100 requests a second.
func (r *watchRun) random(seed uint64, seconds int) {
	random := rand.New(rand.NewPCG(seed, 5))
	for i := range 100 * seconds {
		r.requests = append(r.requests, watchedRequest{time.Duration(i) * 10 * time.Millisecond, 1 + random.Int64N(1<<random.IntN(20)), random.IntN(10) > 0})
	}
}

// snapshot returns what a shard counted until a time.
func (r *watchRun) snapshot(shard int, until time.Duration) *runnerv1alpha1.Snapshot {
	const start = int64(1000 * time.Hour)
	s := &runnerv1alpha1.Snapshot{
		Shard: shard, Boot: fmt.Sprint("boot-", shard), Sequence: uint64(until/time.Millisecond) + 1, State: runnerv1alpha1.StateRunning,
		StartAt: start, StartedAt: start + 1, Clock: start + int64(until), Stages: make([]runnerv1alpha1.StageCounters, 1),
	}
	h := histogram.New()
	for i, q := range r.requests {
		if i%r.shards != shard || q.at >= until {
			continue
		}
		s.Counters.Sent++
		s.Counters.Done++
		if q.succeeded {
			s.Counters.Succeeded++
		} else {
			s.Counters.FailedChecks++
		}
		h.Record(q.us)
	}
	s.Stages[0] = runnerv1alpha1.StageCounters{Slots: s.Counters.Sent, Sent: s.Counters.Sent}
	s.ResponseTime = h.Encode()
	return s
}

// ends makes a snapshot the final one of a runner whose load ended at a time.
func ends(s *runnerv1alpha1.Snapshot, at time.Duration) {
	s.State, s.EndedAt = runnerv1alpha1.StateDone, s.StartAt+int64(at)
}

// windowFigures are the figures of a window that must not depend on the number of shards.
type windowFigures struct {
	Sent, Succeeded, P99, P50 int64
	Seconds                   float64
}

func windowSums(t *testing.T, f Figures) windowFigures {
	t.Helper()
	h, err := f.Time(runnerv1alpha1.MetricResponseTime)
	if err != nil {
		t.Fatal(err)
	}
	seconds := math.Round(f.Seconds*1e6) / 1e6 // the first turn is a nanosecond after the start
	return windowFigures{f.Requests.Sent, f.Requests.Succeeded, h.Quantile(0.99), h.Quantile(0.5), seconds}
}

// windows returns the window after each second, and the figures so far; nil: there is no whole window.
func (r *watchRun) windows(t *testing.T, seconds int, change func(second int, s *runnerv1alpha1.Snapshot) bool) (out []*windowFigures, soFar windowFigures) {
	t.Helper()
	w := NewWatch(r.plan, r.shards)
	for second := 1; second <= seconds; second++ {
		moved := false
		for shard := range r.shards {
			s := r.snapshot(shard, time.Duration(second)*time.Second)
			if change != nil && !change(second, s) {
				continue
			}
			m, err := w.Add(s)
			if err != nil {
				t.Fatal(err)
			}
			moved = moved || m
		}
		out = append(out, nil)
		if f, whole := w.Window(0); moved && whole {
			v := windowSums(t, f)
			out[second-1] = &v
		}
	}
	soFar = windowSums(t, w.SoFar(0))
	return out, soFar
}

// wantWindow computes the window of 3 seconds before a second, from the requests.
func (r *watchRun) wantWindow(second, length int) *windowFigures {
	if second < length {
		return nil
	}
	h, out := histogram.New(), &windowFigures{Seconds: float64(length)}
	for _, q := range r.requests {
		if from := time.Duration(second-length) * time.Second; q.at >= from && q.at < time.Duration(second)*time.Second {
			out.Sent++
			if q.succeeded {
				out.Succeeded++
			}
			h.Record(q.us)
		}
	}
	out.P99, out.P50 = h.Quantile(0.99), h.Quantile(0.5)
	return out
}

// TestWatchIsOfAllShards: the windows of any number of shards are those of the requests.
func TestWatchIsOfAllShards(t *testing.T) {
	const seconds, length = 12, 3
	for shards := 1; shards <= 5; shards++ {
		for seed := range uint64(5) {
			r := newWatchRun(length*time.Second, shards)
			r.random(seed, seconds)
			got, soFar := r.windows(t, seconds, nil)
			for i := range got {
				if diff := cmp.Diff(r.wantWindow(i+1, length), got[i], bucketWide); diff != "" {
					t.Fatalf("%d shards, seed %d, after %d s (-want +got):\n%s", shards, seed, i+1, diff)
				}
			}
			all := r.wantWindow(seconds, seconds)
			if all.Seconds = soFar.Seconds; !cmp.Equal(*all, soFar, bucketWide) {
				t.Errorf("%d shards, seed %d, the run: %+v, want %+v", shards, seed, soFar, *all)
			}
		}
	}
}

// bucketWide compares quantiles to the width of a bucket, because a difference of histograms knows no exact maximum.
var bucketWide = cmp.Comparer(func(a, b int64) bool { return a == b || float64(max(a, b)) <= 1.002*float64(min(a, b)) })

// TestWatchInterruptions: a window has only time in which all runners sent load. After an interruption it begins again.
func TestWatchInterruptions(t *testing.T) {
	const seconds, length = 14, 3
	always := func(int, *runnerv1alpha1.Snapshot) bool { return true }
	for _, tt := range []struct {
		name   string
		change func(second int, s *runnerv1alpha1.Snapshot) bool
		want   []int // the seconds with a whole window
	}{
		{"none", always, []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
		{"suspended from 5 to 7", func(second int, s *runnerv1alpha1.Snapshot) bool {
			s.Suspended = second >= 5 && second < 7
			return true
		}, []int{3, 4, 10, 11, 12, 13, 14}},
		{"a lease of one runner expired and was renewed in the 6th second", func(second int, s *runnerv1alpha1.Snapshot) bool {
			if s.Shard == 1 && second >= 6 {
				s.LeaseGaps = runnerv1alpha1.LeaseGaps{Count: 1}
			}
			return true
		}, []int{3, 4, 5, 9, 10, 11, 12, 13, 14}},
		{"a lease that has expired", func(second int, s *runnerv1alpha1.Snapshot) bool {
			s.LeaseExpired = s.Shard == 1 && second >= 6 && second < 8
			return true
		}, []int{3, 4, 5, 11, 12, 13, 14}},
		{"a runner left in the 6th second", func(second int, s *runnerv1alpha1.Snapshot) bool {
			if s.Shard == 1 && second >= 6 {
				ends(s, 5500*time.Millisecond)
			}
			return true
		}, []int{3, 4, 5, 9, 10, 11, 12, 13, 14}},
		{"the load ends in the 11th second", func(second int, s *runnerv1alpha1.Snapshot) bool {
			if second+s.Shard >= 12 { // the look at one runner was just before the end
				ends(s, 10_950*time.Millisecond)
			}
			if second < 14 {
				s.State = runnerv1alpha1.StateRunning
			}
			return true
		}, []int{3, 4, 5, 6, 7, 8, 9, 10, 14}},
		{"the load ends, and a lease expired before", func(second int, s *runnerv1alpha1.Snapshot) bool {
			if second >= 11 {
				ends(s, 11*time.Second)
				s.LeaseGaps = runnerv1alpha1.LeaseGaps{Count: 1}
			}
			return true
		}, []int{3, 4, 5, 6, 7, 8, 9, 10}},
		{"a runner that is lost does not stop the windows of the others", func(second int, s *runnerv1alpha1.Snapshot) bool {
			return s.Shard != 1 || second < 6
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newWatchRun(length*time.Second, 2)
			r.random(1, seconds)
			got, _ := r.windows(t, seconds, tt.change)
			var whole []int
			for i, w := range got {
				if w != nil {
					whole = append(whole, i+1)
				}
			}
			if tt.want == nil { // the interval of the loss is in no window, and later ones are
				if !slices.Equal(whole[:3], []int{3, 4, 5}) || slices.Contains(whole, 6) || slices.Contains(whole, 7) || !slices.Contains(whole, seconds) {
					t.Errorf("whole windows after %v s", whole)
				}
				return
			}
			if diff := cmp.Diff(tt.want, whole); diff != "" {
				t.Errorf("seconds with a whole window (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWatchOfSlowPolls: with many runners, the operator asks each of them less often than each interval. All of them are
// in each interval nevertheless, so that there are whole windows.
func TestWatchOfSlowPolls(t *testing.T) {
	const every, shards = 2900 * time.Millisecond, 10
	r := newWatchRun(5*time.Second, shards)
	r.random(3, 30)
	w := NewWatch(r.plan, shards)
	whole := 0
	for i := 1; i <= 10*shards; i++ {
		moved, err := w.Add(r.snapshot(i%shards, time.Duration(i)*every/shards))
		if err != nil {
			t.Fatal(err)
		}
		f, ok := w.Window(0)
		if !moved || !ok {
			continue
		}
		whole++
		if got := float64(f.Requests.Sent); got < 98*f.Seconds || got > 102*f.Seconds {
			t.Errorf("poll %d: %v requests in %v s, want 100 a second", i, got, f.Seconds)
		}
	}
	if whole < 7 {
		t.Errorf("%d whole windows of 5 s in 29 s", whole)
	}
}

// TestWatchMeetsARunnerLate: what a runner did long before the operator watched it is in the run and in no window.
func TestWatchMeetsARunnerLate(t *testing.T) {
	r := newWatchRun(2*time.Second, 1)
	r.random(3, 40)
	w := NewWatch(r.plan, 1)
	for second := 30; second <= 36; second++ {
		if _, err := w.Add(r.snapshot(0, time.Duration(second)*time.Second)); err != nil {
			t.Fatal(err)
		}
		if f, whole := w.Window(0); whole && f.Requests.Sent != 200 {
			t.Errorf("a window after %d s has %d requests, want 200", second, f.Requests.Sent)
		}
	}
	if f := w.SoFar(0); f.Requests.Sent != 3600 {
		t.Errorf("the run has %d requests, want 3600", f.Requests.Sent)
	}
	// A snapshot that was overtaken changes nothing.
	if moved, err := w.Add(r.snapshot(0, 33*time.Second)); moved || err != nil || w.SoFar(0).Requests.Sent != 3600 {
		t.Errorf("an older snapshot: %v, %v", moved, err)
	}
}

package collect

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestPollInterval(t *testing.T) {
	for _, tc := range []struct {
		runners     int64
		least, want time.Duration
	}{
		{0, time.Second, time.Second},
		{700, time.Second, time.Second},
		{1400, time.Second, 2 * time.Second},
		{10_000, time.Second, maxPollInterval},
		{10_000, 5 * time.Second, 5 * time.Second},
		{2, 10 * time.Millisecond, 10 * time.Millisecond},
	} {
		l := &load{}
		a, b := &run{load: l}, &run{load: l}
		a.countRunners(7)
		a.countRunners(tc.runners / 2)
		b.countRunners(tc.runners - tc.runners/2)
		if got := l.interval(tc.least); got != tc.want {
			t.Errorf("%d runners, at least %s: %s, want %s", tc.runners, tc.least, got, tc.want)
		}
		a.countRunners(0)
		b.countRunners(0)
		if n := l.runners.Load(); n != 0 {
			t.Errorf("%d runners are left", n)
		}
	}
}

// TestPollsAreSpread: the polls of many runners are not at the same time, and each is polled once an interval.
func TestPollsAreSpread(t *testing.T) {
	l := &load{}
	l.runners.Store(1400)
	r := &run{load: l, opts: Options{Interval: time.Second}, zero: time.Now(), shards: make([]*runner, 10)}
	for index := range r.shards {
		at := time.Duration(index) * 17 * time.Millisecond
		first := r.spread(index, r.zero.Add(at))
		if first < time.Second || first > 3*time.Second {
			t.Errorf("shard %d: first poll after %s, want between 1s and 3s", index, first)
		}
		at += first
		if want := time.Duration(index) * 200 * time.Millisecond; at%(2*time.Second) != want {
			t.Errorf("shard %d is polled %s after the begin of an interval, want %s", index, at%(2*time.Second), want)
		}
		if got := r.spread(index, r.zero.Add(at)); got != 2*time.Second {
			t.Errorf("shard %d: the second poll is %s after the first, want 2s", index, got)
		}
	}
}

// TestOnePollWithoutAnswerIsNotSilence: the next poll after one that timed out comes before the runner is silent.
func TestOnePollWithoutAnswerIsNotSilence(t *testing.T) {
	for _, tc := range []struct {
		runners int64
		want    time.Duration
	}{{1, 5 * time.Second}, {700, 5 * time.Second}, {1400, 6 * time.Second}, {10_000, 7 * time.Second}} {
		l := &load{}
		l.runners.Store(tc.runners)
		now := time.Now()
		r := &run{load: l, opts: Options{Interval: time.Second, Timeout: 2 * time.Second}, zero: now}
		if got := r.silentAfter(); got != tc.want {
			t.Errorf("%d runners: silent after %s, want %s", tc.runners, got, tc.want)
		}
		failed := now.Add(r.regular() + r.opts.Timeout)
		if next := r.again(now.Add(2*r.regular()), failed); next.Sub(now) > r.silentAfter() {
			t.Errorf("%d runners: the second poll is %s after the last answer, silent after %s", tc.runners, next.Sub(now), r.silentAfter())
		}
	}
}

func TestHurry(t *testing.T) {
	for runners, want := range map[int64]time.Duration{0: hurry, 200: hurry, 1000: 500 * time.Millisecond, 10_000: maxHurry} {
		l := &load{}
		l.runners.Store(runners)
		if got := (&run{load: l}).hurry(); got != want {
			t.Errorf("%d runners: %s, want %s", runners, got, want)
		}
	}
}

// largeClient answers with a large snapshot, and needs a second to read it.
type largeClient struct{ Client }

func (largeClient) Snapshot(ctx context.Context, p Poll) (*runnerv1alpha1.Snapshot, error) {
	if err := p.Large(); err != nil {
		return nil, err
	}
	return &runnerv1alpha1.Snapshot{}, pause(ctx, time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// TestLargeSnapshots: only so many are in memory at a time. The others wait longer than a call may take, and their runners are not silent.
func TestLargeSnapshots(t *testing.T) {
	for name, tc := range map[string]struct {
		free    time.Duration // when another snapshot is forgotten
		timeout time.Duration
		want    error
		took    time.Duration
	}{
		"waits":                     {free: 10 * time.Second, timeout: 2 * time.Second, took: 11 * time.Second},
		"waits too long":            {free: time.Minute, timeout: 2 * time.Second, want: context.DeadlineExceeded, took: maxWait},
		"is read for too long then": {free: 10 * time.Second, timeout: time.Second / 2, want: context.DeadlineExceeded, took: 10*time.Second + time.Second/2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &run{load: &load{large: make(chan struct{}, 1)}}
				r.load.large <- struct{}{}
				s := &runner{}
				begin := time.Now()
				q := request{of: s, call: callSnapshot, client: largeClient{}, clock: func() int64 { return 0 }, timeout: tc.timeout, large: r.load.large, waits: &s.waits}
				time.AfterFunc(tc.free, func() { r.forget(outcome{large: true}) })
				time.AfterFunc(5*time.Second, func() {
					if !s.waits.Load() {
						t.Error("the runner does not wait")
					}
				})
				o := perform(t.Context(), q)
				if took := time.Since(begin); !errors.Is(o.err, tc.want) || took != tc.took || s.waits.Load() {
					t.Errorf("error %v after %s, waits %v; want %v after %s", o.err, took, s.waits.Load(), tc.want, tc.took)
				}
				if o.large != (tc.took != maxWait) {
					t.Errorf("large %v after %s", o.large, tc.took)
				}
				r.forget(o)
				time.Sleep(time.Minute)
				if n := len(r.load.large); n != 0 {
					t.Errorf("%d large snapshots are not forgotten", n)
				}
			})
		})
	}
}

// TestSilenceLog: one line reports all runners that fell silent in a second.
func TestSilenceLog(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	var c silence
	now := time.Now()
	c.add(&runner{index: 0, silent: true, trouble: "timeout"})
	c.log(log, now)
	for i := range 3 {
		c.add(&runner{index: i, silent: i != 1, trouble: "timeout"})
		c.log(log, now.Add(time.Second/2))
	}
	c.log(log, now.Add(time.Second))
	c.log(log, now.Add(3*time.Second))
	want := []string{
		`"level"=0 "msg"="Runners do not answer" "count"=1 "shards"=[0] "reason"="timeout"`,
		`"level"=0 "msg"="Runners do not answer" "count"=2 "shards"=[0 2] "reason"="timeout"`,
		`"level"=0 "msg"="Runners answer again" "count"=1 "shards"=[1]`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package collect

import (
	"testing"
	"time"
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

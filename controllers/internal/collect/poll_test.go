package collect

import (
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// TestPollsAreSpread: the polls of many runners are not at the same time, and each is polled once an interval.
func TestPollsAreSpread(t *testing.T) {
	r := &run{pace: shards.Pace{Regular: 2 * time.Second}, opts: Options{Interval: time.Second}, zero: time.Now(), shards: make([]*runner, 10)}
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
		regular, want time.Duration
	}{{time.Second, 5 * time.Second}, {2 * time.Second, 6 * time.Second}, {3 * time.Second, 7 * time.Second}} {
		now := time.Now()
		r := &run{pace: shards.Pace{Regular: tc.regular}, opts: Options{Interval: time.Second, Timeout: 2 * time.Second}, zero: now}
		if got := r.silentAfter(); got != tc.want {
			t.Errorf("regularly after %s: silent after %s, want %s", tc.regular, got, tc.want)
		}
		failed := now.Add(tc.regular + r.opts.Timeout)
		if next := r.again(now.Add(2*tc.regular), failed); next.Sub(now) > r.silentAfter() {
			t.Errorf("regularly after %s: the second poll is %s after the last answer, silent after %s", tc.regular, next.Sub(now), r.silentAfter())
		}
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

package build

import (
	"cmp"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Runner is a process of a shard. A shard that was removed and added again has several.
type Runner struct {
	Shard int
	// Boot is the boot of its snapshots; "": it has no snapshots.
	Boot string
}

// compare orders runners by shard.
func compare(a, b Runner) int { return cmp.Or(a.Shard-b.Shard, cmp.Compare(a.Boot, b.Boot)) }

// runnerOf returns the runner of a snapshot.
func runnerOf(s *runnerv1alpha1.Snapshot) Runner { return Runner{s.Shard, s.Boot} }

// origin returns the start of the test in the clock of the runner. If the runner joined later, it is before the first
// turn of the runner.
func origin(s *runnerv1alpha1.Snapshot) int64 {
	if s.StartAt != 0 {
		return s.StartAt
	}
	return s.StartedAt
}

// offset returns the time from the start of the test to the snapshot.
func offset(s *runnerv1alpha1.Snapshot) time.Duration { return time.Duration(s.Clock - origin(s)) }

// SinceStart returns the time from the start of the test to an instant of a runner's clock.
func SinceStart(s *runnerv1alpha1.Snapshot, at int64) time.Duration {
	return time.Duration(at - origin(s))
}

// joinedAfter is the maximum time from the start to the first turn of a runner that did not join later. The operator
// sends the start instant in advance, several times a second until the runner answers, so the first turn of such a
// runner is microseconds late: the start skew. A runner that is a second late has missed the beginning of the load,
// and the report says that it joined. The revision does not show this, because a share that changed before the start
// has a later revision, too.
const joinedAfter = time.Second

// joinedAt returns when a runner joined; 0: it began at the start, or has not begun.
func joinedAt(s *runnerv1alpha1.Snapshot) time.Duration {
	if s.StartedAt == 0 {
		return 0
	}
	if late := SinceStart(s, s.StartedAt); late > joinedAfter {
		return late
	}
	return 0
}

// leftAt returns when the load of a runner ended that left before the end of the test and has all its results; 0: it
// did not leave. On runners that do not leave, the last stage ends at the same time, within lateEnd, unless the run
// was stopped, failed, or had no requests or values left.
func leftAt(s *runnerv1alpha1.Snapshot, plan *runnerv1alpha1.Plan, last time.Duration) time.Duration {
	if s.State != runnerv1alpha1.StateDone || s.EndedAt == 0 || s.StartedAt == 0 ||
		s.Stopped != "" || s.Problem != "" || s.Exhausted || endsByCount(plan) {
		return 0
	}
	if end := SinceStart(s, s.EndedAt); end > 0 && end < last-time.Duration(lateEnd) {
		return end
	}
	return 0
}

// endsByCount reports whether a stage ends on each shard when the shard has sent its share of the requests.
func endsByCount(plan *runnerv1alpha1.Plan) bool {
	for i := range plan.Rates {
		if plan.Rates[i].EndsByCount() {
			return true
		}
	}
	return false
}

// lastEnd returns the latest known offset of the load of all runners.
func lastEnd(snapshots []runnerv1alpha1.Snapshot) time.Duration {
	var last time.Duration
	for i := range snapshots {
		s := &snapshots[i]
		switch {
		case s.StartedAt == 0:
		case s.EndedAt != 0:
			last = max(last, SinceStart(s, s.EndedAt))
		default:
			last = max(last, offset(s))
		}
	}
	return last
}

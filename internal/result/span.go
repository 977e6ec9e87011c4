package result

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Runner is one process of a shard. A shard has had several when it left and came back.
type Runner struct {
	Shard int
	// Boot is that of its snapshots; empty: there is none of it.
	Boot string
}

// runnerOf is whose snapshot it is.
func runnerOf(s *runnerv1alpha1.Snapshot) Runner { return Runner{s.Shard, s.Boot} }

// origin is what all offsets of a runner count from, in its clock: the start instant that it was told,
// which for one that joined is long before its first turn.
func origin(s *runnerv1alpha1.Snapshot) int64 {
	if s.StartAt != 0 {
		return s.StartAt
	}
	return s.StartedAt
}

// offset of a snapshot since the start of the test.
func offset(s *runnerv1alpha1.Snapshot) time.Duration { return time.Duration(s.Clock - origin(s)) }

// SinceStart is the offset of an instant of a runner's clock since the start of the test.
func SinceStart(s *runnerv1alpha1.Snapshot, at int64) time.Duration {
	return time.Duration(at - origin(s))
}

// joinedAfter is how late a runner that was there at the start may have its first turn. Such a one hears
// of the instant before it comes, and is told again several times a second until it has heard; its
// lateness is the start skew, and microseconds. One that is a second late has missed the beginning,
// whoever's fault that is, and the report says that it joined instead of hiding it in the skew. Nothing
// else tells the two apart: a share that was changed before the start has a later revision too.
const joinedAfter = time.Second

// joinedAt is when a runner came, zero when it was there at the start or has not begun.
func joinedAt(s *runnerv1alpha1.Snapshot) time.Duration {
	if s.StartedAt == 0 {
		return 0
	}
	if late := SinceStart(s, s.StartedAt); late > joinedAfter {
		return late
	}
	return 0
}

// leftAt is when the load of a runner ended that left the test before it did, with its results whole; zero:
// it did not leave. Of runners that stay, the last stage ends at one instant, within lateEnd, unless the
// run was stopped, failed, or ran out of requests or values, which each notices by itself.
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

// endsByCount: a stage ends on each shard when that has sent its part.
func endsByCount(plan *runnerv1alpha1.Plan) bool {
	for i := range plan.Rates {
		if plan.Rates[i].EndsByCount() {
			return true
		}
	}
	return false
}

// lastEnd is how far the load of any runner is known to have gone.
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

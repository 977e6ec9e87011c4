package collect

import (
	"fmt"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// stateful is what the run's goroutine knows of one shard. Nobody else touches it.
type stateful struct {
	pod      Pod
	share    runnerv1alpha1.Share
	client   Client // nil: none yet
	busy     bool   // a call is under way
	dueAt    time.Time
	snapshot *runnerv1alpha1.Snapshot
	lost     *Loss
	trouble  string
	lastSeen time.Time // of the last answer, or since when we have asked
	startAt  int64     // in the runner's clock, as it was told; zero: not yet
	acked    bool
	rate     float64
	// globals are what setup has captured, if this shard has run it. They may be secret, so they are
	// kept here and taken out of the snapshot, which others store.
	globals []string

	// offset is added to the runner's clock to get ours; rtt is the round trip it was measured
	// in, zero: not measured. Half of rtt bounds the error.
	offset int64
	rtt    time.Duration
}

// call is one exchange with a runner.
type call int

const (
	callNone call = iota
	callSnapshot
	callUpdate
	callStart
	callStop
	callTeardown
	callAck
)

// next is what to ask of a runner now. It looks at what the runner said last, never at what we
// have sent: messages are idempotent, answers can be lost, and a process that takes over has
// sent nothing.
func (s *stateful) next(d *Desired, startNow, allDrained, change bool) call {
	switch {
	case s.lost != nil || s.busy || s.pod.Address == "" || s.pod.Ended:
		return callNone
	case s.snapshot == nil:
		return callSnapshot
	case s.snapshot.State == runnerv1alpha1.StateDone:
		if d.Stored && !s.acked {
			return callAck
		}
		return callNone
	case s.snapshot.Revision == 0:
		return callUpdate
	case startNow && s.snapshot.State == runnerv1alpha1.StateReady && d.Stop == "":
		return callStart
	case d.Stop != "" && d.MayStart && s.snapshot.Stopped == "":
		return callStop
	case change:
		return callUpdate
	case allDrained && s.snapshot.State == runnerv1alpha1.StateDrained:
		return callTeardown
	}
	return callSnapshot
}

// loss says whether the runner is lost, and why; empty: it is not.
func (s *stateful) loss(d *Desired, now time.Time, unreachable time.Duration) string {
	switch {
	case s.lost != nil || d.Stored || s.busy: // the call under way may bring the last snapshot
		return ""
	case s.snapshot != nil && s.snapshot.State == runnerv1alpha1.StateDone:
		return s.early(d)
	case s.pod.Ended:
		return orElse(s.pod.Why, "its pod ended")
	case s.pod.Name == "" && d.MayStart:
		return "its pod is gone"
	case d.MayStart && now.Sub(s.lastSeen) > unreachable:
		return fmt.Sprintf("it has not answered for %s: %s", unreachable, s.trouble)
	}
	return ""
}

// early: a runner that is done has ended before its time when it never began, or when it was
// stopped by somebody else, for instance by SIGTERM. Its deadline is not an early end.
func (s *stateful) early(d *Desired) string {
	switch {
	case s.snapshot.StartedAt == 0 && d.MayStart && d.Stop == "":
		return orElse(s.snapshot.Message, "it ended before the start")
	case s.snapshot.Stopped != "" && d.Stop == "" && s.snapshot.Problem != runnerv1alpha1.ProblemDeadline:
		return "it was stopped: " + s.snapshot.Stopped
	case s.snapshot.Problem == runnerv1alpha1.ProblemInternal:
		return orElse(s.snapshot.Message, "it failed")
	}
	return ""
}

// take accepts a snapshot. It returns what is wrong with it.
func (s *stateful) take(n *runnerv1alpha1.Snapshot) error {
	if n.Shard != s.share.Shard && n.Revision != 0 {
		return fmt.Errorf("the snapshot is of shard %d", n.Shard)
	}
	old := s.snapshot
	if old != nil && old.Boot != n.Boot {
		return errRestarted
	}
	if old != nil && n.Sequence < old.Sequence {
		return nil // overtaken
	}
	s.rate = rate(old, n)
	if n.Globals != nil {
		s.globals, n.Globals = n.Globals, nil
	}
	s.snapshot = n
	return nil
}

// rate counts warm-up too: it is what the target sees.
func rate(old, n *runnerv1alpha1.Snapshot) float64 {
	if old == nil || n.Clock <= old.Clock || n.State == runnerv1alpha1.StateDone {
		return 0
	}
	sent := n.Counters.Sent + n.Counters.WarmUpSent - old.Counters.Sent - old.Counters.WarmUpSent
	return float64(sent) / time.Duration(n.Clock-old.Clock).Seconds()
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

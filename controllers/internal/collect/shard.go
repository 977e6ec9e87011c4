package collect

import (
	"fmt"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// stateful is what the run's goroutine knows of one runner. Nobody else touches it.
type stateful struct {
	// index is the shard.
	index    int
	pod      Pod
	client   Client // nil: none yet
	busy     bool   // a call is under way
	dueAt    time.Time
	snapshot *runnerv1alpha1.Snapshot
	lost     *Loss
	// member: it has or had a part of the load. left: it has had its last response after it was told to
	// leave. recorded: what it has counted is stored.
	member, left, recorded bool
	// idle is its share until it has a part; nil: it needed none.
	idle     *runnerv1alpha1.Share
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

func newStateful(index int) *stateful { return &stateful{index: index, lastSeen: time.Now()} }

// over: nothing more is expected of it.
func (s *stateful) over() bool { return s.lost != nil || s.left }

// hasStart: it was told the start instant.
func (s *stateful) hasStart() bool { return s.snapshot != nil && s.snapshot.StartAt != 0 }

func (s *stateful) isDone() bool {
	return s.snapshot != nil && s.snapshot.State == runnerv1alpha1.StateDone
}

func (s *stateful) isReady() bool {
	return s.snapshot != nil && s.snapshot.State == runnerv1alpha1.StateReady
}

// call is one exchange with a runner.
type call int

const (
	callNone call = iota
	callSnapshot
	callChanges
	callUpdate
	callStart
	callStop
	callTeardown
	callAck
)

// moment is what a call depends on beside the runner.
type moment struct {
	// newest is the last revision that is known.
	newest int64
	// tell: what the runners have heard so far is known, so that they may hear more. start: a runner
	// that is ready may start. change: there is one to tell, to one that has not started before its start.
	// drained: nobody has a request of the load in flight any more.
	tell, start, change, drained bool
}

// next is what to ask of a runner now. It looks at what the runner said last, never at what we
// have sent: messages are idempotent, answers can be lost, and a process that takes over has
// sent nothing.
func (s *stateful) next(d *Desired, m moment) call {
	switch {
	case s.lost != nil || s.busy || s.pod.Address == "" || s.pod.Ended:
		return callNone
	case s.snapshot == nil:
		return callSnapshot
	case s.isDone():
		if (d.Stored || s.recorded) && !s.acked {
			return callAck
		}
		return callNone
	case s.snapshot.Revision > m.newest:
		return callChanges
	case d.Stored && !s.hasStart() && s.snapshot.Stopped == "":
		return callStop // it came too late to join
	case m.tell && s.snapshot.Revision == 0:
		return callUpdate
	case m.tell && m.start && s.isReady() && (!m.change || s.hasStart()) && d.Stop == "":
		return callStart
	case d.Stop != "" && d.MayStart && s.snapshot.Stopped == "":
		return callStop
	case m.tell && m.change:
		return callUpdate
	case m.drained && s.snapshot.State == runnerv1alpha1.StateDrained:
		return callTeardown
	}
	return callSnapshot
}

// see takes over the state of the shard's pod. Another pod than before is not taken for the
// shard's: what the first one has counted would be counted again.
func (s *stateful) see(p Pod) {
	switch {
	case s.recorded:
		if p.UID == s.pod.UID {
			s.pod = p
		}
	case s.pod.UID != "" && p.UID != s.pod.UID:
		s.pod.Ended, s.pod.Why = true, "the pod was deleted"
	case p.Address == "" && !p.Ended:
		p.Address = s.pod.Address // a restart of the kubelet clears it for a moment
		s.pod = p
	default:
		if s.pod.Address == "" {
			s.lastSeen = time.Now() // it can answer from now on
		}
		s.pod = p
	}
}

// loss says whether the runner is lost, and why; empty: it is not.
func (s *stateful) loss(d *Desired, now time.Time, unreachable time.Duration) string {
	switch {
	case s.over() || d.Stored || s.busy: // the call under way may bring the last snapshot
		return ""
	case s.isDone():
		return s.early(d)
	case s.pod.Ended:
		return orElse(s.pod.Why, "the pod has ended")
	case !s.member && s.pod.Address == "":
		return "" // it is still on its way
	case s.pod.Name == "" && d.MayStart:
		return "the pod was deleted"
	case d.MayStart && now.Sub(s.lastSeen) > unreachable:
		return fmt.Sprintf("no answer for %s: %s", unreachable, s.trouble)
	}
	return ""
}

// early: a runner that is done has ended before its time when it never began, or when it was
// stopped by somebody else, for instance by SIGTERM. Its deadline is not an early end.
func (s *stateful) early(d *Desired) string {
	switch {
	case s.snapshot.StartedAt == 0 && d.MayStart && d.Stop == "":
		return orElse(s.snapshot.Message, "ended before the start")
	case s.snapshot.Stopped != "" && d.Stop == "" && s.snapshot.Problem != runnerv1alpha1.ProblemDeadline:
		return "stopped: " + s.snapshot.Stopped
	case s.snapshot.Problem == runnerv1alpha1.ProblemInternal:
		return orElse(s.snapshot.Message, "the runner failed")
	}
	return ""
}

// take accepts a snapshot. It returns what is wrong with it.
func (s *stateful) take(n *runnerv1alpha1.Snapshot) error {
	if n.Shard != s.index && n.Revision != 0 {
		return fmt.Errorf("the snapshot belongs to shard %d", n.Shard)
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

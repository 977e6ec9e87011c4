package shards

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// View is what is known of a run. It is immutable.
type View struct {
	// ShardsRevision is that of the Desired which the view follows.
	ShardsRevision int64
	// Shards has one entry for each shard, by index; nil: nothing is known yet. Those that were scaled
	// away stay.
	Shards []Shard
	// Former are runners whose shard has got another one since. They are recorded.
	Former []Shard
	// Members are the shards that have a share of the load by the last change, sorted.
	Members []int
	// StartedAt is when the first runner had its first turn; zero: none has.
	StartedAt time.Time
	// Offsets, by shard, are what is added to a runner's clock to get this process's.
	Offsets map[int]int64
	// Generation is the least that the runners accepted that still send; zero: one of them did not answer yet.
	Generation int64
	// Proposal is the change to store next; nil: none. It takes effect half a second or more after it was proposed, and is
	// proposed again until the record has it.
	Proposal *runnerv1alpha1.Update
	// Begins is true if Proposal begins a probe of a search. Probe is the probe that ended and is not stored; nil: there
	// is none.
	Begins bool
	Probe  *Probe
	// NotDistributed says why the load is not distributed as it should be; empty: it is.
	NotDistributed string
	// Applied are the last changes that this process told and every runner accepted, oldest first.
	Applied []Applied
	// Rate is the requests sent a second, by the last two looks at each runner.
	Rate float64
	// Progress sums up all runners; nil: the test has not started, its report is stored, or nothing is known. It must not
	// be changed. It is complete when the view is Over.
	Progress *build.Progress
	// Thresholds are compared with the figures so far. Seen are the worst windows of those on windows, and Failed those of
	// them that failed. Abort is the threshold that must end the test; nil: none.
	Thresholds   []runnerv1alpha1.ThresholdResult
	Seen, Failed map[string]verdict.Observation
	Abort        *Abort
	// AllReady: every shard that the test starts with has its share and all connections.
	AllReady bool
}

// Abort is a threshold that must end the test, with its value when it failed.
type Abort struct {
	Name string
	verdict.Observation
}

// Shard is what is known of one shard.
type Shard struct {
	Index int
	Pod   Pod
	State State
	// Snapshot is the last one; nil: none. It is shared and must not be changed. Received is when this process received
	// it.
	Snapshot *runnerv1alpha1.Snapshot
	Received time.Time
	// Lost is not nil when the runner ended before its time.
	Lost *record.Loss
	// Member: it has a part of the load, or had one to the end.
	Member bool
	// Left: it was told to leave, its last response has come, and its snapshot is final.
	Left bool
	// Stored: it ended before the test, and the report of this view has its stored counts.
	Stored bool
	// Trouble says why the last call failed; empty: it did not.
	Trouble string
	// Silent: the runner does not answer for some seconds. Its rate is not part of the view's.
	Silent bool
	// Back: the runner was lost, and answers again.
	Back bool
}

// Over says that nothing more comes of anybody who has or had a part of the load, or began to wait for one.
func (v *View) Over() bool {
	found := slices.ContainsFunc(v.Former, func(s Shard) bool { return s.Member || s.Started() })
	for i := range v.Shards {
		s := &v.Shards[i]
		if s.Member || s.Started() {
			if !s.Final() {
				return false
			}
			found = true
		}
	}
	return found
}

// Ready says that the runner has its share and all connections, or is past that.
func (s *Shard) Ready() bool {
	return s.Lost == nil && s.Snapshot != nil && isReady(s.Snapshot)
}

// Started says that the runner was told to begin.
func (s *Shard) Started() bool { return s.Snapshot != nil && started(s.Snapshot) }

// Final says that there is nothing more to come from it. A lost runner that answers again ends first.
func (s *Shard) Final() bool {
	return s.Lost != nil && !s.Back || s.Ended()
}

// Ended says that its counts are final.
func (s *Shard) Ended() bool {
	return s.Snapshot != nil && s.Snapshot.State == runnerv1alpha1.StateDone
}

// Revision is the revision of the last change that all runners with a share have; zero: none, or no runner has a share.
func (v *View) Revision() (least int64) {
	first := true
	for i := range v.Shards {
		s := &v.Shards[i]
		switch {
		case !s.Member || s.Final():
			continue
		case s.Snapshot == nil:
			return 0
		case first || s.Snapshot.Revision < least:
			least, first = s.Snapshot.Revision, false
		}
	}
	return least
}

// Count is the number of shards for which f holds.
func (v *View) Count(f func(*Shard) bool) int {
	n := 0
	for i := range v.Shards {
		if f(&v.Shards[i]) {
			n++
		}
	}
	return n
}

func isReady(s *runnerv1alpha1.Snapshot) bool {
	return s.State == runnerv1alpha1.StateReady || started(s)
}

// started includes a runner that knows its instant and waits for it. One that is done without
// having begun was refused its plan or ended before the start.
func started(s *runnerv1alpha1.Snapshot) bool {
	switch s.State {
	case runnerv1alpha1.StateRunning, runnerv1alpha1.StateDraining:
		return true
	}
	return s.StartedAt != 0
}

package shards

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
)

// runner is what is known of one runner.
type runner struct {
	// index is the shard.
	index    int
	state    State
	pod      Pod
	calling  Kind // the call that is under way; CallNone: none
	pollAt   time.Time
	snapshot *runnerv1alpha1.Snapshot
	received time.Time // of snapshot
	// loss is why it was lost; nil: it was not.
	loss *record.Loss
	// member: it has or had a share of the load. stored: its counts are stored.
	member, stored bool
	// idle is its share until it is a member; nil: it needed none.
	idle     *runnerv1alpha1.Share
	trouble  string
	lastSeen time.Time // of the last answer, or since when the operator asks
	answered time.Time // of the last answer
	// silent: it did not answer for silentAfter.
	silent bool
	// apart is since when it does not answer while others do.
	apart time.Time
	// leaseEnd is when the last lease that was sent to it ends, in our clock, whether it got it or not.
	leaseEnd int64
	acked    bool
	meter    rateMeter
	// globals are what setup captured, if this shard ran it. They may be secret, so they are
	// kept here and taken out of the snapshot, which others store.
	globals []string
	// clock is the best measurement of the runner's clock.
	clock Sample
}

func (s *runner) id() ID { return ID{s.index, s.pod.UID} }

// back: the runner was lost, and answers again.
func (s *runner) back() bool {
	return s.loss != nil && s.trouble == "" && s.answered.After(s.loss.Time) && !s.pod.Ended
}

// final: the runner reported its final counts.
func (s *runner) final() bool {
	return s.snapshot != nil && s.snapshot.State == runnerv1alpha1.StateDone
}

// sends: the runner may have requests of the load to send, or did not answer yet. A change matters to it.
func (s *runner) sends() bool { return s.behaviour().Sends }

// knowsStart: the runner was told the time of the start.
func (s *runner) knowsStart() bool { return s.snapshot != nil && s.snapshot.StartAt != 0 }

// pending is the oldest change that a runner with a share did not accept; nil: none. Changes
// after the start go to the runners that have started; the others get them with their start. A lost runner gets the
// change that takes its share when it answers again.
func (s *runner) pending(c *changes) *runnerv1alpha1.Update {
	lost := s.state == Lost && !s.final()
	if !s.sends() && !lost || s.snapshot == nil || s.snapshot.Revision == 0 {
		return nil
	}
	return c.after(s.snapshot.Revision, s.knowsStart())
}

// reported is the event that a snapshot of a runner means.
func reported(n *runnerv1alpha1.Snapshot) Event {
	switch n.State {
	case runnerv1alpha1.StateReady:
		return Connected
	case runnerv1alpha1.StateRunning:
		return Started
	case runnerv1alpha1.StateDraining, runnerv1alpha1.StateDrained, runnerv1alpha1.StateTearingDown:
		return Drains
	case runnerv1alpha1.StateDone:
		return Ended
	}
	return Connects
}

// see takes over the state of the shard's pod. Another pod than before is another runner. A pod object that is gone
// proves nothing about its processes.
func (s *runner) see(p Pod, now time.Time) {
	switch {
	case s.pod.UID != "" && p.UID != s.pod.UID:
		s.pod.Gone = true
	case p.Address == "" && !p.Ended:
		p.Address = s.pod.Address // a restart of the kubelet clears it for a moment
		s.pod = p
	default:
		if s.pod.Address == "" {
			s.lastSeen, s.pollAt = now, time.Time{} // it can answer from now on
		}
		s.pod = p
	}
}

// slim takes the distributions out of the final snapshot of a member that ended in time. The run's sum has them, and
// its report is the only one that needs them: the snapshots of other runners are stored. The response time stays,
// because it is part of the shard's result, and so do those of thresholds and listeners.
func (g *Group) slim(s *runner) {
	begun := g.d.Record.Start != nil || g.d.Record.End != nil
	if !s.final() || s.state.Over() || !begun || g.d.Record.End == nil && s.early(&g.d) != "" ||
		!slices.Contains(g.changes.newest().Members, s.index) {
		return
	}
	slim := *s.snapshot
	slim.Histograms, slim.Targets = nil, nil
	slim.Steps, slim.StageSelections = slices.Clone(slim.Steps), slices.Clone(slim.StageSelections)
	for i := range slim.Steps {
		for _, h := range slim.Steps[i].Distributions() {
			*h = runnerv1alpha1.Histogram{}
		}
	}
	for i := range slim.StageSelections {
		slim.StageSelections[i].Time = runnerv1alpha1.Histogram{}
	}
	s.snapshot = &slim
}

// leastSpan is the least time over which a rate is measured. Two snapshots can be milliseconds apart, for example while
// a runner joins, and one request between them is no rate of hundreds a second.
const leastSpan = 500 * time.Millisecond

// rateMeter measures the requests sent a second. It counts warm-up, too: it is what the target sees.
type rateMeter struct {
	clock, sent int64 // at the begin of the present span; clock 0: there is none
	rate        float64
}

func (m *rateMeter) add(n *runnerv1alpha1.Snapshot) {
	sent, span := n.Counters.Sent+n.Counters.WarmUpSent, time.Duration(n.Clock-m.clock)
	switch {
	case n.State == runnerv1alpha1.StateDone:
		m.rate = 0
	case m.clock == 0:
		m.clock, m.sent = n.Clock, sent
	case span >= leastSpan:
		*m = rateMeter{n.Clock, sent, float64(sent-m.sent) / span.Seconds()}
	}
}

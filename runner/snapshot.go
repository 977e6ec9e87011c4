package runner

import (
	"context"
	"runtime/debug"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/cpu"
	"github.com/h2surge/h2surge/runner/loop"
)

// Snapshot returns what has been counted so far. It waits for each worker's present turn to end, once the test
// runs no longer than answerWithin, and merges what they have recorded on the caller's goroutine.
func (r *Runner) Snapshot() *rv.Snapshot { return r.snapshot(r.done, true) }

// Totals is Snapshot without the response times of steps, unless the snapshot is final.
func (r *Runner) Totals() *rv.Snapshot { return r.snapshot(r.done, false) }

// snapshot returns a snapshot, which is final once ended has ended.
func (r *Runner) snapshot(ended context.Context, steps bool) *rv.Snapshot {
	r.foldMu.Lock()
	defer r.foldMu.Unlock()
	r.sequence++
	s := &rv.Snapshot{
		APIVersion: rv.APIVersion, Kind: rv.SnapshotKind,
		Boot: r.boot, Sequence: r.sequence,
		Streams: make([]int64, len(r.plan.Targets)), Stages: make([]rv.StageCounters, len(r.plan.Rates)),
		Listeners: make([]rv.ListenerCounters, len(r.plan.Listeners)),
	}
	c := r.describe(ended, s)
	g := gauges{inFlight: make([]int64, len(r.program.Steps)), begun: make([]bool, len(r.plan.Rates)),
		lasts: make([]bool, len(r.plan.Rates))}
	if c != nil {
		late := make(chan struct{})
		if s.StartAt != 0 { // before the start, what setup has captured must be in the snapshot
			defer time.AfterFunc(answerWithin, func() { close(late) }).Stop()
		}
		for _, w := range c.all {
			w.read(r.figures.total, late)
			w.last.addTo(s, &g)
		}
	}
	s.Clock = r.opts.Clock()
	r.figures.fill(s, &g, steps || s.State == rv.StateDone)
	s.ExportFailure = r.exportFailure()
	if r.observer != nil {
		s.Observations = r.observer.Samples()
	}
	for i, l := range r.servers {
		s.Listeners[i].FailedHandshakes = l.failedHandshakes.Load()
	}
	return s
}

// describe fills in what the control messages have set, and the state.
func (r *Runner) describe(ended context.Context, s *rv.Snapshot) *workers {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Revision, s.Generation, s.StartAt = r.last.Revision, r.last.Generation, r.startAt
	s.LeaseUntil, s.Term = r.lease.Until(), r.term
	s.Stopped, s.Problem, s.Message = r.stopped, r.problem, r.message
	s.Authorizations = r.authorizer.ofTargets()
	if r.share != nil {
		s.Shard = r.share.Shard
	}
	s.State = r.state(ended)
	s.LeaseExpired = s.State == rv.StateRunning && s.LeaseUntil != 0 && r.opts.Clock() >= s.LeaseUntil
	s.Generator = rv.Generator{ExclusiveWanted: r.opts.Exclusive, IdleStrategy: r.idle}
	if r.workers == nil {
		return nil
	}
	s.Protocols = r.workers.protocols(r.plan)
	n := len(r.workers.all)
	s.Generator.Workers = n
	if len(r.cpus) > 0 {
		for i := range n {
			s.Generator.CPUs = append(s.Generator.CPUs, r.cpus[i%len(r.cpus)])
		}
	}
	s.Generator.Exclusive = r.exclusive
	s.Generator.CPUSeconds = cpu.SelfSeconds() - r.cpuZero
	if t, err := cpu.Throttled(); err == nil {
		s.Generator.ThrottledMicroseconds = (t - r.throttle).Microseconds()
	}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	s.Generator.GCPauseMicroseconds = gc.PauseTotal.Microseconds()
	return r.workers
}

// state is derived from what the workers do, until ended has ended. The caller holds mu.
func (r *Runner) state(ended context.Context) rv.State {
	if ended.Err() != nil {
		return rv.StateDone
	}
	if r.workers == nil {
		return rv.StateWaiting
	}
	least := r.workers.least()
	switch {
	case least >= loop.TearingDown || least == loop.Drained && r.tornDown:
		return rv.StateTearingDown
	case least >= loop.Drained:
		return rv.StateDrained
	case least >= loop.Draining:
		return rv.StateDraining
	case r.startAt != 0:
		return rv.StateRunning
	case r.workers.failed.Load() || least == loop.SettingUp:
		return rv.StateSettingUp
	case least >= loop.Ready && !r.checking:
		return rv.StateReady
	}
	return rv.StateConnecting
}

// gauges are summed over the workers.
type gauges struct {
	inFlight []int64
	warmUp   int64
	// begun is true for stages that have started on a worker, and lasts for those that have not ended on every worker.
	// sending is true if a worker has not ended its last stage.
	begun, lasts []bool
	sending      bool
}

// add adds a reading to the gauges, and to those of a snapshot.
func (g *gauges) add(s *rv.Snapshot, w *loop.Reading) {
	for i, n := range w.InFlight {
		g.inFlight[i] += n
	}
	g.warmUp += w.WarmUpInFlight
	for i, n := range w.Streams {
		if n > 0 && (s.Streams[i] == 0 || n < s.Streams[i]) {
			s.Streams[i] = n
		}
	}
	gaps := &s.LeaseGaps
	gaps.Count, gaps.Nanoseconds = max(gaps.Count, w.LeaseGaps.Count), max(gaps.Nanoseconds, w.LeaseGaps.Nanoseconds)
	gaps.Dropped += w.LeaseGaps.Dropped
	s.Limited.Dropped += w.Limited.Dropped
	s.Limited.Waited += w.Limited.Waited
	for i := range w.Listeners {
		to := &s.Listeners[i]
		to.Add(&w.Listeners[i], 1)
		for rule, n := range w.Listeners[i].ByRule {
			if to.ByRule == nil {
				to.ByRule = map[string]int64{}
			}
			to.ByRule[rule] += n
		}
	}
	for i := range s.Stages {
		span := &w.Stages[i]
		g.lasts[i] = g.lasts[i] || !span.Ended
		if !span.Begun {
			continue
		}
		st := &s.Stages[i]
		if !g.begun[i] || span.From < st.Begun {
			st.Begun, g.begun[i] = span.From, true
		}
		st.Ended = max(st.Ended, span.To)
		st.Paused = max(st.Paused, span.Paused)
	}
}

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
	}
	c := r.describe(ended, s)
	g := gauges{inFlight: make([]int64, len(r.program.Steps)), streams: make([]int64, len(r.plan.Targets)),
		stages: make([]rv.StageCounters, len(r.plan.Rates)), begun: make([]bool, len(r.plan.Rates)),
		lasts: make([]bool, len(r.plan.Rates)), listeners: make([]rv.ListenerCounters, len(r.plan.Listeners))}
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
	streams  []int64
	stages   []rv.StageCounters
	// suspended and changed are of any worker: an update reaches all.
	suspended, changed bool
	gaps               rv.LeaseGaps
	limited            rv.Limited
	listeners          []rv.ListenerCounters
	// begun is true for stages that have started on a worker, and lasts for those that have not ended on every worker.
	// sending is true if a worker has not ended its last stage.
	begun, lasts []bool
	sending      bool
}

func (g *gauges) add(w *loop.Reading) {
	for i, n := range w.InFlight {
		g.inFlight[i] += n
	}
	g.warmUp += w.WarmUpInFlight
	for i, n := range w.Streams {
		if n > 0 && (g.streams[i] == 0 || n < g.streams[i]) {
			g.streams[i] = n
		}
	}
	g.gaps.Count, g.gaps.Nanoseconds = max(g.gaps.Count, w.LeaseGaps.Count), max(g.gaps.Nanoseconds,
		w.LeaseGaps.Nanoseconds)
	g.gaps.Dropped += w.LeaseGaps.Dropped
	g.limited.Dropped += w.Limited.Dropped
	g.limited.Waited += w.Limited.Waited
	for i := range w.Listeners {
		g.listeners[i].Add(&w.Listeners[i], 1)
		for rule, n := range w.Listeners[i].ByRule {
			if g.listeners[i].ByRule == nil {
				g.listeners[i].ByRule = map[string]int64{}
			}
			g.listeners[i].ByRule[rule] += n
		}
	}
	g.suspended, g.changed = g.suspended || w.Suspended, g.changed || w.Changed
	for i := range g.stages {
		span := &w.Stages[i]
		g.lasts[i] = g.lasts[i] || !span.Ended
		if !span.Begun {
			continue
		}
		st := &g.stages[i]
		if !g.begun[i] || span.From < st.Begun {
			st.Begun, g.begun[i] = span.From, true
		}
		st.Ended = max(st.Ended, span.To)
		st.Paused = max(st.Paused, span.Paused)
	}
}

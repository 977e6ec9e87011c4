// Package runnertest has runners for tests: they obey the control protocol and count as if they
// sent, but send nothing. What they have sent at an instant is arithmetic on the time since
// their start, so that a test knows it exactly.
package runnertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// ErrGone is what a runner answers that was killed or silenced.
var ErrGone = errors.New("connection refused")

// ErrConflict is what a message gets that contradicts an earlier one (409).
var ErrConflict = errors.New("conflict")

// Runner behaves as a runner does on its control endpoint. All methods are safe for concurrent
// use.
type Runner struct {
	plan *runnerv1alpha1.Plan
	boot string
	// clockZero makes its clock differ from everybody else's.
	clockZero time.Time

	mu       sync.Mutex
	updated  time.Time
	refusal  error
	late     time.Duration
	changes  []runnerv1alpha1.Update // the first share is the first; At is since the start
	start    *runnerv1alpha1.Start
	stop     *runnerv1alpha1.Stop
	stopped  time.Time
	acked    bool
	torn     bool // teardown may begin
	gone     bool
	problem  runnerv1alpha1.Problem
	message  string
	sequence uint64
	calls    []string
	sent     []int64 // by stage
	// leaseUntil is when its last lease ends, on its clock. It does not keep the runner from counting.
	leaseUntil int64
	connect    time.Duration
	latency    time.Duration
	shape      func(*runnerv1alpha1.Snapshot)
}

// New makes a runner of a plan whose clock is ahead of the process's by skew.
func New(plan *runnerv1alpha1.Plan, boot string, skew time.Duration) *Runner {
	return &Runner{plan: plan, boot: boot, clockZero: time.Now().Add(-skew - clockBase)}
}

// clockBase keeps instants from before the runner began positive.
const clockBase = 10_000 * time.Hour

// Connecting makes the runner take d from its share to being ready.
func (r *Runner) Connecting(d time.Duration) *Runner {
	r.locked(func() { r.connect = d })
	return r
}

// Latency is the time each call takes, half of it each way.
func (r *Runner) Latency(d time.Duration) *Runner {
	r.locked(func() { r.latency = d })
	return r
}

// Shape has f change each snapshot before the runner returns it.
func (r *Runner) Shape(f func(*runnerv1alpha1.Snapshot)) *Runner {
	r.locked(func() { r.shape = f })
	return r
}

// Silence makes all further calls fail, as of a process that was killed.
func (r *Runner) Silence() { r.locked(func() { r.gone = true }) }

// Wake ends a silence.
func (r *Runner) Wake() { r.locked(func() { r.gone = false }) }

// Skip lets d pass at once: the runner's clock, and with it its load, is ahead by d from now on.
func (r *Runner) Skip(d time.Duration) {
	r.locked(func() { r.clockZero, r.updated = r.clockZero.Add(-d), r.updated.Add(-d) })
}

// Fail ends the runner with a problem.
func (r *Runner) Fail(p runnerv1alpha1.Problem, message string) {
	r.locked(func() { r.problem, r.message, r.stopped = p, message, time.Now() })
}

// Terminate is SIGTERM: sending stops, the result is held.
func (r *Runner) Terminate() {
	r.locked(func() {
		if r.stop == nil {
			r.stop, r.stopped = &runnerv1alpha1.Stop{Reason: "terminated"}, time.Now()
		}
	})
}

// Stopped is the stop that it got, nil if none.
func (r *Runner) Stopped() (stop *runnerv1alpha1.Stop) { r.locked(func() { stop = r.stop }); return }

// Leased is when its last lease ends; zero: it has none.
func (r *Runner) Leased() (at time.Time) {
	r.locked(func() {
		if r.leaseUntil != 0 {
			at = r.clockZero.Add(time.Duration(r.leaseUntil))
		}
	})
	return
}

// Acked says whether the result was acknowledged.
func (r *Runner) Acked() (acked bool) { r.locked(func() { acked = r.acked }); return }

// Begun is the instant that it was told to begin at; zero: none.
func (r *Runner) Begun() (at time.Time) {
	r.locked(func() {
		if r.start != nil {
			at = r.clockZero.Add(time.Duration(r.start.At))
		}
	})
	return
}

// Calls are the names of the calls so far, without snapshots.
func (r *Runner) Calls() (calls []string) {
	r.locked(func() { calls = append(calls, r.calls...) })
	return
}

func (r *Runner) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// answer is the shell of every call.
func (r *Runner) answer(ctx context.Context, name string, f func() error) error {
	var latency time.Duration
	r.locked(func() { latency = r.latency })
	if err := pause(ctx, latency/2); err != nil {
		return err
	}
	r.mu.Lock()
	err := ErrGone
	if !r.gone {
		if name != "" {
			r.calls = append(r.calls, name)
		}
		err = f()
	}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return pause(ctx, latency-latency/2)
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Start takes the instant to begin at.
func (r *Runner) Start(ctx context.Context, m runnerv1alpha1.Start) error {
	return r.answer(ctx, "start", func() error {
		if r.start != nil && r.start.At != m.At {
			return fmt.Errorf("%w: another start", ErrConflict)
		}
		if r.start == nil && r.state() == runnerv1alpha1.StateReady {
			r.start, r.leaseUntil = &m, m.LeaseUntil
			for _, c := range m.Changes {
				c.Share = r.share()
				r.changes = append(r.changes, c)
			}
		}
		return nil
	})
}

// Stop ends the load; here nothing is in flight, so that a drain takes no time.
func (r *Runner) Stop(ctx context.Context, m runnerv1alpha1.Stop) error {
	return r.answer(ctx, "stop", func() error {
		if r.stop == nil {
			r.stop, r.stopped = &m, time.Now()
		}
		return nil
	})
}

// Teardown ends a runner that waits for it.
func (r *Runner) Teardown(ctx context.Context, _ runnerv1alpha1.Teardown) error {
	return r.answer(ctx, "teardown", func() error {
		r.torn = true
		return nil
	})
}

// Globals are what the runner was told at the start.
func (r *Runner) Globals() (values []string) {
	r.locked(func() {
		if r.start != nil {
			values = r.start.Globals
		}
	})
	return
}

// Captured is what the runner that runs setup captures for each of the plan's globals.
const Captured = "captured by setup"

// once says that the shard runs chains of a phase.
func (r *Runner) once(phase runnerv1alpha1.Phase) bool {
	return r.share().Once &&
		slices.ContainsFunc(r.plan.Chains, func(c runnerv1alpha1.Chain) bool { return c.Phase == phase })
}

// sentOnce has a request for each chain of a phase, once it is over.
func (r *Runner) sentOnce(phase runnerv1alpha1.Phase) (c runnerv1alpha1.OnceCounters) {
	state := r.state()
	switch {
	case !r.once(phase), phase == runnerv1alpha1.PhaseTeardown && (!r.torn || r.start == nil):
	case state == runnerv1alpha1.StateWaiting, state == runnerv1alpha1.StateConnecting,
		r.problem == runnerv1alpha1.ProblemSetup:
	default:
		for i := range r.plan.Chains {
			if r.plan.Chains[i].Phase == phase {
				c.Sent, c.Succeeded = c.Sent+1, c.Succeeded+1
			}
		}
	}
	return c
}

// Ack lets the runner go.
func (r *Runner) Ack(ctx context.Context, m runnerv1alpha1.Ack) error {
	return r.answer(ctx, "ack", func() error {
		if r.state() != runnerv1alpha1.StateDone {
			return fmt.Errorf("%w: not done", ErrConflict)
		}
		r.acked = true
		return nil
	})
}

// Snapshot returns the counts so far.
func (r *Runner) Snapshot(ctx context.Context) (*runnerv1alpha1.Snapshot, error) {
	return r.Poll(ctx, runnerv1alpha1.Lease{}, false)
}

// Poll renews the lease and returns the counts so far. It leaves out the times of steps if totals is true.
func (r *Runner) Poll(ctx context.Context, lease runnerv1alpha1.Lease, totals bool) (s *runnerv1alpha1.Snapshot,
	err error) {
	err = r.answer(ctx, "", func() error {
		r.leaseUntil = max(r.leaseUntil, lease.Until)
		s = r.snapshot()
		if totals && s.State != runnerv1alpha1.StateDone {
			for i := range s.Steps {
				s.Steps[i].ResponseTime = runnerv1alpha1.Histogram{}
			}
			for i := range s.StageSelections {
				s.StageSelections[i].Time = runnerv1alpha1.Histogram{}
			}
			s.ServiceTime = runnerv1alpha1.Histogram{}
		}
		return nil
	})
	return s, err
}

// Close does nothing.
func (r *Runner) Close() {}

func (r *Runner) clock() int64 { return int64(time.Since(r.clockZero)) }

func (r *Runner) state() runnerv1alpha1.State {
	switch {
	case r.problem == runnerv1alpha1.ProblemPlan || r.problem == runnerv1alpha1.ProblemSetup ||
		r.problem == runnerv1alpha1.ProblemPolicy || r.problem == runnerv1alpha1.ProblemInternal || r.stop != nil:
		return runnerv1alpha1.StateDone
	case len(r.changes) == 0:
		return runnerv1alpha1.StateWaiting
	case time.Since(r.updated) < r.connect || r.problem == runnerv1alpha1.ProblemConnect ||
		r.problem == runnerv1alpha1.ProblemAuthorization:
		return runnerv1alpha1.StateConnecting
	case r.start == nil:
		return runnerv1alpha1.StateReady
	case !r.over():
		return runnerv1alpha1.StateRunning
	case r.once(runnerv1alpha1.PhaseTeardown) && !r.torn:
		return runnerv1alpha1.StateDrained
	}
	return runnerv1alpha1.StateDone
}

// over: it has left, or the last stage has ended.
func (r *Runner) over() bool {
	if at, ok := r.leaves(); ok && r.now() >= at {
		return true
	}
	return r.load(r.now()).over
}

func (r *Runner) snapshot() *runnerv1alpha1.Snapshot {
	r.sequence++
	s := &runnerv1alpha1.Snapshot{
		APIVersion: runnerv1alpha1.APIVersion, Kind: runnerv1alpha1.SnapshotKind, Protocol: runnerv1alpha1.ProtocolVersion,
		Boot: r.boot, Sequence: r.sequence, State: r.state(), Clock: r.clock(),
		Problem: r.problem, Message: r.message,
		Generator: runnerv1alpha1.Generator{Workers: 1, Pod: r.boot},
	}
	s.Shard, s.Revision, s.Generation = r.share().Shard, r.revision(), r.generation()
	if r.stop != nil {
		s.Stopped = r.stop.Reason
	}
	if r.once(runnerv1alpha1.PhaseSetup) && s.State != runnerv1alpha1.StateDone {
		for range r.plan.Globals {
			s.Globals = append(s.Globals, Captured)
		}
	}
	s.Counters.Setup, s.Counters.Teardown = r.sentOnce(runnerv1alpha1.PhaseSetup), r.sentOnce(runnerv1alpha1.PhaseTeardown)
	r.count(s)
	s.Protocols = r.found()
	if r.shape != nil {
		r.shape(s)
	}
	return s
}

// found is h2c at each endpoint of a target that leaves its protocol to the server.
func (r *Runner) found() [][]runnerv1alpha1.EndpointProtocol {
	out := make([][]runnerv1alpha1.EndpointProtocol, len(r.plan.Targets))
	for i := range r.plan.Targets {
		if t := &r.plan.Targets[i]; t.Protocol == runnerv1alpha1.ProtocolDiscovered {
			out[i] = slices.Repeat([]runnerv1alpha1.EndpointProtocol{{Protocol: runnerv1alpha1.ProtocolH2C}}, len(t.Endpoints))
		}
	}
	return out
}

// count fills in what a shard has done after a while: its part of each stage's slots, all
// answered 200 after 1 ms.
func (r *Runner) count(s *runnerv1alpha1.Snapshot) {
	load, own := r.load(r.now()), r.own(r.now())
	if r.sent == nil {
		r.sent = make([]int64, len(load.stages))
	}
	h := histogram.New()
	if r.start != nil {
		s.StartAt = r.start.At
	}
	if load.lasted > 0 {
		s.StartedAt = max(r.start.At, r.readyAt())
	}
	s.Suspended, s.Changed = load.suspended, load.changed
	for i, c := range load.stages {
		// What was sent stays sent, whatever a late change says.
		r.sent[i] = max(r.sent[i], own[i])
		c.Slots, c.Begun = r.sent[i], max(0, c.Begun)
		c.Sent = c.Slots
		s.Stages = append(s.Stages, c)
		if r.plan.Rates[i].WarmUp {
			s.Counters.WarmUpSent += c.Sent
			continue
		}
		s.Counters.Sent += c.Sent
	}
	s.Counters.Done, s.Counters.Succeeded = s.Counters.Sent, s.Counters.Sent
	h.RecordN(1000, s.Counters.Sent)
	s.ResponseTime = h.Encode()
	s.StageSelections = r.figures(s.Stages)
	s.StatusCodes = map[string]int64{strconv.Itoa(200): s.Counters.Sent}
	for c := range r.plan.Chains {
		n := runnerv1alpha1.ChainCounters{}
		if c == 0 {
			n.Started, n.Completed = s.Counters.Sent, s.Counters.Sent
		}
		s.Chains = append(s.Chains, n)
		for range r.plan.Chains[c].Steps {
			step := runnerv1alpha1.StepCounters{}
			if len(s.Steps) == 0 {
				step = runnerv1alpha1.StepCounters{Outcomes: runnerv1alpha1.Outcomes{Sent: s.Counters.Sent, Done: s.Counters.Sent,
					Succeeded: s.Counters.Sent}, ResponseTime: s.ResponseTime}
			}
			s.Steps = append(s.Steps, step)
		}
	}
	if s.State == runnerv1alpha1.StateDone && s.StartedAt != 0 {
		s.EndedAt = s.StartAt + int64(load.lasted)
		s.Histograms = &runnerv1alpha1.Histograms{ServiceTime: s.ResponseTime, TimeToFirstByte: s.ResponseTime}
	}
}

// figures returns those of the stages that have some.
func (r *Runner) figures(stages []runnerv1alpha1.StageCounters) (out []runnerv1alpha1.SelectionCounters) {
	own, _ := r.plan.StageSelections()
	for _, s := range own {
		n := stages[slices.IndexFunc(r.plan.Rates, func(rate runnerv1alpha1.Rate) bool { return rate.Name == s.Stage })].Sent
		h := histogram.New()
		h.RecordN(1000, n)
		out = append(out, runnerv1alpha1.SelectionCounters{SelectionCounts: runnerv1alpha1.SelectionCounts{Sent: n, Done: n,
			Succeeded: n, InClass: n}, Time: h.Encode()})
	}
	return out
}

// readyAt is when it had all connections, on its clock: it cannot have begun before.
func (r *Runner) readyAt() int64 { return int64(r.updated.Add(r.connect).Sub(r.clockZero)) }

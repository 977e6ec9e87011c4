package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/transport"
)

// process is a simulated runner. It executes each slot of its share in fake time, honors its lease, and reports each slot that it sends to the
// simulation. All fields are guarded by simulation.mu.
type process struct {
	w     *simulation
	pod   string
	uid   types.UID
	job   types.UID
	index int
	plan  *runnerv1alpha1.Plan
	boot  string
	zero  time.Time // of its clock
	// connects is when it has its connections after a share.
	connects time.Duration

	// cut: the operator does not reach it. node: the kubelet is cut off, too. mute: it gets messages, and its answers are lost. frozen: SIGSTOP.
	// dead: the process ended.
	cut, node, mute, frozen, dead bool
	// unfenced: its kubelet was cut off at some time, so that the kubelet could not end it when the test finished.
	unfenced bool
	// disturbed is when it was last seen with one of these faults, or was created.
	disturbed time.Time

	updated   time.Time
	changes   []runnerv1alpha1.Update
	share     runnerv1alpha1.Share
	startAt   int64 // on its clock
	startedAt int64
	stopped   string
	done      bool
	acked     bool
	torn      bool
	lease     runnerv1alpha1.Lease
	sequence  uint64
	problem   runnerv1alpha1.Problem

	position position
	stages   []runnerv1alpha1.StageCounters
	endedAt  int64
}

// position is where the load of all shards is at an offset: arithmetic on the changes, the same on each runner.
type position struct {
	at        int64 // the offset
	stage     int
	worked    int64 // time of the stage without pauses
	slots     int64 // of the stage, of all shards
	base      int64 // slots before line
	line      int64 // since when the stage has its rate
	zero      int64 // worked at line
	next      int   // index of the next change
	rates     []runnerv1alpha1.Rate
	share     runnerv1alpha1.Share
	leave     bool
	suspended bool
}

var errRefusedConnection = errors.New("connection refused")

func (p *process) clock() int64 { return int64(time.Since(p.zero)) }

// offset is the time since the start.
func (p *process) offset() int64 { return p.clock() - p.startAt }

// answer makes a call: it waits as a network does, and holds the lock for f.
func (p *process) answer(ctx context.Context, f func() error) error {
	time.Sleep(time.Millisecond)
	p.w.mu.Lock()
	silent := p.cut || p.frozen
	if p.dead {
		p.w.mu.Unlock()
		return errRefusedConnection
	}
	var err error
	if !silent {
		p.advance()
		err = f()
		silent = p.mute
	}
	p.w.mu.Unlock()
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (p *process) Update(ctx context.Context, m runnerv1alpha1.Update) error {
	return p.answer(ctx, func() error {
		last := p.last()
		switch {
		case m.Revision == last.Revision || p.done:
			return nil
		case m.Revision < last.Revision:
			return fmt.Errorf("%w: an older revision", transport.ErrConflict)
		case p.startAt == 0 && m.At != 0:
			return errors.New("an instant before the start")
		}
		if p.startAt == 0 {
			p.updated = time.Now()
			p.share = m.Share
		}
		p.accept(m)
		return nil
	})
}

func (p *process) last() runnerv1alpha1.Update {
	if len(p.changes) == 0 {
		return runnerv1alpha1.Update{}
	}
	return p.changes[len(p.changes)-1]
}

// accept takes a change. A change that comes late changes the numbers of the slots since then.
func (p *process) accept(m runnerv1alpha1.Update) {
	p.w.checkChange(p, &m)
	p.changes = append(p.changes, m)
	p.restart()
}

func (p *process) Start(ctx context.Context, m runnerv1alpha1.Start) error {
	return p.answer(ctx, func() error {
		switch {
		case p.startAt == m.At:
			p.renew(runnerv1alpha1.Lease{Until: m.LeaseUntil, Term: m.Term})
			return nil
		case p.startAt != 0 || p.state() != runnerv1alpha1.StateReady:
			return fmt.Errorf("%w: not ready", transport.ErrConflict)
		}
		p.startAt, p.lease = m.At, runnerv1alpha1.Lease{Until: m.LeaseUntil, Term: m.Term}
		p.w.checkStart(p)
		for _, c := range m.Changes {
			c.Share = p.share
			p.accept(c)
		}
		p.skip()
		return nil
	})
}

func (p *process) renew(to runnerv1alpha1.Lease) {
	if to.Term >= p.lease.Term {
		p.lease = runnerv1alpha1.Lease{Until: max(p.lease.Until, to.Until), Term: to.Term}
	}
}

func (p *process) Stop(ctx context.Context, m runnerv1alpha1.Stop) error {
	return p.answer(ctx, func() error { p.stop(m.Reason); return nil })
}

// stop ends the load. The responses have come: nothing is in flight.
func (p *process) stop(reason string) {
	if !p.done && p.stopped == "" {
		p.stopped, p.done, p.endedAt = reason, true, p.position.at
	}
}

func (p *process) Teardown(ctx context.Context, _ runnerv1alpha1.Teardown) error {
	return p.answer(ctx, func() error { p.torn = true; return nil })
}

func (p *process) Ack(ctx context.Context, m runnerv1alpha1.Ack) error {
	return p.answer(ctx, func() error {
		if !p.done || m.Sequence > p.sequence {
			return fmt.Errorf("%w: not done", transport.ErrConflict)
		}
		p.acked = true
		return nil
	})
}

func (p *process) Snapshot(ctx context.Context, q transport.Poll) (s *runnerv1alpha1.Snapshot, err error) {
	err = p.answer(ctx, func() error {
		if q.Lease.Until != 0 && p.startAt != 0 {
			p.renew(q.Lease)
		}
		s = p.snapshot()
		return nil
	})
	return s, err
}

func (p *process) Close() {}

func (p *process) state() runnerv1alpha1.State {
	switch {
	case p.done:
		return runnerv1alpha1.StateDone
	case len(p.changes) == 0:
		return runnerv1alpha1.StateWaiting
	case p.startAt == 0 && time.Since(p.updated) < p.connects:
		return runnerv1alpha1.StateConnecting
	case p.startAt == 0:
		return runnerv1alpha1.StateReady
	case p.position.stage < len(p.plan.Rates) && !p.position.leave:
		return runnerv1alpha1.StateRunning
	case p.offset() < p.position.at+int64(p.plan.GracefulStop) && !p.position.leave:
		return runnerv1alpha1.StateDraining
	}
	return runnerv1alpha1.StateDrained // for the one with teardown; the others are done
}

// advance lets the runner send what is due, and end.
func (p *process) advance() {
	if p.dead || p.frozen || p.done || p.startAt == 0 || p.offset() < 0 {
		return
	}
	p.startedAt = p.startAt
	p.walk(p.offset(), p.send)
	over := p.position.leave || p.position.stage == len(p.plan.Rates)
	if over && !p.position.leave && p.offset() < p.position.at+int64(p.plan.GracefulStop) {
		return // chain instances send their remaining steps
	}
	waits := p.share.Once && !p.position.leave && len(p.plan.Chains) > 1 && !p.torn // for Teardown
	if over && !waits {
		p.done, p.endedAt = true, p.position.at
	}
}

// skip lets time pass without a turn of the process: what was due then is dropped.
func (p *process) skip() {
	if p.startAt != 0 && !p.done {
		p.walk(p.offset(), func(int64, int64) {})
	}
}

// restart computes the position again, up to where it was.
func (p *process) restart() {
	to := p.position.at
	p.position = position{rates: p.plan.Rates, share: p.share}
	p.walk(to, func(int64, int64) {})
}

// walk moves the position to an offset, and calls send for each slot of all shards.
func (p *process) walk(to int64, send func(number, at int64)) {
	q := &p.position
	for q.stage < len(p.plan.Rates) && q.at < to {
		for ; q.next < len(p.changes) && p.changes[q.next].At <= q.at; q.next++ {
			q.apply(&p.changes[q.next])
		}
		if q.leave {
			return
		}
		until := to
		if q.next < len(p.changes) {
			until = min(until, p.changes[q.next].At)
		}
		stage := &p.plan.Rates[q.stage]
		if !q.suspended {
			until = min(until, q.at+int64(stage.Duration)-q.worked)
			q.worked += until - q.at
			rate := &q.rates[q.stage]
			for due := q.due(rate); due < until; due = q.due(rate) {
				send(q.slots, due)
				q.slots++
			}
		}
		if q.at = until; q.worked == int64(stage.Duration) {
			q.stage, q.worked, q.slots, q.base, q.line, q.zero = q.stage+1, 0, 0, 0, q.at, 0
		}
	}
}

// due returns when the next slot of the stage is due. It does not depend on how often the runner has walked.
func (q *position) due(rate *runnerv1alpha1.Rate) int64 {
	k := q.slots - q.base
	if rate.Arrivals == runnerv1alpha1.ArrivalsBurst {
		k -= k % rate.BurstSize
	}
	if rate.RampFrom == nil {
		if rate.Count == 0 {
			return math.MaxInt64
		}
		return q.line + k*int64(rate.Period)/rate.Count
	}
	from := float64(*rate.RampFrom) / float64(rate.Period)
	slope := (float64(rate.Count)/float64(rate.Period) - from) / float64(rate.Duration)
	zero := float64(q.zero)
	// The integral of the rate at the slot is area.
	area := float64(k) + zero*(from+slope*zero/2)
	at := zero
	if k > 0 {
		at = 2 * area / (from + math.Sqrt(from*from+2*slope*area))
	}
	if from+slope <= 0 || math.IsNaN(at) || at > float64(rate.Duration) {
		return math.MaxInt64
	}
	return q.line + int64(at) - q.zero
}

func (q *position) apply(c *runnerv1alpha1.Update) {
	q.base, q.line, q.zero = q.slots, q.at, q.worked
	if q.suspended = c.Suspended; len(c.Rates) > 0 {
		q.rates = c.Rates
	}
	if q.leave = c.Leave; len(c.Share.Connections) > 0 {
		q.share = c.Share
	}
}

// send sends a slot if it is the runner's own, and its lease has not ended.
func (p *process) send(number, at int64) {
	share := &p.position.share
	if !slices.Contains(share.Slots.Residues, number%share.Slots.Of) {
		return
	}
	if p.plan.LeaseDuration > 0 && p.startAt+at > p.lease.Until {
		return // dropped
	}
	p.stages[p.position.stage].Slots++
	p.stages[p.position.stage].Sent++
	p.w.checkSend(p, number, at)
}

func (p *process) snapshot() *runnerv1alpha1.Snapshot {
	p.sequence++
	last := p.last()
	s := &runnerv1alpha1.Snapshot{
		APIVersion: runnerv1alpha1.APIVersion, Kind: runnerv1alpha1.SnapshotKind, Protocol: runnerv1alpha1.ProtocolVersion,
		Boot: p.boot, Sequence: p.sequence, State: p.state(), Clock: p.clock(), Problem: p.problem, Stopped: p.stopped,
		Shard: p.share.Shard, Revision: last.Revision, Generation: last.Generation,
		StartAt: p.startAt, StartedAt: p.startedAt, EndedAt: p.endedAt, Suspended: p.position.suspended,
		Stages: slices.Clone(p.stages), Generator: runnerv1alpha1.Generator{Workers: 1, Pod: p.pod},
	}
	if len(p.changes) == 0 {
		s.Shard = p.index
	}
	for i := range s.Stages {
		if p.plan.Rates[i].WarmUp {
			s.Counters.WarmUpSent += s.Stages[i].Sent
		} else {
			s.Counters.Sent += s.Stages[i].Sent
		}
	}
	s.Counters.Done, s.Counters.Succeeded = s.Counters.Sent, s.Counters.Sent
	for i := range p.plan.Chains {
		s.Chains = append(s.Chains, runnerv1alpha1.ChainCounters{})
		for range p.plan.Chains[i].Steps {
			s.Steps = append(s.Steps, runnerv1alpha1.StepCounters{})
		}
	}
	return s
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/poll"
)

// crew is the workers of one share.
type crew struct {
	members []*member
	// failed: setup has failed; the crew ends and is never ready.
	failed atomic.Bool
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// member is a worker and what is kept about it outside its goroutine.
type member struct {
	worker *loop.Worker
	// phase is the worker's, for those who must not wait for its next turn.
	phase atomic.Uint32
	ended chan struct{} // closed after the worker's last turn
	// release gives up what the worker holds of the system.
	release func()
	err     error // valid when ended
	// Who holds Runner.foldMu owns the fields below. spare is an empty recorder, which a reading that was asked
	// for swaps for the worker's; answer is where that one comes, nil: none was asked for.
	spare  *measure.Recorder
	answer chan reading
	last   reading
}

// hire makes the workers for a share and lets them connect.
func (r *Runner) hire(s *rv.Share) (*crew, error) {
	program, err := r.programFor(s)
	if err != nil {
		return nil, err
	}
	if r.opts.Trial != nil {
		program.InspectAll(trialBody)
	}
	n := min(r.opts.Workers, shard.MaxWorkers(s))
	ctx, cancel := context.WithCancel(r.ctx)
	c := &crew{cancel: cancel}
	d := newDialer(ctx, r.tls)
	for i, part := range shard.Workers(s, n) {
		m, err := r.member(c, i, program, part, d)
		if err != nil {
			cancel()
			for _, m := range c.members {
				m.release()
			}
			return nil, err
		}
		c.members = append(c.members, m)
	}
	for _, m := range c.members { // each looks at all, so none begins before the last is there
		c.group.Go(func() {
			defer m.release()
			if m.err = m.worker.Run(ctx); m.err != nil {
				c.abort() // the report would lack this worker's share of the load
			}
			m.phase.Store(uint32(loop.Done))
			close(m.ended)
		})
	}
	r.authorize(ctx, c)
	go r.await(c)
	return c, nil
}

// trialBody bounds the response bodies of a trial, in octets, for steps without a bound of their own.
const trialBody = 64 << 20

func (r *Runner) member(c *crew, i int, program *chain.Program, part rv.Share, d *dialer) (*member, error) {
	n, release, err := loop.NewNet()
	if err != nil {
		return nil, err
	}
	m := &member{ended: make(chan struct{}), spare: r.newRecorder(), release: release}
	cfg := loop.Config{
		Program: program, Rates: r.plan.Rates, Share: part, Number: i,
		MaxWait: r.plan.Drain, Deadline: r.plan.Deadline,
		Grain: r.opts.Grain, Net: n, Dialer: d, Log: r.opts.Logger.With("worker", i),
	}
	if r.plan.LeaseDuration > 0 && !r.opts.Alone {
		cfg.Lease = &r.lease
	}
	cfg.Trial = r.opts.Trial
	cfg.Pin = poll.PreciseTimers
	if len(r.cpus) > 0 {
		to := r.cpus[i%len(r.cpus)]
		cfg.Pin = func() error { return errors.Join(poll.PreciseTimers(), poll.Pin(to)) }
	}
	cfg.Changed = func() {
		if m.worker.SetupFailure() != "" {
			c.failed.Store(true) // before anybody sees that the worker is no longer in the way
			c.abort()
		}
		m.phase.Store(uint32(m.worker.Phase()))
		if r.opts.Alone && c.least() >= loop.Drained {
			c.teardown()
		}
	}
	if m.worker, err = loop.New(cfg); err != nil {
		release()
		return nil, err
	}
	m.last = read(m.worker, m.spare)
	m.spare = m.last.recorder
	return m, nil
}

func (r *Runner) newRecorder() *measure.Recorder {
	return measure.New(len(r.program.Steps), len(r.program.Chains), len(r.plan.Rates))
}

// await ends the run when a crew that is still in force has ended.
func (r *Runner) await(c *crew) {
	c.wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.crew != c {
		return
	}
	for i, m := range c.members {
		switch {
		case m.err != nil:
			r.problem, r.message = rv.ProblemInternal, fmt.Sprintf("worker %d: %v", i, m.err)
		case m.worker.SetupFailure() != "":
			r.problem, r.message = rv.ProblemSetup, m.worker.SetupFailure()
		case m.worker.Stalled() != "" && r.problem == "":
			r.problem, r.message = rv.ProblemStalled, m.worker.Stalled()
		case m.worker.DeadlineExceeded() && r.problem == "":
			r.problem, r.message = rv.ProblemDeadline, fmt.Sprintf("the deadline of %v passed", r.plan.Deadline)
		}
	}
	r.end()
}

func (c *crew) wait() { c.group.Wait() }

func (c *crew) abort() { c.cancel() }

// least is the phase of the worker that is furthest behind.
func (c *crew) least() loop.Phase {
	p := loop.Done
	for _, m := range c.members {
		p = min(p, loop.Phase(m.phase.Load()))
	}
	return p
}

func (c *crew) allReady() bool { return c.least() >= loop.Ready && !c.failed.Load() }

func (c *crew) start(s rv.Start, missed []loop.Change) {
	for _, m := range c.members {
		m.worker.Do(func(w *loop.Worker) { w.Start(s.At, s.Globals, missed...) })
	}
}

func (c *crew) change(change loop.Change) {
	for _, m := range c.members {
		m.worker.Do(func(w *loop.Worker) { w.Change(change) })
	}
}

// deal is change with another share, of which each worker gets its part. There may be more workers than
// connections to a target; those too many get nothing.
func (c *crew) deal(change loop.Change, s *rv.Share) {
	parts := shard.Workers(s, min(len(c.members), shard.MaxWorkers(s)))
	for i, m := range c.members {
		own := change
		if i < len(parts) {
			own.Share = &parts[i]
		} else {
			own.Share = nothing(s)
		}
		m.worker.Do(func(w *loop.Worker) { w.Change(own) })
	}
}

// nothing is a part of a share that has nothing in it.
func nothing(s *rv.Share) *rv.Share {
	return &rv.Share{
		Shard: s.Shard, Shards: s.Shards, Slots: rv.Slots{Of: 1}, Connections: make([]int, len(s.Connections)),
		FirstConnection: s.FirstConnection, Variables: s.Variables, MaxInFlight: s.MaxInFlight,
	}
}

func (c *crew) teardown() {
	for _, m := range c.members {
		m.worker.Do(func(w *loop.Worker) { w.Teardown() })
	}
}

// wake lets each worker take a turn.
func (c *crew) wake() {
	for _, m := range c.members {
		m.worker.Do(func(*loop.Worker) {})
	}
}

func (c *crew) stop(drain bool) {
	for _, m := range c.members {
		m.worker.Do(func(w *loop.Worker) { w.Stop(drain) })
	}
}

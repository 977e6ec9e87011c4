package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/poll"
	"github.com/h2surge/h2surge/runner/slots"
)

// workers are the workers of one share.
type workers struct {
	all []*worker
	// failed: setup has failed. The workers end and are never ready.
	failed  atomic.Bool
	refused atomic.Pointer[refusal] // why the runner must not run the plan; nil: it may
	// once: the first worker runs the chains that run once.
	once bool
	// authorizing has the credentials that are kept up to date. Only authorizer.authorize uses it.
	authorizing map[chain.Credential]bool
	dialer      *dialer
	// program has the targets of the plan, with the values of placeholders in their URLs.
	program *chain.Program
	cancel  context.CancelFunc
	group   sync.WaitGroup
}

// worker is a worker and what other goroutines keep of it.
type worker struct {
	loop *loop.Worker
	// phase is a copy for goroutines that must not wait for the worker's next turn.
	phase atomic.Uint32
	ended chan struct{} // closed after the worker's last turn
	// release closes what the worker has opened in the system.
	release func()
	err     error // valid when ended
	// Runner.foldMu guards the fields below. spare is an empty recorder, which the next reading swaps for the worker's
	// recorder. answer receives a reading that was requested; nil: none was requested.
	spare  *measure.Recorder
	answer chan reading
	last   reading
}

// newWorkers makes the workers for a share and lets them connect.
func (r *Runner) newWorkers(s *rv.Share) (*workers, error) {
	program, err := r.programFor(s)
	if err != nil {
		return nil, err
	}
	if r.opts.Trial != nil {
		program.InspectAll(trialBody)
	}
	n := min(r.opts.Workers, program.MaxWorkers(s))
	urls, err := r.servers.listen(n)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	ws := &workers{cancel: cancel, once: s.Once, authorizing: map[chain.Credential]bool{}, program: program}
	ws.dialer = newDialer(ctx, r.tls, r.from, r.policy, r.opts.Network, ws.deny)
	for i, part := range split.Workers(s, n) {
		w, err := r.newWorker(ctx, ws, i, part, urls[i])
		if err != nil {
			cancel()
			for _, w := range ws.all {
				w.release()
			}
			return nil, err
		}
		ws.all = append(ws.all, w)
	}
	r.authorizer.authorize(ctx, ws)
	for _, w := range ws.all { // each looks at all, so none begins before all exist
		ws.group.Go(func() {
			defer w.release()
			if w.err = w.loop.Run(ctx); w.err != nil {
				ws.cancel() // the report would lack this worker's share of the load
			}
			w.phase.Store(uint32(loop.Done))
			close(w.ended)
		})
	}
	go r.await(ws)
	return ws, nil
}

// trialBody bounds the response bodies of a trial, in octets, for steps without a bound of their own.
const trialBody = 64 << 20

func (r *Runner) newWorker(ctx context.Context, ws *workers, i int, part rv.Share, listeners []string) (*worker,
	error) {
	n, release, err := r.newNet()
	if err != nil {
		return nil, err
	}
	w := &worker{ended: make(chan struct{}), spare: r.figures.newRecorder(), release: release}
	cfg := loop.Config{
		Program: ws.program, Rates: r.plan.Rates, Selections: r.figures.selections, Share: part, Number: i,
		MaxWait: r.plan.Drain, Deadline: r.plan.Deadline, GracefulStop: r.plan.GracefulStop,
		RequestLimit: r.plan.RequestLimit,
		Spin:         r.idle == rv.IdleSpin, SleepInterval: r.plan.SleepsFor(),
		Listeners: listeners, Callers: r.callers, Net: n, Dialer: ws.dialer,
		Log: r.opts.Logger.With("worker", i), Trial: r.opts.Trial,
	}
	if r.plan.LeaseDuration > 0 && !r.opts.Alone {
		cfg.Lease = &r.lease
	}
	if part.Once {
		cfg.Earlier = r.setUp.Load()
	}
	if r.opts.Network == nil {
		cfg.Pin = poll.PreciseTimers
	}
	if len(r.cpus) > 0 {
		to := r.cpus[i%len(r.cpus)]
		cfg.Pin = func() error { return errors.Join(poll.PreciseTimers(), poll.Pin(to)) }
	}
	cfg.Changed = func() {
		if w.loop.SetupFailure() != "" {
			ws.failed.Store(true) // before the phase: a reader of Done sees the failure, too
			ws.cancel()
		}
		if w.loop.HasSetUp() {
			r.setUp.Store(w.loop) // before the phase: who sees Ready may replace the workers
		}
		w.phase.Store(uint32(w.loop.Phase()))
		if i == 0 && w.loop.Phase() == loop.Authorizing {
			r.authorizer.authorize(ctx, ws)
		}
		if r.opts.Alone && ws.least() >= loop.Drained {
			ws.do((*loop.Worker).Teardown)
		}
	}
	if w.loop, err = loop.New(cfg); err != nil {
		release()
		return nil, err
	}
	w.last = read(w.loop, w.spare)
	w.spare = w.last.recorder
	return w, nil
}

// newNet returns the input and output of a worker.
func (r *Runner) newNet() (n netio.Net, release func(), err error) {
	if r.opts.Network != nil {
		return netio.NewPlain(r.opts.Clock), func() {}, nil
	}
	n, release, err = netio.New()
	if err == nil && slices.ContainsFunc(r.plan.Targets, func(t rv.Target) bool { return t.Protocol == rv.ProtocolH3 }) {
		with, wait := netio.WithStreams(n)
		closeNet := release
		n, release = with, func() {
			wait() // else the process could end before the peers know of it
			closeNet()
		}
	}
	return n, release, err
}

// serve gives a connection to a worker. It returns false if there is none.
func (r *Runner) serve(listener, worker int, d *dial.Connection) bool {
	r.mu.Lock()
	ws := r.workers
	r.mu.Unlock()
	return ws != nil && worker < len(ws.all) && ws.all[worker].loop.Serve(listener, d)
}

// await ends the run when its workers have ended, unless others have replaced them.
func (r *Runner) await(ws *workers) {
	ws.group.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers != ws {
		return
	}
	refused := ws.refused.Load()
	if refused != nil {
		r.problem, r.message = refused.problem, refused.message
	}
	for i, w := range ws.all {
		switch {
		case refused != nil:
		case w.err != nil:
			r.problem, r.message = rv.ProblemInternal, fmt.Sprintf("worker %d: %v", i, w.err)
		case w.loop.SetupFailure() != "":
			r.problem, r.message = rv.ProblemSetup, w.loop.SetupFailure()
		case w.loop.Stalled() != "" && r.problem == "":
			r.problem, r.message = rv.ProblemStalled, w.loop.Stalled()
		case w.loop.DeadlineExceeded() && r.problem == "":
			r.problem, r.message = rv.ProblemDeadline, fmt.Sprintf("the deadline of %v passed", r.plan.Deadline)
		}
	}
	r.end()
}

// deny ends the run because the policy denies a connection.
func (ws *workers) deny(err error) { ws.refuse(rv.ProblemPolicy, err) }

// refusal is why a runner must not run a plan.
type refusal struct {
	problem rv.Problem
	message string
}

// refuse ends the run. The first error is the one that the runner reports.
func (ws *workers) refuse(problem rv.Problem, err error) {
	if ws.refused.CompareAndSwap(nil, &refusal{problem, err.Error()}) {
		ws.failed.Store(true)
		ws.cancel()
	}
}

// least is the phase of the worker that is furthest behind.
func (ws *workers) least() loop.Phase {
	p := loop.Done
	for _, w := range ws.all {
		p = min(p, loop.Phase(w.phase.Load()))
	}
	return p
}

func (ws *workers) allReady() bool { return ws.least() >= loop.Ready && !ws.failed.Load() }

// do runs f on the goroutine of each worker.
func (ws *workers) do(f func(*loop.Worker)) {
	for _, w := range ws.all {
		w.loop.Do(f)
	}
}

// share is change with another share, which is divided among the workers. If there are more workers than connections to
// a target of requests, or than subscribers with a USIM, some get an empty share.
func (ws *workers) share(change slots.Change, s *rv.Share) {
	parts := split.Workers(s, min(len(ws.all), ws.program.MaxWorkers(s)))
	for i, w := range ws.all {
		own := change
		if i < len(parts) {
			own.Share = &parts[i]
		} else {
			own.Share = emptyShare(s)
		}
		w.loop.Do(func(l *loop.Worker) { l.Change(own) })
	}
}

// emptyShare returns a worker's share without slots and connections.
func emptyShare(s *rv.Share) *rv.Share {
	return &rv.Share{
		Shard: s.Shard, Shards: s.Shards, Slots: rv.Slots{Of: 1}, Connections: make([]int, len(s.Connections)),
		FirstConnection: s.FirstConnection, Variables: s.Variables, MaxInFlight: s.MaxInFlight,
	}
}

package runner

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/otlp"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/cpu"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/observe"
	"github.com/h2surge/h2surge/runner/slots"
	"github.com/h2surge/h2surge/runner/trial"
)

// ErrConflict is wrapped by the errors of Update and Start when a message contradicts what was
// accepted before, or comes at the wrong time.
var ErrConflict = errors.New("conflict")

// Options of a Runner.
type Options struct {
	// Workers is the number of pinned threads; 0 takes the plan's CPUsPerShard, or one.
	Workers int
	// CPUs to pin the workers to, the first worker to the first. Nil pins to the CPUs this
	// process may use if the plan asks for CPUs, and not at all otherwise.
	CPUs []int
	// NoPin lets the system place the workers.
	NoPin bool
	// Exclusive: the plan's author wants the CPUs to be this process's own.
	Exclusive bool
	// Alone: there is no other shard that has to end before teardown, so it follows at once.
	Alone bool
	// Trial runs one instance of each chain in the place of the load, and shows the exchanges. It needs one
	// worker, and a share without slots.
	Trial *trial.Config
	// Logger; nil drops all logs.
	Logger *slog.Logger
	// ListenAddress is the IP address that the listeners of the plan listen on, which is also in their URLs. Empty:
	// 127.0.0.1.
	ListenAddress string
	// ListenName is the DNS name of ListenAddress, which the URLs of listeners with TLS have in its place. Empty: the URLs
	// have ListenAddress.
	ListenName string
	// Network is in the place of the system's; nil: that. With a Network, a worker is a goroutine that waits for channels
	// only, and neither spins nor is pinned, so that it can run in a bubble of testing/synctest.
	Network dial.Network
	// Clock is the clock of a runner with a Network, in nanoseconds. Default: rv.Clock.
	Clock func() int64
	// Pod is the name of the runner's pod, which exported figures have.
	Pod string
}

// Runner executes a plan. All methods may be called from any goroutine.
type Runner struct {
	plan *rv.Plan
	// program is the plan's, for shard 0 before there is a share.
	program *chain.Program
	opts    Options
	boot    string
	cpus    []int // to pin to; empty: not pinned
	// exclusive: the CPUs are this process's own. idle is Spin or Sleep.
	exclusive  bool
	idle       rv.IdleStrategy
	tls        [][]*tls.Config // of dial.ClientConfigs
	from       [][]string      // addresses to connect from, by target
	policy     *policy.Policy
	servers    servers          // by listener of the plan
	callers    []*caller.Policy // by listener of the plan
	authorizer *authorizer
	observer   *observe.Observer             // nil: the plan has no observations
	exporter   atomic.Pointer[otlp.Exporter] // nil: the plan has no receiver, or the run has not started
	figures    figures
	// setUp is the last worker that has completed setup; nil: none has.
	setUp atomic.Pointer[loop.Worker]

	// ctx ends with the run. done ends when the last figures were sent, too.
	ctx, done      context.Context
	cancel, finish context.CancelFunc

	mu       sync.Mutex // guards the fields below
	share    *rv.Share
	last     rv.Update // that was accepted: the one with the greatest revision and instant
	leaving  bool      // an update ends the load
	startAt  int64
	lease    slots.Lease
	term     int64 // the highest so far
	tornDown bool  // the message has come
	stopped  string
	workers  *workers // nil before the first share
	// checked: the queries of the plan were or are checked. checking: they are, so the runner is not ready. ordered: the
	// operator says who reads the observations.
	checked, checking, ordered bool

	problem  rv.Problem
	message  string
	cpuZero  float64
	throttle time.Duration

	foldMu   sync.Mutex // held while a snapshot is made; guards sequence and figures.total
	sequence uint64
}

// New checks the plan and makes a runner that waits for its share. It starts nothing.
func New(plan *rv.Plan, o Options) (*Runner, error) {
	program, err := chain.Load(plan, resources(nil))
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = rv.Clock
	}
	if o.Workers < 1 {
		o.Workers = max(1, plan.CPUsPerShard)
	}
	secure, err := tlsConfigs(plan)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	from, err := localAddresses(plan)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	r := &Runner{plan: plan, tls: secure, from: from, program: program, opts: o, boot: newBoot()}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.done, r.finish = context.WithCancel(context.Background())
	r.cpus = pinTo(plan, o)
	if r.policy, err = policy.Parse(plan.Policy); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if r.servers, err = newServers(r.ctx, plan, &o, r.serve); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if r.callers, err = newCallers(plan); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	r.exclusive = plan.CPUsPerShard > 0 && cpu.Exclusive(plan.CPUsPerShard)
	r.idle = idleStrategy(plan.IdleStrategy, r.exclusive && o.Workers <= len(r.cpus))
	if o.Network != nil {
		r.idle = rv.IdleSleep
	}
	r.authorizer = &authorizer{plan: plan, program: program, policy: r.policy, log: o.Logger,
		counts: make([]rv.Authorization, len(plan.Targets))}
	r.figures = newFigures(plan, program)
	return r, r.newObserver()
}

// resources is what the program takes from this process and machine.
func resources(s *rv.Share) chain.Resources {
	return chain.Resources{Share: s, Env: os.LookupEnv, ReadFile: os.ReadFile}
}

// programFor is the program of a share: what differs from one shard to another is constant in it.
func (r *Runner) programFor(s *rv.Share) (*chain.Program, error) {
	if slices.ContainsFunc(r.plan.Variables, func(v rv.Variable) bool { return len(v.PerShard) > 0 }) {
		return chain.Load(r.plan, resources(s))
	}
	return r.program, nil
}

func newBoot() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// idleStrategy returns Spin or Sleep. Each worker has an exclusive CPU if exclusive is true.
func idleStrategy(s rv.IdleStrategy, exclusive bool) rv.IdleStrategy {
	switch {
	case s != rv.IdleAuto:
		return s
	case exclusive:
		return rv.IdleSpin
	}
	return rv.IdleSleep
}

func pinTo(plan *rv.Plan, o Options) []int {
	if o.NoPin || o.Network != nil || o.CPUs == nil && plan.CPUsPerShard == 0 {
		return nil
	}
	if o.CPUs != nil {
		return o.CPUs
	}
	return cpu.Allowed()
}

// replaceWorkers makes workers for a share, in place of the workers of an earlier share.
func (r *Runner) replaceWorkers(s *rv.Share) error {
	if r.workers != nil {
		r.workers.cancel()
	} else {
		r.cpuZero = cpu.SelfSeconds()
		r.throttle, _ = cpu.Throttled()
		r.keepKeys()
	}
	c, err := r.newWorkers(s)
	if err != nil {
		r.problem, r.message = rv.ProblemInternal, err.Error()
		return err
	}
	r.share, r.workers = s, c
	r.prepareObserver(s)
	return nil
}

// Start makes the load begin at an instant of rv.Clock, which may have passed.
func (r *Runner) Start(s rv.Start) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case s.At <= 0:
		return fmt.Errorf("at: %d is not positive", s.At)
	case s.LeaseUntil < 0 || s.Term < 0:
		return errors.New("leaseUntil and term must not be negative")
	case r.startAt == s.At:
		r.renew(rv.Lease{Until: s.LeaseUntil, Term: s.Term})
		return nil
	case r.startAt != 0:
		return fmt.Errorf("already started at %d: %w", r.startAt, ErrConflict)
	case r.workers == nil || !r.workers.allReady() || r.checking:
		return fmt.Errorf("not ready: %w", ErrConflict)
	case s.LeaseUntil != 0 && r.plan.LeaseDuration == 0:
		return errors.New("leaseUntil: the plan has no leaseDuration")
	case len(s.Globals) != len(r.plan.Globals):
		return fmt.Errorf("globals: the plan has %d", len(r.plan.Globals))
	}
	changes, err := missed(r.plan, s.Changes, r.last.Revision)
	if err != nil {
		return err
	}
	r.startAt = s.At
	if r.plan.LeaseDuration > 0 && !r.opts.Alone {
		r.lease.Set(max(1, s.LeaseUntil)) // without a lease, the runner is paused until a renewal
	}
	r.term = max(r.term, s.Term)
	for i := range changes {
		changes[i].At = instant(s.At, s.Changes[i].At)
		r.last = s.Changes[i]
	}
	r.workers.do(func(w *loop.Worker) { w.Start(s.At, s.Globals, changes...) })
	if r.observer != nil {
		r.observer.Run(s.At)
	}
	r.export()
	return nil
}

// Teardown starts the teardown chains of the shard that runs them, after its last response. All shards must have
// received their last responses before.
func (r *Runner) Teardown(rv.Teardown) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers == nil || r.startAt == 0 {
		return fmt.Errorf("not started: %w", ErrConflict)
	}
	r.tornDown = true
	r.workers.do((*loop.Worker).Teardown)
	return nil
}

// Stop ends the run, unless it has ended already; a second one without drain ends the drain of the first.
func (r *Runner) Stop(s rv.Stop) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil // nothing was stopped by a stop that came too late
	}
	if r.stopped == "" {
		r.stopped = s.Reason
		if s.Reason == "" {
			r.stopped = "stopped"
		}
	}
	if r.workers == nil {
		r.end()
		return nil
	}
	r.workers.do(func(w *loop.Worker) { w.Stop(s.Drain) })
	return nil
}

// end ends the run. The caller holds mu.
func (r *Runner) end() {
	r.servers.close()
	r.cancel()
	if r.exporter.Load() == nil {
		r.finish()
	}
}

// Done is closed when the snapshot is final: the run has ended, and the last figures were sent.
func (r *Runner) Done() <-chan struct{} { return r.done.Done() }

// Close ends the run at once. It waits for the workers, and until the last figures were sent.
func (r *Runner) Close() error {
	defer func() { <-r.Done() }()
	r.mu.Lock()
	c := r.workers
	r.mu.Unlock()
	if c != nil {
		c.cancel()
		c.group.Wait()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	return nil
}

package runner

import (
	"fmt"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/loop"
	"github.com/h2surge/h2surge/runner/observe"
)

// newObserver makes what reads the observations of the plan. The URLs of targets have the values of shard 0, so that
// all runners read the same.
func (r *Runner) newObserver() error {
	if len(r.plan.Observe) == 0 || r.opts.Trial != nil {
		return nil
	}
	o, err := observe.New(observe.Config{
		Context: r.ctx, Plan: r.plan, TLS: r.tls, Policy: r.policy, Resolver: dial.NewResolver(r.opts.Network),
		Network: r.opts.Network, Clock: r.opts.Clock, Log: r.opts.Logger,
		Suspended: r.suspended,
	}, r.program.Targets)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	r.observer = o
	return nil
}

// Observe says whether this runner reads the observations of the plan. Without a call, the runner with setup and
// teardown chains does.
func (r *Runner) Observe(on bool) {
	if r.observer == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ordered = true
	r.observer.Set(on)
}

// suspended returns whether the load is suspended. The run has started, so the workers stay the same.
func (r *Runner) suspended() bool {
	r.mu.Lock()
	all := r.workers.all
	r.mu.Unlock()
	return slices.ContainsFunc(all, (*worker).suspended)
}

// suspended waits for the worker's next turn. The load of a worker that has ended is not suspended.
func (w *worker) suspended() bool {
	answer := make(chan bool, 1)
	w.loop.Do(func(l *loop.Worker) { answer <- l.Suspended() })
	select {
	case is := <-answer:
		return is
	case <-w.ended:
		return false
	}
}

// prepareObserver checks the queries, once and before the runner is ready, on the runner with setup and teardown
// chains. The caller holds mu.
func (r *Runner) prepareObserver(s *rv.Share) {
	if r.observer == nil {
		return
	}
	if !r.ordered {
		r.observer.Set(s.Once)
	}
	if !s.Once || r.checked || r.startAt != 0 {
		return
	}
	r.checked, r.checking = true, true
	go func() {
		err := r.observer.Check()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.checking = false
		if err != nil {
			r.workers.refuse(rv.ProblemPlan, err)
		}
	}()
}

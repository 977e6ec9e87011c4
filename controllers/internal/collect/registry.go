package collect

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/transport"
	"github.com/h2surge/h2surge/internal/load/split"
)

// Registry has the runs that are under way. It is a Runnable of the manager; its methods are
// safe for concurrent use.
type Registry struct {
	opts Options
	dial transport.Dial
	log  logr.Logger
	// wake must not block for long: it is called by the goroutines of the runs.
	wake func(types.NamespacedName)

	ctx    context.Context
	cancel context.CancelFunc
	alive  sync.WaitGroup
	load   *transport.Load

	mu   sync.Mutex
	runs map[types.UID]*run // guarded by mu
}

// NewRegistry returns an empty Registry. wake is called with the name of a run whose view has
// news.
func NewRegistry(opts Options, dial transport.Dial, log logr.Logger, wake func(types.NamespacedName)) *Registry {
	ctx, cancel := context.WithCancel(context.Background())
	return &Registry{
		opts: opts, dial: dial, log: log, wake: wake, ctx: ctx, cancel: cancel,
		runs: map[types.UID]*run{}, load: transport.NewLoad(),
	}
}

// Start waits for the manager's end and then for that of all goroutines. Runners are not told:
// an operator that restarts must not end tests.
func (r *Registry) Start(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.cancel() // from now on, Ensure starts nothing
	r.mu.Unlock()
	r.alive.Wait()
	return nil
}

// NeedLeaderElection is true: only the leader speaks to runners.
func (r *Registry) NeedLeaderElection() bool { return true }

// Ensure makes the run be collected as desired and returns what is known of it. The error says
// that the plan cannot be dealt out; it will not go away by itself.
func (r *Registry) Ensure(d shards.Desired) (*shards.View, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.runs[d.UID]
	if have != nil && have.isOf(&d) {
		have.want(d)
		return have.view.Load(), nil
	}
	if _, err := split.Split(d.Plan, d.Plan.Shards); err != nil {
		return nil, fmt.Errorf("splitting the plan: %w", err)
	}
	if have != nil {
		have.cancel()
	}
	log := r.log.WithValues("loadTest", d.Name, "attempt", d.Record.Attempt)
	begun := newRun(d, r.opts, r.dial, r.load, log, func() { r.wake(d.Name) })
	if r.ctx.Err() != nil {
		return begun.view.Load(), nil // a pass that continues after the end of the manager
	}
	ctx, cancel := context.WithCancel(r.ctx)
	begun.cancel = cancel
	r.runs[d.UID] = begun
	r.alive.Go(func() { begun.loop(ctx) })
	return begun.view.Load(), nil
}

// View is what is known of a run; nil: it is not collected.
func (r *Registry) View(uid types.UID) *shards.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.runs[uid]; e != nil {
		return e.view.Load()
	}
	return nil
}

// Abort ends the load of every run of that name but the one of keep (empty: of all), at once,
// and forgets them. It does not wait.
func (r *Registry) Abort(name types.NamespacedName, keep types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, e := range r.runs {
		if uid != keep && e.desired().Name == name {
			close(e.aborts)
			delete(r.runs, uid)
		}
	}
}

// Forget ends the collecting of a run and leaves its runners alone.
func (r *Registry) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.runs[uid]; e != nil {
		e.cancel()
		delete(r.runs, uid)
	}
}

// Live implements checkpoint.Source: the runners that started and are not lost, of all runs whose results are not
// stored.
func (r *Registry) Live() []checkpoint.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []checkpoint.Key
	for uid, e := range r.runs {
		d := e.desired()
		if d.Record.End != nil {
			continue // its results are stored
		}
		for i, s := range e.view.Load().Shards {
			if s.Started() && s.Lost == nil {
				out = append(out, checkpoint.Key{LoadTest: d.Name, Run: uid, Shard: i, Pod: s.Pod.UID})
			}
		}
	}
	return out
}

// Latest implements checkpoint.Source: the last snapshot of a runner, which is shared and must not be changed, and when
// it was received; nil: the run is not collected any more, or the shard has another pod.
func (r *Registry) Latest(of checkpoint.Key) (*runnerv1alpha1.Snapshot, time.Time) {
	v := r.View(of.Run)
	if v == nil || of.Shard >= len(v.Shards) || v.Shards[of.Shard].Pod.UID != of.Pod {
		return nil, time.Time{}
	}
	s := &v.Shards[of.Shard]
	return s.Snapshot, s.Received
}

package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/version"
	"github.com/h2surge/h2surge/runner"
	"github.com/h2surge/h2surge/runner/control"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/metrics"
	"github.com/h2surge/h2surge/runner/tune"
)

// Parts are the dependencies of Run.
type Parts struct {
	Log *slog.Logger
	// Network and Clock are those of runner.Options. Nil: those of the system.
	Network dial.Network
	Clock   func() int64
	// NewEngine makes the engine; nil: runner.New.
	NewEngine func(*rv.Plan, runner.Options) (Engine, error)
}

// Run is the life of a runner process. It returns when the operator has the result, or some time after terminated ends.
func Run(terminated context.Context, c Config, p Parts) error {
	if p.Clock == nil {
		p.Clock = rv.Clock
	}
	tls, err := control.LoadTLS(c.TLSDir)
	if err != nil {
		return err
	}
	plan, e := p.load(c)
	defer e.Close() //nolint:errcheck // never fails

	controlListener, err := dial.Listen(p.Network, c.ControlAddress)
	if err != nil {
		return fmt.Errorf("control endpoint: %w", err)
	}
	metricsListener, err := dial.Listen(p.Network, c.MetricsAddress)
	if err != nil {
		_ = controlListener.Close() // the other error is returned
		return fmt.Errorf("metrics endpoint: %w", err)
	}
	endpoint := control.New(control.Options{Engine: e, Conflict: runner.ErrConflict, Version: version.Get().String(),
		TLS: tls, Logger: p.Log})
	metricsServer := newMetricsServer(e.Snapshot, metrics.Handler(plan, e.Snapshot), p.Log)

	failed := make(chan error, 2)
	go func() { failed <- endpoint.Serve(controlListener) }()
	go func() { failed <- metricsServer.Serve(metricsListener) }()
	p.Log.Info("Runner waits for its share", "control", controlListener.Addr().String(),
		"metrics", metricsListener.Addr().String(), "shard", c.Index, "pod", c.Pod, "node", c.Node)

	// The operator cannot stop a runner whose endpoint has failed, so the runner ends as if terminated.
	alive, cancel := context.WithCancelCause(terminated)
	defer cancel(nil)
	go func() {
		if err := <-failed; err != nil && !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	}()
	(&life{engine: e, acked: endpoint.Acked(), lastRequest: endpoint.LastRequest, ackGrace: c.AckGrace,
		log: p.Log}).wait(alive)

	shutdown, release := context.WithTimeout(context.WithoutCancel(terminated), shutdownTime)
	defer release()
	err = endpoint.Shutdown(shutdown)
	_ = metricsServer.Close() // Prometheus scrapes again
	if cause := context.Cause(alive); cause != nil && terminated.Err() == nil {
		return cause
	}
	return err
}

// load makes the engine, or one that reports the error of the plan. The plan is never nil.
func (p Parts) load(c Config) (*rv.Plan, Engine) {
	heap := tune.Heap()
	plan, err := readPlan(c.Plan, c.PlanDigest)
	var e Engine
	if err == nil {
		p.Log.Info("Plan read", "name", plan.Name, "gcPercent", heap.GCPercent,
			"memoryLimit", heap.MemoryLimit, "maxProcs", tune.Workers(max(1, plan.CPUsPerShard)))
		e, err = p.make(plan, c)
	}
	if err != nil {
		p.Log.Error("Plan rejected", "err", err)
		plan, e = &rv.Plan{}, newRejected(err, p.Clock)
	}
	return plan, identified{Engine: e, index: c.Index, pod: c.Pod, node: c.Node}
}

// make makes the engine of a plan.
func (p Parts) make(plan *rv.Plan, c Config) (Engine, error) {
	o := runner.Options{Exclusive: plan.CPUsPerShard > 0, Logger: p.Log, ListenAddress: c.IP, ListenName: c.Name,
		Pod: c.Pod, Network: p.Network, Clock: p.Clock}
	if p.NewEngine != nil {
		return p.NewEngine(plan, o)
	}
	return runner.New(plan, o)
}

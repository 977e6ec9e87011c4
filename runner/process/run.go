package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/version"
	"github.com/h2surge/h2surge/runner/control"
	"github.com/h2surge/h2surge/runner/tune"
)

// Parts are the dependencies of Run, which tests replace.
type Parts struct {
	newEngine func(*rv.Plan, *slog.Logger) (engine, error)
	// conflict is what the engine's errors wrap when messages contradict each other.
	conflict error
	metrics  func(*rv.Plan, func() *rv.Snapshot) http.Handler
	log      *slog.Logger
}

// Run is the life of a runner process. It returns when the operator has the result, or some time after terminated ends.
func Run(terminated context.Context, c Config, p Parts) error {
	tls, err := control.LoadTLS(c.TLSDir)
	if err != nil {
		return err
	}
	plan, e := p.load(c)
	defer e.Close() //nolint:errcheck // never fails

	controlListener, err := net.Listen("tcp", c.ControlAddress)
	if err != nil {
		return fmt.Errorf("control endpoint: %w", err)
	}
	metricsListener, err := net.Listen("tcp", c.MetricsAddress)
	if err != nil {
		_ = controlListener.Close() // the other error is returned
		return fmt.Errorf("metrics endpoint: %w", err)
	}
	endpoint := control.New(control.Options{Engine: e, Conflict: p.conflict, Version: version.Get().String(), TLS: tls,
		Logger: p.log})
	metrics := newMetricsServer(e.Snapshot, p.metrics(plan, e.Snapshot), p.log)

	failed := make(chan error, 2)
	go func() { failed <- endpoint.Serve(controlListener) }()
	go func() { failed <- metrics.Serve(metricsListener) }()
	p.log.Info("Runner waits for its share", "control", controlListener.Addr().String(),
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
		log: p.log}).wait(alive)

	shutdown, release := context.WithTimeout(context.WithoutCancel(terminated), shutdownTime)
	defer release()
	err = endpoint.Shutdown(shutdown)
	_ = metrics.Close() // Prometheus scrapes again
	if cause := context.Cause(alive); cause != nil && terminated.Err() == nil {
		return cause
	}
	return err
}

// load makes the engine, or one that reports the error of the plan. The plan is never nil.
func (p Parts) load(c Config) (*rv.Plan, engine) {
	heap := tune.Heap()
	plan, err := readPlan(c.Plan, c.PlanDigest)
	var e engine
	if err == nil {
		p.log.Info("Plan read", "name", plan.Name, "gcPercent", heap.GCPercent,
			"memoryLimit", heap.MemoryLimit, "maxProcs", tune.Workers(max(1, plan.CPUsPerShard)))
		e, err = p.newEngine(plan, p.log)
	}
	if err != nil {
		p.log.Error("Plan rejected", "err", err)
		plan, e = &rv.Plan{}, newRejected(err)
	}
	return plan, identified{engine: e, index: c.Index, pod: c.Pod, node: c.Node}
}

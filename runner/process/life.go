package process

import (
	"context"
	"log/slog"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// stopTime is how long the engine may take to end after a Stop without drain. Its last figures may take half of it.
	stopTime = 10 * time.Second
	// termGrace is how long a terminated runner waits for the operator to fetch its result. Together
	// with stopTime it is less than the 30 s after which Kubernetes kills a pod (terminationGracePeriodSeconds).
	termGrace = 10 * time.Second
	// shutdownTime is the time for responses that are being sent when the runner ends.
	shutdownTime = 2 * time.Second
)

// life is a runner from its first message to its end.
type life struct {
	engine Engine
	acked  <-chan struct{}
	// lastRequest returns the time of the last message of the operator.
	lastRequest func() time.Time
	ackGrace    time.Duration
	log         *slog.Logger
}

// wait returns when the process may exit: the operator acknowledged the result, it did not fetch it or send Teardown in
// time, or there is no result. When terminated ends, sending ends at once.
func (l *life) wait(terminated context.Context) {
	grace := l.ackGrace
	ctx, cancel := context.WithCancel(terminated)
	defer cancel()
	select {
	case <-l.engine.Done():
	case <-l.abandoned(ctx):
		l.log.Warn("Run ended without teardown: the operator did not send Teardown in time", "waited", grace)
		return
	case <-terminated.Done():
		l.stop()
		grace = min(grace, termGrace)
	}
	s := l.engine.Snapshot()
	l.log.Info("Run ended", "state", s.State, "sent", s.Counters.Sent, "succeeded", s.Counters.Succeeded,
		"problem", s.Problem, "message", s.Message, "stopped", s.Stopped)
	if terminated.Err() != nil && s.StartedAt == 0 {
		return
	}
	l.hold(terminated, grace)
}

// abandoned is closed when the runner waits for Teardown and got no message of the operator for ackGrace, as long as it
// would keep its result.
func (l *life) abandoned(ctx context.Context) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		tick := time.NewTicker(max(l.ackGrace/10, time.Second))
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				if time.Since(l.lastRequest()) > l.ackGrace && l.engine.Snapshot().State == rv.StateDrained {
					close(out)
					return
				}
			}
		}
	}()
	return out
}

// stop ends the load without waiting for responses, because the kubelet kills a terminated pod after a while.
func (l *life) stop() {
	l.log.Info("Terminated, stopping")
	if err := l.engine.Stop(rv.Stop{Reason: "terminated"}); err != nil {
		l.log.Error("The engine cannot be stopped", "err", err)
		return
	}
	select {
	case <-l.engine.Done():
	case <-time.After(stopTime):
		l.log.Error("The engine did not stop in time", "limit", stopTime)
	}
}

// hold keeps the result for the operator.
func (l *life) hold(terminated context.Context, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for interrupted := terminated.Done(); ; {
		select {
		case <-l.acked:
			l.log.Info("Result acknowledged")
			return
		case <-timer.C:
			l.log.Warn("The operator did not fetch the result in time", "waited", grace)
			return
		case <-interrupted:
			interrupted = nil
			grace = min(grace, termGrace)
			timer.Reset(grace)
		}
	}
}

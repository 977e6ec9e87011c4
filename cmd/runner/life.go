package main

import (
	"context"
	"log/slog"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// stopTime is how long the engine may take to end after it was told to, without drain.
	stopTime = 5 * time.Second
	// termGrace is how long a terminated runner still waits for the operator to fetch its
	// result. Together with stopTime it is well below the 30 s that Kubernetes gives a pod
	// (terminationGracePeriodSeconds) before it kills it.
	termGrace = 10 * time.Second
	// shutdownTime is for the answers under way at the very end.
	shutdownTime = 2 * time.Second
)

// life is a runner from its first message to its end.
type life struct {
	engine   engine
	acked    <-chan struct{}
	ackGrace time.Duration
	log      *slog.Logger
}

// wait returns when the process may exit: the result was acknowledged, nobody came for it in
// time, or there is none. When terminated ends, sending ends at once.
func (l *life) wait(terminated context.Context) {
	grace := l.ackGrace
	select {
	case <-l.engine.Done():
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

// stop ends the load now: whoever terminates a runner wants it gone.
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

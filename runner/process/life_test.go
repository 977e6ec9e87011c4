package process

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestWait(t *testing.T) {
	const grace = 2 * time.Minute
	type life0 struct {
		engine      *fakeEngine
		terminate   context.CancelFunc
		acked       chan struct{}
		lastRequest *atomic.Int64
	}
	terminated := []rv.Stop{{Reason: "terminated"}}
	for _, tc := range []struct {
		name  string
		begun bool
		stuck bool
		do    func(life0)
		after time.Duration // how long wait takes
		stops []rv.Stop
		logs  string // in addition to what is always logged
	}{
		{name: "done, then acknowledged", begun: true, after: 3 * time.Second, do: func(l life0) {
			l.engine.finish()
			time.Sleep(3 * time.Second)
			close(l.acked)
		}},
		{name: "done, the operator does not come", begun: true, after: grace, do: func(l life0) { l.engine.finish() }},
		{name: "terminated before the start: nothing to keep", after: 0, stops: terminated, do: func(l life0) { l.terminate() }},
		{name: "terminated while running, then acknowledged", begun: true, after: time.Second, stops: terminated, do: func(l life0) {
			l.terminate()
			time.Sleep(time.Second)
			close(l.acked)
		}},
		{name: "terminated while running, the operator does not come", begun: true, after: termGrace, stops: terminated, do: func(l life0) { l.terminate() }},
		{name: "terminated while it waits for the ack", begun: true, after: time.Minute + termGrace, do: func(l life0) {
			l.engine.finish()
			time.Sleep(time.Minute)
			l.terminate()
		}},
		{name: "the engine does not stop", begun: true, stuck: true, after: stopTime + termGrace, stops: terminated, do: func(l life0) { l.terminate() }},
		{name: "drained, the operator sends no Teardown", begun: true, after: grace + grace/10, logs: "Run ended without teardown: the operator did not send Teardown in time", do: func(l life0) {
			l.engine.drain()
		}},
		{name: "drained, the operator asks for snapshots", begun: true, after: 10*grace + time.Second, do: func(l life0) {
			l.engine.drain()
			for range 10 {
				time.Sleep(grace)
				l.lastRequest.Store(time.Now().UnixNano())
			}
			l.engine.finish()
			time.Sleep(time.Second)
			close(l.acked)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newFakeEngine()
				e.stuck = tc.stuck
				if tc.begun {
					_ = e.Start(rv.Start{At: 1})
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				acked := make(chan struct{})
				var log bytes.Buffer
				begin := time.Now()
				var lastRequest atomic.Int64
				lastRequest.Store(begin.UnixNano())
				go tc.do(life0{e, cancel, acked, &lastRequest})
				(&life{engine: e, acked: acked, lastRequest: func() time.Time { return time.Unix(0, lastRequest.Load()) }, ackGrace: grace, log: slog.New(slog.NewTextHandler(&log, nil))}).wait(ctx)
				if took := time.Since(begin); took != tc.after {
					t.Errorf("waited %v, want %v", took, tc.after)
				}
				if !strings.Contains(log.String(), tc.logs) {
					t.Errorf("logs\n%swant %q", log.String(), tc.logs)
				}
				if diff := cmp.Diff(tc.stops, e.stops); diff != "" {
					t.Errorf("stops (-want +got):\n%s", diff)
				}
			})
		})
	}
}

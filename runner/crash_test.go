package runner

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// faultyLog panics on the goroutine of the worker that logs a message, and keeps what is logged later.
type faultyLog struct {
	slog.Handler
	panicAt string

	mu     *sync.Mutex
	stacks *[]string
}

func newFaultyLog(panicAt string) faultyLog {
	return faultyLog{Handler: slog.NewTextHandler(io.Discard, nil), panicAt: panicAt, mu: &sync.Mutex{}, stacks: &[]string{}}
}

func (f faultyLog) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f faultyLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == f.panicAt {
		panic("boom")
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stack" {
			f.mu.Lock()
			*f.stacks = append(*f.stacks, a.Value.String())
			f.mu.Unlock()
		}
		return true
	})
	return nil
}

// TestWorkerPanics: a worker of two panics while it judges a response. The run ends with what both have
// counted, and the log has the stack.
func TestWorkerPanics(t *testing.T) {
	w := serve(t, true, func(http.ResponseWriter, *http.Request, string) string { return "" })
	s := get("a")
	s.Script = &rv.Script{Name: "script", Content: rv.Content{Text: `n = 0
function on_response(req, resp) n = n + 1; if n == 50 then error("now") end return true end`}}
	p := plain(w, true, 100_000, s)
	log := newFaultyLog("a script failed")
	done := make(chan *rv.Snapshot, 1)
	go func() {
		got, err := Run(t.Context(), p, split.Whole(p), Options{Workers: 2, Logger: slog.New(log)}, nil)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	select {
	case got := <-done:
		law(t, got)
		if got.State != rv.StateDone || got.Problem != rv.ProblemInternal || !strings.Contains(got.Message, "panic: boom") {
			t.Errorf("state %s, problem %s: %s", got.State, got.Problem, got.Message)
		}
		if c := &got.Counters; c.Succeeded < 49 || c.InFlightAtEnd == 0 {
			t.Errorf("%+v, want 49 successes or more, and one in flight", *c)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the run did not end")
	}
	if len(*log.stacks) == 0 || !strings.Contains((*log.stacks)[0], "finishDone") { // the other worker may panic, too
		t.Errorf("%d stacks, want one of finishDone", len(*log.stacks))
	}
}

// blockingLog blocks the goroutine of the worker that logs a message until it is released.
type blockingLog struct {
	slog.Handler
	blockAt          string
	blocked, release chan struct{}
}

func (b blockingLog) WithAttrs([]slog.Attr) slog.Handler { return b }

func (b blockingLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == b.blockAt {
		b.blocked <- struct{}{}
		<-b.release
	}
	return nil
}

// TestSnapshotOfABusyWorker: a worker that is in a long turn delays neither snapshots nor control messages, and
// nothing is lost or counted twice.
func TestSnapshotOfABusyWorker(t *testing.T) {
	w := serve(t, true, func(http.ResponseWriter, *http.Request, string) string { return "" })
	s := get("a")
	s.Script = &rv.Script{Name: "script", Content: rv.Content{Text: `n = 0
function on_response(req, resp) n = n + 1; if n == 50 then error("now") end return true end`}}
	p := plain(w, true, 200, s)
	log := blockingLog{slog.NewTextHandler(io.Discard, nil), "a script failed", make(chan struct{}), make(chan struct{})}
	r, err := New(p, Options{Alone: true, Logger: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // never fails
	if err := r.Update(rv.Update{Revision: 1, Share: split.Whole(p)}); err != nil {
		t.Fatal(err)
	}
	if err := r.awaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(rv.Start{At: rv.Clock()}); err != nil {
		t.Fatal(err)
	}
	<-log.blocked
	for range 3 {
		got := r.Snapshot()
		law(t, got)
		if got.State != rv.StateRunning || got.Counters.Succeeded > 49 {
			t.Errorf("state %s, %+v", got.State, got.Counters)
		}
	}
	if err := r.Stop(rv.Stop{Reason: "test", Drain: true}); err != nil {
		t.Error(err)
	}
	close(log.release)
	<-r.Done()
	got := r.Snapshot()
	law(t, got)
	if c := &got.Counters; got.State != rv.StateDone || c.FailedChecks != 1 || c.InFlightAtEnd != 0 || c.Sent == 0 {
		t.Errorf("state %s, %+v", got.State, *c)
	}
}

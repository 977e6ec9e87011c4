package otlp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/render"
	"github.com/h2surge/h2surge/internal/version"
)

// Interval is how often an Exporter sends.
const Interval = 5 * time.Second

// Exporter sends the figures of a run every Interval, on a goroutine of its own. What the receiver does costs the run
// nothing: a request that takes longer than Interval delays only the next one.
type Exporter struct {
	receiver *Receiver
	run      *Run
	changed  func(error)
	cancel   context.CancelFunc
	done     chan struct{}

	mu  sync.Mutex
	err error
}

// Start starts an exporter. It calls changed with an error if a request failed after one that was accepted, and with
// nil if one is accepted after one that failed.
func Start(r *Receiver, run *Run, changed func(error)) *Exporter {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Exporter{receiver: r, run: run, changed: changed, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		tick := time.NewTicker(Interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				e.send(ctx)
			}
		}
	}()
	return e
}

// send sends the present figures, and notes whether they were accepted. A request that Stop ends says nothing.
func (e *Exporter) send(ctx context.Context) {
	err := e.receiver.Send(ctx, e.run.write)
	if errors.Is(err, errNotStarted) || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if (err == nil) != (e.err == nil) {
		e.changed(err)
	}
	e.err = err
}

// Err returns why the last request was not accepted; nil: it was.
func (e *Exporter) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Stop ends the exporter, and a request that is under way.
func (e *Exporter) Stop() {
	e.cancel()
	<-e.done
}

// Finish ends the exporter, and sends the figures of a run that has ended. It returns when they were sent, or when ctx
// ends. Figures that were not accepted by a deadline of ctx are a failure.
func (e *Exporter) Finish(ctx context.Context) {
	e.Stop()
	e.send(ctx)
}

// Run is a run as the process sees it that sends its requests.
type Run struct {
	Plan     *rv.Plan
	Snapshot func() *rv.Snapshot
	// Source has the shard and its pod.
	Source render.OTLPSource

	from time.Time
}

var errNotStarted = errors.New("the run has not started")

// From returns the wall clock at the start, or zero before the start. It is the same for all requests, because a
// receiver would take another start for a restart. It must not be called while an exporter sends.
func (r *Run) From() time.Time {
	if r.from.IsZero() {
		r.begun(r.Snapshot())
	}
	return r.from
}

func (r *Run) begun(s *rv.Snapshot) bool {
	if r.from.IsZero() && s.StartedAt != 0 {
		r.from = time.Now().Add(time.Duration(s.StartedAt - s.Clock))
	}
	return !r.from.IsZero()
}

// write writes the present figures.
func (r *Run) write(w io.Writer) error {
	s := r.Snapshot()
	if !r.begun(s) {
		return errNotStarted
	}
	report, err := build.Build(build.Input{Plan: r.Plan, Version: version.Get().Version, Snapshots: []rv.Snapshot{*s}})
	if err != nil {
		return err
	}
	of := r.Source
	of.From, of.To, of.Running = r.from, time.Now(), s.State != rv.StateDone
	return of.Write(w, report)
}

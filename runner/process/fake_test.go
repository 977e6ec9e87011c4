package process

import (
	"sync"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// fakeEngine runs nothing. It begins at the first Start and is done after finish.
type fakeEngine struct {
	mu       sync.Mutex
	snapshot rv.Snapshot
	stops    []rv.Stop
	stuck    bool // Stop has no effect
	done     chan struct{}
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{snapshot: rv.Snapshot{State: rv.StateWaiting, Boot: "b", Sequence: 1}, done: make(chan struct{})}
}

func (e *fakeEngine) Update(u rv.Update) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot.Revision, e.snapshot.Shard, e.snapshot.State = u.Revision, u.Share.Shard, rv.StateReady
	return nil
}

func (e *fakeEngine) Start(s rv.Start) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot.StartedAt, e.snapshot.State = s.At, rv.StateRunning
	return nil
}

func (e *fakeEngine) Stop(s rv.Stop) error {
	e.mu.Lock()
	e.stops = append(e.stops, s)
	stuck := e.stuck
	e.mu.Unlock()
	if !stuck {
		e.finish()
	}
	return nil
}

func (e *fakeEngine) Teardown(rv.Teardown) error { return nil }
func (e *fakeEngine) Totals() *rv.Snapshot       { return e.Snapshot() }
func (e *fakeEngine) Renew(rv.Lease)             {}
func (e *fakeEngine) Observe(bool)               {}

func (e *fakeEngine) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot.State = rv.StateDone
	close(e.done)
}

// drain lets the engine wait for Teardown.
func (e *fakeEngine) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot.State = rv.StateDrained
}

func (e *fakeEngine) Snapshot() *rv.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.snapshot
	return &s
}

func (e *fakeEngine) Done() <-chan struct{} { return e.done }
func (e *fakeEngine) Close() error          { return nil }

package control

import (
	"errors"
	"fmt"
	"sync"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

var errContradiction = errors.New("contradiction")

// fakeEngine takes messages as the protocol has it, and counts those that changed anything.
type fakeEngine struct {
	mu       sync.Mutex
	update   rv.Update
	start    rv.Start
	stop     rv.Stop
	state    rv.State
	sequence uint64
	lease    rv.Lease
	changes  int
	observe  []bool
}

func (e *fakeEngine) Update(u rv.Update) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case u.Revision < e.update.Revision:
		return fmt.Errorf("revision %d is in force: %w", e.update.Revision, errContradiction)
	case u.Revision > e.update.Revision:
		e.update = u
		e.changes++
	}
	return nil
}

func (e *fakeEngine) Start(s rv.Start) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.update.Revision == 0:
		return fmt.Errorf("no share: %w", errContradiction)
	case e.start.At != 0 && e.start.At != s.At:
		return fmt.Errorf("starts at %d: %w", e.start.At, errContradiction)
	case e.start.At == 0:
		e.start = s
		e.changes++
	}
	return nil
}

func (e *fakeEngine) Stop(s rv.Stop) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stop.Reason == "" {
		e.stop = s
		e.state = rv.StateDone
		e.changes++
	}
	return nil
}

func (e *fakeEngine) Teardown(rv.Teardown) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.start.At == 0 {
		return fmt.Errorf("not started: %w", errContradiction)
	}
	return nil
}

func (e *fakeEngine) Renew(l rv.Lease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease = l
}

func (e *fakeEngine) Observe(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observe = append(e.observe, on)
}

func (e *fakeEngine) Totals() *rv.Snapshot {
	s := e.Snapshot()
	s.Steps = nil
	return s
}

func (e *fakeEngine) Snapshot() *rv.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sequence++
	return &rv.Snapshot{Kind: rv.SnapshotKind, Sequence: e.sequence, State: e.state, Steps: []rv.StepCounters{{Outcomes: rv.Outcomes{Sent: 1}}}, LeaseUntil: e.lease.Until, Term: e.lease.Term}
}

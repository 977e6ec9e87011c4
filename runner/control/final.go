package control

import (
	"fmt"
	"sync"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// final keeps the last snapshot from when the engine is done, so that what is acknowledged is
// what was sent. The lock is its own; it is taken by one request at a time.
type final struct {
	mu       sync.Mutex
	snapshot *rv.Snapshot
	taken    time.Time     // of snapshot
	acked    chan struct{} // closed by the first Ack
	isAcked  bool
}

// pass returns the snapshot to send: the one at hand, or the final one once there is one. The clock of the final one
// runs, because an operator that takes over measures by it when the test started.
func (f *final) pass(take func() *rv.Snapshot) *rv.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.snapshot == nil {
		s := take()
		if s.State != rv.StateDone {
			return s
		}
		f.snapshot, f.taken = s, time.Now()
	}
	s := *f.snapshot
	s.Clock += int64(time.Since(f.taken))
	return &s
}

// ack accepts the sequence of the final snapshot, again and again, and nothing else.
func (f *final) ack(sequence uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.snapshot == nil {
		return fmt.Errorf("%w: the final snapshot has not been read", errConflict)
	}
	if sequence != f.snapshot.Sequence {
		return fmt.Errorf("%w: the final snapshot is number %d", errConflict, f.snapshot.Sequence)
	}
	if !f.isAcked {
		f.isAcked = true
		close(f.acked)
	}
	return nil
}

package storage

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// atOnce is the number of uploads at the same time. A storage that does not answer must not take much memory.
	atOnce = 4
	// firstWait and maxWait are the times before the second upload of a report, and at most between two.
	firstWait, maxWait = time.Second, 5 * time.Minute
)

// Uploads runs uploads beside the passes of the reconciler, which a slow storage must not block. It is in memory only:
// an operator that restarts begins each pending upload again.
type Uploads struct {
	clock   func() time.Time
	changed func(types.NamespacedName)
	slots   chan struct{}
	mu      sync.Mutex
	of      map[types.UID]*State // guarded by mu
}

// State is the state of one upload.
type State struct {
	// Running is true while an upload waits for its turn or runs.
	Running bool
	// Failures is the number of failed uploads in a row.
	Failures int
	// Err is the error of the last upload; nil: it succeeded, or there was none.
	Err error
	// URL is what the upload returned; empty: none has succeeded.
	URL string
	// Next is when the next upload may begin.
	Next time.Time
}

// NewUploads returns an empty Uploads. It calls changed when an upload has ended; changed must not block.
func NewUploads(clock func() time.Time, changed func(types.NamespacedName)) *Uploads {
	return &Uploads{clock: clock, changed: changed, slots: make(chan struct{}, atOnce), of: map[types.UID]*State{}}
}

// State returns the state of an upload.
func (u *Uploads) State(run types.UID) State {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.of[run]; s != nil {
		return *s
	}
	return State{}
}

// Start runs an upload in the background, unless it runs.
func (u *Uploads) Start(name types.NamespacedName, run types.UID, upload func(context.Context) (url string, err error)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.of[run]
	if s == nil {
		s = &State{}
		u.of[run] = s
	}
	if s.Running {
		return
	}
	s.Running = true
	go func() {
		u.slots <- struct{}{}
		url, err := upload(context.Background())
		<-u.slots
		u.end(s, url, err)
		u.changed(name)
	}()
}

func (u *Uploads) end(s *State, url string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s.Running, s.URL, s.Err = false, url, err
	if err == nil {
		s.Failures = 0
		return
	}
	s.Next = u.clock().Add(min(firstWait<<min(s.Failures, 16), maxWait))
	s.Failures++
}

// Forget drops the state of an upload. One that runs ends by itself.
func (u *Uploads) Forget(run types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, run)
}

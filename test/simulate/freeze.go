package simulate

import (
	"sync"
	"time"
)

// freeze is when a process was stopped last (SIGSTOP), and until when. Its network and its way to the API server have
// freezes of their own.
type freeze struct {
	mu          sync.Mutex // guards the fields below
	since, ends time.Time
}

// begin stops the process for a time, or for longer.
func (f *freeze) begin(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if !now.Before(f.ends) {
		f.since = now
	}
	f.ends = later(f.ends, now.Add(d))
}

// end is that of a process that is killed.
func (f *freeze) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends = time.Time{}
}

// now is the time that the process sees: that of the freeze while it lasts.
func (f *freeze) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); !now.Before(f.ends) {
		return now
	}
	return f.since
}

func (f *freeze) left() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Until(f.ends)
}

func (f *freeze) is() bool { return f.left() > 0 }

// wait returns when the process continues, or was killed.
func (f *freeze) wait() {
	for f.is() {
		time.Sleep(min(f.left(), time.Second))
	}
}

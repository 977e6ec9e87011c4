package loadtest

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// pace bounds the writes of statuses. A status that differs from the stored one in figures only waits until the interval
// since the last write has passed. The interval is a second for up to ten running tests, and a tenth of a second for each
// of more, so there are at most ten such writes a second.
type pace struct {
	least time.Duration

	mu      sync.Mutex
	written map[types.NamespacedName]time.Time // of running tests; guarded by mu
}

// testsPerSecond is the number of statuses that are written in a second because of their figures.
const testsPerSecond = 10

// wait returns how long a write that is not urgent has to wait.
func (p *pace) wait(key types.NamespacedName, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.written[key]
	if !ok || now.Before(last) {
		return 0
	}
	interval := max(p.least, time.Duration(len(p.written))*time.Second/testsPerSecond)
	return max(0, last.Add(interval).Sub(now))
}

// wrote notes a write. A test that does not run any more does not count.
func (p *pace) wrote(key types.NamespacedName, st *v1alpha1.LoadTestStatus, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if st.StartTime == nil || st.CompletionTime != nil {
		delete(p.written, key)
		return
	}
	p.written[key] = now
}

func (p *pace) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, key)
}

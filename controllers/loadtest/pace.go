package loadtest

import (
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// testsPerSecond is the number of statuses that are written in a second because of their figures.
const testsPerSecond = 10

// wait returns how long the write of a status has to wait that differs from the stored one in figures only: until the
// interval since the last write has passed. The interval is a second for up to ten running tests, and a tenth of a
// second for each of more, so there are at most ten such writes a second.
func (m *memory) wait(lt *v1alpha1.LoadTest, now time.Time) time.Duration {
	last := m.of(lt).statusAt
	if last.IsZero() || now.Before(last) {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	running := 0
	for _, e := range m.runs {
		if !e.statusAt.IsZero() {
			running++
		}
	}
	interval := max(m.statusInterval, time.Duration(running)*time.Second/testsPerSecond)
	return max(0, last.Add(interval).Sub(now))
}

// wroteStatus notes a write. A test that does not run any more does not count.
func (m *memory) wroteStatus(lt *v1alpha1.LoadTest, now time.Time) {
	e := m.of(lt)
	m.mu.Lock()
	defer m.mu.Unlock()
	e.statusAt = now
	if lt.Status.StartTime == nil || lt.Status.CompletionTime != nil {
		e.statusAt = time.Time{}
	}
}

//go:build !race

package notification

import (
	"strconv"
	"testing"
	"time"
)

func TestTableDoesNotAllocate(t *testing.T) {
	tab := New(Config{Timeouts: []time.Duration{time.Second}, Keep: time.Second, MaxEntries: 1 << 20, MaxEarly: 1 << 10, MaxEarlySize: 1 << 10, Missed: func(Waiter) {}, Discard: func(Notification) {}})
	key := make([]byte, 0, 64)
	n := int64(0)
	pair := func() {
		n++
		now := n * int64(100*time.Microsecond)
		key = strconv.AppendInt(append(key[:0], "/notify/"...), n, 10)
		tab.Await(key, 0, Waiter{}, now)
		tab.Notified(key, Notification{At: now + 10})
		tab.Expire(now)
	}
	for range 50_000 {
		pair()
	}
	if got := testing.AllocsPerRun(20_000, pair); got != 0 {
		t.Errorf("%v allocations for a notification, want 0", got)
	}
}

// BenchmarkTable is a step that waits and its notification, with 10 000 entries in the table.
func BenchmarkTable(b *testing.B) {
	tab := New(Config{Timeouts: []time.Duration{time.Second}, Keep: time.Second, MaxEntries: 1 << 20, MaxEarly: 1 << 10, MaxEarlySize: 1 << 10, Missed: func(Waiter) {}, Discard: func(Notification) {}})
	key := make([]byte, 0, 64)
	b.ReportAllocs()
	for n := range int64(b.N) {
		now := n * int64(100*time.Microsecond)
		key = strconv.AppendInt(append(key[:0], "/notify/"...), n, 10)
		tab.Await(key, 0, Waiter{}, now)
		tab.Notified(key, Notification{At: now + 10})
		tab.Expire(now)
	}
}

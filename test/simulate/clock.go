package simulate

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// wallClock is the wall clock of a node. It can be wrong; the monotonic clock is right.
type wallClock struct {
	wrong atomic.Int64 // nanoseconds that it is ahead
}

func (c *wallClock) step(by time.Duration) { c.wrong.Add(int64(by)) }

// now is what time.Now returns on the node outside of a bubble: a time with a reading of the monotonic clock, so that a
// step has no effect on the time between two of them. In a bubble, time.Now returns times without such a reading.
func (c *wallClock) now() (out time.Time) {
	now := time.Now()
	wall := now.Add(time.Duration(c.wrong.Load()))
	parts := (*timeParts)(unsafe.Pointer(&out)) //nolint:gosec // see TestClock
	parts.wall = 1<<63 | uint64(wall.Unix()-since1885)<<30 | uint64(wall.Nanosecond())
	parts.ext = now.UnixNano()
	return out
}

// timeParts are the fields of time.Time, with a monotonic reading in ext.
type timeParts struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

var since1885 = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

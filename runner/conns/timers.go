package conns

import (
	"container/heap"
	"math"
	"slices"
	"time"
)

// timerKind is what a connection waits for. These timers are rare, and one heap has the connections with a timer;
// requests' timeouts are in lists of their own (package book).
type timerKind uint8

const (
	// wantTimer: the ramp, the back-off or the time to reopen is over.
	wantTimer timerKind = iota
	// connectTimer: connectTimeout is over since the loop began to connect, or since the connection began to wait for
	// SETTINGS (RFC 9113 3.4).
	connectTimer
	// trialTimer: a trial over HTTP/1.1 has stayed open.
	trialTimer
	// ageTimer: the connection has reached its greatest age.
	ageTimer
	// inactivityTimer: requests are in flight and nothing comes.
	inactivityTimer
	// pingTimer: nothing has come for the ping interval.
	pingTimer
	// failbackTimer: the connection tries its first endpoint again.
	failbackTimer
	// resetTimer: streams are abandoned, and the budget for resetting them refills.
	resetTimer

	timerKinds = iota
)

// firesIn has a bit for each state in which a timer has an effect.
var firesIn = [...]uint16{
	wantTimer:       1<<idle | 1<<backoff,
	connectTimer:    1<<dialing | 1<<opening,
	trialTimer:      1 << opening,
	ageTimer:        1 << open,
	inactivityTimer: 1<<open | 1<<draining,
	pingTimer:       1 << open,
	failbackTimer:   1<<connStates - 1<<idle, // all but Closing
	resetTimer:      1 << open,
}

// timers are those of all connections.
type timers struct {
	heap timerHeap
	// now is the time of the turn.
	now int64
}

// Begin sets the time of the turn.
func (ts *timers) Begin(now int64) { ts.now = now }

// Next returns when the first timer of a connection fires, so that Fire must be called, or a time that does not come.
func (ts *timers) Next() int64 {
	if len(ts.heap) == 0 {
		return never
	}
	return ts.heap[0].firesAt
}

// arm sets a timer for a connection unless it is set already or d is zero.
func (ts *timers) arm(c *Conn, kind timerKind, d time.Duration) {
	if d > 0 && c.timers[kind] == 0 {
		c.timers[kind] = ts.now + int64(d)
		ts.heap.update(c)
	}
}

// armReset sets the timer that resets the streams that no one waits for. They count against the
// peer's limit until then.
func (ts *timers) armReset(c *Conn) {
	if c.h2 != nil {
		ts.arm(c, resetTimer, c.h2.ResetAfter(ts.now))
	}
}

// endAll ends the timers of a connection that has ended for good.
func (ts *timers) endAll(c *Conn) {
	c.timers = [timerKinds]int64{}
	ts.heap.update(c)
}

// end ends the timers of a connection when its socket ends. The timer of the next trial survives.
func (ts *timers) end(c *Conn) {
	c.timers = [timerKinds]int64{failbackTimer: c.timers[failbackTimer]}
	ts.heap.update(c)
}

// take returns the timer that fires first, and ends it.
func (ts *timers) take() (*Conn, timerKind) {
	c := ts.heap[0]
	kind := slices.Index(c.timers[:], c.firesAt)
	c.timers[kind] = 0
	ts.heap.update(c)
	return c, timerKind(kind)
}

// timerHeap is a heap of the connections with a timer, the one whose timer fires first at the front. It has each
// connection once, so that short connections leave nothing behind.
type timerHeap []*Conn

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool { return h[i].firesAt < h[j].firesAt }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].inTimers, h[j].inTimers = i+1, j+1
}

func (h *timerHeap) Push(c any) {
	*h = append(*h, c.(*Conn))
	(*h)[len(*h)-1].inTimers = len(*h)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	c.inTimers = 0
	return c
}

// update gives a connection whose timers have changed its place in the heap.
func (h *timerHeap) update(c *Conn) {
	before := c.firesAt
	c.firesAt = 0
	for _, at := range c.timers {
		if at != 0 && (c.firesAt == 0 || at < c.firesAt) {
			c.firesAt = at
		}
	}
	switch {
	case c.firesAt == before:
	case c.firesAt == 0:
		heap.Remove(h, c.inTimers-1)
	case before == 0:
		heap.Push(h, c)
	default:
		heap.Fix(h, c.inTimers-1)
	}
}

// never is an instant that does not come.
const never = math.MaxInt64

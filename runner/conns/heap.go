package conns

import (
	"container/heap"
	"math"
	"slices"
	"time"
)

// arm sets a timer for a connection unless it is set already or d is zero.
func (cs *Connections) arm(c *Conn, kind timerKind, d time.Duration) {
	if d > 0 && c.timers[kind] == 0 {
		c.timers[kind] = cs.now + int64(d)
		cs.timers.update(c)
	}
}

// endTimers ends the timers of a connection when its socket ends. The timer of the next trial survives.
func (cs *Connections) endTimers(c *Conn) {
	c.timers = [timerKinds]int64{failbackTimer: c.timers[failbackTimer]}
	cs.timers.update(c)
}

// endAllTimers ends the timers of a connection that has ended for good.
func (cs *Connections) endAllTimers(c *Conn) {
	c.timers = [timerKinds]int64{}
	cs.timers.update(c)
}

// takeTimer returns the timer that fires first, and ends it.
func (cs *Connections) takeTimer() (*Conn, timerKind) {
	c := cs.timers[0]
	kind := slices.Index(c.timers[:], c.firesAt)
	c.timers[kind] = 0
	cs.timers.update(c)
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

// Next returns when the first timer of a connection fires, so that Fire must be called, or a time that does not come.
func (cs *Connections) Next() int64 { return cs.timers.next() }

// next returns when the first timer fires, or never.
func (h timerHeap) next() int64 {
	if len(h) == 0 {
		return never
	}
	return h[0].firesAt
}

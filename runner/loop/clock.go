package loop

import (
	"time"

	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/pace"
)

// never is an instant that does not come.
const never = pace.Never

// clock is the time of a turn, and what it must do next.
type clock struct {
	net netio.Net
	// now is the worker's clock, read once for each turn.
	now int64
	// wallOffset is what the wall clock, in nanoseconds since 1970, is ahead of now.
	wallOffset int64
	// skipsWait: the next turn must not wait for events.
	skipsWait bool
	// aborted: the worker must end in this turn.
	aborted bool
	// inspects: a step looks at whole responses, so that a turn may take long.
	inspects bool
}

// time returns the time of the turn.
func (c *clock) time() int64 { return c.now }

// skipWait makes the next turn look at queues and connections at once: something has changed after this turn has
// looked.
func (c *clock) skipWait() { c.skipsWait = true }

// setWall takes the time of the wall clock, which may be set while the worker runs.
func (c *clock) setWall(wall, now int64) { c.wallOffset = wall - now }

// wall is the time of the turn in nanoseconds since 1970.
func (c *clock) wall() int64 { return c.now + c.wallOffset }

// longTurn is how long a turn may look at responses before the worker reads its inbox.
const longTurn = int64(20 * time.Millisecond)

// late reports that the turn has become a long one. That takes checks or scripts, so nothing else pays for
// reading the clock.
func (c *clock) late() bool { return c.inspects && c.net.Now()-c.now >= longTurn }

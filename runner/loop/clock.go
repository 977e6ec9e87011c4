package loop

import "time"

// setWall reads the wall clock, which may be set while the worker runs.
// clock is the time of a turn, and what the turn must not wait for.
type clock struct {
	// now is the worker's clock, read once for each turn.
	now int64
	// wallOffset is what the wall clock, in nanoseconds since 1970, is ahead of now.
	wallOffset int64
	// again: the next turn must not wait.
	again bool
	// inspects: a step looks at whole responses, so that a turn may take long.
	inspects bool
}

func (w *Worker) setWall() { w.wallOffset = time.Now().UnixNano() - w.net.Now() }

// wall is the time of the turn in nanoseconds since 1970.
func (w *Worker) wall() int64 { return w.now + w.wallOffset }

// longTurn is how long a turn may look at responses before the worker hears what is in the inbox.
const longTurn = int64(20 * time.Millisecond)

// late reports that the turn has become a long one. That takes checks or scripts, so nothing else pays for
// reading the clock.
func (w *Worker) late() bool { return w.inspects && w.net.Now()-w.now >= longTurn }

package loop

// watchAbandoned sets the timer that resets the streams that no one waits for. They count against the
// peer's limit until then.
func (w *Worker) watchAbandoned(c *conn) {
	if c.h2 != nil {
		w.arm(c, resetTimer, c.h2.ResetAfter(w.now))
	}
}

// resetAbandoned resets what the budget allows.
func (w *Worker) resetAbandoned(c *conn) {
	before := c.h2.Abandoned()
	c.h2.ResetAbandoned(w.now)
	if c.h2.Abandoned() < before {
		w.touch(c)
		w.offer(c.index)
		w.skipWait() // streams have come free after this turn's requests were made
	}
	w.watchAbandoned(c)
}

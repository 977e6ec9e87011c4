package loop

import "time"

// A connection that has moved on to another endpoint tries its first one again every failback interval. The
// trial is a connection of its own without a place: the working one stays until the trial has proved the first
// endpoint, and if that fails nothing has changed.

// defaultFailback is the failback interval of a plan that has none.
const defaultFailback = 5 * time.Second

// trialTime is how long a trial over HTTP/1.1 must stay open. HTTP/2 proves itself by SETTINGS; HTTP/1.1 has
// nothing that could be asked without a request.
const trialTime = 250 * time.Millisecond

// isAway says that a connection is not with its first endpoint.
func (w *Worker) isAway(c *conn) bool { return c.shift%w.choices(c) != 0 }

// armFailback sets the timer of the next trial. It survives the socket, so that connections that live for one
// request only come back, too.
func (w *Worker) armFailback(c *conn) {
	if !c.holdsPlace || !w.isAway(c) {
		c.failbackAt = 0
		return
	}
	if c.failbackAt != 0 {
		return // set already
	}
	d := w.targets[c.target].plan.Connecting.FailbackInterval
	if d == 0 {
		d = defaultFailback
	}
	c.failbackAt = w.now + int64(d)
	w.arm(c, failbackTimer, d)
}

// tryFirst connects to the first endpoint of a connection that is away from it. It may move all records.
func (w *Worker) tryFirst(c *conn) {
	if !c.holdsPlace || !w.isAway(c) || c.failures > 0 { // after a failure, all endpoints are tried in turn anyway
		c.failbackAt = 0
		w.armFailback(c)
		return
	}
	i, incarnation := c.index, c.incarnation
	n := w.newConn(c.target, c.number)
	n.wasOpen, n.trialOf, n.trialOfIncarnation = true, i, incarnation
	w.happen(n, wanted)
}

// tried is the connection that a trial is for; nil: it is gone, or its place is.
func (w *Worker) tried(trial *conn) *conn {
	c := &w.conns[trial.trialOf]
	if c.incarnation != trial.trialOfIncarnation || !c.holdsPlace {
		return nil
	}
	return c
}

// endTrial lets the connection that a failed trial was for wait for the next one.
func (w *Worker) endTrial(trial *conn) {
	c := w.tried(trial)
	if trial.trialOf = none; c != nil {
		c.failbackAt = 0
		w.armFailback(c)
	}
}

// replaceByTrial gives the place to a trial that has proved the first endpoint; false: the place is gone. The
// connection that had it is dismissed at the end of the turn.
func (w *Worker) replaceByTrial(trial *conn) bool {
	c := w.tried(trial)
	if c == nil {
		return false
	}
	trial.trialOf, trial.holdsPlace = none, true
	trial.downSince = w.now // until now the place had the other connection
	c.holdsPlace, c.failbackAt = false, 0
	w.dismissed = append(w.dismissed, c.index)
	return true
}

// dismissAll ends the connections that trials have replaced in this turn.
func (w *Worker) dismissAll() {
	for _, i := range w.dismissed {
		if c := &w.conns[i]; c.state != closing {
			w.dismiss(c)
		}
	}
	w.dismissed = w.dismissed[:0]
}

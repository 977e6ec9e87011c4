package loop

import (
	"fmt"
	"time"
)

// stall watches for a load that cannot end: a stage that is bounded by its number of requests only, while nothing
// can be sent any more.
type stall struct {
	// limit is how long the worker waits for progress: the longest timeout, the longest connect timeout and the
	// longest delay of a chain.
	limit int64
	// progressAt is when a request was last answered, timed out or was reset.
	progressAt int64
	// quietUntil is when the last of the pauses ends that are longer than the limit: nothing happens before.
	quietUntil int64
	// why says why the load has ended; empty: it has not stalled.
	why string
}

func (w *Worker) newStall() stall {
	var connect, delay time.Duration
	for i := range w.program.Targets {
		connect = max(connect, w.program.Targets[i].ConnectTimeout)
	}
	for i := range w.program.Chains {
		delay = max(delay, time.Duration(w.program.Chains[i].Delay))
	}
	return stall{limit: int64(w.cfg.MaxWait + connect + delay)}
}

// stallsAt is when the load has stalled if nothing happens until then, or never.
func (w *Worker) stallsAt() int64 {
	s := &w.stage
	if !s.closedLoop() || s.planned != never {
		w.stall.progressAt = w.now
		return never
	}
	return max(w.stall.progressAt, w.stall.quietUntil) + w.stall.limit
}

// endStalled ends a load that has stalled, so that the run ends with its drain and teardown.
func (w *Worker) endStalled() {
	if w.now < w.stallsAt() {
		return
	}
	w.stall.why = fmt.Sprintf("no request was answered, timed out or was reset for %v", time.Duration(w.stall.limit))
	for i := range w.targets {
		if t := &w.targets[i]; t.unconnected.Failed() {
			w.stall.why += "; target " + t.plan.Name + ": " + t.unconnected.String()
			break
		}
	}
	w.halt(w.now)
	w.dropWaiting(never)
}

// Stalled says why the worker has ended its load before all requests were sent; empty: it has not.
func (w *Worker) Stalled() string { return w.stall.why }

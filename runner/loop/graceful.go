package loop

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// After the load, chain instances that run may send their remaining steps for the time of Config.GracefulStop. These
// requests need no slot and are in no figure but Graceful. Requests of the load that are in flight keep their counts.

// gracefulUntil returns when chain instances must have ended. It is never before the end of the load is known.
func (w *Worker) gracefulUntil() int64 {
	if !w.schedules.Over() {
		return never
	}
	return w.schedules.loadEnd() + int64(w.cfg.GracefulStop)
}

// finishesChains returns whether chain instances continue after the load.
func (w *Worker) finishesChains() bool {
	return w.cfg.GracefulStop > 0 && !w.run.loadOver && w.trial == nil && w.now < w.gracefulUntil() && w.schedules.Over()
}

// admitLate makes requests of the steps that waited for a slot when the load ended, or for a lease. The time does not wait for a lease.
func (w *Worker) admitLate() {
	if !w.lease.paused && w.finishesChains() {
		w.chains.release()
	}
}

// release lets the steps that wait for slots need none.
func (s *chains) release() {
	for _, ready := range s.ready {
		for t := range ready {
			for q := &ready[t]; q.Len() > 0; {
				s.unpaced.Push(q.Pop())
			}
		}
	}
}

// unfinished returns the number of instances of load chains that have not ended.
func (w *Worker) unfinished() (n int64) {
	for i := range w.program.Chains {
		if w.program.Chains[i].Phase == rv.PhaseLoad {
			n += int64(w.chains.live[i])
		}
	}
	return n
}

// Unfinished returns how many chain instances continue after the load.
func (w *Worker) Unfinished() int64 {
	if !w.finishesChains() {
		return 0
	}
	return w.unfinished()
}

// cutOff counts the instances that have not ended when no more of their steps are sent.
func (w *Worker) cutOff() {
	if w.cfg.GracefulStop > 0 && !w.run.loadOver && w.trial == nil {
		w.rec.GracefulChains.CutOff += w.unfinished()
	}
}

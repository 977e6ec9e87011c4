package loop

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// After the load, chain instances that run may send their remaining steps for the time of Config.GracefulStop. These
// requests need no slot and are in no figure but Graceful. Requests of the load that are in flight keep their counts.

// finishesChains returns whether chain instances continue after the load.
func (w *Worker) finishesChains() bool {
	return w.cfg.GracefulStop > 0 && !w.run.loadOver && w.trial == nil && w.slots.Over() && w.now < w.slots.GracefulUntil(w.cfg.GracefulStop)
}

// admitLate makes requests of the steps that waited for a slot when the load ended, or for a lease. The time does not wait for a lease.
func (w *Worker) admitLate() {
	if !w.slots.Paused() && w.finishesChains() {
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

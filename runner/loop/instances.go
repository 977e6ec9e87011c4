package loop

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/tally"
)

// newFlow makes the flow of the chain instances.
func (w *Worker) newFlow() *flow.Flow {
	cfg := flow.Config{
		Program: w.program, Sources: w.sources, Share: &w.cfg.Share, Chains: w.slots.Chains(),
		Targets: len(w.program.Targets) + maxFollowed, Host: w,
	}
	if w.cfg.Trial != nil {
		cfg.Unsent = func(a chain.Activation, skipped bool, why string) { w.trial.unsent(a, skipped, why) }
	}
	return flow.New(cfg)
}

// Route implements flow.Host.
func (w *Worker) Route(a chain.Activation) (target int32, paced bool) {
	in, s := w.flow.At(a.Instance), &w.program.Steps[a.Step]
	if a.Hop > 0 {
		target = w.targets.redirect(in, s, a.Step)
	} else {
		target = w.targets.route(in, s)
	}
	return target, !w.continuesChains()
}

// ChainBegan implements flow.Host.
func (w *Worker) ChainBegan(c int) { w.rec.Began(c) }

// ChainEnded implements flow.Host.
func (w *Worker) ChainEnded(i int32, why string) {
	w.requests.Forget(w.scripts.forget(i))
	in := w.flow.At(i)
	switch {
	case in.Stage < 0:
		w.onceEnded(in, why)
	case in.Late:
		if !w.run.loadOver { // else it is cut off
			w.rec.EndedLate(why)
		}
	case in.Measured:
		w.rec.Ended(in.Chain, why)
	}
}

// onceEnded ends an instance of setup or teardown, or of a trial.
func (w *Worker) onceEnded(in *flow.Instance, why string) {
	w.trial.ended(int(in.Chain), why)
	if failed := w.once.Ended(in, explain(why, w.rec.Last())); failed != "" && in.Stage == book.StageTeardown {
		w.cfg.Log.Warn("teardown failed", "why", failed)
	}
	w.skipWait() // the next chain begins at the end of a turn
}

// explain returns why an instance was aborted, with the failed check or the error of the connection.
func explain(why string, last tally.Outcome) string {
	switch {
	case why == rv.AbortFailedCheck && last.Failed != "":
		return fmt.Sprintf("failed check %s (status %d)", last.Failed, last.Status)
	case last.Cause.Failed() && (why == rv.AbortReset || why == rv.AbortConnectionLost):
		return why + ": " + last.Cause.String()
	}
	return why
}

// continuesChains returns whether chain instances continue after the load. Then they may send their remaining steps for the time of
// Config.GracefulStop. These requests need no slot and are in no figure but Graceful. Requests of the load that are in flight keep their
// counts.
func (w *Worker) continuesChains() bool {
	return w.cfg.GracefulStop > 0 && !w.run.loadOver && w.trial == nil && w.slots.Over() && w.now < w.slots.GracefulUntil(w.cfg.GracefulStop)
}

// Unfinished returns how many chain instances continue after the load.
func (w *Worker) Unfinished() int64 {
	if !w.continuesChains() {
		return 0
	}
	return w.flow.Unfinished()
}

// cutOff counts the instances that have not ended when no more of their steps are sent.
func (w *Worker) cutOff() {
	if w.cfg.GracefulStop > 0 && !w.run.loadOver && w.trial == nil {
		w.rec.CutOff(w.flow.Unfinished())
	}
}

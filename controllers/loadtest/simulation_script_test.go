package loadtest

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// scripted runs one LoadTest with a script of events, and then waits for its end. The checks are those of TestSimulation.
func scripted(t *testing.T, seed uint64, script func(w *simulation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newSimulation(t, seed)
		defer w.stopOperators()
		w.startOperator(0)
		script(w)
		if !t.Failed() {
			w.finish()
		}
	})
}

// wait lets time pass until a condition holds.
func (w *simulation) wait(what string, holds func() bool) {
	w.Helper()
	for range 300 {
		if holds() {
			return
		}
		w.step(200 * time.Millisecond)
	}
	w.Fatalf("after a minute: no %s: %s", what, w.describe())
}

func (w *simulation) running() (running bool) {
	w.locked(func() { running = !w.begun.IsZero() && time.Now().After(w.begun) })
	return running
}

// TestNextOperatorReachesLostRunner: a runner is lost, the operator restarts, and the runner answers again. It gets the next change.
func TestNextOperatorReachesLostRunner(t *testing.T) {
	scripted(t, 1, func(w *simulation) { // onShardLost: Continue
		w.wait("start", w.running)
		p := w.anyProcess()
		w.locked(func() { p.cut = true })
		w.wait("loss", func() (lost bool) {
			w.locked(func() { lost = w.record.Find(p.index, p.uid) != nil })
			return lost
		})
		w.startOperator(0)
		w.step(time.Second)
		w.locked(p.heal)
		w.edit("rate", func(s *v1alpha1.LoadTestSpec) { s.Rates[1].RequestsPerSecond = ptr.To[int64](5) })
		for range 12 {
			w.step(time.Second) // checkOrders wants the change on each runner
		}
	})
}

package loadtest

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
)

// expiring is a Leader whose lease ends during a pass, after some writes.
type expiring struct{ writes atomic.Int64 }

func (e *expiring) Leading() bool { return e.writes.Load() > 0 }

func (e *expiring) Term() int64 { return 1 }

// byOthers returns whether a write is not one of a pass, or not a decision about a run: the writer of checkpoints asks for itself, and the
// certificate authority is that of all runs.
func byOthers(before, after client.Object) bool {
	o := after
	if o == nil {
		o = before
	}
	_, checkpoint := o.(*statev1alpha1.LoadTestCheckpoint)
	return checkpoint || o.GetNamespace() == "h2surge-system"
}

// TestNoWritesAfterTheLease: a process that may not decide any more writes nothing, also in the middle of a pass. Then another process is the
// leader, and may have decided otherwise.
func TestNoWritesAfterTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, leader := newSimulation(t, 1), &expiring{}
		defer w.stopOperators()
		w.startOperator(0)
		o := w.operators[0]
		o.leader = leader
		pass, writes, late := false, 0, 0
		wrote := w.api.wrote
		w.api.wrote = func(before, after client.Object) {
			if !byOthers(before, after) && pass { // others write at any time
				writes++
				if !leader.Leading() {
					late++
				}
				leader.writes.Add(-1)
			}
			wrote(before, after)
		}
		for range 600 {
			w.between(200 * time.Millisecond)
			for _, kind := range cachedNames {
				o.client.sync(kind)
			}
			leader.writes.Store(1 + w.random.Int64N(3))
			pass = true
			_, err := o.passes.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: simulated}})
			if pass = false; err != nil {
				t.Fatal(err)
			}
		}
		if late > 0 || writes == 0 || w.finished.IsZero() {
			t.Errorf("%d of %d writes followed after Leading() turned false; the test finished at %s", late, writes, w.finished)
		}
	})
}
